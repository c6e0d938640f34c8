//! `mipam detach`: takes off whatever objects wait for because of mipam, so that mipam can be uninstalled. Addresses
//! and the ledger stay.

mod alone;

use super::context::Context;
use super::{ExitStatus, Failure, reconcile};
use crate::apply::{self, Changed, Dry, Written};
use crate::cli::Detach;
use crate::cluster::dir::Mode;
use crate::cluster::{Cluster, ClusterError, Patient};
use crate::config;
use crate::ledger::Head;
use crate::model::{API_VERSION, Allocation, Departure, DetachLine, DetachReport, Listed, ObjectRef, Stay};
use crate::output;
use crate::plan::Scope;
use crate::systems::{self, openshift};
use std::io::{BufRead, IsTerminal};

/// How often what others have changed in the meantime is looked at again.
const ROUNDS: usize = 5;

pub(super) async fn run(context: &Context<'_>, command: &Detach) -> Result<ExitStatus, Failure> {
    let mode = if command.dry_run { Mode::ReadOnly } else { Mode::InPlace };
    let cluster = context.cluster(mode).await?;
    let configured = context.config_if_any(&*cluster).await?;
    let unconfigured = configured.is_none();
    let config = configured.unwrap_or_else(config::empty);
    let (patient, dry) = (Patient(&*cluster), Dry::new(&*cluster));
    let hand: &dyn Cluster = if command.dry_run { &dry } else { &patient };
    let mut confirmed = command.yes || command.dry_run;
    let mut done = Done::default();
    for round in 1..=ROUNDS {
        let bar = context.bar();
        let pass = context.pass(&*cluster, &config, &bar)?;
        let (sight, now, scope) = (pass.look().await?, pass.now, pass.scope.clone());
        drop(pass);
        drop(bar);
        let needs_config = |head: &Head| head.pools.values().any(|applied| !applied.flag);
        if unconfigured && sight.seen.ledger.head.as_ref().is_none_or(needs_config) {
            return Err(context.no_config());
        }
        if round == 1 {
            context.say(&sight.survey.warnings, &sight.seen.notes);
            let served = |a: &Allocation| a.holders.iter().any(|h| h.owner.system == openshift::NAME);
            let waits = |machine: &Listed| openshift::is_hooked(&machine.glance());
            done.unclear = config.lifecycle_hook.is_none()
                && (sight.seen.ledger.allocations().values().any(served)
                    || sight.seen.observed.list(openshift::MACHINE).iter().any(waits));
            if done.unclear {
                context.printer.warn(
                    "OpenShift machines have addresses from mipam or wait on a hook, and the configuration has no \
                     lifecycle-hook: which hook is mipam's cannot be told, and all are left; use the configuration that \
                     served them",
                );
            }
        }
        let all = systems::ALL.iter().flat_map(|s| s.departures(&sight.seen.observed, &config));
        let all: Vec<Departure> = all.filter(|d| in_scope(&scope, d)).collect();
        let (stay, go): (Vec<_>, Vec<_>) = all.into_iter().partition(|d| stays(d, command.force));
        if !confirmed {
            confirm(context, command, &go)?;
            confirmed = true;
        }
        let say = |text: &str| context.printer.aside(&format!("{text}\n"));
        match alone::alone(&patient, now, &say).await {
            // What would be done can be shown all the same.
            Err(failure) if command.dry_run => context.printer.warn(&failure.message),
            other => other?,
        }
        let chains: Vec<_> = go.iter().map(|d| d.writes.clone()).collect();
        let ran = apply::write(hand, &sight.seen.observed, &chains, super::context::IN_FLIGHT, &|| ()).await;
        patient.settle().await?;
        done.left = stay.iter().map(left).collect();
        done.again = false;
        for (departure, ran) in go.iter().zip(ran) {
            done.note(departure, ran.written);
        }
        if !done.again {
            break;
        }
    }
    finish(context, command, done, cluster.traffic().counts())
}

/// What came of it so far.
#[derive(Default)]
struct Done {
    detached: Vec<DetachLine>,
    left: Vec<DetachLine>,
    changed: Vec<Changed>,
    failures: Vec<(ObjectRef, ClusterError)>,
    /// Somebody else has changed an object: look at it again.
    again: bool,
    /// Machines may be left whose hook nobody can tell.
    unclear: bool,
}

impl Done {
    fn note(&mut self, departure: &Departure, written: Vec<Written>) {
        for one in written {
            match one {
                Written::Done(change) => {
                    self.detached.push(DetachLine::of(departure));
                    self.changed.push(change);
                }
                Written::Already => {}
                Written::Moot => {
                    self.left.push(DetachLine::of(departure).changed());
                    self.again = true;
                }
                Written::Failed(target, error) => self.failures.push((target, error)),
            }
        }
    }
}

fn finish(
    context: &Context<'_>,
    command: &Detach,
    mut done: Done,
    (reads, writes): (u64, u64),
) -> Result<ExitStatus, Failure> {
    done.detached.sort();
    done.left.sort();
    let report = DetachReport {
        api_version: API_VERSION,
        kind: "DetachReport",
        dry_run: command.dry_run,
        detached: done.detached,
        left: done.left,
        reads,
        writes,
    };
    if command.diff {
        reconcile::diff(context.printer, &done.changed)?;
    }
    context.printer.data(&output::detach::render(&report, context.printer.look()))?;
    if reconcile::failed(context.printer, &done.failures) {
        return Ok(ExitStatus::Error);
    }
    if report.left.is_empty() && !done.unclear {
        return Ok(ExitStatus::Fine);
    }
    if report.left.iter().any(|line| line.reason == "Waiting") {
        context.printer.hint(
            "give those that wait their addresses with `mipam reconcile`, or delete them, and run it again; \
             --force lets them go without an address",
        );
    }
    Ok(ExitStatus::Finding)
}

fn in_scope(scope: &Scope, departure: &Departure) -> bool {
    scope.serves_system(departure.system)
        && scope.namespace.as_ref().is_none_or(|n| *n == departure.target.namespace)
}

fn stays(departure: &Departure, force: bool) -> bool {
    match &departure.stays {
        None => false,
        Some(Stay::Waiting(_)) => !force,
        Some(Stay::Paused(_)) => true,
    }
}

fn left(departure: &Departure) -> DetachLine {
    let line = DetachLine::of(departure);
    match &departure.stays {
        Some(why) => line.stays(why),
        None => line,
    }
}

/// Asks on a terminal. Without one, only what is forced needs `--yes`.
fn confirm(context: &Context<'_>, command: &Detach, go: &[Departure]) -> Result<(), Failure> {
    if go.is_empty() {
        return Ok(());
    }
    let waiting: Vec<String> =
        go.iter().filter(|d| d.stays.is_some()).map(|d| d.target.to_string()).collect();
    let asked = std::io::stdin().is_terminal();
    if !asked && command.force && !waiting.is_empty() {
        return Err(Failure::error("--force needs --yes where nobody can be asked"));
    }
    if !waiting.is_empty() {
        context.printer.warn(&format!("let go without an address: {}", waiting.join(", ")));
    }
    if !asked {
        return Ok(());
    }
    context.printer.ask(&format!("take mipam's hooks and finalizers off {} objects? [y/N]", go.len()));
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    if matches!(answer.trim(), "y" | "Y" | "yes") {
        Ok(())
    } else {
        Err(Failure::finding("nothing was detached"))
    }
}
