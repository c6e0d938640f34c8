//! Addresses that nobody gets back.

use super::{clean, entries};
use crate::sim::bent::{Bent, address, machine, pass, world};
use crate::sim::fault::Fault;
use crate::sim::stage::{World, runtime};
use mipam::ledger::object_name;
use mipam::plan::Scope;
use mipam::systems::openshift::MACHINE;
use std::cell::RefCell;
use std::rc::Rc;

/// metal3#694: the address is made before the claim has its finalizer; a claim deleted in between leaves it behind.
/// mipam puts no finalizers on what it serves. The same gap, between the record and the write to the owner: a
/// machine that goes in it is found gone by the next pass (`observe::look_again`), whose address is free again.
#[test]
fn bug_19_address_before_the_claims_finalizer() {
    let world = Rc::new(world(&["a"]));
    let inside = world.clone();
    let act = move || inside.sim.delete(&MACHINE.at("ns", "a")).unwrap();
    let bent = Bent { before_write: RefCell::new(Some(Box::new(act))), ..Bent::default() };
    pass(&world, &bent, Scope::default());
    assert_eq!(entries(&world).len(), 1, "it is recorded, and its owner is gone");
    world.create(&machine("b"));
    let outcome = clean(&world);
    assert_eq!(outcome.report.released.len(), 1);
    assert_eq!(address(&world, "b").as_deref(), Some("10.0.0.254/16"));
}

/// node-ipam-controller (run): the IPv4 block of a dual-stack node is kept when there is no IPv6 block left for it.
/// Here all families and devices of an owner are decided together (`Chooser::choose` puts back what it picked):
/// the other's IPv4 address is there for the next machine of the same pass, and the ledger has no trace.
#[test]
fn bug_20_dual_stack_with_the_second_family_exhausted() {
    let world = World::new(
        "
ipam-config:
  lifecycle-hook: {name: ipamController, owner: network-admin}
  pools:
    - {name: four, ranges: [10.0.0.8-10.0.0.9], prefix: 24}
    - {name: six, ranges: ['fd00::8'], prefix: 64, match: {networks: [both]}}
",
    );
    ["a", "b"]
        .iter()
        .for_each(|m| world.create(&machine(m).replace("networkName: lab", "networkName: both")));
    world.create(&machine("c"));
    let outcome = clean(&world);
    assert_eq!(address(&world, "a").as_deref(), Some("10.0.0.8/24"));
    assert_eq!(address(&world, "c").as_deref(), Some("10.0.0.9/24"), "{:?}", outcome.report.pending);
    assert_eq!((outcome.report.pending.len(), &*outcome.report.pending[0].name), (1, "b"));
    assert_eq!(entries(&world).len(), 3);
}

/// kubernetes autoscaling#1281: a release that fails is not tried again. mipam decides anew from what is there: an
/// entry that could not be taken out is still there, is not said to be released, and the pass is not complete.
#[test]
fn bug_23_a_failed_release_is_never_retried() {
    let world = world(&["a"]);
    clean(&world);
    world.delete(&MACHINE.at("ns", "a"), false);
    let page = object_name("10.0.0.254".parse().unwrap());
    let outcome = pass(&world, &Bent { refused: Some(page), ..Bent::default() }, Scope::default());
    assert_eq!((outcome.failures.len(), entries(&world).len()), (1, 1));
    assert!(outcome.report.released.is_empty(), "{:?}", outcome.report.released);
    let outcome = clean(&world);
    assert_eq!((outcome.report.released.len(), entries(&world).len()), (1, 0));
}

/// machine-ipam-controller (read): a claim deleted while the controller is down is never heard of again. mipam
/// waits for no event: who holds an address in the ledger and is not there any more is found by every pass
/// (`observe::look_again`), however it went and whoever was running.
#[test]
fn bug_24_an_owner_deleted_while_nobody_was_running() {
    let world = world(&["a", "b", "c", "d"]);
    clean(&world);
    ["a", "c"].iter().for_each(|m| world.delete(&MACHINE.at("ns", m), false));
    ["e", "f"].iter().for_each(|m| world.create(&machine(m)));
    let outcome = clean(&world);
    assert_eq!(outcome.report.released.len(), 2);
    assert_eq!(address(&world, "e").as_deref(), Some("10.0.0.254/16"));
    assert_eq!(address(&world, "f").as_deref(), Some("10.0.1.0/16"));
    assert_eq!(entries(&world).len(), 4);
}

/// machine-ipam-controller (read): the address is created, writing the claim's status fails, and every later try
/// ends in AlreadyExists. The same here: something is made or written and the answer is lost, at any request of a
/// pass. That it exists is no error but a reason to look again (`apply::record`, `apply::head`).
#[test]
fn bug_25_create_succeeded_and_what_follows_failed() {
    let scope = Scope::default();
    let (_, requests) = runtime().block_on(world(&["a"]).pass(&scope, None));
    assert!(requests > 8, "{requests}");
    for fault in [Fault::LostAnswer, Fault::CrashAfter] {
        for at in 0..requests {
            let world = world(&["a"]);
            let (outcome, _) = runtime().block_on(world.pass(&scope, Some((at, fault))));
            if fault == Fault::LostAnswer {
                assert!(matches!(outcome, Some(Ok(_))), "request {at}: {outcome:?}");
                assert!(address(&world, "a").is_some(), "request {at}: not in the same pass");
            }
            clean(&world);
            assert_eq!(address(&world, "a").as_deref(), Some("10.0.0.254/16"), "{fault:?} at request {at}");
            assert_eq!(entries(&world).len(), 1);
            assert!(clean(&world).changed.is_empty());
        }
    }
}
