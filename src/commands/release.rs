//! `mipam release`: gives an address back, if nobody can be using it.

use super::context::{self, Context};
use super::{ExitStatus, Failure};
use crate::apply::{self, Recorded};
use crate::cli::{Release, Target};
use crate::cluster::dir::Mode;
use crate::cluster::{Cluster, ClusterError, Patient};
use crate::ledger::{Change, NAMESPACE};
use crate::model::{API_VERSION, Allocated, Allocation, AllocationReport, Owner, Pool, Slot, Standing};
use crate::output;
use crate::pass::{self, Sight};
use crate::plan::Decision;
use std::collections::BTreeMap;
use std::io::{BufRead, IsTerminal};

/// A forced release may be of an address that something still uses: it rests at least this long.
const FORCED_REST: i64 = 600;

const ROUNDS: usize = 12;

pub(super) async fn run(context: &Context<'_>, command: &Release) -> Result<ExitStatus, Failure> {
    let config = context.config()?;
    let network = command.pool.as_ref().map(|p| context::pool(&config.pools, p)).transpose()?;
    let network = network.map(|p| p.network.clone());
    let mode = if command.dry_run { Mode::ReadOnly } else { Mode::InPlace };
    let cluster = context.cluster(mode).await?;
    let mut confirmed = command.yes || command.dry_run;
    for _ in 0..ROUNDS {
        let bar = context.bar();
        let pass = context.pass(&*cluster, &config, &bar)?;
        let (mut sight, now) = (pass.look().await?, pass.now);
        drop(pass);
        drop(bar);
        let found = matching(&sight, &command.target, network.as_deref())?;
        if found.is_empty() {
            context.printer.warn(&format!("nothing is recorded for {}", name(&command.target)));
        }
        let live = living(&sight, &found);
        if !live.is_empty() && !command.force {
            return Err(Failure::finding(format!(
                "{} exists and may be using {}",
                live[0].1,
                addresses(&found)
            ))
            .hint("delete it first, or use --force if you are sure that nothing uses the address"));
        }
        if !confirmed {
            confirm(context, command, &found, &live)?;
            confirmed = true;
        }
        let changes = found.iter().map(|a| (a.slot.clone(), change(a, &config.pools, now, !live.is_empty())));
        let decision =
            Decision { changes: changes.collect::<BTreeMap<Slot, Change>>(), ..Decision::default() };
        if command.dry_run || record(&*cluster, &mut sight, &config.pools, &decision).await? {
            let released: Vec<Allocated> = found.iter().flat_map(|a| pass::lines(a, &config.pools)).collect();
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

async fn record(
    cluster: &dyn Cluster,
    sight: &mut Sight,
    pools: &[Pool],
    decision: &Decision,
) -> Result<bool, Failure> {
    let patient = Patient(cluster);
    match apply::record(&patient, &mut sight.seen.ledger, pools, decision, &mut Vec::new()).await? {
        Recorded::Conflict => Ok(false),
        Recorded::Done { failed } => {
            if let Some((_, error)) = failed.into_iter().next() {
                return Err(error.into());
            }
            patient.settle().await?;
            Ok(true)
        }
    }
}

/// The entries that are meant; an address that is recorded in several networks needs one of them named.
fn matching(sight: &Sight, target: &Target, network: Option<&str>) -> Result<Vec<Allocation>, Failure> {
    let entries = sight.seen.ledger.allocations().values();
    let held = entries.filter(|a| !matches!(a.standing, Standing::Cooling { .. }));
    let in_network = held.filter(|a| network.is_none_or(|n| n == &*a.slot.network));
    let found: Vec<Allocation> = match target {
        Target::Address(address) => in_network.filter(|a| a.slot.address == *address).cloned().collect(),
        Target::Owner(reference) => {
            let is = |o: &Owner| {
                let kind = crate::systems::kind_of(&o.group, &o.kind);
                let named =
                    kind.is_some_and(|k| reference.is_kind(&k)) || (reference.is_hold() && o.is_hold());
                named
                    && *o.name == *reference.name
                    && reference.namespace.as_deref().is_none_or(|n| n == &*o.namespace)
            };
            in_network.filter(|a| a.holders.iter().any(|h| is(&h.owner))).cloned().collect()
        }
    };
    let several = found
        .iter()
        .any(|a| found.iter().any(|b| b.slot.address == a.slot.address && b.slot.network != a.slot.network));
    if several {
        return Err(Failure::error(format!("{} is recorded in several networks", name(target)))
            .hint("say which one with --pool"));
    }
    Ok(found)
}

/// The entries with an owner that is not known to be gone.
fn living<'f>(sight: &Sight, found: &'f [Allocation]) -> Vec<(&'f Allocation, &'f Owner)> {
    let pairs = found.iter().flat_map(|a| a.holders.iter().map(move |h| (a, &*h.owner)));
    pairs.filter(|(_, o)| !o.is_hold() && !sight.seen.gone.iter().any(|g| **g == **o)).collect()
}

fn change(allocation: &Allocation, pools: &[Pool], now: i64, forced: bool) -> Change {
    let slot = &allocation.slot;
    let own = pools.iter().filter(|p| p.network == slot.network && p.contains(slot.address));
    let rest = own.map(|p| p.reuse_after).max().unwrap_or(0);
    let rest = if forced { rest.max(FORCED_REST) } else { rest };
    if rest == 0 {
        return Change::Remove;
    }
    Change::Put(Allocation {
        standing: Standing::Cooling { until: now.saturating_add(rest) },
        ..allocation.clone()
    })
}

/// Asks on a terminal. Without one, only what is forced needs `--yes`.
fn confirm(
    context: &Context<'_>,
    command: &Release,
    found: &[Allocation],
    live: &[(&Allocation, &Owner)],
) -> Result<(), Failure> {
    if found.is_empty() {
        return Ok(());
    }
    if !live.is_empty() {
        context.printer.warn(&format!(
            "{} exists: if it still uses {}, two machines will have one address as soon as it is given out again (not before 10 minutes from now)",
            live[0].1,
            addresses(found)
        ));
    }
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

fn addresses(found: &[Allocation]) -> String {
    let list: Vec<String> = found.iter().map(|a| a.slot.address.to_string()).collect();
    list.join(", ")
}

fn name(target: &Target) -> String {
    match target {
        Target::Address(address) => address.to_string(),
        Target::Owner(r) => match &r.namespace {
            Some(namespace) => format!("{}/{namespace}/{}", r.kind, r.name),
            None => format!("{}/{}", r.kind, r.name),
        },
    }
}
