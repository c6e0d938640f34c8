//! A hundred thousand addresses of one IPv6 pool: how large the ledger's objects become, and what one more
//! machine costs then.

use crate::sim::stage::{NOW, World, runtime};
use mipam::cluster::Cluster;
use mipam::ledger::{CONFIG_MAP, Change, Head, Ledger, by_page, object_name};
use mipam::model::{Allocation, Holder, Object, Owner, Slot, Standing};
use mipam::pass::Outcome;
use mipam::plan::Scope;
use mipam::systems::openshift::MACHINE;
use serde_json::json;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

const MANY: u32 = 100_000;
const EPOCH: &str = "00112233445566778899aabbccddeeff";

/// Devices on `lab` get IPv6 alone, those on `both` one of each family.
const CONFIG: &str = "
ipam-config:
  lifecycle-hook: {name: ipamController, owner: network-admin}
  pools:
    - {name: six, ranges: ['fd00::/64'], prefix: 64, gateway: 'fd00:1::1'}
    - {name: four, ranges: [10.0.0.0/16], prefix: 16, gateway: 10.0.255.254, match: {networks: [both]}}
";

fn address(i: u32) -> IpAddr {
    IpAddr::V6(Ipv6Addr::from_bits("fd00::1".parse::<Ipv6Addr>().unwrap().to_bits() + u128::from(i)))
}

/// As long as a host name can be.
fn name(i: u32) -> String {
    format!("{:x<56}{i:07}", "worker-")
}

fn namespace() -> String {
    "n".repeat(63)
}

/// A page's largest size, and what an API server takes at most.
const PAGE: usize = 128 << 10;
const CONFIG_MAP_LIMIT: usize = 1 << 20;

fn machine(i: u32, network: &str) -> Object {
    Object(json!({
        "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
        "metadata": { "name": name(i), "namespace": namespace() },
        "spec": {
            "lifecycleHooks": { "preCreate": [{ "name": "ipamController", "owner": "network-admin" }] },
            "providerSpec": { "value": { "network": { "devices": [{ "networkName": network }] } } },
        },
    }))
}

/// One holder or more, of a kind that this mipam does not know: no object has to stand behind each.
fn entry(slot: Slot, namespace: &str, names: &[&str], pool: &str, standing: Standing) -> (Slot, Change) {
    let holder = |name: &&str| Holder {
        owner: Arc::new(Owner {
            group: MACHINE.group.into(),
            kind: "Unknown".into(),
            namespace: namespace.into(),
            name: (*name).into(),
            uid: "00000000-1111-2222-3333-444444444444".into(),
            system: "openshift".into(),
        }),
        device: "0".into(),
    };
    let holders = names.iter().map(holder).collect();
    let allocation =
        Allocation { slot: slot.clone(), holders, pool: pool.into(), since: NOW, adopted: false, standing };
    (slot, Change::Put(allocation))
}

fn size(object: &Object) -> usize {
    serde_json::to_vec(&object.0).unwrap().len()
}

/// The cluster after so many addresses have been given, one after the other.
fn full() -> World {
    let world = World::new(CONFIG);
    world.sim.put(CONFIG_MAP, &Head::first(EPOCH, &world.config.pools)).unwrap();
    let entries = (0..MANY).map(|i| {
        let slot = Slot::new(address(i), "".into());
        entry(slot, &"n".repeat(63), &[&name(i)], "six", Standing::Bound)
    });
    for (page, entries) in by_page(&entries.collect()) {
        world.sim.put(CONFIG_MAP, &Ledger::default().changed(&page.name(), EPOCH, &entries)).unwrap();
    }
    world
}

/// A pass, and how many objects of the ledger and how many machines it wrote.
fn pass(world: &World) -> (Outcome, usize, usize) {
    let runtime = runtime();
    let before = world.sim.traffic().counts().1;
    let outcome =
        runtime.block_on(world.settings(&world.sim, &Scope::default()).run(&|_| ())).expect("a pass");
    let writes = world.sim.traffic().counts().1 - before;
    let ledger = outcome.changed.iter().filter(|c| c.after.as_ref().unwrap().kind() == "ConfigMap").count();
    assert_eq!(writes as usize, outcome.changed.len(), "every write is a change");
    let machines = outcome.changed.len() - ledger;
    (outcome, ledger, machines)
}

#[test]
fn with_a_hundred_thousand_addresses_one_more_machine_costs_one_write_to_the_ledger() {
    let world = full();
    let pages: Vec<_> =
        world.sim.all().into_iter().map(|(_, o)| o).filter(|o| o.name().starts_with("mipam-v")).collect();
    assert_eq!(pages.len(), 391, "256 addresses each, but for the first and the last");
    let largest = pages.iter().map(|p| size(p)).max().unwrap();
    assert!(largest < PAGE, "{largest}");

    world.sim.put(MACHINE, &machine(MANY, "lab")).unwrap();
    let (outcome, ledger, machines) = pass(&world);
    assert_eq!((ledger, machines), (1, 1));
    assert_eq!(outcome.report.allocated[0].address, format!("{}/64", address(MANY)));

    // One of each family: both recorded, then bound by a third write to the first of the two.
    world.sim.put(MACHINE, &machine(MANY + 1, "both")).unwrap();
    let (outcome, ledger, machines) = pass(&world);
    assert_eq!((ledger, machines), (3, 1));
    assert_eq!(outcome.report.allocated.len(), 2);
}

/// A page whose 256 addresses are all held, by owners with names that are so long.
fn page_of(name: usize, network: usize, pool: usize, holders: usize, set: usize) -> usize {
    let (name, namespace) = ("m".repeat(name), "n".repeat(63));
    let (network, pool) = ("w".repeat(network), "p".repeat(pool));
    let held = |i: u32| {
        let slot = Slot::new(address(i + 255), network.as_str().into());
        let set = vec![slot.clone(); set];
        let standing = if set.is_empty() {
            Standing::Bound
        } else {
            Standing::Home { set, bound: true, draft: "1234567890".into() }
        };
        entry(slot, &namespace, &vec![&*name; holders], &pool, standing)
    };
    let changes: Vec<_> = (0..256).map(held).collect();
    size(&Ledger::default().changed(&object_name(address(255)), EPOCH, &changes))
}

#[test]
fn a_page_is_small_with_names_of_hosts_and_fits_with_any_names() {
    // A machine becomes a host, whose name has 63 characters at most.
    assert!(page_of(63, 0, 7, 1, 0) < PAGE);
    assert!(page_of(63, 0, 7, 1, 2) < PAGE, "every machine has two addresses");
    // The longest names that the API and the configuration allow, every address on two machines at once.
    assert!(page_of(253, 63, 63, 2, 4) < CONFIG_MAP_LIMIT);
}
