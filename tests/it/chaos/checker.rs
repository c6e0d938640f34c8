//! The guarantees, checked on raw JSON with none of mipam's code: after every change of the history, and once
//! more thoroughly on what is there in the end.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// An address in a network: `("10.0.0.5", "lab")`. What cannot be read stays as it is written.
pub type Slot = (String, String);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    pub network: String,
    pub addresses: Vec<IpAddr>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    pub namespace: String,
    pub name: String,
    pub deleting: bool,
    /// Our hook holds it back.
    pub waiting: bool,
    /// Our hook says that it was served.
    pub marked: bool,
    pub devices: Vec<Device>,
}

impl Machine {
    /// A machine with its uid.
    pub fn read(object: &Value) -> (String, Self) {
        let text = |key: &str| object["metadata"][key].as_str().unwrap_or_default().to_owned();
        let hook = |list: &str| {
            let hooks = object["spec"]["lifecycleHooks"][list].as_array();
            hooks
                .into_iter()
                .flatten()
                .any(|h| h["name"] == "ipamController" && h["owner"] == "network-admin")
        };
        let address = |a: &Value| {
            let text = a.as_str().and_then(|t| t.split('/').next()).unwrap_or_default();
            text.parse().unwrap_or_else(|_| panic!("{a} in {object}"))
        };
        let device = |d: &Value| Device {
            network: d["networkName"].as_str().unwrap_or_default().to_owned(),
            addresses: d["ipAddrs"].as_array().into_iter().flatten().map(address).collect(),
        };
        let devices = object["spec"]["providerSpec"]["value"]["network"]["devices"].as_array();
        let machine = Self {
            namespace: text("namespace"),
            name: text("name"),
            deleting: object["metadata"]["deletionTimestamp"].is_string(),
            waiting: hook("preCreate"),
            marked: hook("preTerminate"),
            devices: devices.into_iter().flatten().map(device).collect(),
        };
        (text("uid"), machine)
    }

    fn slots(&self) -> impl Iterator<Item = Slot> {
        self.devices.iter().flat_map(|d| d.addresses.iter().map(|a| (a.to_string(), d.network.clone())))
    }
}

/// The entries of a ledger object; none where the ConfigMap is no page of the ledger.
pub fn entries(object: &Value) -> BTreeMap<Slot, Value> {
    let page = object["metadata"]["name"].as_str().is_some_and(|name| name.starts_with("mipam-v"));
    let data = object["data"].as_object().into_iter().flatten().filter(|_| page);
    data.map(|(key, value)| {
        let (address, network) = key.split_once('_').unwrap_or((key, ""));
        let written = if address.contains('-') { address.replace('-', ":") } else { address.to_owned() };
        let address = written.parse::<IpAddr>().map_or(written, |ip| ip.to_string());
        let entry = value.as_str().and_then(|text| serde_json::from_str(text).ok());
        ((address, network.to_owned()), entry.unwrap_or_else(|| value.clone()))
    })
    .collect()
}

/// What changed at one revision; `None`: it is gone.
#[derive(Clone, Debug, Default)]
pub struct Step {
    pub revision: u64,
    /// By uid.
    pub machines: Vec<(String, Option<Machine>)>,
    /// By address and ledger object.
    pub entries: Vec<(Slot, String, Option<Value>)>,
}

/// The world as it was after the last step, and what was wrong on the way.
#[derive(Default)]
pub struct Checker {
    pub machines: BTreeMap<String, Machine>,
    /// By address, then by the object that has the entry.
    pub ledger: BTreeMap<Slot, BTreeMap<String, Value>>,
    carriers: BTreeMap<Slot, BTreeSet<String>>,
    pub findings: Vec<String>,
}

impl Checker {
    /// Makes a step, and checks what it changed.
    pub fn apply(&mut self, step: Step) {
        let revision = step.revision;
        let mut freed: Vec<(Slot, String)> = Vec::new();
        for (slot, object, _) in &step.entries {
            let old = self.ledger.get(slot).and_then(|places| places.get(object));
            if let Some(old) = old.filter(|e| self.bound(slot, e)) {
                freed.extend(holders(old).map(|uid| (slot.clone(), uid)));
            }
        }
        for (slot, object, entry) in step.entries {
            let places = self.ledger.entry(slot).or_default();
            match entry {
                Some(entry) => drop(places.insert(object, entry)),
                None => drop(places.remove(&object)),
            }
        }
        let mut given: Vec<(String, Slot)> = Vec::new();
        for (uid, machine) in step.machines {
            let old = self.machines.remove(&uid);
            for slot in old.iter().flat_map(Machine::slots) {
                self.carriers.entry(slot).or_default().remove(&uid);
            }
            let Some(machine) = machine else { continue };
            for slot in machine.slots() {
                self.carriers.entry(slot.clone()).or_default().insert(uid.clone());
                if !old.as_ref().is_some_and(|o| o.slots().any(|s| s == slot)) {
                    given.push((uid.clone(), slot));
                }
            }
            for (was, is) in old.iter().flat_map(|o| &o.devices).zip(&machine.devices) {
                if was != is && !was.addresses.is_empty() {
                    let text = format!("{} had {was:?} and has {is:?}", machine.name);
                    self.findings.push(format!("revision {revision}: changed: {text}"));
                }
            }
            self.machines.insert(uid, machine);
        }
        // Freed only when its owner is gone: a uid never comes back.
        for (slot, uid) in freed {
            let kept = self.held(&slot, &uid, |e| e["cooling"].is_null());
            if let Some(machine) = self.machines.get(&uid).filter(|_| !kept) {
                let text = format!("{slot:?} was taken from {}, which exists", machine.name);
                self.findings.push(format!("revision {revision}: freed: {text}"));
            }
        }
        // Given only what is recorded, and to one alone.
        for (uid, slot) in given {
            let name = self.machines[&uid].name.clone();
            if self.carriers[&slot].len() > 1 {
                self.findings.push(format!("revision {revision}: duplicate: {slot:?} was given to {name}"));
            }
            let recorded = self.held(&slot, &uid, |e| self.bound(&slot, e) || e["surplus"] == true);
            if !recorded {
                let text = format!("{slot:?} was given to {name} and is not bound to it");
                self.findings.push(format!("revision {revision}: unrecorded: {text}"));
            }
        }
    }

    /// Checks the world when all is done: nothing twice, nothing left over, everybody served.
    pub fn finish(&mut self, served: impl Fn(&Machine, &Device) -> bool, usable: impl Fn(IpAddr) -> bool) {
        let mut found = Vec::new();
        for (slot, uids) in self.carriers.iter().filter(|(_, uids)| uids.len() > 1) {
            found.push(format!("duplicate: {slot:?} is on the machines {uids:?}"));
        }
        for (uid, machine) in &self.machines {
            let name = &machine.name;
            let slots: Vec<Slot> = machine.slots().collect();
            if slots.iter().collect::<BTreeSet<_>>().len() < slots.len() {
                found.push(format!("duplicate: {name} has an address twice: {slots:?}"));
            }
            if machine.deleting {
                found.push(format!("unfinished: {name} is still being deleted"));
            } else if machine.waiting
                || !machine.marked
                || machine.devices.is_empty()
                || !machine.devices.iter().all(|d| served(machine, d))
            {
                found.push(format!("unserved: {machine:?}"));
            }
            let addresses = machine.devices.iter().flat_map(|d| &d.addresses);
            found.extend(addresses.filter(|a| !usable(**a)).map(|a| format!("unusable: {a} is on {name}")));
            for slot in slots.iter().filter(|slot| !self.held(slot, uid, |e| self.bound(slot, e))) {
                found.push(format!("unrecorded: {slot:?} is on {name} and not in the ledger"));
            }
        }
        for (slot, places) in &self.ledger {
            if places.len() > 1 {
                found.push(format!("duplicate: {slot:?} is in {:?}", places.keys().collect::<Vec<_>>()));
            }
            for entry in places.values() {
                let holders: Vec<String> = holders(entry).collect();
                let [uid] = holders.as_slice() else {
                    found.push(format!("duplicate: {slot:?} has holders {holders:?}: {entry}"));
                    continue;
                };
                if !self.bound(slot, entry) {
                    found.push(format!("leak: {slot:?} is neither bound nor free: {entry}"));
                }
                match self.machines.get(uid) {
                    None => found.push(format!("leak: {slot:?} is held by {uid}, which is gone")),
                    Some(m) if !m.slots().any(|s| s == *slot) => {
                        found.push(format!("leak: {slot:?} is held by {}, which does not carry it", m.name));
                    }
                    Some(_) => {}
                }
            }
        }
        self.findings.append(&mut found);
    }

    /// Is this entry binding? A part of a set is if its home is.
    fn bound(&self, slot: &Slot, entry: &Value) -> bool {
        if !entry.is_object() || !entry["cooling"].is_null() || entry["surplus"] == true {
            return false;
        }
        let Some(home) = entry["home"]["address"].as_str() else {
            return entry["bound"].as_bool().unwrap_or(true);
        };
        let network = entry["home"]["network"].as_str().unwrap_or_default();
        let home = self.ledger.get(&(home.to_owned(), network.to_owned()));
        let names_it = |h: &Value| {
            let set = h["set"].as_array();
            set.into_iter().flatten().any(|s| {
                s["address"] == slot.0.as_str() && s["network"].as_str().unwrap_or_default() == slot.1
            })
        };
        home.into_iter().flat_map(BTreeMap::values).any(|h| {
            h["bound"] == true
                && names_it(h)
                && holders(h).any(|uid| holders(entry).any(|other| other == uid))
        })
    }

    fn held(&self, slot: &Slot, uid: &str, so: impl Fn(&Value) -> bool) -> bool {
        let entries = self.ledger.get(slot).into_iter().flat_map(BTreeMap::values);
        entries.filter(|e| so(e)).any(|e| holders(e).any(|holder| holder == uid))
    }
}

fn holders(entry: &Value) -> impl Iterator<Item = String> {
    let list = entry["holders"].as_array().into_iter().flatten();
    list.map(|h| h["uid"].as_str().unwrap_or_default().to_owned())
}
