//! The guarantees, checked on the whole world after every write, with none of the planner's code.

use mipam::cluster::sim::SimCluster;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// What was true before the last write.
#[derive(Default)]
pub struct Checker {
    /// Addresses that people have put on machines: only what mipam gives is mipam's to answer for.
    pub by_hand: BTreeSet<IpAddr>,
    /// What may be given at all; `None` where that is too much to list.
    usable: Option<BTreeSet<IpAddr>>,
    before: Option<World>,
}

#[derive(Default)]
struct World {
    /// Machine uid to its name, its addresses by device, its hooks that are not ours.
    machines: BTreeMap<String, Machine>,
    /// Ledger key to its entry.
    ledger: BTreeMap<String, Value>,
}

struct Machine {
    name: String,
    devices: Vec<Vec<IpAddr>>,
    others: Value,
}

impl World {
    fn read(sim: &SimCluster) -> Self {
        let mut world = Self::default();
        for (kind, object) in sim.all() {
            if kind.kind == "Machine" && kind.group == "machine.openshift.io" {
                world.machines.insert(object.uid().to_owned(), Machine::read(&object.0));
            }
            if object.name().starts_with("mipam-v") {
                for (key, value) in object.0["data"].as_object().into_iter().flatten() {
                    let entry: Value = serde_json::from_str(value.as_str().unwrap()).unwrap();
                    world.ledger.insert(key.clone(), entry);
                }
            }
        }
        world
    }

    /// The network in which a machine has an address, as the ledger has it.
    fn network(&self, ip: IpAddr, uid: &str) -> String {
        let holds = |e: &Value| e["holders"].as_array().unwrap().iter().any(|h| h["uid"] == uid);
        let entry = self.ledger.iter().find(|(key, e)| address(key) == ip && holds(e));
        entry.and_then(|(_, e)| e["network"].as_str()).unwrap_or_default().to_owned()
    }

    fn bound(&self, key: &str) -> bool {
        let entry = &self.ledger[key];
        if !entry["cooling"].is_null() || entry["surplus"] == true {
            return false;
        }
        if let Some(home) = entry["home"]["address"].as_str() {
            let network = entry["home"]["network"].as_str().unwrap_or_default();
            let home = self.ledger.iter().find(|(k, e)| {
                address(k) == home.parse::<IpAddr>().unwrap()
                    && e["network"].as_str().unwrap_or_default() == network
            });
            return home.is_some_and(|(_, h)| h["bound"] == true);
        }
        entry["bound"].as_bool().unwrap_or(true)
    }
}

impl Machine {
    fn read(object: &Value) -> Self {
        let devices = object["spec"]["providerSpec"]["value"]["network"]["devices"].as_array();
        let ip = |v: &Value| v.as_str()?.split('/').next()?.parse().ok();
        let of = |d: &Value| d["ipAddrs"].as_array().into_iter().flatten().filter_map(ip).collect();
        let mut others = object["spec"]["lifecycleHooks"].clone();
        for list in others.as_object_mut().into_iter().flat_map(|h| h.values_mut()) {
            list.as_array_mut()
                .unwrap()
                .retain(|h| h["name"] != "ipamController" || h["owner"] != "network-admin");
        }
        if let Some(hooks) = others.as_object_mut() {
            hooks.retain(|_, list| list != &serde_json::json!([]));
        }
        if others == serde_json::json!({}) {
            others = Value::Null;
        }
        Self {
            name: object["metadata"]["name"].as_str().unwrap().to_owned(),
            devices: devices.into_iter().flatten().map(of).collect(),
            others,
        }
    }
}

fn address(key: &str) -> IpAddr {
    let text = key.split('_').next().unwrap();
    if text.contains('-') { text.replace('-', ":").parse().unwrap() } else { text.parse().unwrap() }
}

impl Checker {
    pub fn new(usable: Option<BTreeSet<IpAddr>>) -> Self {
        Self { usable, ..Self::default() }
    }

    /// Takes the world as it is for granted: a person has changed it.
    pub fn accept(&mut self, sim: &SimCluster) {
        self.before = Some(World::read(sim));
    }

    /// Checks what a write of mipam has made of the world.
    pub fn check(&mut self, sim: &SimCluster) {
        let after = World::read(sim);
        let before = self.before.take().unwrap_or_default();
        // S1: what mipam gives is on nobody else.
        let mut owners: BTreeMap<(IpAddr, String), &str> = BTreeMap::new();
        for (uid, machine) in &after.machines {
            let distinct: BTreeSet<IpAddr> = machine.devices.iter().flatten().copied().collect();
            for address in distinct.into_iter().filter(|a| !self.by_hand.contains(a)) {
                let slot = (address, after.network(address, uid));
                if let Some(other) = owners.insert(slot, &machine.name) {
                    panic!("S1: {address} is on {other} and on {}", machine.name);
                }
            }
        }
        for (uid, machine) in &after.machines {
            let Some(old) = before.machines.get(uid) else { continue };
            // S5: hooks of others stay.
            assert_eq!(old.others, machine.others, "S5: hooks of others on {}", machine.name);
            for (was, is) in old.devices.iter().zip(&machine.devices) {
                if was == is {
                    continue;
                }
                // S4: an assignment that exists is never changed.
                assert!(was.is_empty(), "S4: {} had {was:?} and has {is:?}", machine.name);
                for given in is {
                    // S2, and record before write.
                    assert!(
                        self.usable.as_ref().is_none_or(|u| u.contains(given)),
                        "S2: {given} cannot be given"
                    );
                    let recorded = after.ledger.iter().any(|(key, entry)| {
                        let holds = |h: &Value| h["uid"].as_str() == Some(uid.as_str());
                        // Surplus is still kept for its owner, in case a late writer gives it after all.
                        address(key) == *given
                            && entry["holders"].as_array().unwrap().iter().any(holds)
                            && (after.bound(key) || entry["surplus"] == true)
                    });
                    assert!(
                        recorded,
                        "S1: {given} was written to {} and is not bound in the ledger",
                        machine.name
                    );
                }
            }
        }
        // S3: nothing bound is freed while its owner exists.
        for (key, entry) in &before.ledger {
            for holder in entry["holders"].as_array().unwrap().iter().filter(|_| before.bound(key)) {
                let uid = holder["uid"].as_str().unwrap_or_default();
                let still = after.ledger.get(key).is_some_and(|e| {
                    e["cooling"].is_null() && e["holders"].as_array().unwrap().iter().any(|h| h["uid"] == uid)
                });
                assert!(
                    still || !after.machines.contains_key(uid),
                    "S3: {key} was taken from {} which exists: {entry} became {:?}",
                    holder["name"],
                    after.ledger.get(key).map(ToString::to_string)
                );
            }
        }
        self.before = Some(after);
    }
}
