//! The stories that break naive ledgers: somebody acts between the moment a run reads the world and the moment
//! it records what it decided. Those that need no such moment are scenarios: `dual-stack-one-left`,
//! `pool-renamed`, `pool-moved`, `pool-shrunk`, `pool-grows`, `duplicate`; a lost head and a newer ledger are in
//! `ledger`.

use super::bent::{Bent, CONFIG, address, at_once, machine, pass, world};
use super::stage::World;
use futures_util::FutureExt;
use mipam::ledger::{CONFIG_MAP, object_name};
use mipam::model::Object;
use mipam::pass::{Outcome, Pass};
use mipam::plan::Scope;
use mipam::systems::openshift::MACHINE;
use serde_json::json;
use std::cell::RefCell;
use std::rc::Rc;

/// A pass over these machines, with an act right before its first write to the ledger.
fn interrupted(world: &Rc<World>, act: impl FnOnce(&World) + 'static) -> (Outcome, usize) {
    let inside = world.clone();
    let act: Box<dyn FnOnce()> = Box::new(move || act(&inside));
    let bent = Bent { before_record: RefCell::new(Some(act)), ..Bent::default() };
    let outcome = pass(world, &bent, Scope::default());
    let observations = bent.asked.borrow().iter().filter(|a| *a == "list configmaps").count();
    (outcome, observations)
}

fn plain(world: &World) -> Outcome {
    pass(world, &Bent::default(), Scope::default())
}

/// The keys of the ledger object of the first addresses, `None` where it does not exist.
fn keys(world: &World) -> Option<Vec<String>> {
    let name = object_name("10.0.0.254".parse().unwrap());
    let all = world.sim.all();
    let (_, page) = all.iter().find(|(k, o)| *k == CONFIG_MAP && o.name() == name)?;
    Some(page.0["data"].as_object().map(|d| d.keys().cloned().collect()).unwrap_or_default())
}

fn set(world: &World, name: &str, ip: &str) {
    let device = "/spec/providerSpec/value/network/devices/0";
    let ip = format!("{ip}/16");
    world.edit(&MACHINE.at("ns", name), |o: &mut Object| {
        o.0.pointer_mut(device).unwrap()["ipAddrs"] = json!([ip]);
    });
}

#[test]
fn an_emptied_ledger_object_stays_and_stops_a_stale_create() {
    // The run decided when there was no ledger at all; before it records, another one gives the same address
    // to a machine that comes and goes. Were the emptied object deleted, the stale create would succeed.
    let world = Rc::new(world(&["a"]));
    let (outcome, observations) = interrupted(&world, |w| {
        w.create(&machine("0-first"));
        let given = at_once(w);
        assert_eq!(given.report.allocated.len(), 2);
        for name in ["0-first", "a"] {
            w.delete(&MACHINE.at("ns", name), false);
        }
        assert_eq!(at_once(w).report.released.len(), 2);
        assert_eq!(keys(w), Some(Vec::new()), "the object stays, without entries");
        w.create(&machine("a"));
    });
    assert!(observations > 1, "the stale decision is thrown away");
    assert_eq!(outcome.report.allocated.len(), 1);
    assert_eq!(keys(&world), Some(vec!["10.0.0.254".to_owned()]));
    assert!(plain(&world).changed.is_empty());
}

#[test]
fn two_runs_that_call_the_pool_differently_meet_in_one_ledger_object() {
    let world = Rc::new(world(&["a", "b"]));
    let (outcome, observations) = interrupted(&world, |w| {
        let text = CONFIG.replace("name: a,", "name: factory,");
        let config = mipam::config::parse("laptop.yaml", &text).unwrap();
        let pass = Pass { config: &config, ..w.settings(&w.sim, &Scope::default()) };
        pass.run(&|sight| sight.survey.claims.retain(|c| &*c.owner.name == "b"))
            .now_or_never()
            .expect("no conflict")
            .unwrap();
        w.accept();
    });
    assert!(observations > 1, "the second to record looks again");
    assert_eq!(outcome.report.allocated.len(), 1);
    assert_ne!(address(&world, "a"), address(&world, "b"));
}

#[test]
fn a_machine_deleted_between_plan_and_record_leaves_nothing_behind() {
    let world = Rc::new(world(&["a", "b"]));
    let (outcome, _) = interrupted(&world, |w| w.delete(&MACHINE.at("ns", "a"), false));
    assert_eq!(outcome.report.allocated.len(), 1, "b is served all the same");
    assert_eq!(keys(&world).unwrap().len(), 2, "recorded before the deletion could be seen");
    assert_eq!(plain(&world).report.released.len(), 1);
    assert_eq!(keys(&world), Some(vec!["10.0.0.255".to_owned()]));
    world.create(&machine("c"));
    plain(&world);
    assert_eq!(address(&world, "c").as_deref(), Some("10.0.0.254/16"), "and is given to the next");
}

#[test]
fn a_person_who_sets_the_address_between_list_and_record_wins() {
    let world = Rc::new(world(&["a"]));
    interrupted(&world, |w| set(w, "a", "10.0.1.1"));
    assert_eq!(address(&world, "a").as_deref(), Some("10.0.1.1/16"));
    plain(&world);
    plain(&world);
    assert_eq!(address(&world, "a").as_deref(), Some("10.0.1.1/16"), "it is kept");
    let held = world.sim.all().into_iter().filter(|(_, o)| o.name().starts_with("mipam-v"));
    let held: Vec<String> = held
        .flat_map(|(_, o)| o.0["data"].as_object().cloned().unwrap_or_default())
        .map(|(k, _)| k)
        .collect();
    assert_eq!(held, ["10.0.1.1"], "what was recorded for it is withdrawn");
}

#[test]
fn an_address_that_a_person_gives_away_between_list_and_record_is_reported_and_not_moved() {
    // What others write after the list cannot be known: both keep the address, and people are told.
    let world = Rc::new(world(&["a"]));
    let runs = machine("b").replace("preCreate", "preTerminate");
    world.create(&runs);
    interrupted(&world, |w| set(w, "b", "10.0.0.254"));
    assert_eq!(address(&world, "a"), address(&world, "b"));
    for _ in 0..2 {
        let outcome = plain(&world);
        let kinds: Vec<&str> = outcome.report.problems.iter().map(|p| p.kind).collect();
        assert_eq!(kinds, ["Duplicate"], "{:?}", outcome.report.problems);
        assert_eq!(address(&world, "a").as_deref(), Some("10.0.0.254/16"));
        assert_eq!(address(&world, "b").as_deref(), Some("10.0.0.254/16"));
    }
    // The last of the two frees it.
    world.delete(&MACHINE.at("ns", "a"), false);
    plain(&world);
    assert_eq!(keys(&world), Some(vec!["10.0.0.254".to_owned()]));
    world.delete(&MACHINE.at("ns", "b"), false);
    plain(&world);
    assert_eq!(keys(&world), Some(Vec::new()));
}

#[test]
fn room_that_a_pass_makes_is_used_in_the_same_pass() {
    // All four addresses are recorded, one of them for a machine that could not be written and that a person has
    // given another one since. It is free once that machine is let go.
    let world = world(&["a", "b", "c", "d"]);
    pass(&world, &Bent { refused: Some("a".into()), ..Bent::default() }, Scope::default());
    set(&world, "a", "10.0.5.5");
    world.create(&machine("waits"));
    let outcome = plain(&world);
    assert!(outcome.report.pending.is_empty(), "{:?}", outcome.report.pending);
    assert_eq!(address(&world, "waits").as_deref(), Some("10.0.0.254/16"));
    let given: Vec<&str> = outcome.report.allocated.iter().map(|a| &*a.name).collect();
    assert_eq!((given, outcome.report.kept), (vec!["waits"], 4), "told once each");
    assert!(plain(&world).changed.is_empty());
}
