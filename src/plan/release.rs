//! What a person's release changes: which entries are meant, what becomes of them, and what must stand on its
//! own before they go.

use super::Decision;
use crate::ledger::{Change, Ledger};
use crate::model::{Allocation, ObjectRef, Owner, Pool, Seconds, Slot, Standing};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

/// A forced release may be of an address that something still uses: it rests at least this long.
pub(super) const FORCED_REST: Seconds = 600;

/// What is to be released.
#[derive(Clone, Debug)]
pub enum Meant {
    /// Whoever holds this address.
    Address(IpAddr),
    /// All that this object holds.
    Object(ObjectRef),
    /// All that the claims of this object hold, which has none of its own.
    Claims {
        /// Whom people know them by.
        whose: ObjectRef,
        /// The claims.
        claims: BTreeSet<Arc<Owner>>,
    },
    /// All that this hold holds.
    Hold(String),
    /// These addresses, of which a report says that their owners are gone.
    Reported {
        /// The addresses.
        slots: BTreeSet<Slot>,
        /// The owners that a live look has shown to be gone, whatever the report says.
        gone: BTreeSet<Arc<Owner>>,
    },
}

impl Meant {
    /// Does this owner lose it?
    pub fn includes(&self, owner: &Owner) -> bool {
        match self {
            Self::Address(_) => true,
            Self::Reported { gone, .. } => gone.contains(owner),
            Self::Claims { claims, .. } => claims.contains(owner),
            Self::Hold(name) => owner.is_hold() && *owner.name == **name,
            Self::Object(target) => {
                owner.group == target.kind.group
                    && owner.kind == target.kind.kind
                    && *owner.namespace == *target.namespace
                    && *owner.name == *target.name
            }
        }
    }

    /// The entries that are meant, in this network or in any.
    pub fn entries(&self, ledger: &Ledger, network: Option<&str>) -> Vec<Allocation> {
        let held = ledger.allocations().values().filter(|a| !matches!(a.standing, Standing::Cooling { .. }));
        let in_network = held.filter(|a| network.is_none_or(|n| n == &*a.slot.network));
        let at = |a: &&Allocation| match self {
            Self::Address(address) => a.slot.address == *address,
            // A report names a block by its first address.
            Self::Reported { slots, .. } => slots.contains(&Slot { block: None, ..a.slot.clone() }),
            Self::Object(_) | Self::Claims { .. } | Self::Hold(_) => true,
        };
        in_network.filter(at).filter(|a| a.holders.iter().any(|h| self.includes(&h.owner))).cloned().collect()
    }
}

impl std::fmt::Display for Meant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Address(address) => address.fmt(f),
            Self::Object(target) | Self::Claims { whose: target, .. } => target.fmt(f),
            Self::Hold(name) => write!(f, "hold/{name}"),
            Self::Reported { .. } => f.write_str("the reported addresses"),
        }
    }
}

/// What is recorded, in this order. First, what hangs on an entry that goes is made to stand on its own, or goes
/// itself: after its home it would be void, and rest no longer, if the process died in between. Then the others go.
pub fn release(
    ledger: &Ledger,
    found: &[Allocation],
    meant: &Meant,
    pools: &[Pool],
    now: Seconds,
    forced: bool,
) -> [Decision; 2] {
    let (hanging, rest): (Vec<_>, Vec<_>) = found.iter().partition(|a| hangs(ledger, a));
    let go = |all: Vec<&Allocation>| -> BTreeMap<Slot, Change> {
        all.into_iter().map(|a| (a.slot.clone(), change(a, meant, pools, now, forced))).collect()
    };
    let mut first = go(hanging);
    first.extend(left_behind(ledger, found));
    [
        Decision { changes: first, ..Decision::default() },
        Decision { changes: go(rest), ..Decision::default() },
    ]
}

fn change(allocation: &Allocation, meant: &Meant, pools: &[Pool], now: Seconds, forced: bool) -> Change {
    // An address that others hold too stays theirs.
    let others: Vec<_> = allocation.holders.iter().filter(|h| !meant.includes(&h.owner)).cloned().collect();
    if !others.is_empty() {
        return Change::Put(Allocation { holders: others, ..allocation.clone() });
    }
    let rest = rest(pools, &allocation.slot);
    let rest = if forced { rest.max(FORCED_REST) } else { rest };
    if rest == 0 {
        return Change::Remove;
    }
    Change::Put(Allocation {
        standing: Standing::Cooling { until: now.saturating_add(rest) },
        ..allocation.clone()
    })
}

/// How long a freed address rests.
pub(super) fn rest(pools: &[Pool], slot: &Slot) -> Seconds {
    let own = pools.iter().filter(|p| p.network == slot.network && p.contains(slot.address));
    own.map(|p| p.reuse_after).max().unwrap_or(0)
}

/// Is it part of a binding set, and not its home? Part of any other set goes after the home, or whoever binds the set
/// would not miss it.
fn hangs(ledger: &Ledger, allocation: &Allocation) -> bool {
    let Standing::Member { home, .. } = &allocation.standing else { return false };
    let home = ledger.allocations().get(home);
    home.is_some_and(|h| matches!(&h.standing, Standing::Home { bound: true, .. }))
}

/// The members of sets whose home goes, each made binding on its own.
fn left_behind(ledger: &Ledger, found: &[Allocation]) -> BTreeMap<Slot, Change> {
    let going = |slot: &Slot| found.iter().any(|a| a.slot == *slot);
    let mut changes = BTreeMap::new();
    for allocation in ledger.allocations().values().filter(|a| !going(&a.slot)) {
        if matches!(&allocation.standing, Standing::Member { home, .. } if going(home))
            && hangs(ledger, allocation)
        {
            let alone = Allocation { standing: Standing::Bound, ..allocation.clone() };
            changes.insert(allocation.slot.clone(), Change::Put(alone));
        }
    }
    changes
}
