//! `mipam check-capacity`: is there room? Those who already wait come first, as they will in a pass.

mod nodes;

use super::context::{self, Context};
use super::{ExitStatus, Failure};
use crate::addr::Family;
use crate::cli::CheckCapacity;
use crate::cluster::dir::Mode;
use crate::cluster::{Cluster, ClusterError};
use crate::config::Config;
use crate::model::{
    API_VERSION, CapacityReport, Claim, Kind, Object, ObjectRef, PendingLine, Pool, PoolLine, PoolNeed,
    Reason,
};
use crate::output;
use crate::pass::Sight;
use crate::plan::{self, Decision, Scope};
use crate::systems;
use std::collections::{BTreeMap, BTreeSet};

pub(super) async fn run(context: &Context<'_>, command: &CheckCapacity) -> Result<ExitStatus, Failure> {
    let config = context.config_with(&command.ranges)?;
    let pool = command.pool.as_deref();
    let parents: Vec<Kind> = systems::ALL.iter().flat_map(|s| s.parents()).copied().collect();
    let parent = command.owner.as_ref().map(|r| context.targets(r, &parents)).transpose()?;
    let cluster = context.cluster(Mode::ReadOnly).await?;
    let bar = context.bar();
    let mut pass = context.pass(&*cluster, &config, &bar)?;
    pass.scope = Scope::default();
    let mut sight = pass.look_to_give().await?;
    if let Some(name) = pool {
        context::any_pool(&sight, name)?;
    }
    if let Some(count) = command.nodes {
        let report = nodes::report(&mut sight, &pass, count, &command.labels);
        drop(pass);
        drop(bar);
        return print(context, &report);
    }

    let waiting = plan::decide(sight.world(&pass.scope, pass.now));
    let free = plan::usage(sight.world(&pass.scope, pass.now), &waiting.changes);
    let mut ask = Ask { waiting: left_over(&sight, &waiting), ..Ask::default() };
    if let (Some(targets), Some(replicas)) = (parent, command.replicas) {
        let (kind, object) = find(&*cluster, targets).await?;
        let new = scaled(&mut sight, (kind, &object), replicas as usize, &config)?;
        let decision = plan::decide(sight.world(&pass.scope, pass.now));
        ask.messages = unserved(&sight, &decision, &new);
        ask.groups = wanted(&sight.pools, &new.claims);
        ask.need = ask.groups.values().sum();
    } else if let Some(name) = pool.filter(|name| !sight.pools.iter().any(|p| *p.name == **name)) {
        drop(pass);
        drop(bar);
        return print(context, &nodes::of_pool(free, name, command.need.unwrap_or(0)));
    } else {
        ask.need = command.need.unwrap_or(0);
        ask.groups = any(&sight.pools, pool, ask.need)?;
        ask.per_family = true;
    }
    drop(pass);
    drop(bar);
    print(context, &report(free, &ask, pool))
}

fn print(context: &Context<'_>, report: &CapacityReport) -> Result<ExitStatus, Failure> {
    context.printer.data(&output::capacity::render(report, context.printer.look()))?;
    Ok(if report.fits { ExitStatus::Fine } else { ExitStatus::Finding })
}

/// The one of these that is there.
async fn find(cluster: &dyn Cluster, targets: Vec<ObjectRef>) -> Result<(Kind, Object), Failure> {
    let mut found: BTreeMap<ObjectRef, Object> = BTreeMap::new();
    let several = targets.len() > 1;
    let kinds: Vec<Kind> = targets.iter().map(|t| t.kind).collect();
    // An account may have no right to ask for what is not served anyway.
    let served = if several { cluster.served(&kinds).await? } else { kinds };
    for target in targets.iter().filter(|t| served.contains(&t.kind)) {
        match cluster.get(target).await {
            Ok(object) => drop(found.insert(target.clone(), object)),
            Err(ClusterError::NotFound(_)) if several => {}
            Err(error) => return Err(error.into()),
        }
    }
    let target = context::only(targets, |t| found.contains_key(t))?;
    let object = found.remove(&target).ok_or_else(|| ClusterError::NotFound(target.to_string()))?;
    Ok((target.kind, object))
}

/// How many addresses are wanted of pools that stand in for one another.
type Groups = BTreeMap<Vec<usize>, u128>;

/// What is asked.
#[derive(Default)]
struct Ask {
    /// Addresses that new machines need.
    groups: Groups,
    /// Addresses that machines wait for which find no room even now.
    waiting: Groups,
    /// As it is reported.
    need: u128,
    /// The groups are the families of the same machines: the scarcer one counts.
    per_family: bool,
    /// Why it does not fit, other than for want of room.
    messages: Vec<String>,
}

fn report(free: Vec<PoolLine>, ask: &Ask, only: Option<&str>) -> CapacityReport {
    let mut pools: Vec<PoolNeed> =
        free.into_iter().map(|pool| PoolNeed { pool, need: 0, short: 0 }).collect();
    let mut messages = ask.messages.clone();
    let late: u128 = ask.waiting.values().sum();
    if late > 0 {
        messages.push(format!("{late} addresses are missing for machines that already wait"));
    }
    for (group, need) in ask.waiting.iter().chain(&ask.groups) {
        let mut left = *need;
        for at in group {
            let take = left.min(pools[*at].pool.free.saturating_sub(pools[*at].need));
            pools[*at].need += take;
            left -= take;
        }
        if let Some(first) = group.first() {
            pools[*first].need += left;
            pools[*first].short += left;
        }
    }
    let asked: BTreeSet<usize> = ask.groups.keys().chain(ask.waiting.keys()).flatten().copied().collect();
    let shown = |at: usize, p: &PoolNeed| {
        only.is_none_or(|o| o == p.pool.name) && (asked.is_empty() || asked.contains(&at))
    };
    let of_group =
        |group: &Vec<usize>| group.iter().fold(0u128, |sum, at| sum.saturating_add(pools[*at].pool.free));
    let scarcest = ask.groups.keys().map(of_group).min().filter(|_| ask.per_family);
    let pools: Vec<PoolNeed> =
        pools.into_iter().enumerate().filter(|(at, p)| shown(*at, p)).map(|(_, p)| p).collect();
    let short = pools.iter().fold(0u128, |sum, p| sum.saturating_add(p.short));
    let free = scarcest.unwrap_or_else(|| pools.iter().fold(0u128, |sum, p| sum.saturating_add(p.pool.free)));
    CapacityReport {
        api_version: API_VERSION,
        kind: "CapacityReport",
        fits: short == 0 && messages.is_empty(),
        need: ask.need,
        free,
        short,
        pools,
        messages,
    }
}

/// So many addresses of each family, from one pool or from pools that serve the same machines.
fn any(pools: &[Pool], pool: Option<&str>, need: u128) -> Result<Groups, Failure> {
    let mut groups = Groups::new();
    for family in Family::BOTH {
        let fits = |at: &usize| pools[*at].family == family && pool.is_none_or(|p| p == &*pools[*at].name);
        let group: Vec<usize> = (0..pools.len()).filter(fits).collect();
        let alike = group.windows(2).all(|w| {
            let (a, b) = (&pools[w[0]], &pools[w[1]]);
            (&a.network, &a.matches) == (&b.network, &b.matches)
        });
        if need > 0 && !alike {
            let names: Vec<&str> = pools.iter().map(|p| &*p.name).collect();
            return Err(Failure::error(
                "--need alone does not say which machines, and the pools serve different ones",
            )
            .hint(format!("say which pool with --pool: {}", names.join(", "))));
        }
        if need > 0 && !group.is_empty() {
            groups.insert(group, need);
        }
    }
    Ok(groups)
}

/// What machines that already wait lack.
fn left_over(sight: &Sight, decision: &Decision) -> Groups {
    let waits = |claim: &&Claim| {
        let is =
            |line: &PendingLine| *line.name == *claim.owner.name && *line.namespace == *claim.owner.namespace;
        decision.pending.iter().any(|line| line.reason == Reason::PoolExhausted && is(line))
    };
    if decision.pending.is_empty() {
        return Groups::new();
    }
    wanted(&sight.pools, &sight.survey.claims.iter().filter(waits).cloned().collect::<Vec<_>>())
}

fn wanted(pools: &[Pool], claims: &[Claim]) -> Groups {
    let mut groups = Groups::new();
    for group in claims.iter().flat_map(|c| &c.wishes).flat_map(|w| plan::candidates(pools, w)) {
        if !group.is_empty() {
            *groups.entry(group).or_default() += 1;
        }
    }
    groups
}

/// The machines that would appear.
struct New {
    names: BTreeSet<String>,
    claims: Vec<Claim>,
}

/// Why new machines would not be served, other than for want of room.
fn unserved(sight: &Sight, decision: &Decision, new: &New) -> Vec<String> {
    let lines = decision.pending.iter().chain(&sight.survey.pending);
    let of_new = lines.filter(|l| new.names.contains(&l.name) && l.reason != Reason::PoolExhausted);
    let mut messages: Vec<String> = of_new.map(|l| l.message.clone()).collect();
    if !new.names.is_empty() && new.claims.is_empty() && messages.is_empty() {
        messages.push("its machines would not wait for mipam: the template has no hook or gate of ours, or its devices need no address".to_owned());
    }
    messages.sort();
    messages.dedup();
    messages
}

/// Adds the machines that would appear.
fn scaled(
    sight: &mut Sight,
    parent: (Kind, &Object),
    replicas: usize,
    config: &Config,
) -> Result<New, Failure> {
    let made = systems::ALL.iter().find_map(|s| s.scaled(&sight.seen.observed, parent, replicas));
    let made = made.ok_or_else(|| {
        let resource = parent.0.resource();
        Failure::error(format!("this version gives no addresses to the machines of {resource}"))
            .hint("ask for a number of addresses instead: check-capacity --pool POOL --need N")
    })?;
    let mut by_kind: BTreeMap<Kind, Vec<Object>> = BTreeMap::new();
    for (kind, object) in made {
        by_kind.entry(kind).or_default().push(object);
    }
    let names: BTreeSet<String> = by_kind.values().flatten().map(|o| o.name().to_owned()).collect();
    for (kind, objects) in by_kind {
        sight.seen.observed.insert(kind, objects);
    }
    sight.survey(config);
    let is_new = |c: &&Claim| names.contains(&*c.owner.name) && c.owner.uid.starts_with("new-");
    let claims = sight.survey.claims.iter().filter(is_new).cloned().collect();
    Ok(New { names, claims })
}
