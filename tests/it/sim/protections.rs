//! One test per protection that no scenario can show: each fails when the protection is taken out.

use super::bent::{Bent, Through, address, machine, pass, world};
use super::fault::Fault;
use super::stage::{World, kinds, runtime};
use mipam::cluster::ClusterError;
use mipam::cluster::sim::SimCluster;
use mipam::ledger::{CONFIG_MAP, NAMESPACE, NAMESPACE_KIND, object_name};
use mipam::model::{LEASE, Object, Reason};
use mipam::pass::{Outcome, Pass, Progress};
use mipam::plan::Scope;
use mipam::systems::openshift::MACHINE;
use mipam::watch::election::Election;
use mipam::watch::fence::Fenced;
use mipam::watch::lease::Terms;
use serde_json::{Value, json};
use std::cell::{Cell, RefCell};
use std::pin::pin;
use std::time::Duration;
use tokio::time::Instant;

#[test]
fn records_are_read_before_owners() {
    let (world, bent) = (world(&["a"]), Bent::default());
    pass(&world, &bent, Scope::default());
    let asked = bent.asked.borrow();
    let first =
        |what: &str| asked.iter().position(|a| a == what).unwrap_or_else(|| panic!("{what}: {asked:?}"));
    for record in
        ["list configmaps", "list ipaddresses.ipam.metal3.io", "list ipaddresses.ipam.cluster.x-k8s.io"]
    {
        for owner in ["list machines.machine.openshift.io", "list nodes", "list machines.cluster.x-k8s.io"] {
            assert!(first(record) < first(owner), "{record} after {owner}");
        }
    }
}

#[test]
fn an_address_that_only_a_stale_list_shows_as_replaced_stays() {
    let world = world(&["a"]);
    pass(&world, &Bent::default(), Scope::default());
    assert_eq!(address(&world, "a").as_deref(), Some("10.0.0.254/16"));
    // Another run had recorded one for it, too, and did not get to write it.
    let page = |at: &str| CONFIG_MAP.at("mipam-system", &object_name(at.parse().unwrap()));
    let get = |target: mipam::model::ObjectRef| world.sim.edit(&target, |_| ()).unwrap();
    let mut second = get(page("10.0.0.0"));
    let entry = second.0["data"]["10.0.0.254"].clone();
    second.0["data"] = json!({ "10.0.1.0": entry });
    let name = object_name("10.0.1.0".parse().unwrap());
    second.0["metadata"] = json!({
        "name": name, "namespace": "mipam-system",
        "labels": second.0["metadata"]["labels"], "annotations": second.0["metadata"]["annotations"],
    });
    world.sim.put(CONFIG_MAP, &second).unwrap();
    world.accept();
    let mut old = get(MACHINE.at("ns", "a"));
    *old.0.pointer_mut("/spec/providerSpec/value/network/devices/0/ipAddrs").unwrap() =
        json!(["10.0.1.0/16"]);
    pass(&world, &Bent { old: Some(old), ..Bent::default() }, Scope::default());
    let text = |at: &str, key: &str| get(page(at)).0["data"][key].to_string();
    assert!(!text("10.0.0.0", "10.0.0.254").contains("cooling"), "it was taken from whom it is on");
    assert!(text("10.0.1.0", "10.0.1.0").contains("cooling"), "what it does not carry was not taken back");
}

#[test]
fn an_owner_that_only_a_stale_list_lacks_keeps_its_address() {
    let world = world(&["a"]);
    pass(&world, &Bent::default(), Scope::default());
    world.create(&machine("b"));
    let outcome = pass(&world, &Bent { hidden: Some("a"), ..Bent::default() }, Scope::default());
    assert!(outcome.report.released.is_empty(), "{:?}", outcome.report.released);
    assert_ne!(address(&world, "a"), address(&world, "b"));
}

#[test]
fn a_404_for_the_kind_frees_nothing() {
    let world = world(&["a"]);
    pass(&world, &Bent::default(), Scope::default());
    world.delete(&MACHINE.at("ns", "a"), false);
    let unserved = ClusterError::NotServed("machines".into());
    let outcome = pass(&world, &Bent { no_answer: Some(unserved), ..Bent::default() }, Scope::default());
    assert!(outcome.report.released.is_empty());
    let outcome = pass(&world, &Bent::default(), Scope::default());
    assert_eq!(outcome.report.released.len(), 1, "for the object itself it does");
}

#[test]
fn an_owner_whose_record_failed_is_not_written() {
    // Four machines in two ledger objects, one of which cannot be written.
    let world = world(&["a", "b", "c", "d"]);
    let refused = object_name("10.0.1.0".parse().unwrap());
    let outcome = pass(&world, &Bent { refused: Some(refused), ..Bent::default() }, Scope::default());
    assert_eq!(outcome.report.allocated.len(), 2);
    assert_eq!((address(&world, "c"), address(&world, "d")), (None, None));
    assert_eq!(outcome.failures.len(), 1);
    let waiting = outcome.report.pending.iter().filter(|p| p.reason == Reason::WriteFailed).count();
    assert_eq!(waiting, 2);
}

#[test]
fn an_owner_whose_preset_could_not_be_recorded_is_not_let_go() {
    let world = world(&[]);
    world.create(&machine("a").replace("networkName: lab", "ipAddrs: [10.0.1.1/16]"));
    let waits = || {
        let machine = world.sim.edit(&MACHINE.at("ns", "a"), |_| ()).unwrap();
        !machine.array("/spec/lifecycleHooks/preCreate").is_empty()
    };
    let refused = object_name("10.0.1.1".parse().unwrap());
    pass(&world, &Bent { refused: Some(refused), ..Bent::default() }, Scope::default());
    assert!(waits(), "another may be given the address");
    pass(&world, &Bent::default(), Scope::default());
    assert!(!waits());
}

#[test]
fn a_set_is_not_recorded_where_its_home_could_not_be() {
    let world = world(&[]);
    let two = machine("a")
        .replace("[{networkName: lab}]", "[{networkName: lab}, {networkName: lab}, {networkName: lab}]");
    world.create(&two);
    let refused = object_name("10.0.0.254".parse().unwrap());
    pass(&world, &Bent { refused: Some(refused), ..Bent::default() }, Scope::default());
    let pages =
        world.sim.all().into_iter().filter(|(k, o)| *k == CONFIG_MAP && o.name().starts_with("mipam-v"));
    let entries: usize = pages.map(|(_, o)| o.0["data"].as_object().map_or(0, |d| d.len())).sum();
    assert_eq!((entries, address(&world, "a")), (0, None));
}

/// What a person does between the plan and the write is respected.
fn meanwhile(change: impl Fn(&mut Object) + 'static) -> (std::rc::Rc<World>, Outcome) {
    let world = std::rc::Rc::new(world(&["a"]));
    let inside = world.clone();
    let act = move || {
        inside.sim.edit(&MACHINE.at("ns", "a"), |o| change(o)).unwrap();
    };
    let bent = Bent { before_write: RefCell::new(Some(Box::new(act))), ..Bent::default() };
    let outcome = pass(&world, &bent, Scope::default());
    (world, outcome)
}

#[test]
fn a_machine_that_changed_in_the_meantime_is_looked_at_again() {
    let device = "/spec/providerSpec/value/network/devices/0";
    let (world, outcome) = meanwhile(|o| o.annotate("note", "harmless"));
    assert_eq!(outcome.report.allocated.len(), 1, "a harmless change is written over");
    assert_eq!(address(&world, "a").as_deref(), Some("10.0.0.254/16"));
    let (world, _) = meanwhile(move |o| o.0.pointer_mut(device).unwrap()["ipAddrs"] = json!(["10.0.1.1/16"]));
    assert_eq!(address(&world, "a").as_deref(), Some("10.0.1.1/16"), "an address set by hand stays");
    let (world, outcome) = meanwhile(|o| drop(o.ensure_object(&["spec"]).shift_remove("lifecycleHooks")));
    assert_eq!((address(&world, "a"), outcome.report.pending.len()), (None, 1), "it does not wait any more");
    let (world, _) = meanwhile(|o| o.annotate("cluster.x-k8s.io/paused", ""));
    assert_eq!(address(&world, "a"), None, "it was paused");
}

#[test]
fn a_machine_that_is_meant_to_be_another_by_now_is_left_to_the_next_pass() {
    // Others may have let it go with another address and freed what was recorded for it, before it waits again.
    let (world, outcome) = meanwhile(|o| o.0["spec"]["providerSpec"]["value"]["numCPUs"] = json!(8));
    assert_eq!((address(&world, "a"), outcome.report.pending.len()), (None, 1));
    pass(&world, &Bent::default(), Scope::default());
    assert_eq!(address(&world, "a").as_deref(), Some("10.0.0.254/16"));
}

#[test]
fn a_machine_with_two_claims_has_both_addresses_after_one_pass() {
    // Each claim is written on its own, and the second write finds the machine changed by the first.
    let scenario = |file: &str| {
        let at = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/scenarios/elf/two-devices/");
        std::fs::read_to_string(format!("{at}{file}")).unwrap()
    };
    let world = World::new(&scenario("config.yaml"));
    world.create(&scenario("before.yaml"));
    let outcome = pass(&world, &Bent::default(), Scope::default());
    assert!(outcome.report.pending.is_empty(), "{:?}", outcome.report.pending);
}

#[test]
fn what_was_freed_since_the_ledger_was_read_is_not_given_back() {
    let world = world(&["a"]);
    pass(&world, &Bent::default(), Scope::default());
    let ledger = world.sim.all().into_iter().filter(|(kind, _)| *kind == CONFIG_MAP);
    let stale = ledger.map(|(_, object)| object.into()).collect();
    // Then it is freed, a person wipes it from the machine, and a run that has read the ledger before finds it so.
    let page = CONFIG_MAP.at("mipam-system", &object_name("10.0.0.254".parse().unwrap()));
    world.edit(&page, |o| drop(o.ensure_object(&["data"]).shift_remove("10.0.0.254")));
    world.edit(&MACHINE.at("ns", "a"), |o| {
        let device = o.0.pointer_mut("/spec/providerSpec/value/network/devices/0").unwrap();
        device.as_object_mut().unwrap().shift_remove("ipAddrs");
    });
    pass(&world, &Bent { stale: RefCell::new(Some(stale)), ..Bent::default() }, Scope::default());
    assert_eq!(address(&world, "a"), None, "it may be another's by now");
}

#[test]
fn a_machine_replaced_in_the_meantime_is_not_its_predecessor() {
    let world = std::rc::Rc::new(world(&["a"]));
    let inside = world.clone();
    let act = move || {
        inside.sim.delete(&MACHINE.at("ns", "a")).unwrap();
        inside.create(&machine("a"));
    };
    let bent = Bent { before_write: RefCell::new(Some(Box::new(act))), ..Bent::default() };
    pass(&world, &bent, Scope::default());
    assert_eq!(address(&world, "a"), None, "the address was recorded for another uid");
    pass(&world, &Bent::default(), Scope::default());
    assert!(address(&world, "a").is_some());
}

#[test]
fn what_is_out_of_scope_is_neither_freed_nor_adopted() {
    let world = world(&["a"]);
    pass(&world, &Bent::default(), Scope::default());
    world.delete(&MACHINE.at("ns", "a"), false);
    let elsewhere = || Scope { namespace: Some("elsewhere".into()), ..Scope::default() };
    assert!(pass(&world, &Bent::default(), elsewhere()).changed.is_empty());
    let served = machine("b")
        .replace("preCreate", "preTerminate")
        .replace("networkName: lab", "ipAddrs: [10.0.1.1/16]");
    world.create(&served);
    assert!(pass(&world, &Bent::default(), elsewhere()).changed.is_empty());
    assert_eq!(pass(&world, &Bent::default(), Scope::default()).report.released.len(), 1);
    assert!(kinds().len() > 5);
}

#[test]
fn an_address_that_somebody_else_came_to_have_is_not_given() {
    // It is recorded for a, which could not be written; then a person puts it on b, which runs.
    let world = world(&["a"]);
    pass(&world, &Bent { refused: Some("a".into()), ..Bent::default() }, Scope::default());
    assert_eq!(address(&world, "a"), None);
    let runs = machine("b")
        .replace("preCreate", "preTerminate")
        .replace("networkName: lab", "ipAddrs: [10.0.0.254/16]");
    world.create(&runs);
    let outcome = pass(&world, &Bent::default(), Scope::default());
    assert_eq!(address(&world, "a").as_deref(), Some("10.0.0.255/16"), "{:?}", outcome.report);
    assert_eq!(outcome.report.problems.len(), 1, "both have it in the ledger: {:?}", outcome.report.problems);
}

/// A machine with three devices: its addresses are in two ledger objects.
fn three_devices(name: &str) -> String {
    machine(name)
        .replace("[{networkName: lab}]", "[{networkName: lab}, {networkName: lab}, {networkName: lab}]")
}

fn page(world: &World, name: &str) -> Option<std::sync::Arc<Object>> {
    world.sim.all().into_iter().find(|(k, o)| *k == CONFIG_MAP && o.name() == name).map(|(_, o)| o)
}

#[test]
fn a_set_that_could_not_be_withdrawn_at_its_home_keeps_all_its_parts() {
    let (home, other) =
        (object_name("10.0.0.254".parse().unwrap()), object_name("10.0.1.0".parse().unwrap()));
    // A run dies when the set is recorded and not yet bound.
    let runtime = runtime();
    let half_done = |at: usize| {
        let world = world(&[]);
        world.create(&three_devices("a"));
        runtime.block_on(world.pass(&Scope::default(), Some((at, Fault::CrashAfter))));
        page(&world, &other).is_some().then_some(world)
    };
    let world = (0..100).find_map(half_done).expect("a run that dies in between");
    // Then the machine no longer waits, another one does, and the object of the home cannot be written.
    world.edit(&MACHINE.at("ns", "a"), |o| drop(o.ensure_object(&["spec"]).shift_remove("lifecycleHooks")));
    world.create(&machine("b"));
    let before = page(&world, &other);
    pass(&world, &Bent { refused: Some(home), ..Bent::default() }, Scope::default());
    assert_eq!(page(&world, &other), before, "whoever binds the set at its home counts on it");
}

#[test]
fn a_home_is_not_withdrawn_before_all_that_hangs_on_it_stands_on_its_own() {
    let (home, other) =
        (object_name("10.0.0.254".parse().unwrap()), object_name("10.0.1.0".parse().unwrap()));
    let world = world(&[]);
    world.create(&three_devices("a"));
    pass(&world, &Bent::default(), Scope::default());
    let entry = |world: &World| page(world, &home).unwrap().0["data"]["10.0.0.254"].clone();
    // Another run that saw the world differently has recorded an address in the place of the home, and was the one
    // to write. Then the object of a part cannot be written.
    let mut alone: Value = serde_json::from_str(entry(&world).as_str().unwrap()).unwrap();
    alone.as_object_mut().unwrap().retain(|key, _| key != "set" && key != "bound");
    world.edit(&CONFIG_MAP.at(NAMESPACE, &other), |o| o.0["data"]["10.0.1.1"] = json!(alone.to_string()));
    world.edit(&MACHINE.at("ns", "a"), |o| {
        o.0["spec"]["providerSpec"]["value"]["network"]["devices"][0]["ipAddrs"] = json!(["10.0.1.1/16"]);
    });
    let before = entry(&world);
    assert!(before.as_str().unwrap().contains("\"set\""), "{before}");
    pass(&world, &Bent { refused: Some(other), ..Bent::default() }, Scope::default());
    assert_eq!(entry(&world), before, "10.0.1.0 hangs on it");
    pass(&world, &Bent::default(), Scope::default());
    assert!(entry(&world).as_str().unwrap().contains("cooling"), "{}", entry(&world));
}

/// A Lease that runs out when addresses are recorded and not yet written.
struct RunsOut(Cell<bool>);

impl Progress for RunsOut {
    fn stage(&self, what: &str, _: usize) {
        self.0.set(self.0.get() || what == "writing");
    }

    fn step(&self) {}
}

#[test]
fn who_may_not_write_any_more_writes_no_more() {
    let world = world(&["a"]);
    let over = RunsOut(Cell::new(false));
    let may = || !over.0.get();
    let fenced = Fenced::new(&world.sim, &may);
    let pass_on = Pass { progress: &over, ..world.settings(&fenced, &Scope::default()) };
    let runtime = runtime();
    let outcome = runtime.block_on(pass_on.run(&|_| ())).unwrap();
    assert!(page(&world, &object_name("10.0.0.254".parse().unwrap())).is_some(), "it is recorded");
    assert_eq!(address(&world, "a"), None, "another one may be at work by then");
    assert!(outcome.report.allocated.is_empty() && outcome.failures.len() == 1, "{:?}", outcome.failures);
    pass(&world, &Bent::default(), Scope::default());
    assert_eq!(address(&world, "a").as_deref(), Some("10.0.0.254/16"));
}

#[test]
fn a_leader_that_cannot_renew_stops_before_the_others_may_begin() {
    let sim = SimCluster::new(&[LEASE, NAMESPACE_KIND]);
    let clock = || "2026-01-01T00:00:00.000000Z".to_owned();
    let seconds = Duration::from_secs;
    let terms = Terms { lasts: seconds(15), renew_within: seconds(10), every: seconds(2) };
    let runtime = runtime();
    runtime.block_on(async {
        let [first, second] = ["first", "second"].map(|me| Election::new(&sim, "mipam", me, terms, &clock));
        first.attempt().await;
        second.attempt().await;
        for past in 0..=15 {
            assert_eq!((first.leads(), second.leads()), (past < 10, false), "after {past} s");
            tokio::time::advance(seconds(1)).await;
            second.attempt().await;
        }
        assert!(!first.leads() && second.leads());
    });
}

#[test]
fn a_leader_that_ends_lets_go_of_a_lease_that_was_renewed_behind_its_back() {
    let sim = SimCluster::new(&[LEASE, NAMESPACE_KIND]);
    let second = Cell::new(10);
    let clock = || format!("2026-01-01T00:00:{}.000000Z", second.replace(second.get() + 1));
    let seconds = Duration::from_secs;
    let terms = Terms { lasts: seconds(15), renew_within: seconds(10), every: seconds(2) };
    let runtime = runtime();
    runtime.block_on(async {
        let [ends, renewed] = ["me", "me"].map(|me| Election::new(&sim, "mipam", me, terms, &clock));
        ends.attempt().await;
        // A renewal that was cut off before its answer came, and was done all the same.
        renewed.attempt().await;
        ends.resign().await.unwrap();
        let next = Election::new(&sim, "mipam", "next", terms, &clock);
        next.attempt().await;
        assert!(next.leads(), "it waits for a Lease that nobody holds");
        // What is another's by now is left alone.
        ends.resign().await.unwrap();
        next.attempt().await;
        assert!(next.leads() && next.holder() == "next");
    });
}

#[test]
fn whoever_stands_by_takes_over_within_the_lease_and_one_try_of_the_last_renewal() {
    let sim = SimCluster::new(&[LEASE, NAMESPACE_KIND]);
    let seconds = Duration::from_secs;
    let terms = Terms { lasts: seconds(15), renew_within: seconds(10), every: seconds(2) };
    let renewals = Cell::new(0);
    let clock = || format!("{}", renewals.replace(renewals.get() + 1));
    let runtime = runtime();
    runtime.block_on(async {
        for round in 0..50 {
            let name = format!("mipam-{round}");
            let [first, second] = ["first", "second"].map(|me| Election::new(&sim, &name, me, terms, &clock));
            first.attempt().await;
            // The second comes at any moment between two renewals, and the first is killed at any moment after that.
            tokio::time::sleep(Duration::from_millis(round * 37)).await;
            let begun = Instant::now();
            let mut standby = pin!(second.run());
            let life = 20_001 + round * 61;
            tokio::select! {
                () = first.run() => {}
                () = &mut standby => {}
                () = tokio::time::sleep(Duration::from_millis(life)) => {}
            }
            assert!(first.leads() && !second.leads());
            tokio::select! {
                () = standby => {}
                () = second.led() => {}
            }
            // The first had renewed it every two seconds.
            let last = begun + seconds(life / 2_000 * 2);
            let took = last.elapsed();
            assert!(took > terms.lasts, "round {round}: it was still the first's: {took:?}");
            assert!(took <= terms.lasts + terms.every + Duration::from_millis(2), "round {round}: {took:?}");
        }
    });
}

#[test]
fn a_leader_stays_one_though_the_connection_of_a_renewal_died_without_a_word() {
    let (world, bent) = (world(&[]), Bent::default());
    let cluster = Through(&world, &bent);
    let seconds = Duration::from_secs;
    let terms = Terms { lasts: seconds(15), renew_within: seconds(10), every: seconds(2) };
    let clock = || "2026-01-01T00:00:00.000000Z".to_owned();
    let election = Election::new(&cluster, "mipam", "me", terms, &clock);
    let runtime = runtime();
    runtime.block_on(async {
        election.attempt().await;
        bent.unanswered.set(true);
        let watched = async {
            for past in 0..30 {
                assert!(election.leads(), "not after {past} s");
                tokio::time::sleep(seconds(1)).await;
            }
        };
        tokio::select! {
            () = election.run() => {}
            () = watched => {}
        }
        assert!(!bent.unanswered.get());
    });
}
