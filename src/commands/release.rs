//! `mipam release`: gives an address back, if nobody can be using it.

use super::context::{self, Context};
use super::{ExitStatus, Failure, reported};
use crate::addr::Span;
use crate::apply::{self, Recorded};
use crate::cli::{Release, Target};
use crate::cluster::dir::Mode;
use crate::cluster::{Cluster, ClusterError, Patient};
use crate::config;
use crate::ledger::{Head, Ledger, NAMESPACE};
use crate::model::{API_VERSION, Allocated, Allocation, AllocationReport, Holder, ObjectRef, Owner};
use crate::output;
use crate::pass::{self, Sight};
use crate::plan::{self, Decision, Meant};
use crate::systems;
use std::collections::BTreeSet;
use std::io::{BufRead, IsTerminal};
use std::path::Path;
use std::sync::Arc;

const ROUNDS: usize = 12;

pub(super) async fn run(context: &Context<'_>, command: &Release) -> Result<ExitStatus, Failure> {
    // Before the cluster is opened: a report may come from a run that needs the directory's lock until it ends.
    let candidates = meant(context, command)?;
    let mode = if command.dry_run { Mode::ReadOnly } else { Mode::InPlace };
    let cluster = context.cluster(mode).await?;
    // Addresses of networks on the command line have no configuration to rest by.
    let configured = context.config_if_any(&*cluster).await?;
    let unconfigured = configured.is_none();
    let config = configured.unwrap_or_else(config::empty);
    let mut confirmed = command.yes || command.dry_run;
    for _ in 0..ROUNDS {
        let bar = context.bar();
        let pass = context.pass(&*cluster, &config, &bar)?;
        let (mut sight, now) = (pass.look().await?, pass.now);
        drop(pass);
        drop(bar);
        let needs_config = |head: &Head| head.pools.values().any(|applied| !applied.flag);
        if unconfigured && sight.seen.ledger.head.as_ref().is_none_or(needs_config) {
            return Err(context.no_config());
        }
        if let Some(name) = &command.pool {
            context::any_pool(&sight, name)?;
        }
        let pool = sight.pools.iter().find(|p| command.pool.as_deref() == Some(&*p.name));
        let network = pool.map(|p| p.network.clone());
        let pools = sight.pools.clone();
        let mut meant = by_its_claims(recorded(candidates.clone(), &sight.seen.ledger)?, &sight);
        if let Meant::Reported { gone, .. } = &mut meant {
            gone.clone_from(&sight.seen.gone);
        }
        if let Some(failure) = on_a_node(&sight, &meant) {
            return Err(failure);
        }
        let found = meant.entries(&sight.seen.ledger, network.as_deref());
        if matches!(meant, Meant::Address(_)) && found.len() > 1 {
            let failure = Failure::error(format!("{meant} is recorded in several networks"));
            return Err(failure.hint("say which one with --pool"));
        }
        match &meant {
            Meant::Reported { slots, .. } => {
                for slot in slots.iter().filter(|s| !found.iter().any(|a| a.slot == **s)) {
                    let why = "it is free already, or its owner exists";
                    context.printer.warn(&format!("{} is not released: {why}", slot.address));
                }
            }
            _ if found.is_empty() => context.printer.warn(&format!("nothing is recorded for {meant}")),
            _ => {}
        }
        let live = living(&sight, &found, &meant);
        let block = live.iter().find(|(a, _)| a.slot.block.is_some());
        if let Some((allocation, owner)) = block {
            let span = allocation.slot.span();
            return Err(stays(&format!("{owner} exists, and {span} is about to be written to it")));
        }
        if let (Some((_, owner)), false) = (live.first(), command.force) {
            return Err(refused(&sight, owner, &found));
        }
        if command.yes && command.force {
            warn(context, &sight, &found, &live);
        }
        if !confirmed {
            confirm(context, command, &sight, &found, &live)?;
            confirmed = true;
        }
        let steps = plan::release(&sight.seen.ledger, &found, &meant, &pools, now, !live.is_empty());
        if command.dry_run || record(&*cluster, &mut sight, &steps).await? {
            let own = |a: &Allocation| {
                let holders = a.holders.iter().filter(|h| meant.includes(&h.owner)).cloned().collect();
                pass::lines(&Allocation { holders, ..a.clone() }, &sight)
            };
            let released: Vec<Allocated> = found.iter().flat_map(own).collect();
            let report = AllocationReport {
                api_version: API_VERSION,
                kind: "AllocationReport",
                allocated: Vec::new(),
                released,
            };
            context.printer.data(&output::allocation::render(
                &report,
                context.printer.look(),
                command.dry_run,
            ))?;
            return Ok(ExitStatus::Fine);
        }
    }
    Err(ClusterError::Conflict(format!("the ledger in namespace {NAMESPACE}")).into())
}

/// Records one step after the other; false where somebody else was faster. No pool is applied by that: a
/// release must work where the configuration has lost a range.
async fn record(cluster: &dyn Cluster, sight: &mut Sight, steps: &[Decision]) -> Result<bool, Failure> {
    let patient = Patient(cluster);
    for step in steps {
        match apply::record(&patient, &mut sight.seen.ledger, &[], step, &mut Vec::new()).await? {
            Recorded::Conflict => return Ok(false),
            Recorded::Done { failed, .. } => {
                if let Some((_, error)) = failed.into_iter().next() {
                    return Err(error.into());
                }
            }
        }
        patient.settle().await?;
    }
    Ok(true)
}

/// What the person named: several where its kind can mean several.
fn meant(context: &Context<'_>, command: &Release) -> Result<Vec<Meant>, Failure> {
    let Some(target) = &command.target else {
        let path = command.from_report.as_deref().unwrap_or(Path::new("-"));
        return Ok(vec![Meant::Reported { slots: reported::read(path)?, gone: BTreeSet::new() }]);
    };
    Ok(match target {
        Target::Address(address) => vec![Meant::Address(*address)],
        Target::Owner(reference) if reference.is_hold() => vec![Meant::Hold(reference.name.clone())],
        Target::Owner(reference) => {
            context.targets(reference, &systems::owners())?.into_iter().map(Meant::Object).collect()
        }
    })
}

/// The one that something is recorded for; any, where that is none.
fn recorded(mut candidates: Vec<Meant>, ledger: &Ledger) -> Result<Meant, Failure> {
    let first = candidates.swap_remove(0);
    let object = |m: Meant| if let Meant::Object(target) = m { Some(target) } else { None };
    let held = |t: &ObjectRef| !Meant::Object(t.clone()).entries(ledger, None).is_empty();
    let targets: Vec<ObjectRef> =
        std::iter::once(first.clone()).chain(candidates).filter_map(object).filter(held).collect();
    if targets.is_empty() { Ok(first) } else { context::only(targets, |_| true).map(Meant::Object) }
}

/// What a machine has through claims is recorded for those.
fn by_its_claims(meant: Meant, sight: &Sight) -> Meant {
    let Meant::Object(target) = &meant else { return meant };
    let own = |holder: &Holder| meant.includes(&holder.owner);
    let claims: BTreeSet<Arc<Owner>> =
        sight.survey.known.iter().filter(|(_, h)| own(h)).map(|(claim, _)| claim.clone()).collect();
    if claims.is_empty() {
        return meant;
    }
    Meant::Claims { whose: target.clone(), claims }
}

/// Why a block that a Node shows stays its own.
fn on_a_node(sight: &Sight, meant: &Meant) -> Option<Failure> {
    let blocks = sight.survey.taken.iter().filter_map(|t| Some((t.span, t.owner()?)));
    let is_meant = |(span, owner): &(Span, &Arc<Owner>)| match meant {
        Meant::Address(address) => span.first() == *address,
        other => other.includes(owner),
    };
    let (span, owner) = { blocks }.find(is_meant)?;
    Some(stays(&format!("{owner} exists and has {span}, and the podCIDRs of a Node never change")))
}

fn stays(why: &str) -> Failure {
    Failure::finding(why).hint("delete the Node: its block is free again when it is gone")
}

/// Why an owner keeps what it has.
fn refused(sight: &Sight, owner: &Owner, found: &[Allocation]) -> Failure {
    let known = systems::kind_of(&owner.group, &owner.kind).filter(|k| sight.seen.observed.serves(*k));
    let addresses = addresses(found);
    match known {
        Some(_) => Failure::finding(format!("{owner} exists and may be using {addresses}"))
            .hint("delete it first, or use --force if you are sure that nothing uses the address"),
        None => Failure::finding(format!(
            "whether {owner}, which holds {addresses}, exists cannot be told: its kind is not served here"
        ))
        .hint("use --force if you are sure that nothing uses the address"),
    }
}

/// The entries with an owner that is not known to be gone.
fn living<'f>(sight: &Sight, found: &'f [Allocation], meant: &Meant) -> Vec<(&'f Allocation, &'f Owner)> {
    let pairs = found.iter().flat_map(|a| a.holders.iter().map(move |h| (a, &*h.owner)));
    let pairs = pairs.filter(|(_, owner)| meant.includes(owner));
    pairs.filter(|(_, o)| !o.is_hold() && !sight.seen.gone.iter().any(|g| **g == **o)).collect()
}

/// Asks on a terminal. Without one, only what is forced needs `--yes`.
fn confirm(
    context: &Context<'_>,
    command: &Release,
    sight: &Sight,
    found: &[Allocation],
    live: &[(&Allocation, &Owner)],
) -> Result<(), Failure> {
    if found.is_empty() {
        return Ok(());
    }
    warn(context, sight, found, live);
    if !std::io::stdin().is_terminal() {
        return if command.force && !live.is_empty() {
            Err(Failure::error("--force needs --yes where nobody can be asked"))
        } else {
            Ok(())
        };
    }
    context.printer.ask(&format!("release {}? [y/N]", addresses(found)));
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    if matches!(answer.trim(), "y" | "Y" | "yes") {
        Ok(())
    } else {
        Err(Failure::finding("nothing was released"))
    }
}

/// What a forced release risks.
fn warn(context: &Context<'_>, sight: &Sight, found: &[Allocation], live: &[(&Allocation, &Owner)]) {
    let Some((_, owner)) = live.first() else { return };
    let carried = |a: &&Allocation| {
        let mut seen = sight.survey.holdings.iter().filter(|h| h.address == a.slot.address);
        seen.any(|h| h.holder.as_ref().is_some_and(|h| a.holders.iter().any(|o| o.owner.same(&h.owner))))
    };
    let carried: Vec<Allocation> = found.iter().filter(carried).cloned().collect();
    if carried.is_empty() {
        context.printer.warn(&format!(
            "{owner} exists: if it still uses {}, two machines will have one address once it is given out again, 10 minutes from now at the earliest",
            addresses(found)
        ));
    } else {
        context.printer.warn(&format!(
            "{owner} still carries {}, so it is not given out, and the next reconcile records it again: remove it from the object first",
            addresses(&carried)
        ));
    }
}

fn addresses(found: &[Allocation]) -> String {
    let list: Vec<String> = found.iter().map(|a| a.slot.address.to_string()).collect();
    list.join(", ")
}
