//! `mipam reconcile`: the pass.

use super::context::Context;
use super::{ExitStatus, Failure, watch};
use crate::apply::Changed;
use crate::cli::{Format, Reconcile};
use crate::cluster::dir::Mode;
use crate::cluster::{Cluster, ClusterError};
use crate::config::Config;
use crate::model::{ReconcileReport, Seconds};
use crate::output::reconcile::Findings;
use crate::output::{self, Printer};
use crate::pass::Outcome;
use std::fmt::Display;

pub(super) async fn run(context: &Context<'_>, command: &Reconcile) -> Result<ExitStatus, Failure> {
    if command.watching.watch {
        return watch::run(context, command).await;
    }
    let mode = match &command.out {
        Some(dir) => Mode::Out(dir.clone()),
        None if command.dry_run => Mode::ReadOnly,
        None => Mode::InPlace,
    };
    let cluster = context.cluster_after(mode, command.wait_for_lock.unwrap_or_default()).await?;
    let config = config(context, command, &*cluster).await?;
    context.remark(&config);
    let bar = context.bar();
    let mut pass = context.pass(&*cluster, &config, &bar)?;
    pass.dry_run = command.dry_run;
    pass.in_flight = usize::from(command.max_in_flight);
    let outcome = pass.run(&|_| ()).await;
    drop(pass);
    drop(bar);
    let outcome = outcome?;
    context.say(&outcome.warnings, &outcome.notes);
    if command.diff {
        diff(context.printer, &outcome.changed)?;
    }
    tell(context.printer, &outcome.report, Findings::of(&outcome.report), command.dry_run)?;
    Ok(status(context.printer, &outcome))
}

/// The report: in the log, where that is for programs, and on stdout, unless it would only be the same for people.
pub(super) fn tell(
    printer: &Printer,
    report: &ReconcileReport,
    findings: Findings<'_>,
    dry_run: bool,
) -> std::io::Result<()> {
    output::reconcile::log(report, findings, printer, dry_run);
    if printer.logs_json() && matches!(printer.format, Format::Table | Format::Wide) {
        return Ok(());
    }
    printer.data(&output::reconcile::render(report, findings, printer.look(), dry_run))
}

/// The configuration, with what the options say.
pub(super) async fn config(
    context: &Context<'_>,
    command: &Reconcile,
    cluster: &dyn Cluster,
) -> Result<Config, Failure> {
    let publish = command.publish_capacity.map(|l| l.as_secs().max(1).try_into().unwrap_or(Seconds::MAX));
    Ok(Config { publish, ..context.reread(cluster, &command.ranges).await? })
}

/// Failed writes are errors; what waits or is wrong is a finding.
fn status(printer: &Printer, outcome: &Outcome) -> ExitStatus {
    if failed(printer, &outcome.failures) {
        ExitStatus::Error
    } else if outcome.report.pending.is_empty() && outcome.report.problems.is_empty() {
        ExitStatus::Fine
    } else {
        ExitStatus::Finding
    }
}

/// Says which writes failed, and what to do; were there any?
pub(super) fn failed(printer: &Printer, failures: &[(impl Display, ClusterError)]) -> bool {
    for (object, error) in failures {
        printer.error(&format!("{object}: {error}"));
    }
    let Some((_, error)) = failures.first() else { return false };
    let hint = Failure::from(error.clone()).hint;
    printer.hint(&hint.unwrap_or_else(|| "nothing is half done: run it again".to_owned()));
    true
}

/// Prints what changed; on stderr where stdout is for programs.
pub(super) fn diff(printer: &Printer, changed: &[Changed]) -> Result<(), Failure> {
    let for_programs = matches!(printer.format, Format::Json | Format::Yaml | Format::Name);
    for change in changed {
        let text =
            output::diff(change.before.as_deref(), change.after.as_deref(), printer.color && !for_programs);
        if for_programs {
            printer.aside(&text);
        } else {
            printer.data(&text)?;
        }
    }
    Ok(())
}
