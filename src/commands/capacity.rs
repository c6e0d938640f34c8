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
    API_VERSION, CapacityReport, Claim, Kind, Object, ObjectRef, Opening, Owner, Pool, PoolLine, PoolNeed,
    PoolOrigin, Reason,
};
use crate::output;
use crate::pass::Sight;
use crate::plan::{self, Decision, Scope};
use crate::systems;
use std::collections::{BTreeMap, BTreeSet};

pub(super) async fn run(context: &Context<'_>, command: &CheckCapacity) -> Result<ExitStatus, Failure> {
    let pool = command.pool.as_deref();
    let parents: Vec<Kind> = systems::ALL.iter().flat_map(|s| s.parents()).copied().collect();
    let parent = command.owner.as_ref().map(|r| context.targets(r, &parents)).transpose()?;
    let cluster = context.cluster(Mode::ReadOnly).await?;
    let mut config = context.config_with(&*cluster, &command.ranges).await?;
    // Whoever gives machines their addresses, there is room or there is none.
    config.beside_peer.extend([systems::elf::NAME, systems::nodes::NAME].map(str::to_owned));
    let bar = context.bar();
    let mut pass = context.pass(&*cluster, &config, &bar)?;
    pass.scope = Scope::default();
    let mut sight = pass.look_to_give(&|_| ()).await?;
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
    let ahead = ahead(&sight);
    let mut ask = Ask { ahead, waiting: left_over(&sight, &waiting), ..Ask::default() };
    if let (Some(targets), Some(replicas)) = (parent, command.replicas) {
        let (kind, object) = find(&*cluster, targets).await?;
        if let Some(target) = systems::ALL.iter().find_map(|s| s.template((kind, &object))) {
            let template = cluster.get(&target).await?;
            sight.seen.observed.wrote(&target, Some(template));
        }
        let new = scaled(&mut sight, (kind, &object), replicas as usize, &config)?;
        let decision = plan::decide(sight.world(&pass.scope, pass.now));
        ask.messages = unserved(&sight, &decision, &new);
        ask.groups = new.wanted;
        ask.need = ask.groups.values().sum();
    } else if let Some(name) = pool.filter(|name| !sight.pools.iter().any(|p| *p.name == **name)) {
        drop(pass);
        drop(bar);
        return print(context, &nodes::of_pool(free, name, command.need.unwrap_or(0)));
    } else {
        ask.need = command.need.unwrap_or(0);
        ask.groups = any(&sight.pools, pool, ask.need)?;
        ask.per_family = pool.is_none();
    }
    drop(pass);
    drop(bar);
    let only = |at: usize| pool.is_none_or(|name| sight.pools[at].is_of(name));
    print(context, &report(free, &ask, &only))
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
    /// Addresses that claims take which the next pass makes.
    ahead: Groups,
    /// Addresses that machines wait for which find no room even now.
    waiting: Groups,
    /// As it is reported.
    need: u128,
    /// The groups are the families of the same machines: the scarcer one counts.
    per_family: bool,
    /// Why it does not fit, other than for want of room.
    messages: Vec<String>,
}

fn report(free: Vec<PoolLine>, ask: &Ask, only: &dyn Fn(usize) -> bool) -> CapacityReport {
    let mut pools: Vec<PoolNeed> =
        free.into_iter().map(|pool| PoolNeed { pool, need: 0, short: 0 }).collect();
    let mut messages = ask.messages.clone();
    let mut waiting: Groups = ask.waiting.clone();
    for (group, need) in &ask.ahead {
        let mut left = *need;
        for at in group {
            let line = &mut pools[*at].pool;
            let take = left.min(line.free);
            (line.free, line.used, left) = (line.free - take, line.used + take, left - take);
        }
        if left > 0 {
            *waiting.entry(group.clone()).or_default() += left;
        }
    }
    // Who waits for another pool is in nobody's way here.
    waiting.retain(|group, _| group.iter().any(|at| only(*at)));
    match waiting.values().sum::<u128>() {
        0 => {}
        1 => messages.push("1 address is missing for a machine that already waits".to_owned()),
        late => messages.push(format!("{late} addresses are missing for machines that already wait")),
    }
    for (group, need) in waiting.iter().chain(&ask.groups) {
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
    let asked: BTreeSet<usize> = ask.groups.keys().chain(waiting.keys()).flatten().copied().collect();
    let shown = |at: usize| only(at) && (asked.is_empty() || asked.contains(&at));
    let of_group =
        |group: &Vec<usize>| group.iter().fold(0u128, |sum, at| sum.saturating_add(pools[*at].pool.free));
    let scarcest = ask.groups.keys().map(of_group).min().filter(|_| ask.per_family);
    let pools: Vec<PoolNeed> =
        pools.into_iter().enumerate().filter(|(at, _)| shown(*at)).map(|(_, p)| p).collect();
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

/// So many addresses from one pool; or of each family, from pools that serve the same machines.
fn any(pools: &[Pool], pool: Option<&str>, need: u128) -> Result<Groups, Failure> {
    let mut groups = Groups::new();
    if need == 0 {
        return Ok(groups);
    }
    if let Some(name) = pool {
        groups.insert((0..pools.len()).filter(|at| pools[*at].is_of(name)).collect(), need);
        return Ok(groups);
    }
    if pools.is_empty() {
        return Err(Failure::error("there is no pool of addresses for machines")
            .hint("configure one; for the pod CIDRs of Nodes ask with --nodes"));
    }
    for family in Family::BOTH {
        let group: Vec<usize> = (0..pools.len()).filter(|at| pools[*at].family == family).collect();
        let object = |p: &Pool| matches!(p.origin, PoolOrigin::Object(_));
        let alike = group.windows(2).all(|w| {
            let (a, b) = (&pools[w[0]], &pools[w[1]]);
            (&a.network, &a.matches) == (&b.network, &b.matches) && !object(a) && !object(b)
        });
        if !alike {
            let names: Vec<&str> = pools.iter().map(|p| &*p.name).collect();
            return Err(Failure::error(
                "--need alone does not say which machines, and the pools serve different ones",
            )
            .hint(format!("say which pool with --pool: {}", names.join(", "))));
        }
        if !group.is_empty() {
            groups.insert(group, need);
        }
    }
    Ok(groups)
}

/// What claims take that the next pass makes, or makes elsewhere because there is room, and those that another
/// controller is about to serve.
fn ahead(sight: &Sight) -> Groups {
    let next = sight.survey.openings.iter().zip(&sight.placed);
    let next = next.filter(|(o, site)| o.instead_of.is_none() || site.is_some()).map(|(o, _)| o);
    let mut groups = yet_to_be_made(&sight.pools, next);
    for (group, need) in wanted(&sight.pools, &sight.survey.others) {
        *groups.entry(group).or_default() += need;
    }
    groups
}

/// What machines that already wait lack, and go on waiting for.
fn left_over(sight: &Sight, decision: &Decision) -> Groups {
    let moving = sight.survey.openings.iter().zip(&sight.placed).filter(|(_, site)| site.is_some());
    let moving: BTreeSet<&Owner> = moving.filter_map(|(o, _)| o.instead_of.as_deref()).collect();
    let lacks = decision.unmet.iter().zip(&decision.pending);
    let lacks = lacks.filter(|(_, line)| line.reason == Reason::PoolExhausted);
    let claims = lacks.map(|(at, _)| &sight.survey.claims[*at]).filter(|c| !moving.contains(&*c.owner));
    wanted(&sight.pools, &claims.cloned().collect::<Vec<_>>())
}

fn wanted(pools: &[Pool], claims: &[Claim]) -> Groups {
    let mut groups = Groups::new();
    for wish in claims.iter().flat_map(|c| &c.wishes) {
        let each = plan::candidates(pools, wish);
        // Where one address of any family will do, the pools of both stand in for one another.
        let each = if wish.one { vec![each.concat()] } else { each.to_vec() };
        for group in each.into_iter().filter(|g| !g.is_empty()) {
            *groups.entry(group).or_default() += 1;
        }
    }
    groups
}

/// What claims take that are yet to be made, each from one of the pools where it can be made.
fn yet_to_be_made<'o>(pools: &[Pool], openings: impl IntoIterator<Item = &'o Opening>) -> Groups {
    let mut groups = Groups::new();
    for opening in openings {
        let wishes = opening.sites.iter().flat_map(|site| &site.claim.wishes);
        let group: Vec<usize> = wishes.flat_map(|w| plan::candidates(pools, w)).flatten().collect();
        *groups.entry(group).or_default() += 1;
    }
    groups
}

/// The machines that would appear.
struct New {
    names: BTreeSet<String>,
    wanted: Groups,
}

/// Why new machines would not be served, other than for want of room.
fn unserved(sight: &Sight, decision: &Decision, new: &New) -> Vec<String> {
    let lines = decision.pending.iter().chain(&sight.survey.pending);
    let of_new = lines.filter(|l| new.names.contains(&l.name) && l.reason != Reason::PoolExhausted);
    let mut messages: Vec<String> = of_new.map(|l| l.message.clone()).collect();
    if !new.names.is_empty() && new.wanted.is_empty() && messages.is_empty() {
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
    sight.survey(config, &|_| ());
    let is_new = |owner: &Owner| names.contains(&*owner.name) && owner.uid.starts_with("new-");
    let claims: Vec<Claim> = sight.survey.claims.iter().filter(|c| is_new(&c.owner)).cloned().collect();
    let openings = sight.survey.openings.iter().filter(|o| is_new(&o.owner));
    let mut wanted = wanted(&sight.pools, &claims);
    for (group, need) in yet_to_be_made(&sight.pools, openings) {
        *wanted.entry(group).or_default() += need;
    }
    Ok(New { names, wanted })
}
