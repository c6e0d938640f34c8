//! `mipam release`: gives an address back, if nobody can be using it.

use super::context::{self, Context};
use super::{ExitStatus, Failure};
use crate::apply::{self, Recorded};
use crate::cli::{Release, Target};
use crate::cluster::dir::Mode;
use crate::cluster::{Cluster, ClusterError, Patient};
use crate::ledger::{Change, NAMESPACE};
use crate::model::{
    API_VERSION, Allocated, Allocation, AllocationReport, ObjectRef, Owner, Pool, Role, Slot, Standing,
};
use crate::output;
use crate::pass::{self, Sight};
use crate::plan::Decision;
use crate::systems;
use std::collections::BTreeMap;
use std::io::{BufRead, IsTerminal};
use std::net::IpAddr;

/// A forced release may be of an address that something still uses: it rests at least this long.
const FORCED_REST: i64 = 600;

const ROUNDS: usize = 12;

pub(super) async fn run(context: &Context<'_>, command: &Release) -> Result<ExitStatus, Failure> {
    let config = context.config()?;
    let network = command.pool.as_ref().map(|p| context::pool(&config.pools, p)).transpose()?;
    let network = network.map(|p| p.network.clone());
    let mode = if command.dry_run { Mode::ReadOnly } else { Mode::InPlace };
    let cluster = context.cluster(mode).await?;
    let meant = Meant::of(context, &command.target)?;
    let mut confirmed = command.yes || command.dry_run;
    for _ in 0..ROUNDS {
        let bar = context.bar();
        let pass = context.pass(&*cluster, &config, &bar)?;
        let (mut sight, now) = (pass.look().await?, pass.now);
        drop(pass);
        drop(bar);
        let found = matching(&sight, &meant, network.as_deref())?;
        if found.is_empty() {
            context.printer.warn(&format!("nothing is recorded for {meant}"));
        }
        let live = living(&sight, &found, &meant);
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
        // What hangs on an entry that goes must stand on its own first, or it would go with it.
        let rest = Decision { changes: left_behind(&sight, &found), ..Decision::default() };
        if !command.dry_run && !record(&*cluster, &mut sight, &config.pools, &rest).await? {
            continue;
        }
        let changes =
            found.iter().map(|a| (a.slot.clone(), change(a, &meant, &config.pools, now, !live.is_empty())));
        let decision =
            Decision { changes: changes.collect::<BTreeMap<Slot, Change>>(), ..Decision::default() };
        if command.dry_run || record(&*cluster, &mut sight, &config.pools, &decision).await? {
            let own = |a: &Allocation| {
                let holders = a.holders.iter().filter(|h| meant.includes(&h.owner)).cloned().collect();
                pass::lines(&Allocation { holders, ..a.clone() }, &config.pools)
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

/// What is to be released.
enum Meant {
    /// Whoever holds this address.
    Address(IpAddr),
    /// All that this object holds.
    Object(ObjectRef),
    /// All that this hold holds.
    Hold(String),
}

impl Meant {
    fn of(context: &Context<'_>, target: &Target) -> Result<Self, Failure> {
        Ok(match target {
            Target::Address(address) => Self::Address(*address),
            Target::Owner(reference) if reference.is_hold() => Self::Hold(reference.name.clone()),
            Target::Owner(reference) => {
                let sources = systems::ALL.iter().filter(|s| s.serves()).flat_map(|s| s.sources());
                let kinds: Vec<_> = sources.filter(|s| s.role == Role::Owner).map(|s| s.kind).collect();
                Self::Object(context.target(reference, &kinds)?)
            }
        })
    }

    /// Does this owner lose it?
    fn includes(&self, owner: &Owner) -> bool {
        match self {
            Self::Address(_) => true,
            Self::Hold(name) => owner.is_hold() && *owner.name == **name,
            Self::Object(target) => {
                owner.group == target.kind.group
                    && owner.kind == target.kind.kind
                    && *owner.namespace == *target.namespace
                    && *owner.name == *target.name
            }
        }
    }
}

impl std::fmt::Display for Meant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Address(address) => address.fmt(f),
            Self::Object(target) => target.fmt(f),
            Self::Hold(name) => write!(f, "hold/{name}"),
        }
    }
}

/// The entries that are meant; an address that is recorded in several networks needs one of them named.
fn matching(sight: &Sight, meant: &Meant, network: Option<&str>) -> Result<Vec<Allocation>, Failure> {
    let entries = sight.seen.ledger.allocations().values();
    let held = entries.filter(|a| !matches!(a.standing, Standing::Cooling { .. }));
    let in_network = held.filter(|a| network.is_none_or(|n| n == &*a.slot.network));
    let at = |a: &&Allocation| !matches!(meant, Meant::Address(address) if a.slot.address != *address);
    let found: Vec<Allocation> = in_network
        .filter(at)
        .filter(|a| a.holders.iter().any(|h| meant.includes(&h.owner)))
        .cloned()
        .collect();
    if matches!(meant, Meant::Address(_)) && found.len() > 1 {
        let failure = Failure::error(format!("{meant} is recorded in several networks"));
        return Err(failure.hint("say which one with --pool"));
    }
    Ok(found)
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

fn change(allocation: &Allocation, meant: &Meant, pools: &[Pool], now: i64, forced: bool) -> Change {
    // An address that others hold too stays theirs.
    let others: Vec<_> = allocation.holders.iter().filter(|h| !meant.includes(&h.owner)).cloned().collect();
    if !others.is_empty() {
        return Change::Put(Allocation { holders: others, ..allocation.clone() });
    }
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

/// The members of sets whose home is released, each made binding on its own.
fn left_behind(sight: &Sight, found: &[Allocation]) -> BTreeMap<Slot, Change> {
    let going = |slot: &Slot| found.iter().any(|a| a.slot == *slot);
    let mut changes = BTreeMap::new();
    for allocation in sight.seen.ledger.allocations().values().filter(|a| !going(&a.slot)) {
        let Standing::Member { home } = &allocation.standing else { continue };
        let bound = sight.seen.ledger.allocations().get(home);
        let bound = bound.is_some_and(|h| matches!(&h.standing, Standing::Home { bound: true, .. }));
        if going(home) && bound {
            let alone = Allocation { standing: Standing::Bound, ..allocation.clone() };
            changes.insert(allocation.slot.clone(), Change::Put(alone));
        }
    }
    changes
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
