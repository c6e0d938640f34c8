//! What people and other controllers do when a pass has died half way, at each of its requests.

use super::{machine, pool, stand_in};
use crate::sim::fault::Fault;
use crate::sim::stage::{World, runtime};
use mipam::config;
use mipam::model::{Kind, Object, ObjectRef};
use mipam::pass::Outcome;
use mipam::plan::Scope;
use mipam::systems::elf::{ELF_MACHINE, IP_ADDRESS, IP_CLAIM};
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::Arc;

const CAPE: &str = "elfmachine.infrastructure.cluster.x-k8s.io";

fn block<T>(future: impl Future<Output = T>) -> T {
    runtime().block_on(future)
}

fn fresh() -> World {
    let world = World::new("ipam-config: {metal3: serve}");
    world.create(&pool(3).to_string());
    for object in ["m", "n"].iter().flat_map(|name| machine(name)) {
        world.create(&object.to_string());
    }
    world
}

/// A world for each request of a pass, which died right after it.
fn stages() -> impl Iterator<Item = (usize, World)> {
    let (_, requests) = block(fresh().pass(&Scope::default(), None));
    assert!(requests > 15, "{requests}");
    (0..requests).map(|at| {
        let world = fresh();
        let (ended, _) = block(world.pass(&Scope::default(), Some((at, Fault::CrashAfter))));
        assert!(ended.is_none(), "it did not die at request {at}");
        (at, world)
    })
}

fn reconcile(world: &World) -> Outcome {
    block(world.clean(&Scope::default())).unwrap()
}

fn target() -> ObjectRef {
    ELF_MACHINE.at("ns", "m")
}

fn find(world: &World, target: &ObjectRef) -> Option<Arc<Object>> {
    let is = |o: &Object| o.namespace() == target.namespace && o.name() == target.name;
    world.sim.all().into_iter().find(|(kind, o)| *kind == target.kind && is(o)).map(|(_, object)| object)
}

fn all(world: &World, kind: Kind) -> Vec<Arc<Object>> {
    world.sim.all().into_iter().filter(|(k, _)| *k == kind).map(|(_, object)| object).collect()
}

fn recorded(world: &World) -> usize {
    let pages = world.sim.all().into_iter().filter(|(_, o)| o.name().starts_with("mipam-v"));
    pages.map(|(_, o)| o.0["data"].as_object().map_or(0, serde_json::Map::len)).sum()
}

fn address(world: &World, name: &str) -> Option<String> {
    let machine = find(world, &ELF_MACHINE.at("ns", name))?;
    machine.text("/spec/network/devices/0/ipAddrs/0").map(str::to_owned)
}

/// Both machines have an address of their own, which nobody else has, and the ledger has them.
fn served(world: &World, at: usize) {
    settled(world, at);
    assert_eq!(recorded(world), 2, "request {at}: entries");
}

/// Both machines have an address of their own, and there is no record of another.
fn settled(world: &World, at: usize) {
    let given: BTreeSet<Option<String>> = ["m", "n"].map(|name| address(world, name)).into();
    assert!(given.len() == 2 && !given.contains(&None), "request {at}: {given:?}");
    let counts = (all(world, IP_CLAIM).len(), all(world, IP_ADDRESS).len());
    assert_eq!(counts, (2, 2), "request {at}: claims, addresses");
    let idle = reconcile(world);
    assert!(idle.changed.is_empty(), "request {at}: {:?}", idle.changed);
}

#[test]
fn a_machine_deleted_at_any_stage_leaves_nothing_behind() {
    for (at, world) in stages() {
        world.delete(&target(), false);
        reconcile(&world);
        assert!(find(&world, &target()).is_some(), "request {at}: its VM is still there");
        world.edit(&target(), |o: &mut Object| {
            o.0["metadata"]["finalizers"].as_array_mut().unwrap().retain(|f| f != CAPE);
        });
        reconcile(&world);
        reconcile(&world);
        assert!(find(&world, &target()).is_none(), "request {at}");
        let counts = (all(&world, IP_CLAIM).len(), all(&world, IP_ADDRESS).len(), recorded(&world));
        assert_eq!(counts, (1, 1, 1), "request {at}: only those of the other machine");
    }
}

#[test]
fn a_machine_paused_at_any_stage_is_left_alone_until_it_goes_on() {
    for (at, world) in stages() {
        world.edit(&target(), |o: &mut Object| o.annotate("cluster.x-k8s.io/paused", ""));
        let before = find(&world, &target());
        reconcile(&world);
        reconcile(&world);
        assert_eq!(find(&world, &target()), before, "request {at}: it is paused and was written");
        assert!(address(&world, "n").is_some(), "request {at}: the other machine waits for a paused one");
        world.edit(&target(), |o: &mut Object| {
            o.0["metadata"]["annotations"].as_object_mut().unwrap().remove("cluster.x-k8s.io/paused");
        });
        reconcile(&world);
        reconcile(&world);
        served(&world, at);
    }
}

#[test]
fn a_machine_made_anew_by_force_at_any_stage_is_served_like_any_other() {
    for (at, world) in stages() {
        // Somebody takes all finalizers off, and the machine comes back under its name.
        world.edit(&target(), |o: &mut Object| o.0["metadata"]["finalizers"] = json!([]));
        world.delete(&target(), false);
        let [_, again] = machine("m");
        world.create(&again.to_string());
        for _ in 0..3 {
            reconcile(&world);
        }
        served(&world, at);
    }
}

#[test]
fn a_metal3_controller_can_take_over_at_any_stage_and_hand_back() {
    for (at, mut world) in stages() {
        world.config = Arc::new(config::parse("config.yaml", "ipam-config: {metal3: defer}").unwrap());
        for _ in 0..3 {
            block(stand_in::round(&world.sim));
            world.accept();
            reconcile(&world);
        }
        settled(&world, at);
        let taken_over = ["m", "n"].map(|name| address(&world, name));
        world.config = Arc::new(config::parse("config.yaml", "ipam-config: {metal3: serve}").unwrap());
        reconcile(&world);
        served(&world, at);
        assert_eq!(["m", "n"].map(|name| address(&world, name)), taken_over, "request {at}");
    }
}
