//! The figures for the admission policy: written when they change or have lived half of their life, not before.

use super::stage::{World, runtime};
use crate::scenario;
use mipam::ledger::CONFIG_MAP;
use mipam::model::parse_timestamp;
use mipam::pass::Outcome;
use mipam::plan::Scope;
use mipam::publish::STATUS;

const LIFE: i64 = 600;

fn machine(name: &str) -> String {
    let gate = "machine-controller.kubermatic.io/initializers: ipam";
    format!(
        "{{apiVersion: cluster.k8s.io/v1alpha1, kind: Machine, metadata: {{name: {name}, annotations: {{{gate}}}}}}}"
    )
}

fn world() -> World {
    let run = "reconcile --publish-capacity 10m --network 10.0.0.0/29,10.0.0.1,10.0.0.2";
    World::with(scenario::config(None, run))
}

/// A pass, the pools that it left published and for how long from its time on.
fn pass(world: &World) -> (Outcome, String, i64) {
    let runtime = runtime();
    let outcome = runtime.block_on(world.clean(&Scope::default())).unwrap();
    let all = world.sim.all();
    let (_, status) = all.iter().find(|(k, o)| *k == CONFIG_MAP && o.name() == STATUS).unwrap();
    let text = |key: &str| status.text(&format!("/data/{key}")).unwrap().to_owned();
    (outcome, text("pools"), parse_timestamp(&text("validUntil")).unwrap() - world.now)
}

#[test]
fn figures_are_published_on_change_and_at_half_of_their_life() {
    let mut world = world();
    world.create(&machine("a"));
    let (_, pools, left) = pass(&world);
    assert_eq!((pools.as_str(), left), ("10.0.0.0/29|IPv4|3||", LIFE));
    world.now += LIFE / 2 - 1;
    let (outcome, _, left) = pass(&world);
    assert!(outcome.changed.is_empty(), "{:?}", outcome.changed);
    assert_eq!(left, LIFE / 2 + 1);
    world.now += 1;
    let (outcome, _, left) = pass(&world);
    assert_eq!((outcome.changed.len(), left), (1, LIFE));
    world.create(&machine("b"));
    let (_, pools, _) = pass(&world);
    assert_eq!(pools, "10.0.0.0/29|IPv4|2||");
    // A clock that was ahead must not leave figures that live for years.
    world.now -= 100_000;
    assert_eq!(pass(&world).2, LIFE);
}

#[test]
fn figures_are_no_part_of_the_ledger_and_nothing_is_published_unasked() {
    let mut world = world();
    world.create(&machine("a"));
    pass(&world);
    let target = mipam::publish::target();
    world.edit(&target, |o| o.ensure_object(&["data"]).clear());
    std::sync::Arc::make_mut(&mut world.config).publish = None;
    world.create(&machine("b"));
    let runtime = runtime();
    let outcome = runtime.block_on(world.clean(&Scope::default())).unwrap();
    assert_eq!((outcome.report.allocated.len(), outcome.report.problems.len()), (1, 0));
    assert!(!outcome.changed.iter().filter_map(|c| c.after.as_ref()).any(|o| o.name() == STATUS));
}
