//! The machines, the two configurations, and the users who make and delete machines all the while.

use super::checker::{Device, Machine};
use super::dice::Dice;
use crate::bed::Bed;
use serde_json::{Value, json};
use std::net::IpAddr;

const API: &str = "machine.openshift.io/v1beta1";
const FINALIZER: &str = "test.mipam.io/vm";

/// What the CronJob has. The networks use the same numbers; the ranges are not much larger than the fleet, so
/// that addresses are given again and again.
pub const CRON: &str = "ipam-config:
  lifecycle-hook: {name: ipamController, owner: network-admin}
  pools:
    - {name: lab-4, ranges: [10.0.0.0-10.0.2.255], prefix: 16, gateway: 10.0.0.7, exclude: [10.0.0.9], network: lab, match: {networks: [lab]}}
    - {name: lab-6, ranges: ['fd00::/118'], prefix: 64, gateway: 'fd00::1', network: lab, match: {networks: [lab], namespaces: [dual]}}
    - {name: store-4, ranges: [10.0.0.128-10.0.1.255], prefix: 16, network: store, match: {networks: [store]}}
    - {name: store-6, ranges: ['fd00::80-fd00::2ff'], prefix: 64, network: store, match: {networks: [store], namespaces: [dual]}}
";

/// What is on the laptop: other pools, other ranges, the same networks.
pub const LAPTOP: &str = "ipam-config:
  lifecycle-hook: {name: ipamController, owner: network-admin}
  pools:
    - {name: office, ranges: [10.0.0.64-10.0.3.63], prefix: 16, gateway: 10.0.0.7, exclude: [10.0.0.9], network: lab, match: {networks: [lab]}}
    - {name: office-6, ranges: ['fd00::40-fd00::3ff'], prefix: 64, gateway: 'fd00::1', network: lab, match: {networks: [lab], namespaces: [dual]}}
    - {name: disks, ranges: [10.0.0.0-10.0.1.127], prefix: 16, gateway: 10.0.0.7, exclude: [10.0.0.9], network: store, match: {networks: [store]}}
    - {name: disks-6, ranges: ['fd00::/119'], prefix: 64, gateway: 'fd00::1', network: store, match: {networks: [store], namespaces: [dual]}}
";

/// May one of the two configurations give this address?
pub fn usable(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            let forbidden = ["10.0.0.0", "10.0.0.7", "10.0.0.9"].map(|a| a.parse().expect("an address"));
            v4.octets()[..2] == [10, 0] && v4.octets()[2] < 4 && !forbidden.contains(&v4)
        }
        IpAddr::V6(v6) => (0xfd00 << 112 | 2..=0xfd00 << 112 | 0x3ff).contains(&v6.to_bits()),
    }
}

/// Does a device have what it should: one IPv4 address, and one IPv6 address in namespace `dual`?
pub fn served(machine: &Machine, device: &Device) -> bool {
    let of = |four: bool| device.addresses.iter().filter(|a| a.is_ipv4() == four).count();
    of(true) == 1 && of(false) == usize::from(machine.namespace == "dual")
}

/// Every kind of machine in turn: with one family or two, one device or two, with and without a finalizer and
/// a hook of somebody else.
fn machine(number: usize) -> Value {
    let namespace = if number.is_multiple_of(3) { "dual" } else { "single" };
    let mut devices = vec![json!({"networkName": "lab"})];
    if number.is_multiple_of(4) {
        devices.push(json!({"networkName": "store"}));
    }
    let mut hooks = json!({"preCreate": [{"name": "ipamController", "owner": "network-admin"}]});
    if number.is_multiple_of(7) {
        hooks["preTerminate"] = json!([{"name": "other", "owner": "somebody"}]);
    }
    let mut metadata = json!({"name": format!("m-{number:04}"), "namespace": namespace});
    if number.is_multiple_of(5) {
        metadata["finalizers"] = json!([FINALIZER]);
    }
    json!({
        "apiVersion": API,
        "kind": "Machine",
        "metadata": metadata,
        "spec": {
            "lifecycleHooks": hooks,
            "providerSpec": {"value": {"network": {"devices": devices}}},
        },
    })
}

/// Namespace and name.
pub type Place = (String, String);

/// The users.
pub struct Fleet {
    bed: &'static Bed,
    dice: Dice,
    made: usize,
    alive: Vec<usize>,
    /// Deleted, and held by a finalizer: the virtual machine still runs.
    dying: Vec<usize>,
}

impl Fleet {
    pub fn new(bed: &'static Bed, dice: Dice) -> Self {
        Self { bed, dice, made: 0, alive: Vec::new(), dying: Vec::new() }
    }

    /// How many machines there are that nobody has deleted.
    pub fn size(&self) -> usize {
        self.alive.len()
    }

    /// Makes new machines; returns their places.
    pub fn create(&mut self, count: usize) -> Vec<Place> {
        let numbers: Vec<usize> = (self.made..self.made + count).collect();
        self.made += count;
        self.alive.extend(&numbers);
        self.make(&numbers)
    }

    /// Deletes machines at random; every second one without a finalizer is made again under its name. Returns
    /// the places of those.
    pub fn delete(&mut self, count: usize) -> Vec<Place> {
        let mut again = Vec::new();
        for _ in 0..count.min(self.alive.len()) {
            let at = self.dice.below(self.alive.len());
            let number = self.alive[at];
            let (namespace, name) = place(number);
            self.bed.delete(API, "Machine", &namespace, &name);
            if number.is_multiple_of(5) {
                self.alive.swap_remove(at);
                self.dying.push(number);
            } else if self.dice.percent(50) {
                again.extend(self.make(&[number]));
            } else {
                self.alive.swap_remove(at);
            }
        }
        again
    }

    /// The virtual machines of deleted machines have ended, of all but a few.
    pub fn bury(&mut self, keep: usize) {
        while self.dying.len() > keep {
            let (namespace, name) = place(self.dying.remove(0));
            let patch = json!({"metadata": {"finalizers": null}});
            self.bed.merge(API, "Machine", &namespace, &name, &patch);
        }
    }

    /// Is there a machine at this place that waits for mipam?
    pub fn waits(&self, (namespace, name): &Place) -> bool {
        let found = self.bed.get(API, "Machine", namespace, name);
        found.map(|object| Machine::read(&object).1).is_some_and(|m| m.waiting && !m.deleting)
    }

    fn make(&self, numbers: &[usize]) -> Vec<Place> {
        self.bed.create_all(numbers.iter().map(|n| machine(*n)).collect());
        numbers.iter().map(|n| place(*n)).collect()
    }
}

fn place(number: usize) -> Place {
    let machine = machine(number);
    let text = |key: &str| machine["metadata"][key].as_str().expect("a text").to_owned();
    (text("namespace"), text("name"))
}
