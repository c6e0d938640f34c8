//! More claims in one pool than a status with all of them could be written for.

use crate::sim::bent::at_once;
use crate::sim::stage::World;
use mipam::model::Object;
use mipam::systems::elf::{IP_ADDRESS, IP_CLAIM, IP_POOL};
use serde_json::json;
use std::collections::BTreeSet;

const MANY: usize = 12_500;

/// What an API server takes at most for one object.
const LIMIT: usize = 1 << 20;

fn claim(i: usize) -> Object {
    Object(json!({
        "apiVersion": "ipam.metal3.io/v1alpha1", "kind": "IPClaim",
        // As long as the name of a machine can be.
        "metadata": { "name": format!("{:x<56}{i:07}", "claim-"), "namespace": "ns" },
        "spec": { "pool": { "name": "lab" } },
    }))
}

#[test]
fn more_than_twelve_thousand_addresses_of_one_pool_are_served() {
    let world = World::new("ipam-config: {metal3: serve}");
    let pool = json!({
        "apiVersion": "ipam.metal3.io/v1alpha1", "kind": "IPPool", "metadata": { "name": "lab", "namespace": "ns" },
        "spec": { "namePrefix": "lab", "pools": [{ "subnet": "10.0.0.0/16" }], "prefix": 16 },
    });
    world.sim.put(IP_POOL, &Object(pool)).unwrap();
    for i in 0..MANY {
        world.sim.put(IP_CLAIM, &claim(i)).unwrap();
    }
    let outcome = at_once(&world);
    assert_eq!((outcome.report.allocated.len(), outcome.report.pending.len()), (MANY, 0));
    let all = world.sim.all();
    let records = all.iter().filter(|(k, _)| *k == IP_ADDRESS);
    let addresses: BTreeSet<&str> = records.filter_map(|(_, a)| a.text("/spec/address")).collect();
    assert_eq!(addresses.len(), MANY, "no address twice");
    for (kind, object) in &all {
        let size = serde_json::to_vec(&object.0).unwrap().len();
        assert!(size < LIMIT / 4, "{} is of {size} bytes", kind.at(object.namespace(), object.name()));
    }

    world.sim.put(IP_CLAIM, &claim(MANY)).unwrap();
    let outcome = at_once(&world);
    // Its finalizer, record and status, and one page of the ledger.
    assert_eq!((outcome.report.allocated.len(), outcome.changed.len()), (1, 4), "{:?}", outcome.changed);
    assert!(at_once(&world).changed.is_empty(), "an idle pass writes");
}
