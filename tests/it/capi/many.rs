//! What many claims cost: three writes each, the ledger's pages, and two for the pool.

use super::{claim, pool};
use crate::sim::bent::at_once;
use crate::sim::stage::World;
use mipam::model::Object;
use mipam::systems::capi::{ADDRESS, CLAIM, IN_CLUSTER};
use std::collections::BTreeSet;

const MANY: usize = 3_000;

#[test]
fn a_claim_costs_three_writes() {
    let world = World::new("ipam-config: {serve-pools: [InClusterIPPool]}");
    world.sim.put(IN_CLUSTER, &Object(pool())).unwrap();
    let put = |i: usize| world.sim.put(CLAIM, &Object(claim(&format!("claim-{i}")))).unwrap();
    (0..MANY).for_each(|i| drop(put(i)));
    let outcome = at_once(&world);
    assert_eq!((outcome.report.allocated.len(), outcome.report.pending.len()), (MANY, 0));
    let all = world.sim.all();
    let records = all.iter().filter(|(k, _)| *k == ADDRESS);
    let addresses: BTreeSet<&str> = records.filter_map(|(_, a)| a.text("/spec/address")).collect();
    assert_eq!(addresses.len(), MANY, "no address twice");
    // From .10 of the first page on, and the head that describes them.
    let pages = (10 + MANY).div_ceil(256) + 1;
    assert_eq!(outcome.changed.len(), 3 * MANY + pages + 2);

    put(MANY);
    let outcome = at_once(&world);
    // Its own three, one page of the ledger, and the status of the pool.
    assert_eq!((outcome.report.allocated.len(), outcome.changed.len()), (1, 5), "{:?}", outcome.changed);
    assert!(at_once(&world).changed.is_empty(), "an idle pass writes");
}
