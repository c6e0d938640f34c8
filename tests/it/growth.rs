//! How cost grows: ratios of runs beside each other, never absolute times.

use mipam::addr::parse_span;
use mipam::ledger::{Head, Ledger};
use mipam::model::{Claim, Gate, Match, Order, Owner, Pool, PoolChoice, PoolOrigin, Subject, Wish};
use mipam::plan::{Scope, World, decide};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

fn pool(range: &str, prefix: u8) -> Pool {
    let range = parse_span(range).unwrap();
    Pool {
        name: "lab".into(),
        origin: PoolOrigin::Config,
        network: "".into(),
        family: range.family(),
        ranges: vec![range],
        prefix,
        gateway: None,
        nameservers: vec![],
        search_domains: vec![],
        exclude: [].into_iter().collect(),
        reserved: [].into(),
        reuse_after: 0,
        interfaces: vec![],
        matches: Match::default(),
        order: Order::Lowest,
        edges: false,
        foreign: false,
    }
}

/// The best of several decisions on so many claims.
fn time(range: &str, prefix: u8, claims: u32) -> Duration {
    let pools = vec![pool(range, prefix)];
    let ledger = Ledger::read(vec![Head::first("epoch", &pools)]).unwrap();
    let subject = Arc::new(Subject { system: "openshift", ..Subject::default() });
    let claim = |i: u32| {
        let owner = Owner {
            group: "machine.openshift.io".into(),
            kind: "Machine".into(),
            namespace: "ns".into(),
            name: format!("m-{i:07}").into(),
            uid: format!("uid-{i}").into(),
            system: "openshift".into(),
        };
        let wish =
            Wish { device: "0".into(), pools: PoolChoice::Matching(subject.clone()), asks: None, one: false };
        Claim {
            owner: Arc::new(owner),
            wishes: vec![wish],
            presets: vec![],
            gate: Gate::Closed,
            stands_for: None,
        }
    };
    let all: Vec<Claim> = (0..claims).map(claim).collect();
    let (gone, scope) = (BTreeSet::new(), Scope::default());
    let world = World {
        pools: &pools,
        ledger: &ledger,
        gone: &gone,
        claims: &all,
        holdings: &[],
        block_pools: &[],
        taken: &[],
        at_once: None,
        scope: &scope,
        now: 0,
    };
    let once = || {
        let start = Instant::now();
        let decision = decide(world);
        let took = start.elapsed();
        assert_eq!(decision.served.len(), claims as usize);
        took
    };
    (0..5).map(|_| once()).min().unwrap()
}

#[test]
fn a_64_allocates_in_the_time_of_a_24() {
    let (small, huge) = (time("10.0.0.0/24", 24, 250), time("fd00::/64", 64, 250));
    assert!(huge < small * 4, "a /24 takes {small:?}, a /64 {huge:?}");
}

#[test]
fn planning_is_close_to_linear() {
    let (few, many) = (time("fd00::/64", 64, 3_000), time("fd00::/64", 64, 60_000));
    // Twenty times the claims: linear is 20, with log n about 28, quadratic 400.
    assert!(many < few * 60, "3,000 claims take {few:?}, 60,000 take {many:?}");
}
