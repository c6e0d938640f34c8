//! The decision on arbitrary pools, ledgers, claims and holdings: nothing is given twice or from where it must
//! not be, what others hold stays theirs, and the same world always gets the same answer.

use super::ledger::{EPOCH, NETWORKS, objects, owner, unharmed};
use super::make::Bytes;
use mipam::addr::{Family, Span, SpanSet};
use mipam::ledger::{Head, Ledger};
use mipam::model::{
    Adopt, Claim, Gate, Holder, Holding, Match, Order, Owner, Pool, PoolChoice, PoolOrigin, Preset, Slot,
    Standing, Subject, Wish,
};
use mipam::plan::{Decision, Scope, World, candidates, cells, decide, never, usage};
use mipam::systems::openshift::MACHINE;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub const NOW: i64 = 100;

pub fn run(bytes: &[u8]) {
    let mut bytes = Bytes(bytes);
    let pools = pools(&mut bytes);
    let ledger = Ledger::read(objects(&mut bytes))
        .unwrap_or_else(|_| Ledger::read(vec![Head::first(EPOCH, &pools)]).unwrap());
    let mut claims = bytes.some(8, claim);
    // An object has one claim at most.
    claims.sort_by(|a, b| a.owner.cmp(&b.owner));
    claims.dedup_by(|a, b| a.owner.same_name(&b.owner));
    let holdings = bytes.some(8, |b| holding(b, &claims));
    let mut gone: BTreeSet<Arc<Owner>> = bytes.some(4, owner).into_iter().collect();
    let live = |o: &Owner| claims.iter().any(|c| *c.owner == *o);
    gone.retain(|o| !o.is_hold() && !live(o) && !holdings.iter().any(|h| holds(h, o)));
    let scope = Scope {
        namespace: bytes.one_in(6).then(|| "ns".to_owned()),
        systems: bytes.one_in(12).then(|| vec!["openshift".to_owned()]),
        only: None,
    };
    let world = World {
        pools: &pools,
        ledger: &ledger,
        gone: &gone,
        claims: &claims,
        holdings: &holdings,
        block_pools: &[],
        taken: &[],
        at_once: None,
        scope: &scope,
        now: NOW,
    };
    let decision = decide(world);
    assert_eq!(format!("{decision:?}"), format!("{:?}", decide(world)), "the same world, another answer");
    usable(world, &decision);
    alone(world, &decision);
    unharmed(&ledger, &decision.changes);
    counted(world, &decision);
}

fn holds(holding: &Holding, owner: &Owner) -> bool {
    holding.holder.as_ref().is_some_and(|h| *h.owner == *owner)
}

/// Pools as a config may have them: of one family, of one or more ranges that share nothing within a network.
fn pools(bytes: &mut Bytes<'_>) -> Vec<Pool> {
    let mut pools: Vec<Pool> = Vec::new();
    let mut taken: BTreeMap<&str, SpanSet> = BTreeMap::new();
    for at in 0..4 {
        let network = *bytes.pick(&NETWORKS[..]);
        let taken = taken.entry(network).or_default();
        let mut ranges: Vec<Span> = Vec::new();
        for _ in 0..1 + bytes.below(3) {
            let first = bytes.address();
            let (from, _) = Span::single(first).bounds();
            let span = Span::new(Family::of(first), from, from.saturating_add(u128::from(bytes.byte() % 12)));
            let other_family = ranges.first().is_some_and(|r| r.family() != span.family());
            if !other_family && taken.count_in(span) == 0 {
                taken.insert(span);
                ranges.push(span);
            }
        }
        let Some(family) = ranges.first().map(Span::family) else { continue };
        let within = |bytes: &mut Bytes<'_>| {
            ranges[0].family().address(ranges[0].bounds().0.saturating_add(bytes.below(3) as u128))
        };
        let names = ["a", "b", "ns/c", "d"];
        let mut reserved: BTreeMap<String, _> = BTreeMap::new();
        if bytes.one_in(4) {
            let address = within(bytes);
            if ranges[0].contains(address) {
                reserved.insert(bytes.pick(&names).to_string(), address);
            }
        }
        pools.push(Pool {
            name: format!("p{at}").into(),
            origin: PoolOrigin::Config,
            network: network.into(),
            family,
            prefix: *bytes.pick(if family == Family::V4 {
                &[24, 28, 31, 32, 0]
            } else {
                &[64, 124, 127, 128, 0]
            }),
            gateway: bytes.one_in(3).then(|| within(bytes)),
            nameservers: bytes.some(1, Bytes::address),
            search_domains: vec![],
            exclude: bytes.some(2, |b| Span::single(b.address())).into_iter().collect(),
            reserved,
            reuse_after: i64::from(bytes.one_in(3)) * 60,
            interfaces: vec![],
            matches: Match {
                namespaces: bytes.some(1, |_| "ns".to_owned()),
                networks: bytes.some(1, |_| "lab".to_owned()),
                ..Match::default()
            },
            order: *bytes.pick(&[Order::Lowest, Order::Spread]),
            edges: false,
            foreign: bytes.one_in(8),
            ranges,
        });
    }
    pools
}

fn choice(bytes: &mut Bytes<'_>) -> PoolChoice {
    if bytes.one_in(6) {
        let names = ["p0", "p1", "p2", "p3", "none"];
        return PoolChoice::Named(bytes.some(3, |b| b.pick(&names).to_string().into()));
    }
    PoolChoice::Matching(Arc::new(Subject {
        system: "openshift",
        namespace: bytes.pick(&["ns", "other"]).to_string(),
        network: bytes.one_in(2).then(|| "lab".to_owned()),
        labels: BTreeMap::new(),
        family: *bytes.pick(&[None, None, Some(Family::V4), Some(Family::V6)]),
    }))
}

fn claim(bytes: &mut Bytes<'_>) -> Claim {
    let devices = bytes.below(4);
    let wish = |bytes: &mut Bytes<'_>, device: usize| Wish {
        device: device.to_string().into(),
        pools: choice(bytes),
        asks: bytes.one_in(6).then(|| bytes.address()),
        one: bytes.one_in(5),
    };
    Claim {
        owner: owner(bytes),
        wishes: (0..devices).map(|d| wish(bytes, d)).collect(),
        presets: bytes.some(1, |b| Preset { device: "9".into(), address: b.address(), pools: choice(b) }),
        gate: *bytes.pick(&[Gate::Closed, Gate::Closed, Gate::Asked, Gate::Open]),
        stands_for: None,
    }
}

fn holding(bytes: &mut Bytes<'_>, claims: &[Claim]) -> Holding {
    let owner =
        if bytes.one_in(2) && !claims.is_empty() { bytes.pick(claims).owner.clone() } else { owner(bytes) };
    let known = bytes.one_in(2).then(|| Holder { owner: owner.clone(), device: "0".into() });
    Holding {
        address: bytes.address(),
        seen_on: MACHINE.at(&owner.namespace, &owner.name).into(),
        stands_for: (known.is_none() && bytes.one_in(2)).then(|| (*owner.name).into()),
        holder: known,
        pools: bytes.one_in(2).then(|| choice(bytes)),
        adopt: *bytes.pick(&[Adopt::No, Adopt::IfFree, Adopt::Always, Adopt::Alone]),
    }
}

/// What is given lies in its pool, in one of those that were asked for, and may be given at all.
fn usable(world: World<'_>, decision: &Decision) {
    for served in &decision.served {
        let claim = &world.claims[served.claim];
        assert!(world.scope.serves(&claim.owner));
        // What it gets, then what a person has put on it.
        let (slots, presets) = served.slots.split_at(served.given.len());
        let set = |slot: &Slot| claim.presets.iter().any(|p| p.address == slot.address);
        assert!(presets.iter().all(set), "{presets:?} of {claim:?}");
        for (given, slot) in served.given.iter().zip(slots) {
            assert_eq!(given.address, slot.address);
            let at = world.pools.iter().position(|p| p.name == given.pool).unwrap();
            let pool = &world.pools[at];
            assert!(pool.network == slot.network && pool.contains(given.address), "{given:?}");
            // What it had before is given back whatever has become of the pool.
            if claim.gate == Gate::Open {
                continue;
            }
            assert!(!never(pool, world.pools).contains(given.address), "{given:?} of {pool:?}");
            let wish = claim.wishes.iter().find(|w| w.device == given.device).unwrap();
            assert!(candidates(world.pools, wish).iter().flatten().any(|p| *p == at), "{given:?}");
            let kept = pool.reserved.values().any(|a| *a == given.address);
            assert!(!kept || pool.reserved_for(&claim.owner) == Some(given.address), "{given:?} is reserved");
        }
    }
}

/// No slot is given twice, and none that another holds by the ledger or is seen with.
fn alone(world: World<'_>, decision: &Decision) {
    let mut given: BTreeMap<&Slot, &Owner> = BTreeMap::new();
    let unreadable: BTreeSet<_> = world.ledger.unreadable().iter().filter_map(|u| u.address).collect();
    for served in &decision.served {
        let claim = &world.claims[served.claim];
        // What a person has put on it is not given.
        for slot in &served.slots[..served.given.len()] {
            if let Some(other) = given.insert(slot, &claim.owner) {
                panic!("{slot:?} is given to {other} and to {}", claim.owner);
            }
            if claim.gate == Gate::Open {
                continue;
            }
            assert!(!unreadable.contains(&slot.address), "{slot:?} has an entry that cannot be read");
            let entry = world.ledger.allocations().get(slot);
            let other = |o: &Owner| !o.same(&claim.owner) && !world.gone.contains(o);
            if let Some(entry) = entry.filter(|e| matches!(e.standing, Standing::Bound)) {
                let stranger = entry.holders.iter().find(|h| other(&h.owner));
                assert!(stranger.is_none(), "{slot:?} is given to {} and held: {entry:?}", claim.owner);
            }
            // Where it cannot be told which network an address was seen in, it counts in all of them.
            let seen = world.holdings.iter().filter(|h| h.address == slot.address && h.pools.is_none());
            for holding in seen {
                let theirs = match &holding.holder {
                    Some(holder) => holding.adopt != Adopt::IfFree && !holder.owner.same(&claim.owner),
                    None => entry.is_none(),
                };
                assert!(!theirs, "{slot:?} is given to {} and in use: {holding:?}", claim.owner);
            }
            if let Some(Standing::Cooling { until }) = entry.map(|e| &e.standing)
                && *until > NOW
            {
                let own = entry.unwrap().holders.iter().any(|h| h.owner.same_name(&claim.owner));
                assert!(own, "{slot:?} rests and is given to {}", claim.owner);
            }
        }
    }
}

/// The books balance: what is counted is no more than there is.
fn counted(world: World<'_>, decision: &Decision) {
    for (pool, line) in world.pools.iter().zip(usage(world, &decision.changes)) {
        assert!(line.used + line.cooling + line.reserved + line.free <= line.total, "{line:?}");
        assert!(line.percent() <= 100);
        let cells = cells(world, &decision.changes, pool);
        assert!(cells.keys().all(|a| pool.contains(*a)), "{cells:?}");
    }
}
