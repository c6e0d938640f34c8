//! How full pools are, and how a pool looks address by address.

use super::board::unusable;
use super::{World, blocks};
use crate::addr::SpanSet;
use crate::ledger::Change;
use crate::model::{Pool, PoolLine, Slot, Standing};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// What an address of a pool is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cell {
    /// Can be given out.
    Free,
    /// Held or seen in use.
    Used,
    /// Freed and resting.
    Cooling,
    /// Kept for a name.
    Reserved,
    /// Never given out.
    Unusable,
}

/// The state of every pool, after these changes to the ledger.
pub fn usage(world: World<'_>, changes: &BTreeMap<Slot, Change>) -> Vec<PoolLine> {
    let mut lines: Vec<PoolLine> = world.pools.iter().map(|pool| line(world, changes, pool)).collect();
    lines.extend(blocks::usage(world, changes));
    lines
}

/// What each address of a pool that is not free is.
pub fn cells(world: World<'_>, changes: &BTreeMap<Slot, Change>, pool: &Pool) -> BTreeMap<IpAddr, Cell> {
    let mut cells = BTreeMap::new();
    for address in pool.reserved.values() {
        cells.insert(*address, Cell::Reserved);
    }
    let recorded = |slot: &Slot| match changes.get(slot) {
        Some(Change::Remove) => None,
        Some(Change::Put(a)) => Some(a.standing.clone()),
        None => world.ledger.allocations().get(slot).map(|a| a.standing.clone()),
    };
    let slots: BTreeSet<&Slot> = world.ledger.allocations().keys().chain(changes.keys()).collect();
    for slot in slots
        .into_iter()
        .filter(|s| s.block.is_none() && s.network == pool.network && pool.contains(s.address))
    {
        match recorded(slot) {
            Some(Standing::Cooling { until }) if until > world.now => {
                cells.insert(slot.address, Cell::Cooling);
            }
            None | Some(Standing::Cooling { .. }) => {}
            Some(_) => {
                cells.insert(slot.address, Cell::Used);
            }
        }
    }
    for holding in world.holdings.iter().filter(|h| pool.contains(h.address)) {
        if super::findings::networks(world.pools, holding.address, holding.pools.as_ref())
            .contains(&pool.network)
        {
            cells.insert(holding.address, Cell::Used);
        }
    }
    let unreadable = world.ledger.unreadable().iter().filter_map(|u| u.address);
    unreadable.filter(|a| pool.contains(*a)).for_each(|a| {
        cells.insert(a, Cell::Used);
    });
    let never = unusable(pool, world.pools);
    cells.retain(|address, cell| *cell == Cell::Used || !never.contains(*address));
    cells
}

fn line(world: World<'_>, changes: &BTreeMap<Slot, Change>, pool: &Pool) -> PoolLine {
    let never = unusable(pool, world.pools);
    let cells = cells(world, changes, pool);
    let count =
        |cell: Cell| cells.iter().filter(|(a, c)| **c == cell && !never.contains(**a)).count() as u128;
    let all: SpanSet = pool.ranges.iter().copied().collect();
    let total = all.spans().fold(0u128, |sum, s| sum.saturating_add(s.len().unwrap_or(u128::MAX)));
    let lost = all.spans().fold(0u128, |sum, s| sum.saturating_add(never.count_in(s)));
    let total = total.saturating_sub(lost);
    let (used, cooling, reserved) = (count(Cell::Used), count(Cell::Cooling), count(Cell::Reserved));
    PoolLine {
        name: pool.name.to_string(),
        system: pool.origin.system().to_owned(),
        total,
        used,
        free: total.saturating_sub(used).saturating_sub(cooling).saturating_sub(reserved),
        cooling,
        reserved,
        ranges: pool.ranges.iter().map(ToString::to_string).collect(),
        network: pool.network.to_string(),
        blocks: None,
    }
}
