//! What people do when a pass over claims has died half way, at each of its requests.

use super::{claim, pool};
use crate::sim::fault::Fault;
use crate::sim::stage::World;
use mipam::model::{Kind, Object, ObjectRef};
use mipam::pass::Outcome;
use mipam::plan::Scope;
use mipam::systems::capi::{ADDRESS, CLAIM, IN_CLUSTER};
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::Arc;

fn block<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap()
        .block_on(future)
}

fn fresh() -> World {
    let world = World::new("ipam-config: {serve-pools: [InClusterIPPool]}");
    [pool(), claim("a"), claim("b")].iter().for_each(|o| world.create(&o.to_string()));
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
    CLAIM.at("ns", "a")
}

fn find(world: &World, kind: Kind, name: &str) -> Option<Arc<Object>> {
    world.sim.all().into_iter().find(|(k, o)| *k == kind && o.name() == name).map(|(_, object)| object)
}

fn recorded(world: &World) -> usize {
    let pages = world.sim.all().into_iter().filter(|(_, o)| o.name().starts_with("mipam-v"));
    pages.map(|(_, o)| o.0["data"].as_object().map_or(0, serde_json::Map::len)).sum()
}

/// Both claims are bound, each to an address of its own, and the next pass has nothing to do.
fn served(world: &World, at: usize) {
    let records = ["a", "b"].map(|name| {
        let bound = find(world, CLAIM, name).unwrap();
        assert_eq!(bound.text("/status/addressRef/name"), Some(name), "request {at}");
        find(world, ADDRESS, name).unwrap().text("/spec/address").map(str::to_owned)
    });
    assert_eq!((BTreeSet::from(records).len(), recorded(world)), (2, 2), "request {at}");
    let idle = reconcile(world);
    assert!(idle.changed.is_empty(), "request {at}: {:?}", idle.changed);
}

#[test]
fn a_claim_deleted_at_any_stage_leaves_nothing_behind() {
    for (at, world) in stages() {
        world.delete(&target(), false);
        reconcile(&world);
        reconcile(&world);
        assert!(find(&world, CLAIM, "a").is_none() && find(&world, ADDRESS, "a").is_none(), "request {at}");
        assert_eq!(recorded(&world), 1, "request {at}: only that of the other claim");
    }
}

#[test]
fn a_claim_removed_by_force_at_any_stage_leaves_nothing_behind() {
    for (at, world) in stages() {
        world.edit(&target(), |o: &mut Object| o.0["metadata"]["finalizers"] = json!([]));
        world.delete(&target(), false);
        // The garbage collector takes its record along, if there is one.
        if find(&world, ADDRESS, "a").is_some_and(|record| !record.deleting()) {
            world.delete(&ADDRESS.at("ns", "a"), false);
        }
        reconcile(&world);
        reconcile(&world);
        assert!(find(&world, ADDRESS, "a").is_none(), "request {at}: nobody has let go of it");
        assert_eq!(recorded(&world), 1, "request {at}");
    }
}

#[test]
fn a_claim_paused_at_any_stage_is_left_alone_until_it_goes_on() {
    for (at, world) in stages() {
        world.edit(&target(), |o: &mut Object| o.annotate("cluster.x-k8s.io/paused", ""));
        let before = find(&world, CLAIM, "a");
        reconcile(&world);
        assert_eq!(find(&world, CLAIM, "a"), before, "request {at}: it is paused and was written");
        assert!(find(&world, ADDRESS, "b").is_some(), "request {at}: the other claim waits for a paused one");
        world.edit(&target(), |o: &mut Object| {
            o.0["metadata"]["annotations"].as_object_mut().unwrap().remove("cluster.x-k8s.io/paused");
        });
        reconcile(&world);
        served(&world, at);
    }
}

#[test]
fn a_pool_deleted_at_any_stage_stays_as_long_as_it_is_in_use() {
    for (at, world) in stages() {
        let held = find(&world, IN_CLUSTER, "lab").unwrap().array("/metadata/finalizers").len() == 1;
        world.delete(&IN_CLUSTER.at("ns", "lab"), false);
        let used = ["a", "b"].iter().any(|name| find(&world, ADDRESS, name).is_some());
        assert!(held || !used, "request {at}: in use, and nothing holds it");
        reconcile(&world);
        assert_eq!(find(&world, IN_CLUSTER, "lab").is_some(), used, "request {at}");
        ["a", "b"].iter().for_each(|name| world.delete(&CLAIM.at("ns", name), false));
        reconcile(&world);
        reconcile(&world);
        assert!(find(&world, IN_CLUSTER, "lab").is_none(), "request {at}");
        assert_eq!(recorded(&world), 0, "request {at}");
    }
}
