//! The decision: who gets which address, what is freed, what waits and why. Synchronous and deterministic:
//! the same world gives the same decision, byte for byte.

mod audit;
mod blocks;
mod board;
mod capacity;
mod choose;
mod figures;
mod findings;
mod obstacles;
mod place;
mod records;
mod release;
#[cfg(test)]
mod tests;

pub use audit::audit;
pub use board::unusable as never;
pub use capacity::{Cell, cells, usage};
pub use choose::candidates;
pub use figures::figures;
pub use place::place;
pub use release::{Meant, release};

use crate::ledger::{Change, Ledger};
use crate::model::{
    Allocation, BlockPool, Claim, Gate, Given, Holding, Owner, PendingLine, Pool, Problem, Reason, Seconds,
    Slot, Taken,
};
use blocks::Blocks;
use board::Board;
use choose::Chooser;
use records::Records;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// All that a decision depends on.
#[derive(Clone, Copy)]
pub struct World<'a> {
    /// Pools in order.
    pub pools: &'a [Pool],
    /// What is recorded.
    pub ledger: &'a Ledger,
    /// Owners in the ledger that a live look has shown to be gone.
    pub gone: &'a BTreeSet<Arc<Owner>>,
    /// Who wants addresses.
    pub claims: &'a [Claim],
    /// What is in use.
    pub holdings: &'a [Holding],
    /// Pools that blocks are given from.
    pub block_pools: &'a [BlockPool],
    /// What no block may have.
    pub taken: &'a [Taken],
    /// How many blocks the ledger may have whose owners do not show them yet; `None`: any number, as nothing is
    /// written.
    pub at_once: Option<usize>,
    /// Who is served; everybody is observed.
    pub scope: &'a Scope,
    /// The time.
    pub now: Seconds,
}

/// Who is served: what `-n` and `--systems` leave.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// Only owners in this namespace.
    pub namespace: Option<String>,
    /// Only these systems.
    pub systems: Option<Vec<String>>,
    /// Only this owner.
    pub only: Option<Arc<Owner>>,
}

impl Scope {
    /// Is this owner served?
    pub fn serves(&self, owner: &Owner) -> bool {
        self.only.as_ref().is_none_or(|o| o.same(owner))
            && self.namespace.as_deref().is_none_or(|n| n == &*owner.namespace)
            && self.serves_system(&owner.system)
    }

    /// Is this system served?
    pub fn serves_system(&self, system: &str) -> bool {
        self.systems.as_ref().is_none_or(|list| list.iter().any(|s| s == system))
    }
}

/// What is to be done, with no choices left.
#[derive(Clone, Debug, Default)]
pub struct Decision {
    /// Owners whose addresses are decided and shall be written to them.
    pub served: Vec<Served>,
    /// Claims that wait.
    pub pending: Vec<PendingLine>,
    /// The places in [`World::claims`] of those that wait, in the order of [`Decision::pending`].
    pub unmet: Vec<usize>,
    /// Things for a person to look at.
    pub problems: Vec<Problem>,
    /// Entries that are freed.
    pub released: Vec<Allocation>,
    /// Changes to the ledger, by address.
    pub changes: BTreeMap<Slot, Change>,
    /// Home entries to be made binding, or to be withdrawn, once all of [`Decision::changes`] are recorded.
    pub binds: BTreeMap<Slot, Allocation>,
    /// Owners that lose an entry though they exist, because they have another address instead. A list may be old:
    /// they are looked at once more before anything is taken from them.
    pub loses: BTreeSet<Arc<Owner>>,
    /// What is taken out of the ledger here is free for others only when that is done, or when its owner is
    /// written: deciding once more right after that does more.
    pub unsettled: bool,
}

impl Decision {
    /// An entry as this decision leaves it, from what it was.
    fn leaves<'d>(&'d self, slot: &Slot, before: Option<&'d Allocation>) -> Option<&'d Allocation> {
        match self.changes.get(slot) {
            Some(Change::Put(new)) => Some(new),
            Some(Change::Remove) => None,
            None => before,
        }
    }
}

/// The addresses of one claim.
#[derive(Clone, Debug)]
pub struct Served {
    /// Its place in [`World::claims`].
    pub claim: usize,
    /// What it gets.
    pub given: Vec<Given>,
    /// Where the ledger has it, and what a person has put on its owner before.
    pub slots: Vec<Slot>,
}

/// Decides. Existing allocations and everything seen in use are occupied before anything is given out.
pub fn decide(world: World<'_>) -> Decision {
    chosen(world).1
}

/// A decision, and what it leaves to be given out.
fn chosen(world: World<'_>) -> (Chooser<'_>, Decision) {
    let mut decision = Decision::default();
    let mut board = Board::new(world.pools);
    let records = Records::read(world, &mut board, &mut decision);
    let in_use = findings::occupy(world, &records, &mut board, &mut decision);
    let mut chooser = Chooser::new(world, board, records, in_use);
    let mut blocks = Blocks::new(world, &mut decision);

    let mut order: Vec<usize> = (0..world.claims.len()).collect();
    order.sort_by(|a, b| rank(&world.claims[*a]).cmp(&rank(&world.claims[*b])));
    chooser.promise(&order);
    for at in order {
        let claim = &world.claims[at];
        if !world.scope.serves(claim.whose()) {
            continue;
        }
        let met = if claim.wants_blocks() {
            blocks.choose(claim, &mut decision).map(Some)
        } else {
            chooser.choose(claim, &mut decision)
        };
        match met {
            Ok(Some((given, slots))) => decision.served.push(Served { claim: at, given, slots }),
            Ok(None) => {}
            Err(why) => {
                let (device, owner) = (claim.device(&why.device), claim.whose());
                let line = PendingLine::of(owner, device, &why.pool, why.reason, why.message);
                decision.pending.push(line);
                decision.unmet.push(at);
            }
        }
    }
    blocks.finish(&mut decision);
    decision.unsettled |= !decision.unmet.is_empty() && chooser.kept_in_vain(&decision);
    (chooser, decision)
}

/// What a person asks for by name comes first, then by name.
fn rank(claim: &Claim) -> (bool, &Owner) {
    (claim.gate != Gate::Asked, &claim.owner)
}

/// Why a claim cannot be met.
#[derive(Debug)]
struct Unmet {
    device: String,
    pool: String,
    reason: Reason,
    message: String,
}
