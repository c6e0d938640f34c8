//! `mipam check-capacity`: is there room? Those who already wait come first, as they will in a pass.

use super::context::{self, Context};
use super::{ExitStatus, Failure};
use crate::addr::Family;
use crate::cli::{CheckCapacity, Reference};
use crate::cluster::dir::Mode;
use crate::model::{API_VERSION, CapacityReport, Claim, Kind, Object, PoolNeed, Reason};
use crate::output;
use crate::pass::{self, Sight};
use crate::plan::{self, Scope};
use crate::systems;
use std::collections::BTreeMap;

pub(super) async fn run(context: &Context<'_>, command: &CheckCapacity) -> Result<ExitStatus, Failure> {
    let config = context.config()?;
    if let Some(name) = &command.pool {
        context::pool(&config.pools, name)?;
    }
    let parent = command.owner.as_ref().map(parent_kind).transpose()?;
    let cluster = context.cluster(Mode::ReadOnly).await?;
    let bar = context.bar();
    let mut pass = context.pass(&*cluster, &config, &bar)?;
    pass.scope = Scope::default();
    let mut sight = pass.look().await?;

    let waiting = plan::decide(sight.world(&pass.scope, pass.now));
    let mut pools: Vec<PoolNeed> = plan::usage(sight.world(&pass.scope, pass.now), &waiting.changes)
        .into_iter()
        .map(|pool| PoolNeed { pool, need: 0, short: 0 })
        .collect();
    let mut messages = Vec::new();
    let groups = match (&command.owner, parent, command.replicas) {
        (Some(reference), Some(kind), Some(replicas)) => {
            let target = kind.at(reference.namespace.as_deref().unwrap_or("default"), &reference.name);
            let object = cluster.get(&target).await?;
            let new = scaled(&mut sight, (kind, &object), replicas as usize, &config);
            let decision = plan::decide(sight.world(&pass.scope, pass.now));
            let is_new = |name: &str| new.iter().any(|c| *c.owner.name == *name);
            for line in decision.pending.iter().chain(&sight.survey.pending).filter(|l| is_new(&l.name)) {
                if line.reason != Reason::PoolExhausted && !messages.contains(&line.message) {
                    messages.push(line.message.clone());
                }
            }
            wanted(&sight, &new)
        }
        _ => any(&sight, command.pool.as_deref(), command.need.unwrap_or(0)),
    };
    drop(pass);
    drop(bar);
    let report = report(&mut pools, &groups, messages, command.pool.as_deref());
    context.printer.data(&output::capacity::render(&report, context.printer.look()))?;
    Ok(if report.fits { ExitStatus::Fine } else { ExitStatus::Finding })
}

/// How many addresses are wanted of pools that stand in for one another.
type Groups = BTreeMap<Vec<usize>, u128>;

fn report(
    pools: &mut Vec<PoolNeed>,
    groups: &Groups,
    messages: Vec<String>,
    only: Option<&str>,
) -> CapacityReport {
    let mut short = 0u128;
    for (group, need) in groups {
        let mut left = *need;
        for at in group {
            let take = left.min(pools[*at].pool.free.saturating_sub(pools[*at].need));
            pools[*at].need += take;
            left -= take;
        }
        if let (Some(first), true) = (group.first(), left > 0) {
            pools[*first].need += left;
            pools[*first].short += left;
            short += left;
        }
    }
    let asked: Vec<usize> = groups.keys().flatten().copied().collect();
    let need = groups.values().fold(0u128, |sum, n| sum.saturating_add(*n));
    let free = asked.iter().collect::<std::collections::BTreeSet<_>>();
    let free = free.into_iter().fold(0u128, |sum, p| sum.saturating_add(pools[*p].pool.free));
    let mut at = 0;
    pools.retain(|p| {
        at += 1;
        only.is_none_or(|o| o == p.pool.name) && (groups.is_empty() || asked.contains(&(at - 1)))
    });
    CapacityReport {
        api_version: API_VERSION,
        kind: "CapacityReport",
        fits: short == 0 && messages.is_empty(),
        need,
        free,
        short,
        pools: std::mem::take(pools),
        messages,
    }
}

/// So many machines with one address of each family, from any pool or from one.
fn any(sight: &Sight, pool: Option<&str>, need: u128) -> Groups {
    let of = |family: Family| -> Vec<usize> {
        let fits = |at: &usize| {
            sight.pools[*at].family == family && pool.is_none_or(|p| p == &*sight.pools[*at].name)
        };
        (0..sight.pools.len()).filter(fits).collect()
    };
    Family::BOTH.into_iter().map(of).filter(|g| !g.is_empty()).map(|g| (g, need)).collect()
}

fn wanted(sight: &Sight, new: &[Claim]) -> Groups {
    let mut groups = Groups::new();
    for group in new.iter().flat_map(|c| &c.wishes).flat_map(|w| plan::candidates(&sight.pools, w)) {
        if !group.is_empty() {
            *groups.entry(group).or_default() += 1;
        }
    }
    groups
}

/// Adds the machines that would appear, and returns their claims.
fn scaled(
    sight: &mut Sight,
    parent: (Kind, &Object),
    replicas: usize,
    config: &crate::config::Config,
) -> Vec<Claim> {
    let system = systems::ALL.iter().find_map(|s| s.scaled(&sight.seen.observed, parent, replicas));
    let mut names = Vec::new();
    for (kind, object) in system.unwrap_or_default() {
        names.push(object.name().to_owned());
        sight.seen.observed.insert(kind, vec![object]);
    }
    names.sort();
    sight.survey = pass::survey(&sight.seen, config);
    let is_new = |c: &&Claim| {
        names.binary_search_by(|n| n.as_str().cmp(&c.owner.name)).is_ok() && c.owner.uid.starts_with("new-")
    };
    sight.survey.claims.iter().filter(is_new).cloned().collect()
}

fn parent_kind(reference: &Reference) -> Result<Kind, Failure> {
    let kinds: Vec<Kind> = systems::ALL.iter().flat_map(|s| s.parents()).copied().collect();
    context::kind(reference, &kinds)
}
