//! What a claim had when it went is another's soon: a run that was about to write it to the claim's machine must not.

use super::{machine, pool};
use crate::sim::bent::{Bent, at_once, pass};
use crate::sim::stage::World;
use mipam::model::Object;
use mipam::plan::Scope;
use mipam::systems::elf::{ELF_MACHINE, IP_CLAIM};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::rc::Rc;

fn with_room_for_one() -> World {
    let world = World::new("ipam-config: {metal3: serve}");
    world.create(&pool(1).to_string());
    machine("m").iter().for_each(|object| world.create(&object.to_string()));
    world
}

fn addresses(world: &World) -> Vec<Value> {
    let machines = world.sim.all().into_iter().filter(|(kind, _)| *kind == ELF_MACHINE);
    machines.filter_map(|(_, o)| o.at("/spec/network/devices/0/ipAddrs/0").cloned()).collect()
}

/// Before each request of a pass, `meanwhile` takes the claim from the machine, and another run serves the next one.
fn in_between(meanwhile: fn(&World)) {
    in_a_pass_over(with_room_for_one, meanwhile);
}

/// The same in a world that begins in another way.
fn in_a_pass_over(begin: fn() -> World, meanwhile: fn(&World)) {
    let bent = Bent::default();
    pass(&begin(), &bent, Scope::default());
    let requests = bent.asked.borrow().len();
    assert!(requests > 10, "{requests}");
    let mut handed_on = 0;
    for at in 0..=requests {
        let world = Rc::new(begin());
        let inside = world.clone();
        let act = move || {
            meanwhile(&inside);
            (0..3).for_each(|_| drop(at_once(&inside)));
        };
        pass(
            &world,
            &Bent { before: RefCell::new(Some((at, Box::new(act)))), ..Bent::default() },
            Scope::default(),
        );
        world.accept();
        handed_on += usize::from(!addresses(&world).is_empty());
        assert!(addresses(&world).len() <= 1, "before request {at}: both have {:?}", addresses(&world));
        pass(&world, &Bent::default(), Scope::default());
        assert!(addresses(&world).len() <= 1, "after request {at}: both have {:?}", addresses(&world));
    }
    assert!(handed_on > 0, "nobody ever got it");
}

fn served() -> World {
    let world = with_room_for_one();
    pass(&world, &Bent::default(), Scope::default());
    world
}

/// Another machine waits.
fn next(world: &World) {
    machine("n").iter().for_each(|object| world.create(&object.to_string()));
}

fn delete_claim(world: &World) {
    let claim = IP_CLAIM.at("ns", "ns-m-0");
    if world.sim.edit(&claim, |_| ()).is_ok() {
        world.delete(&claim, false);
    }
}

#[test]
fn the_claim_of_a_machine_that_has_failed_is_deleted_while_a_run_serves_it() {
    in_between(|world| {
        world.edit(&ELF_MACHINE.at("ns", "m"), |o: &mut Object| {
            o.ensure_object(&["status"]).insert("failureReason".to_owned(), json!("CreateError"));
        });
        delete_claim(world);
        next(world);
    });
}

#[test]
fn a_machine_is_made_anew_by_force_while_a_run_serves_it() {
    in_between(|world| {
        world.edit(&ELF_MACHINE.at("ns", "m"), |o: &mut Object| o.0["metadata"]["finalizers"] = json!([]));
        world.delete(&ELF_MACHINE.at("ns", "m"), false);
        delete_claim(world);
        next(world);
        at_once(world);
        let [_, again] = machine("m");
        world.create(&again.to_string());
    });
}

#[test]
fn the_claim_of_a_machine_that_is_paused_is_deleted_while_a_run_serves_it() {
    in_between(|world| {
        let m = ELF_MACHINE.at("ns", "m");
        let paused = |o: &mut Object| o.annotate("cluster.x-k8s.io/paused", "");
        world.edit(&m, paused);
        delete_claim(world);
        next(world);
        (0..3).for_each(|_| drop(at_once(world)));
        world.edit(&m, |o: &mut Object| {
            o.0["metadata"]["annotations"].as_object_mut().unwrap().remove("cluster.x-k8s.io/paused");
            o.ensure_object(&["status"]).insert("failureReason".to_owned(), json!("CreateError"));
        });
    });
}

#[test]
fn what_was_taken_goes_though_a_metal3_controller_serves_by_then() {
    let world = with_room_for_one();
    pass(&world, &Bent::default(), Scope::default());
    let claim = IP_CLAIM.at("ns", "ns-m-0");
    let mut uid = String::new();
    world.edit(&claim, |o| o.uid().clone_into(&mut uid));
    // A run told the machine, and died.
    world.edit(&ELF_MACHINE.at("ns", "m"), |o: &mut Object| {
        o.0["spec"]["network"]["devices"][0]["ipAddrs"] = json!([]);
        o.annotate("mipam.io/withdrawn", &uid);
    });
    let deferring = World { config: World::new("ipam-config: {metal3: defer}").config, ..world };
    pass(&deferring, &Bent::default(), Scope::default());
    deferring.edit(&claim, |o| assert!(o.deleting(), "nobody serves it any more"));
}

#[test]
fn a_machine_is_wiped_whose_claim_went_while_a_run_looks() {
    in_a_pass_over(served, |world| {
        delete_claim(world);
        at_once(world);
        world.edit(&ELF_MACHINE.at("ns", "m"), |o| {
            o.0["spec"]["network"]["devices"][0]["ipAddrs"] = json!([]);
        });
        // It comes first by its name.
        machine("a").iter().for_each(|object| world.create(&object.to_string()));
    });
}
