//! The decision on random worlds: whatever comes and goes, no address has two owners, none lies outside its
//! pool, and a second decision changes nothing.

mod blocks;
mod sets;

use super::*;
use crate::addr::parse_span;
use crate::ledger::{Head, Page, by_page};
use crate::model::Order;
use crate::model::{
    Adopt, Holder, Match, Object, ObjectRef, PoolChoice, PoolOrigin, Standing, Subject, Wish,
};
use crate::systems::openshift::MACHINE;
use proptest::prelude::*;
use std::net::IpAddr;

fn pool(name: &str, ranges: &[&str], prefix: u8) -> Pool {
    let ranges: Vec<_> = ranges.iter().map(|r| parse_span(r).unwrap()).collect();
    Pool {
        name: name.into(),
        origin: PoolOrigin::Config,
        network: "".into(),
        family: ranges[0].family(),
        prefix,
        gateway: None,
        nameservers: vec![],
        search_domains: vec![],
        exclude: [].into_iter().collect(),
        reserved: BTreeMap::new(),
        reuse_after: 0,
        interfaces: vec![],
        matches: Match::default(),
        order: Order::Lowest,
        edges: false,
        foreign: false,
        ranges,
    }
}

fn owner(name: &str, uid: u32) -> Arc<Owner> {
    Arc::new(Owner {
        group: MACHINE.group.into(),
        kind: "Machine".into(),
        namespace: "ns".into(),
        name: name.into(),
        uid: uid.to_string().into(),
        system: "openshift".into(),
    })
}

fn claim(owner: &Arc<Owner>, devices: usize) -> Claim {
    let subject = Arc::new(Subject { system: "openshift", namespace: "ns".into(), ..Subject::default() });
    let wish = |d: usize| Wish {
        device: d.to_string().into(),
        pools: PoolChoice::Matching(subject.clone()),
        asks: None,
        one: false,
    };
    Claim {
        owner: owner.clone(),
        wishes: (0..devices).map(wish).collect(),
        presets: vec![],
        gate: Gate::Closed,
        stands_for: None,
    }
}

fn holding(owner: &Arc<Owner>, device: &str, address: IpAddr) -> Holding {
    Holding {
        address,
        seen_on: Arc::new(ObjectRef { kind: MACHINE, namespace: "ns".into(), name: owner.name.to_string() }),
        holder: Some(Holder { owner: owner.clone(), device: device.into() }),
        stands_for: None,
        pools: None,
        adopt: Adopt::Always,
    }
}

/// A world that keeps its ledger between decisions.
struct Lab {
    pools: Vec<Pool>,
    ledger: Ledger,
    now: Seconds,
}

impl Lab {
    fn new(pools: Vec<Pool>) -> Self {
        let ledger = Ledger::read(vec![Head::first("e", &pools)]).unwrap();
        Self { pools, ledger, now: 1_000_000 }
    }

    fn decide(&self, claims: &[Claim], holdings: &[Holding], gone: &[Arc<Owner>]) -> Decision {
        let gone = gone.iter().cloned().collect();
        let scope = Scope::default();
        let world = World {
            pools: &self.pools,
            ledger: &self.ledger,
            gone: &gone,
            claims,
            holdings,
            block_pools: &[],
            taken: &[],
            at_once: None,
            scope: &scope,
            now: self.now,
        };
        decide(world)
    }

    fn record(&mut self, decision: &Decision) {
        let mut changes = decision.changes.clone();
        changes.extend(decision.binds.iter().map(|(s, a)| (s.clone(), Change::Put(a.clone()))));
        for (page, changes) in by_page(&changes) {
            let object: Object = self.ledger.changed(&page.name(), "e", &changes);
            self.ledger.wrote(object);
        }
    }

    fn given(&mut self, claims: &[Claim]) -> Vec<Vec<String>> {
        let decision = self.decide(claims, &[], &[]);
        self.record(&decision);
        let text = |s: &Served| s.given.iter().map(|g| g.address.to_string()).collect();
        decision.served.iter().map(text).collect()
    }
}

#[test]
fn what_a_claim_gives_back_is_no_freer_than_before() {
    // Where pools that are objects overlap, one may exclude what another has.
    let full = Pool {
        exclude: [parse_span("fd00::5").unwrap()].into_iter().collect(),
        ..pool("six", &["fd00::5"], 64)
    };
    let without = Pool {
        origin: PoolOrigin::Object("capi"),
        exclude: [parse_span("10.0.0.5").unwrap()].into_iter().collect(),
        ..pool("without", &["10.0.0.5"], 16)
    };
    let mut lab = Lab::new(vec![pool("a", &["10.0.0.5"], 16), full, without]);
    let mut other = claim(&owner("z", 2), 1);
    other.wishes[0].pools = PoolChoice::Named(vec!["without".into()]);
    assert_eq!(lab.given(&[claim(&owner("m", 1), 1), other]), [[""; 0]; 0]);
}

#[test]
fn the_edges_of_a_range_are_usable_inside_a_larger_subnet_only() {
    let claims: Vec<Claim> = (0..16).map(|i| claim(&owner(&format!("m{i:02}"), i), 1)).collect();
    let mut wide = Lab::new(vec![pool("p", &["192.168.101.64/28"], 23)]);
    let given = wide.given(&claims);
    assert_eq!(given.first().unwrap(), &["192.168.101.64"]);
    assert_eq!(given.last().unwrap(), &["192.168.101.79"]);
    let mut narrow = Lab::new(vec![pool("p", &["192.168.101.64/28"], 28)]);
    let given = narrow.given(&claims);
    assert_eq!(
        (given.len(), &given[0], &given[13]),
        (14, &vec!["192.168.101.65".to_owned()], &vec!["192.168.101.78".to_owned()])
    );
}

#[test]
fn an_ipv4_range_at_the_end_of_the_space_does_not_overflow() {
    let claims: Vec<Claim> = (0..4).map(|i| claim(&owner(&format!("m{i}"), i), 1)).collect();
    let mut lab = Lab::new(vec![pool("p", &["255.255.255.252/30"], 30)]);
    assert_eq!(lab.given(&claims), [["255.255.255.253"], ["255.255.255.254"]]);
    let mut lab = Lab::new(vec![pool("p", &["ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe/127"], 64)]);
    assert_eq!(lab.given(&claims).len(), 2);
}

#[test]
fn when_the_second_family_is_full_nothing_of_the_first_is_kept() {
    let mut lab = Lab::new(vec![pool("four", &["10.0.0.0/24"], 24), pool("six", &["fd00::2-fd00::3"], 64)]);
    let claims: Vec<Claim> = (0..3).map(|i| claim(&owner(&format!("m{i}"), i), 1)).collect();
    let decision = lab.decide(&claims, &[], &[]);
    assert_eq!((decision.served.len(), decision.pending.len()), (2, 1));
    assert_eq!(decision.changes.len(), 4, "nothing is recorded for the third");
    lab.record(&decision);
    let more = lab.decide(&claims, &[], &[]);
    assert!(more.changes.is_empty() && more.binds.is_empty(), "{more:?}");
}

#[test]
fn sets_over_several_objects_are_tentative_until_their_home_is_bound() {
    let mut lab = Lab::new(vec![pool("four", &["10.0.0.0/24"], 24), pool("six", &["fd00::/64"], 64)]);
    let m = owner("m", 1);
    let decision = lab.decide(&[claim(&m, 1)], &[], &[]);
    assert_eq!(decision.binds.len(), 1);
    let tentative = Decision { binds: BTreeMap::new(), ..decision.clone() };
    lab.record(&tentative);
    // The next pass goes on with the same addresses and only binds.
    let next = lab.decide(&[claim(&m, 1)], &[], &[]);
    assert!(next.changes.is_empty(), "{:?}", next.changes);
    assert_eq!(next.binds, decision.binds);
    // A pass that sees that nobody wants them takes them back, home and all.
    let withdrawn = lab.decide(&[], &[], &[]);
    assert_eq!(withdrawn.changes.values().filter(|c| **c == Change::Remove).count(), 2);
    // Without its home a member is void.
    lab.record(&Decision { changes: withdrawn.changes.into_iter().take(1).collect(), ..Decision::default() });
    let rest = lab.decide(&[], &[], &[]);
    assert_eq!(rest.changes.len(), 1);
    assert!(rest.released.is_empty(), "it was never bound, so nothing is released");
}

#[test]
fn a_waiting_owner_does_not_take_what_is_assigned() {
    // Owners without a record that carry an address come before those that wait, in whatever order.
    let lab = Lab::new(vec![pool("p", &["10.0.0.8/30"], 24)]);
    let (a, z) = (owner("a", 1), owner("z", 2));
    let held = holding(&z, "0", "10.0.0.8".parse().unwrap());
    let decision = lab.decide(&[claim(&a, 1)], &[held], &[]);
    assert_eq!(decision.served[0].given[0].address, "10.0.0.9".parse::<IpAddr>().unwrap());
    assert_eq!(decision.changes.len(), 2, "one is given, one adopted");
}

#[test]
fn the_successor_is_first_in_line() {
    let mut lab = Lab::new(vec![pool("p", &["10.0.0.8/29"], 24)]);
    let old = owner("m", 1);
    lab.given(&[claim(&owner("a", 9), 1), claim(&old, 1)]);
    let claims = [claim(&owner("b", 3), 1), claim(&owner("m", 2), 1)];
    let decision = lab.decide(&claims, &[], &[old]);
    let of_m = decision.served.iter().find(|s| *claims[s.claim].owner.name == *"m").unwrap();
    assert_eq!(of_m.given[0].address, "10.0.0.9".parse::<IpAddr>().unwrap());
    assert_eq!(decision.released.len(), 1);
}

#[test]
fn a_freed_address_rests_and_its_successor_may_have_it() {
    let mut resting = pool("p", &["10.0.0.8/31"], 24);
    resting.reuse_after = 600;
    let mut lab = Lab::new(vec![resting]);
    let old = owner("m", 1);
    lab.given(&[claim(&old, 1)]);
    let freed = lab.decide(&[], &[], &[old]);
    lab.record(&freed);
    assert_eq!(lab.given(&[claim(&owner("a", 2), 1)]), [["10.0.0.9"]]);
    assert!(lab.decide(&[claim(&owner("b", 3), 1)], &[], &[]).served.is_empty(), "it rests");
    assert_eq!(
        lab.decide(&[claim(&owner("m", 4), 1)], &[], &[]).served.len(),
        1,
        "its successor may have it"
    );
    lab.now += 601;
    assert_eq!(lab.decide(&[claim(&owner("b", 3), 1)], &[], &[]).served.len(), 1);
}

#[test]
fn an_address_on_two_owners_is_reported_and_freed_by_the_last() {
    let mut lab = Lab::new(vec![pool("p", &["10.0.0.8/29"], 24)]);
    let (a, b) = (owner("a", 1), owner("b", 2));
    let at: IpAddr = "10.0.0.9".parse().unwrap();
    let both = [holding(&a, "0", at), holding(&b, "0", at)];
    let decision = lab.decide(&[], &both, &[]);
    assert_eq!(decision.problems.iter().map(|p| p.kind).collect::<Vec<_>>(), ["Duplicate"]);
    lab.record(&decision);
    let one = lab.decide(&[], &both[1..], &[a]);
    assert!(one.released.is_empty(), "the other one still has it");
    lab.record(&one);
    assert_eq!(lab.decide(&[], &[], &[b]).released.len(), 1);
}

#[test]
fn an_address_from_another_configuration_counts_in_the_network_that_the_ledger_says() {
    let of = |name: &str, network: &str, range: &str| {
        let matches = Match { networks: vec![network.to_owned()], ..Match::default() };
        Pool { network: network.into(), matches, ..pool(name, &[range], 16) }
    };
    let one = owner("a", 1);
    let subject = Subject { system: "openshift", network: Some("lab".to_owned()), ..Subject::default() };
    let pools = PoolChoice::Matching(Arc::new(subject));
    let mut wish = claim(&one, 1);
    wish.wishes[0].pools = pools.clone();
    let mut lab = Lab::new(vec![of("cron", "lab", "10.0.0.1-10.0.0.9")]);
    assert_eq!(lab.given(&[wish]), [["10.0.0.1"]]);
    // Another configuration, whose pool of that network begins later, and which has the number in another one.
    lab.pools = vec![of("laptop", "lab", "10.0.0.5-10.0.0.9"), of("disks", "store", "10.0.0.1-10.0.0.9")];
    let seen = Holding { pools: Some(pools), ..holding(&one, "0", "10.0.0.1".parse().unwrap()) };
    let decision = lab.decide(&[], &[seen], &[]);
    assert!(decision.changes.is_empty() && decision.problems.is_empty(), "{decision:?}");
}

#[test]
fn surplus_is_freed_only_when_its_owner_no_longer_waits() {
    let mut lab = Lab::new(vec![pool("p", &["10.0.0.8/29"], 24)]);
    let m = owner("m", 1);
    assert_eq!(lab.given(&[claim(&m, 1)]), [["10.0.0.8"]]);
    // A person sets another address while the machine still waits.
    let preset = holding(&m, "0", "10.0.0.12".parse().unwrap());
    let marked = lab.decide(&[claim(&m, 0)], std::slice::from_ref(&preset), &[]);
    assert!(!marked.changes.values().any(|c| *c == Change::Remove), "{:?}", marked.changes);
    lab.record(&marked);
    let after = lab.decide(&[], &[preset], &[]);
    assert_eq!(after.changes.values().collect::<Vec<_>>(), [&Change::Remove]);
}

#[test]
fn a_huge_pool_costs_no_more_than_a_small_one() {
    let claims: Vec<Claim> = (0..200).map(|i| claim(&owner(&format!("m{i:03}"), i), 1)).collect();
    for ranges in ["fd00::/64", "::/0", "10.0.0.0/8"] {
        let prefix =
            if ranges == "::/0" { 0 } else { ranges.split('/').next_back().unwrap().parse().unwrap() };
        let mut lab = Lab::new(vec![pool("p", &[ranges], prefix)]);
        assert_eq!(lab.given(&claims).len(), 200, "{ranges}");
    }
}

/// Owner, number of devices, addresses written to it.
type Machine = (Arc<Owner>, usize, Vec<(String, IpAddr)>);

/// What happens to the lab in a random history.
#[derive(Clone, Debug)]
enum Event {
    Create {
        name: u8,
        devices: u8,
    },
    Delete {
        name: u8,
    },
    /// The pass crashes after so many ledger objects, before binding.
    Crash {
        after: u8,
    },
    Pass,
    Wait,
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        4 => (0u8..12, 1u8..3).prop_map(|(name, devices)| Event::Create { name, devices }),
        3 => (0u8..12).prop_map(|name| Event::Delete { name }),
        2 => (0u8..3).prop_map(|after| Event::Crash { after }),
        4 => Just(Event::Pass),
        1 => Just(Event::Wait),
    ];
    prop::collection::vec(event, 1..60)
}

fn pools() -> impl Strategy<Value = Vec<Pool>> {
    let four = prop_oneof![
        Just(vec!["10.0.0.250-10.0.1.3"]),
        Just(vec!["10.0.0.0/29", "10.0.1.0/30"]),
        Just(vec!["10.0.0.0/16"])
    ];
    let six = prop_oneof![Just(None), Just(Some("fd00::fd-fd00::103")), Just(Some("fd00::/64"))];
    (four, six, 0i64..2, any::<bool>()).prop_map(|(four, six, rest, gateway)| {
        let mut list = vec![pool("four", &four, 16)];
        list[0].reuse_after = rest * 100;
        list[0].gateway = gateway.then(|| "10.0.1.0".parse().unwrap());
        list.extend(six.map(|s| pool("six", &[s], 64)));
        list
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn no_history_gives_an_address_twice((pools, events) in (pools(), events())) {
        let mut lab = Lab::new(pools);
        let mut uid = 0;
        let mut live: BTreeMap<u8, Machine> = BTreeMap::new();
        let mut dead: Vec<Arc<Owner>> = Vec::new();
        for event in events {
            match event {
                Event::Create { name, devices } => {
                    uid += 1;
                    live.entry(name).or_insert_with(|| (owner(&format!("m{name:02}"), uid), devices as usize, vec![]));
                }
                Event::Delete { name } => dead.extend(live.remove(&name).map(|m| m.0)),
                Event::Wait => lab.now += 200,
                Event::Crash { .. } | Event::Pass => {
                    let claims: Vec<Claim> = live.values().filter(|m| m.2.is_empty()).map(|m| claim(&m.0, m.1)).collect();
                    let holdings: Vec<Holding> =
                        live.values().flat_map(|m| m.2.iter().map(|(d, a)| holding(&m.0, d, *a))).collect();
                    let mut decision = lab.decide(&claims, &holdings, &dead);
                    prop_assert_eq!(format!("{decision:?}"), format!("{:?}", lab.decide(&claims, &holdings, &dead)));
                    if let Event::Crash { after } = event {
                        let kept: Vec<_> = by_page(&decision.changes).into_keys().take(after as usize).collect();
                        decision.changes.retain(|s, _| kept.contains(&Page::of(s)));
                        decision.binds.clear();
                        lab.record(&decision);
                        continue;
                    }
                    lab.record(&decision);
                    for served in &decision.served {
                        let name = live.iter().find(|(_, m)| m.0 == claims[served.claim].owner).map(|(n, _)| *n).unwrap();
                        let families = lab.pools.len();
                        prop_assert_eq!(served.given.len(), claims[served.claim].wishes.len() * families);
                        live.get_mut(&name).unwrap().2 =
                            served.given.iter().map(|g| (g.device.to_string(), g.address)).collect();
                    }
                }
            }
            check(&lab, live.values().map(|m| (&*m.0, &m.2[..])))?;
        }
        // Once things are quiet, two passes settle everything and a third has nothing to do.
        for round in 0..3 {
            let claims: Vec<Claim> = live.values().filter(|m| m.2.is_empty()).map(|m| claim(&m.0, m.1)).collect();
            let holdings: Vec<Holding> =
                live.values().flat_map(|m| m.2.iter().map(|(d, a)| holding(&m.0, d, *a))).collect();
            let decision = lab.decide(&claims, &holdings, &dead);
            if round == 2 {
                prop_assert!(decision.changes.is_empty() && decision.binds.is_empty(), "{:?}", decision);
                prop_assert!(decision.served.is_empty());
            }
            lab.record(&decision);
            for served in &decision.served {
                let machine = live.values_mut().find(|m| m.0 == claims[served.claim].owner).unwrap();
                machine.2 = served.given.iter().map(|g| (g.device.to_string(), g.address)).collect();
            }
        }
        // Nothing leaks: what the ledger holds is held by the living.
        for allocation in lab.ledger.allocations().values() {
            if !matches!(allocation.standing, Standing::Cooling { .. }) {
                prop_assert!(allocation.holders.iter().all(|h| live.values().any(|m| m.0 == h.owner)), "{:?}", allocation);
            }
        }
    }
}

/// No two owners share an address, every address lies in a pool and is usable, and the ledger knows it.
fn check<'a>(
    lab: &Lab,
    machines: impl Iterator<Item = (&'a Owner, &'a [(String, IpAddr)])>,
) -> Result<(), TestCaseError> {
    let mut seen: BTreeMap<IpAddr, &Owner> = BTreeMap::new();
    for (owner, addresses) in machines {
        for (_, address) in addresses {
            prop_assert!(seen.insert(*address, owner).is_none(), "{} is given twice", address);
            let pool = lab.pools.iter().find(|p| p.contains(*address));
            prop_assert!(
                pool.is_some_and(|p| !never(p, &lab.pools).contains(*address)),
                "{} cannot be used",
                address
            );
            let slot = Slot::new(*address, "".into());
            let entry = lab.ledger.allocations().get(&slot);
            prop_assert!(
                entry.is_some_and(|e| e.holders.iter().any(|h| *h.owner == *owner)),
                "{} is not recorded",
                address
            );
        }
    }
    Ok(())
}
