//! Sets over several ledger objects, and records of which only one was written: what was found by the simulation.

use super::*;
use crate::model::Preset;

fn slot(address: &str) -> Slot {
    Slot::new(address.parse().unwrap(), "".into())
}

fn entry(owner: &Arc<Owner>, device: &str, address: &str, standing: Standing) -> (Slot, Change) {
    let allocation = Allocation {
        slot: slot(address),
        holders: vec![Holder { owner: owner.clone(), device: device.into() }],
        pool: "a".into(),
        since: 1_000_000,
        adopted: false,
        standing,
    };
    (slot(address), Change::Put(allocation))
}

fn lab(ranges: &[&str], entries: Vec<(Slot, Change)>) -> Lab {
    let mut lab = Lab::new(vec![pool("a", ranges, 16)]);
    lab.record(&Decision { changes: entries.into_iter().collect(), ..Decision::default() });
    lab
}

#[test]
fn what_is_left_of_a_withdrawn_set_is_given_only_after_it_is_taken_out() {
    // Its home is gone. Recorded anew for the same set it would be the same word for word: no write, nothing to
    // conflict with, and another run that sees it void could give it away at the same time.
    let m = owner("m", 1);
    let member = Standing::Member { home: slot("10.0.0.255"), draft: "".into() };
    let mut lab = lab(&["10.0.0.255-10.0.1.0"], vec![entry(&m, "1", "10.0.1.0", member)]);
    let claims = [claim(&m, 2)];
    let decision = lab.decide(&claims, &[], &[]);
    assert!(decision.served.is_empty(), "{:?}", decision.served);
    assert_eq!(decision.changes.get(&slot("10.0.1.0")), Some(&Change::Remove));
    lab.record(&decision);
    assert_eq!(lab.given(&claims), [["10.0.0.255", "10.0.1.0"]]);
}

/// A binding set of this owner, in two ledger objects.
fn bound_set(owner: &Arc<Owner>) -> Vec<(Slot, Change)> {
    let set = vec![slot("10.0.0.255"), slot("10.0.1.0")];
    vec![
        entry(owner, "0", "10.0.0.255", Standing::Home { set, bound: true, draft: "".into() }),
        entry(owner, "1", "10.0.1.0", Standing::Member { home: slot("10.0.0.255"), draft: "".into() }),
    ]
}

/// The process dies when it has written no more of a decision than the first ledger object.
fn dies_after_the_home(lab: &mut Lab, mut decision: Decision) {
    decision.changes.retain(|at, _| *at == slot("10.0.0.255"));
    lab.record(&Decision { binds: BTreeMap::new(), ..decision });
}

#[test]
fn a_set_of_which_a_run_that_died_freed_only_the_home_rests_as_a_whole() {
    let m = owner("m", 1);
    let mut lab = lab(&["10.0.0.255-10.0.1.3"], bound_set(&m));
    lab.pools[0].reuse_after = 3600;
    let decision = lab.decide(&[], &[], std::slice::from_ref(&m));
    dies_after_the_home(&mut lab, decision);
    let decision = lab.decide(&[], &[], std::slice::from_ref(&m));
    lab.record(&decision);
    let standing = |address: &str| lab.ledger.allocations().get(&slot(address)).map(|a| a.standing.clone());
    let rests = Some(Standing::Cooling { until: lab.now + 3600 });
    assert_eq!((standing("10.0.0.255"), standing("10.0.1.0")), (rests.clone(), rests));
}

#[test]
fn a_successor_gets_the_whole_set_though_a_run_that_died_had_begun_to_give_it() {
    for reuse_after in [0, 3600] {
        let (m, again, other) = (owner("m", 1), owner("m", 2), owner("a", 3));
        let mut lab = lab(&["10.0.0.255-10.0.1.3"], bound_set(&m));
        lab.pools[0].reuse_after = reuse_after;
        let claims = [claim(&other, 1), claim(&again, 2)];
        let given = |decision: &Decision| -> Vec<String> {
            let to = decision.served.iter().find(|s| s.claim == 1).unwrap();
            to.given.iter().map(|g| g.address.to_string()).collect()
        };
        let decision = lab.decide(&claims, &[], std::slice::from_ref(&m));
        assert_eq!(given(&decision), ["10.0.0.255", "10.0.1.0"]);
        dies_after_the_home(&mut lab, decision);
        let decision = lab.decide(&claims, &[], std::slice::from_ref(&m));
        assert_eq!(given(&decision), ["10.0.0.255", "10.0.1.0"], "after {reuse_after} s of rest");
    }
}

#[test]
fn of_a_binding_set_that_is_released_the_home_goes_last() {
    // After its home a part would be void, and free at once, if the process died in between.
    let m = owner("m", 1);
    let changed = |set: Vec<(Slot, Change)>, meant: &Meant| {
        let lab = lab(&["10.0.0.255-10.0.1.3"], set);
        let found = meant.entries(&lab.ledger, None);
        let steps = release(&lab.ledger, &found, meant, &lab.pools, lab.now, true);
        steps.map(|step| step.changes.into_keys().map(|s| s.address.to_string()).collect::<Vec<_>>())
    };
    let all = Meant::Object(MACHINE.at("ns", "m"));
    assert_eq!(changed(bound_set(&m), &all), [["10.0.1.0"], ["10.0.0.255"]]);
    // One that is not binding goes at its home first: whoever binds it there has to notice.
    let mut tentative = bound_set(&m);
    if let Change::Put(Allocation { standing: Standing::Home { bound, .. }, .. }) = &mut tentative[0].1 {
        *bound = false;
    }
    assert_eq!(changed(tentative, &all), [vec![], vec!["10.0.0.255", "10.0.1.0"]]);
}

#[test]
fn what_is_bound_stays_bound_when_part_of_its_set_is_surplus() {
    // The home became the gateway. Whoever bound the set may be about to write the other address.
    let m = owner("m", 1);
    let set = vec![slot("10.0.0.255"), slot("10.0.1.0")];
    let entries = vec![
        entry(&m, "0", "10.0.0.255", Standing::Home { set, bound: true, draft: "".into() }),
        entry(&m, "1", "10.0.1.0", Standing::Member { home: slot("10.0.0.255"), draft: "".into() }),
    ];
    let mut lab = lab(&["10.0.0.255-10.0.1.2"], entries);
    lab.pools[0].gateway = Some("10.0.0.255".parse().unwrap());
    let decision = lab.decide(&[claim(&m, 2)], &[], &[]);
    let standing = |c: Option<&Change>| match c {
        Some(Change::Put(a)) => Some(a.standing.clone()),
        _ => None,
    };
    assert_eq!(standing(decision.changes.get(&slot("10.0.1.0"))), Some(Standing::Bound));
    assert!(!decision.changes.contains_key(&slot("10.0.0.255")), "the home is marked last");
    assert_eq!(decision.binds[&slot("10.0.0.255")].standing, Standing::Surplus);
}

#[test]
fn of_two_records_for_one_device_the_one_that_was_not_written_is_withdrawn() {
    let m = owner("m", 1);
    let entries = vec![
        entry(&m, "0", "10.0.0.255", Standing::Bound),
        entry(&m, "0", "10.0.1.0", Standing::Bound),
        entry(&m, "1", "10.0.1.1", Standing::Bound),
    ];
    let mut lab = lab(&["10.0.0.255-10.0.1.2"], entries);
    let carried = [holding(&m, "0", "10.0.0.255".parse().unwrap())];
    let decision = lab.decide(&[], &carried, &[]);
    let changed: Vec<&Slot> = decision.changes.keys().collect();
    assert_eq!(changed, [&slot("10.0.1.0")], "device 1 was only wiped, and keeps its own");
    lab.record(&decision);
    assert!(matches!(lab.ledger.allocations()[&slot("10.0.1.0")].standing, Standing::Cooling { .. }));
    assert!(lab.decide(&[], &carried, &[]).changes.is_empty());
}

#[test]
fn what_only_a_status_shows_replaces_nothing() {
    // Two runs have recorded one each, and the one that was written is wiped: what runs may still use it.
    let m = owner("m", 1);
    let entries =
        vec![entry(&m, "", "10.0.0.8", Standing::Bound), entry(&m, "", "10.0.0.9", Standing::Bound)];
    let lab = lab(&["10.0.0.8-10.0.0.9"], entries);
    let status = [Holding { adopt: Adopt::No, ..holding(&m, "", "10.0.0.8".parse().unwrap()) }];
    assert!(lab.decide(&[], &status, &[]).changes.is_empty());
}

#[test]
fn an_address_that_may_be_in_two_networks_is_recorded_in_one() {
    let m = owner("m", 1);
    let mut lab = lab(&["10.0.0.8-10.0.0.9"], vec![entry(&m, "0", "10.0.0.8", Standing::Bound)]);
    lab.pools.push(Pool { network: "two".into(), ..pool("b", &["10.0.0.8-10.0.0.9"], 16) });
    let carried = [holding(&m, "0", "10.0.0.8".parse().unwrap())];
    assert!(lab.decide(&[], &carried, &[]).changes.is_empty(), "an idle pass writes nothing");
}

#[test]
fn surplus_that_its_owner_carries_after_all_is_not_taken_out_by_a_run_without_its_pool() {
    let m = owner("m", 1);
    let lab = lab(&["10.0.0.8-10.0.0.9"], vec![entry(&m, "0", "10.9.0.1", Standing::Surplus)]);
    let carried = [holding(&m, "0", "10.9.0.1".parse().unwrap())];
    assert!(lab.decide(&[], &carried, &[]).changes.is_empty());
}

#[test]
fn of_two_records_for_a_device_that_was_wiped_none_is_given_back() {
    let m = owner("m", 1);
    let entries =
        vec![entry(&m, "0", "10.0.0.8", Standing::Surplus), entry(&m, "0", "10.0.0.9", Standing::Bound)];
    let lab = lab(&["10.0.0.8-10.0.0.9"], entries);
    let wiped = Claim { gate: Gate::Open, ..claim(&m, 1) };
    let status = [Holding { adopt: Adopt::No, ..holding(&m, "", "10.9.9.9".parse().unwrap()) }];
    assert!(lab.decide(&[wiped], &status, &[]).served.is_empty(), "nobody knows which one it had");
}

#[test]
fn a_machine_is_not_let_go_with_an_address_that_another_has_or_rests_for_whatever_the_pools_are() {
    let (other, m) = (owner("other", 1), owner("m", 2));
    let rests = Standing::Cooling { until: 4_000_000_000 };
    for (address, standing) in
        [("10.9.0.1", Standing::Bound), ("10.0.0.9", rests), ("10.0.0.9", Standing::Surplus)]
    {
        let lab = lab(&["10.0.0.8-10.0.0.9"], vec![entry(&other, "0", address, standing.clone())]);
        let pools = claim(&m, 1).wishes.remove(0).pools;
        let set = Preset { device: "0".into(), address: address.parse().unwrap(), pools };
        let waits = Claim { wishes: Vec::new(), presets: vec![set], ..claim(&m, 1) };
        let carried = [Holding { adopt: Adopt::IfFree, ..holding(&m, "0", address.parse().unwrap()) }];
        // The other one waits, too: what is recorded for it is not taken out by this pass.
        let decision = lab.decide(&[claim(&other, 1), waits], &carried, &[]);
        let served: Vec<usize> = decision.served.iter().map(|s| s.claim).collect();
        assert!(!served.contains(&1), "{address} {standing:?}: {:?}", decision.served);
    }
}

#[test]
fn a_tentative_set_that_cannot_be_finished_goes_as_a_whole() {
    // Its home is seen on somebody else. Whoever binds the set at its home must notice that a part went.
    let (m, other) = (owner("m", 1), owner("other", 2));
    let set = vec![slot("10.0.0.255"), slot("10.0.1.0")];
    let entries = vec![
        entry(&m, "0", "10.0.0.255", Standing::Home { set, bound: false, draft: "".into() }),
        entry(&m, "1", "10.0.1.0", Standing::Member { home: slot("10.0.0.255"), draft: "".into() }),
    ];
    let lab = lab(&["10.0.0.255-10.0.1.0"], entries);
    let status = [Holding { adopt: Adopt::No, ..holding(&other, "", "10.0.0.255".parse().unwrap()) }];
    let decision = lab.decide(&[claim(&m, 2)], &status, &[]);
    assert!(decision.served.is_empty(), "{:?}", decision.served);
    let removed: Vec<&Slot> =
        decision.changes.iter().filter(|(_, c)| **c == Change::Remove).map(|(slot, _)| slot).collect();
    assert_eq!(removed, [&slot("10.0.0.255"), &slot("10.0.1.0")]);
}

#[test]
fn of_what_an_owner_holds_it_gets_what_it_can_have() {
    let m = owner("m", 1);
    let entries =
        vec![entry(&m, "0", "10.0.0.8", Standing::Bound), entry(&m, "0", "10.0.0.9", Standing::Bound)];
    let mut lab = lab(&["10.0.0.8-10.0.0.9"], entries);
    lab.pools[0].gateway = Some("10.0.0.8".parse().unwrap());
    assert_eq!(lab.given(&[claim(&m, 1)]), [["10.0.0.9"]]);
}

#[test]
fn what_a_person_has_replaced_stays_recorded_and_what_was_never_written_does_not() {
    let m = owner("m", 1);
    let (first, by_hand) = ("10.0.0.8", "10.0.0.9");
    for adopted in [true, false] {
        let mut entries =
            vec![entry(&m, "0", first, Standing::Bound), entry(&m, "0", by_hand, Standing::Bound)];
        if let Change::Put(found) = &mut entries[1].1 {
            found.adopted = adopted;
        }
        let lab = lab(&["10.0.0.8-10.0.0.9"], entries);
        let decision = lab.decide(&[], &[holding(&m, "0", by_hand.parse().unwrap())], &[]);
        assert_eq!(decision.changes.contains_key(&slot(first)), !adopted, "{:?}", decision.changes);
        assert_eq!(decision.loses.contains(&m), !adopted, "it is looked at once more");
    }
}

#[test]
fn what_was_only_marked_as_surplus_is_bound_again_and_never_tentative() {
    // Whoever bound it may be about to write it: as part of a tentative set it could be withdrawn, and given away.
    let m = owner("m", 1);
    let lab = lab(&["10.0.0.255-10.0.1.3"], vec![entry(&m, "0", "10.0.0.255", Standing::Surplus)]);
    let decision = lab.decide(&[claim(&m, 2)], &[], &[]);
    for address in ["10.0.0.255", "10.0.1.0"] {
        let Some(Change::Put(recorded)) = decision.changes.get(&slot(address)) else { panic!("{address}") };
        assert_eq!(recorded.standing, Standing::Bound, "{address}");
    }
    assert!(decision.binds.is_empty());
}

#[test]
fn what_is_left_of_an_older_draft_is_no_part_of_the_set_that_took_its_place() {
    // Two runs drafted a set at one home in turns, the first one came back, and a third takes its part for void:
    // it must be void for everybody, or the set is bound without it.
    let m = owner("m", 1);
    let set = vec![slot("10.0.0.255"), slot("10.0.1.0")];
    let entries = vec![
        entry(&m, "0", "10.0.0.255", Standing::Home { set, bound: false, draft: "3".into() }),
        entry(&m, "1", "10.0.1.0", Standing::Member { home: slot("10.0.0.255"), draft: "1".into() }),
    ];
    let lab = lab(&["10.0.0.255-10.0.1.1"], entries);
    let decision = lab.decide(&[claim(&m, 2)], &[], &[]);
    assert_eq!(decision.changes.get(&slot("10.0.1.0")), Some(&Change::Remove));
    let Some(Change::Put(member)) = decision.changes.get(&slot("10.0.1.1")) else {
        panic!("{:?}", decision.changes)
    };
    let Some(Change::Put(home)) = decision.changes.get(&slot("10.0.0.255")) else {
        panic!("{:?}", decision.changes)
    };
    let (Standing::Member { draft: part, .. }, Standing::Home { draft, .. }) =
        (&member.standing, &home.standing)
    else {
        panic!("{member:?} {home:?}")
    };
    assert!(part == draft && **draft != *"3", "a new draft: {draft}");
}

#[test]
fn a_pool_that_was_moved_and_renamed_takes_its_addresses_along() {
    let (m, other) = (owner("m", 1), owner("other", 2));
    let mut lab = lab(&["10.0.0.8-10.0.0.9"], vec![entry(&m, "0", "10.0.0.8", Standing::Bound)]);
    let reserved = [("other".to_owned(), "10.0.0.8".parse().unwrap())];
    for reserved in [BTreeMap::new(), reserved.into_iter().collect()] {
        lab.pools = vec![Pool { network: "two".into(), reserved, ..pool("b", &["10.0.0.8-10.0.0.9"], 16) }];
        // A person has wiped it: nothing shows where it is but the ledger.
        let wiped = Claim { gate: Gate::Open, ..claim(&m, 1) };
        let decision = lab.decide(&[wiped, claim(&other, 1)], &[], &[]);
        let given = decision.served.iter().flat_map(|s| &s.given).map(|g| g.address.to_string());
        assert!(!given.collect::<Vec<_>>().contains(&"10.0.0.8".to_owned()), "{:?}", decision.served);
    }
}

#[test]
fn what_two_hold_does_not_hang_on_the_set_of_one_of_them() {
    let (m, other) = (owner("m", 1), owner("other", 2));
    let set = vec![slot("10.0.0.255"), slot("10.0.1.0")];
    let entries = vec![
        entry(&m, "0", "10.0.0.255", Standing::Home { set, bound: true, draft: "".into() }),
        entry(&m, "1", "10.0.1.0", Standing::Member { home: slot("10.0.0.255"), draft: "".into() }),
    ];
    let mut lab = lab(&["10.0.0.255-10.0.1.3"], entries);
    let seen = ["10.0.0.255", "10.0.1.0"].iter().zip(["0", "1"]);
    let mut seen: Vec<Holding> = seen.map(|(a, d)| holding(&m, d, a.parse().unwrap())).collect();
    seen.push(holding(&other, "0", "10.0.1.0".parse().unwrap()));
    let decision = lab.decide(&[], &seen, &[]);
    lab.record(&decision);
    let shared = &lab.ledger.allocations()[&slot("10.0.1.0")];
    assert_eq!((shared.holders.len(), &shared.standing), (2, &Standing::Bound));
}

#[test]
fn of_two_records_for_one_device_another_device_can_have_the_second() {
    let m = owner("m", 1);
    let entries =
        vec![entry(&m, "1", "10.0.0.8", Standing::Bound), entry(&m, "1", "10.0.0.9", Standing::Bound)];
    let mut lab = lab(&["10.0.0.8-10.0.0.9"], entries);
    assert_eq!(lab.given(&[claim(&m, 2)]), [["10.0.0.9", "10.0.0.8"]], "there is no other");
    let standing = |a: &str| lab.ledger.allocations()[&slot(a)].standing.clone();
    assert_eq!([standing("10.0.0.8"), standing("10.0.0.9")], [Standing::Bound, Standing::Bound]);
}

#[test]
fn what_one_device_carries_no_other_device_gets() {
    let m = owner("m", 1);
    let lab = lab(&["10.0.0.8-10.0.0.9"], vec![entry(&m, "0", "10.0.0.8", Standing::Bound)]);
    let pools = claim(&m, 1).wishes.remove(0).pools;
    let mut waits = claim(&m, 2);
    waits.wishes.remove(0);
    waits.presets = vec![Preset { device: "0".into(), address: "10.0.0.8".parse().unwrap(), pools }];
    let carried = [Holding { adopt: Adopt::IfFree, ..holding(&m, "0", "10.0.0.8".parse().unwrap()) }];
    let decision = lab.decide(&[waits], &carried, &[]);
    let given: Vec<_> =
        decision.served.iter().flat_map(|s| &s.given).map(|g| g.address.to_string()).collect();
    assert_eq!(given, ["10.0.0.9"]);
}
