//! `mipam status`: pools, allocations, what waits and what is wrong. Nothing is written.

use super::context::{self, Context};
use super::{ExitStatus, Failure};
use crate::cli::Status;
use crate::cluster::dir::Mode;
use crate::ledger::Shrunk;
use crate::model::{
    API_VERSION, Allocated, PendingLine, Pool, Problem, Reason, Slot, Standing, StatusReport,
};
use crate::output::{self, map};
use crate::pass::{self, Sight};
use crate::plan::{self, Cell, Decision, World};
use std::collections::BTreeMap;

/// Addresses that a map draws at most.
const LARGEST_MAP: usize = 1024;
const ROW: usize = 64;

pub(super) async fn run(context: &Context<'_>, command: &Status) -> Result<ExitStatus, Failure> {
    let cluster = context.cluster(Mode::ReadOnly).await?;
    let config = context.config_with(&*cluster, &command.ranges).await?;
    let bar = context.bar();
    let pass = context.pass(&*cluster, &config, &bar)?;
    let sight = pass.look().await?;
    if let Some(name) = &command.pool {
        context::any_pool(&sight, name)?;
    }
    let world = sight.world(&pass.scope, pass.now);
    let decision = plan::decide(world);
    let shown = |pool: &str| {
        let of =
            |name: &String| pool == name || sight.pools.iter().any(|p| *p.name == *pool && p.is_of(name));
        command.pool.as_ref().is_none_or(of)
    };
    let mut report = StatusReport {
        api_version: API_VERSION,
        kind: "StatusReport",
        pools: plan::usage(world, &BTreeMap::new()),
        allocations: allocations(&sight),
        claims: sight.survey.listed.clone(),
        pending: pending(&sight, &decision),
        problems: sight
            .survey
            .problems
            .iter()
            .chain(&sight.seen.problems)
            .chain(&decision.problems)
            .cloned()
            .chain(plan::audit(world, &decision))
            .chain(pass.shrunk(&sight).iter().map(removed))
            .collect(),
    };
    report.pools.retain(|p| shown(&p.name));
    report.allocations.retain(|a| shown(&a.pool));
    report.pending.retain(|p| p.pool.is_empty() || shown(&p.pool));
    report.pending.sort();
    report.problems.sort();
    report.problems.dedup();
    let maps = if command.map {
        sight.pools.iter().filter(|p| shown(&p.name)).map(|p| draw(world, p)).collect()
    } else {
        Vec::new()
    };
    drop(pass);
    drop(bar);
    context.say(&sight.survey.warnings, &sight.seen.notes);
    let details = output::status::Details { addresses: command.addresses, maps: &maps };
    context.printer.data(&output::status::render(&report, context.printer.look(), &details))?;
    let fine = report.pending.is_empty() && report.problems.is_empty();
    Ok(if fine { ExitStatus::Fine } else { ExitStatus::Finding })
}

/// A range that reconcile would refuse to lose.
fn removed(shrunk: &Shrunk) -> Problem {
    let message = format!("{shrunk}, so reconcile refuses it: {}", shrunk.advice());
    Problem::new("RangeRemoved", &format!("Pool/{}", shrunk.pool), message)
}

fn allocations(sight: &Sight) -> Vec<Allocated> {
    let entries = sight.seen.ledger.allocations().values();
    let held = entries.filter(|a| !matches!(a.standing, Standing::Cooling { .. }));
    let recorded = held.flat_map(|a| pass::lines(a, sight));
    // What Nodes show is not in the ledger any more, or not for long.
    let shown = sight.survey.taken.iter().filter_map(|taken| {
        let (address, prefix) = taken.block();
        let in_ledger = sight.seen.ledger.allocations().contains_key(&Slot::block(address, prefix));
        let mut pools = sight.survey.block_pools.iter();
        let pool = pools.find(|pool| pool.parts.iter().any(|part| part.range.covers(&taken.span)));
        let pool = pool.map_or("", |p| &p.name);
        let owner = taken.owner().filter(|_| !in_ledger)?;
        Some(Allocated::of(owner, "", pool, address, Some(prefix), ""))
    });
    recorded.chain(shown).collect()
}

/// Those that cannot be served, and those that the next reconcile will serve.
fn pending(sight: &Sight, decision: &Decision) -> Vec<PendingLine> {
    let mut lines = sight.survey.pending.clone();
    lines.extend(decision.pending.iter().cloned());
    for served in &decision.served {
        let claim = &sight.survey.claims[served.claim];
        let given = pass::given(served, claim, &sight.pools);
        let addresses: Vec<&str> = given.iter().map(|g| g.address.as_str()).collect();
        let message = if addresses.is_empty() {
            "the next reconcile lets it go on with the addresses that it has".to_owned()
        } else {
            format!("the next reconcile gives it {}", addresses.join(" and "))
        };
        let pool = given.first().map_or("", |g| &g.pool);
        let device = given.first().map_or("", |g| &g.device);
        lines.push(PendingLine::of(&claim.owner, device, pool, Reason::Unreconciled, message));
    }
    for (opening, site) in sight.survey.openings.iter().zip(&sight.placed) {
        let Some(site) = site.filter(|_| opening.instead_of.is_none()) else { continue };
        let site = &opening.sites[site];
        let message = format!("the next reconcile claims an address of {} for it", site.pool);
        let pool = site.claim.wishes.iter().find_map(|w| w.pools.names().first());
        let pool = pool.map_or("", |name| name);
        lines.push(PendingLine::of(&opening.owner, &opening.device, pool, Reason::Unreconciled, message));
    }
    lines
}

fn draw(world: World<'_>, pool: &Pool) -> map::Map {
    let known = plan::cells(world, &BTreeMap::new(), pool);
    let never = plan::never(pool, world.pools);
    let mut rows: Vec<map::Row> = Vec::new();
    let mut left = LARGEST_MAP;
    for range in &pool.ranges {
        let (first, last) = range.bounds();
        let many = usize::try_from(last - first).map_or(left, |n| n.saturating_add(1)).min(left);
        left -= many;
        let cells: Vec<(String, map::Cell)> = (0..many as u128)
            .map(|i| {
                let address = range.family().address(first + i);
                let cell = known.get(&address).copied().unwrap_or(if never.contains(address) {
                    Cell::Unusable
                } else {
                    Cell::Free
                });
                (address.to_string(), shown(cell))
            })
            .collect();
        for row in cells.chunks(ROW) {
            rows.push(map::Row { first: row[0].0.clone(), cells: row.iter().map(|(_, c)| *c).collect() });
        }
    }
    let total = pool.ranges.iter().fold(0u128, |sum, r| sum.saturating_add(r.len().unwrap_or(u128::MAX)));
    map::Map { name: pool.name.to_string(), total, rows }
}

fn shown(cell: Cell) -> map::Cell {
    match cell {
        Cell::Free => map::Cell::Free,
        Cell::Used => map::Cell::Used,
        Cell::Cooling => map::Cell::Cooling,
        Cell::Reserved => map::Cell::Reserved,
        Cell::Unusable => map::Cell::Unusable,
    }
}
