//! `mipam reconcile`: the pass.

use super::context::Context;
use super::{ExitStatus, Failure};
use crate::apply::Changed;
use crate::cli::{Format, Reconcile};
use crate::cluster::dir::Mode;
use crate::model::Seconds;
use crate::output::{self, Printer};
use crate::pass::Outcome;

pub(super) async fn run(context: &Context<'_>, command: &Reconcile) -> Result<ExitStatus, Failure> {
    let mut config = context.config_with(&command.ranges)?;
    config.publish =
        command.publish_capacity.map(|life| life.as_secs().max(1).try_into().unwrap_or(Seconds::MAX));
    let mode = match &command.out {
        Some(dir) => Mode::Out(dir.clone()),
        None if command.dry_run => Mode::ReadOnly,
        None => Mode::InPlace,
    };
    let cluster = context.cluster(mode).await?;
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
    let look = context.printer.look();
    context.printer.data(&output::reconcile::render(&outcome.report, look, command.dry_run))?;
    Ok(status(context.printer, &outcome))
}

/// Failed writes are errors; what waits or is wrong is a finding.
fn status(printer: &Printer, outcome: &Outcome) -> ExitStatus {
    for (object, error) in &outcome.failures {
        printer.error(&format!("{object}: {error}"));
    }
    if let Some((_, error)) = outcome.failures.first() {
        let hint = Failure::from(error.clone()).hint;
        printer.hint(&hint.unwrap_or_else(|| "nothing is half done: run it again".to_owned()));
        ExitStatus::Error
    } else if outcome.report.pending.is_empty() && outcome.report.problems.is_empty() {
        ExitStatus::Fine
    } else {
        ExitStatus::Finding
    }
}

/// Prints what changed; on stderr where stdout is for programs.
pub(super) fn diff(printer: &Printer, changed: &[Changed]) -> Result<(), Failure> {
    let for_programs = matches!(printer.format, Format::Json | Format::Yaml | Format::Name);
    for change in changed {
        let text =
            output::diff(change.before.as_ref(), change.after.as_ref(), printer.color && !for_programs);
        if for_programs {
            printer.aside(&text);
        } else {
            printer.data(&text)?;
        }
    }
    Ok(())
}
