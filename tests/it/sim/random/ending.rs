//! What must be so once the faults have stopped.

use super::people::Touched;
use super::runs::{Run, World};
use super::setup::Setup;
use crate::sim::check::{Entry, Machine, Mirror, Standing, within};
use mipam::config::Config;
use mipam::model::{Pool, Reason};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::rc::Rc;

/// How a world ended.
#[derive(Debug, Default)]
pub struct End {
    /// Each machine that is served and on which nobody has laid hands: for each device, how many addresses of
    /// IPv4 and of IPv6 it has.
    served: BTreeMap<String, Vec<(usize, usize)>>,
    /// There was enough for everybody.
    room: bool,
}

/// L1: two passes reach the final state, and the next makes no write. L3 and with it L2: nobody waits who could
/// be served, whoever else is in a bad way. Nothing is held by those who are gone.
///
/// `setups` are the configurations so far. A person who is told that a change to the pools is refused goes back
/// to the one before.
pub async fn settle(world: &Rc<World>, setups: &[Setup], now: i64, touched: &Touched) -> End {
    for setup in setups.iter().rev() {
        let config = setup.config();
        let mut last = None;
        for round in 0..3 {
            let outcome = match Run::whole(world, &config, now).await {
                Ok(outcome) => outcome,
                Err(mipam::observe::ObserveError::Cluster(error)) => panic!("a pass without faults: {error}"),
                Err(_) if round == 0 => break,
                Err(error) => panic!("refused after it was accepted: {error}"),
            };
            let changed: Vec<String> = outcome.changed.iter().map(|c| format!("{:?}", c.after)).collect();
            assert!(round < 2 || changed.is_empty(), "L1: the third pass writes {changed:?}");
            last = Some(outcome);
        }
        let Some(outcome) = last else { continue };
        let mirror = &world.checker.borrow().world;
        leaks(mirror, touched);
        for (uid, machine) in &mirror.machines {
            waits_with_reason(uid, machine, mirror, &config, now);
        }
        let full = |r: Reason| matches!(r, Reason::PoolExhausted | Reason::AddressUnavailable);
        return End {
            served: served(mirror, touched),
            room: !outcome.report.pending.iter().any(|p| full(p.reason)),
        };
    }
    panic!("no configuration is accepted any more");
}

/// D: where there is room for everybody, the faults make no difference: the same machines are served, with as many
/// addresses of each family on each device, as after the same acts of the same people with whole passes
/// only. Which addresses they are depends on who came first, and so does, where room is scarce, who gets
/// any; and what becomes of a machine that somebody laid hands on depends on whether it was served by then. That
/// nothing is lost in those cases is what [`settle`] checks.
pub fn compare(faulty: &End, clean: &End) {
    if faulty.room && clean.room {
        assert_eq!(faulty.served, clean.served, "D: with faults, and without");
    }
}

fn served(world: &Mirror, touched: &Touched) -> BTreeMap<String, Vec<(usize, usize)>> {
    let untouched = |m: &&Machine| !touched.iter().any(|t| m.name == format!("m{t}"));
    let settled = world.machines.values().filter(untouched).filter(|m| !m.paused && !m.deleting && !m.gated);
    let count = |d: &Vec<IpAddr>| {
        let v4 = d.iter().filter(|a| a.is_ipv4()).count();
        (v4, d.len() - v4)
    };
    settled.map(|m| (m.name.clone(), m.devices.iter().map(count).collect())).collect()
}

/// What the ledger holds, it holds for somebody who lives; and for a machine that is served and was left alone,
/// exactly what it carries, and what somebody else came to use or to hold before it was given.
fn leaks(world: &Mirror, touched: &Touched) {
    let mut held: BTreeMap<&str, BTreeSet<IpAddr>> = BTreeMap::new();
    for entry in world.entries().filter(|e| !matches!(e.standing, Standing::Cooling(_))) {
        for holder in &entry.holders {
            assert!(
                world.machines.contains_key(&holder.uid),
                "leak: {} is held by somebody who is gone: {entry:?}",
                entry.address
            );
            held.entry(&holder.uid).or_default().insert(entry.address);
        }
    }
    for (uid, machine) in &world.machines {
        let left_alone = !touched.iter().any(|t| machine.name == format!("m{t}"));
        if left_alone && !machine.gated && !machine.paused && !machine.deleting {
            let mut held = held.get(uid.as_str()).cloned().unwrap_or_default();
            let elsewhere =
                |a: &IpAddr| world.machines.iter().any(|(u, m)| u != uid && m.carried().contains(a));
            let shown = world.shown();
            let shared = |a: &IpAddr| world.entries().any(|e| e.address == *a && e.holders.len() > 1);
            let others = |a: &IpAddr| elsewhere(a) || shown.contains(a) || shared(a);
            held.retain(|a| machine.carried().contains(a) || !others(a));
            assert_eq!(held, machine.carried(), "leak: what the ledger has for {}", machine.name);
        }
    }
}

/// A machine that waits: is there really nothing for it?
fn waits_with_reason(uid: &str, machine: &Machine, world: &Mirror, config: &Config, now: i64) {
    // A person has to do something first.
    let by_hand = machine.devices.iter().any(|d| !d.is_empty());
    if !machine.gated || machine.deleting || machine.paused || machine.unreadable || by_hand {
        return;
    }
    let own = |e: &Entry| e.holders.iter().any(|h| h.uid == *uid);
    let fits = |p: &&Pool| p.matches.labels.iter().all(|(k, v)| machine.labels.get(k) == Some(v));
    let mut offered = false;
    let mut enough = true;
    for v4 in [true, false] {
        let fitting: Vec<&Pool> =
            config.pools.iter().filter(fits).filter(|p| p.ranges[0].first().is_ipv4() == v4).collect();
        let Some(first) = fitting.first() else { continue };
        let pools: Vec<&Pool> = fitting.iter().copied().filter(|p| p.network == first.network).collect();
        offered = true;
        let offers = |e: &Entry| pools.iter().any(|p| *p.network == *e.network && within(p, e.address));
        // What it holds from other pools is not taken from it: a person has to put the range back.
        if world.entries().any(|e| own(e) && e.address.is_ipv4() == v4 && !offers(e)) {
            return;
        }
        // An address that was promised to its name, it gets or none.
        let blocked = blocked(world, uid, config, now);
        if pools.iter().any(|p| p.reserved.get(&machine.name).is_some_and(|a| blocked.contains(a))) {
            return;
        }
        enough &= free(&pools, &blocked) >= machine.devices.len() as u128;
    }
    assert!(!offered || !enough, "L3: {} waits although there is room: {machine:?}", machine.name);
}

/// What a machine cannot get, in whatever network.
fn blocked(world: &Mirror, uid: &str, config: &Config, now: i64) -> BTreeSet<IpAddr> {
    let taken = |e: &&Entry| match e.standing {
        Standing::Cooling(until) => until > now,
        _ => !e.holders.iter().all(|h| h.uid == *uid),
    };
    let mut blocked: BTreeSet<IpAddr> = world.entries().filter(taken).map(|e| e.address).collect();
    blocked.extend(world.shown());
    blocked.extend(world.machines.iter().filter(|(u, _)| *u != uid).flat_map(|(_, m)| m.carried()));
    blocked.extend(config.pools.iter().flat_map(|p| p.gateway.iter().chain(&p.nameservers)));
    blocked
}

/// At least so many addresses of these pools are left.
fn free(pools: &[&Pool], blocked: &BTreeSet<IpAddr>) -> u128 {
    let of = |pool: &&Pool| {
        let reserved = pool.reserved.values().copied();
        let blocked: BTreeSet<IpAddr> = blocked.iter().copied().chain(reserved).collect();
        let used = blocked.into_iter().filter(|a| within(pool, *a)).count() as u128;
        let used = used + pool.ranges.iter().map(|r| pool.exclude.count_in(*r)).sum::<u128>();
        let size: u128 = pool.ranges.iter().map(|r| r.bounds().1 - r.bounds().0 + 1).sum();
        // An edge of the subnet, at worst.
        size.saturating_sub(used + u128::from(pool.ranges.iter().any(|r| r.bounds().0 & 0xff == 0)))
    };
    pools.iter().map(of).sum()
}
