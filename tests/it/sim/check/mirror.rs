//! Machines and ledger as the checker reads them.

use mipam::cluster::sim::{Event, Verb};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

/// The groups whose Machines are served.
const KINDS: [&str; 3] = ["machine.openshift.io", "cluster.k8s.io", "machine.k8s.io"];

const GATE: &str = "machine-controller.kubermatic.io/initializers";
const SECOND: &str = "mipam.io/second-cidr";

#[derive(Clone, Default)]
pub struct Mirror {
    /// By uid.
    pub machines: BTreeMap<String, Machine>,
    /// By the name of the ledger object, then by key.
    pub pages: BTreeMap<String, BTreeMap<String, Arc<Entry>>>,
    /// What Nodes show.
    pub nodes: BTreeMap<String, BTreeSet<IpAddr>>,
}

#[derive(Clone, Debug)]
pub struct Machine {
    pub name: String,
    pub devices: Vec<Vec<IpAddr>>,
    /// What its status shows.
    pub status: BTreeSet<IpAddr>,
    pub labels: BTreeMap<String, String>,
    /// Our hook holds it back.
    pub gated: bool,
    pub deleting: bool,
    pub paused: bool,
    /// A device has something that is no address.
    pub unreadable: bool,
    /// All that mipam has no business with.
    pub others: Value,
}

#[derive(Debug)]
pub struct Entry {
    pub address: IpAddr,
    pub network: String,
    pub holders: Vec<Holder>,
    pub standing: Standing,
    /// What hangs on it, if it is the home of a set.
    pub set: Vec<IpAddr>,
    /// Which draft of a set it is part of.
    draft: String,
    text: String,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Holder {
    pub name: String,
    /// Empty for holds.
    pub uid: String,
}

impl Holder {
    pub fn same(&self, other: &Self) -> bool {
        self.uid == other.uid && self.name == other.name
    }
}

#[derive(Debug, PartialEq, Eq)]
pub enum Standing {
    Bound,
    Tentative,
    Member((IpAddr, String)),
    Surplus,
    Cooling(i64),
}

impl Mirror {
    pub fn apply(&mut self, event: &Event) {
        let object = &event.object;
        let gone = event.verb == Verb::Deleted;
        match event.kind.kind {
            "Machine" if KINDS.contains(&event.kind.group) => {
                if gone {
                    self.machines.remove(object.uid());
                } else {
                    self.machines.insert(object.uid().to_owned(), Machine::read(&object.0));
                }
            }
            "Node" => {
                let shown = if gone { BTreeSet::new() } else { status(&object.0) };
                self.nodes.insert(object.name().to_owned(), shown);
            }
            "ConfigMap" if object.name().starts_with("mipam-v") => {
                let old = self.pages.remove(object.name()).unwrap_or_default();
                let data = object.0["data"].as_object().into_iter().flatten().filter(|_| !gone);
                let read = |(key, text): (&String, &Value)| {
                    let text = text.as_str()?;
                    let known = old.get(key).filter(|e| e.text == text).cloned();
                    Some((key.clone(), known.or_else(|| Entry::read(key, text).map(Arc::new))?))
                };
                self.pages.insert(object.name().to_owned(), data.filter_map(read).collect());
            }
            _ => {}
        }
    }

    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.pages.values().flat_map(|page| page.values().map(|e| &**e))
    }

    /// Can an entry be relied on?
    pub fn firm(&self, entry: &Entry) -> bool {
        match &entry.standing {
            Standing::Bound => true,
            Standing::Tentative | Standing::Surplus | Standing::Cooling(_) => false,
            Standing::Member((address, network)) => {
                let home = self.entries().find(|e| e.address == *address && e.network == *network);
                // A home that is bound reads as bound.
                home.is_some_and(|h| {
                    h.standing == Standing::Bound
                        && h.set.contains(&entry.address)
                        && h.draft == entry.draft
                        && h.holders.iter().any(|h| entry.holders.iter().any(|e| e.same(h)))
                })
            }
        }
    }

    /// Every address that a Node or the status of a machine shows.
    pub fn shown(&self) -> BTreeSet<IpAddr> {
        self.shown_beside("")
    }

    /// The same without the status of the machine of that name: what it shows is its own.
    pub fn shown_beside(&self, name: &str) -> BTreeSet<IpAddr> {
        let statuses = self.machines.values().filter(|m| m.name != name).map(|m| &m.status);
        self.nodes.values().chain(statuses).flatten().copied().collect()
    }
}

fn parse(value: &Value) -> Option<IpAddr> {
    value.as_str()?.split('/').next()?.parse().ok()
}

fn status(object: &Value) -> BTreeSet<IpAddr> {
    let list = object["status"]["addresses"].as_array().into_iter().flatten();
    list.filter_map(|a| parse(&a["address"])).collect()
}

impl Machine {
    pub fn read(object: &Value) -> Self {
        let openshift = object["apiVersion"].as_str().is_some_and(|v| v.starts_with("machine.openshift.io/"));
        if openshift { Self::of_openshift(object) } else { Self::of_kubermatic(object) }
    }

    /// One network is one device.
    fn of_kubermatic(object: &Value) -> Self {
        let network = network(object);
        let second = &object["metadata"]["annotations"][SECOND];
        let cidrs =
            || [network, Some(second)].into_iter().flatten().filter(|c| !c.is_null() && **c != json!(""));
        let list = object["metadata"]["annotations"][GATE].as_str().unwrap_or_default();
        Self {
            devices: vec![cidrs().filter_map(parse).collect()],
            gated: list.split(',').any(|e| e.trim() == "ipam"),
            unreadable: cidrs().any(|c| parse(c).is_none()),
            ..Self::of_openshift(object)
        }
    }

    fn of_openshift(object: &Value) -> Self {
        let metadata = &object["metadata"];
        let devices = object["spec"]["providerSpec"]["value"]["network"]["devices"].as_array();
        let devices = || devices.into_iter().flatten();
        let listed = |d: &Value| d["ipAddrs"].as_array().cloned().unwrap_or_default();
        let labels = metadata["labels"].as_object().into_iter().flatten();
        let ours = |h: &Value| h["name"] == "ipamController" && h["owner"] == "network-admin";
        let gate = |list: &str| {
            let hooks = object["spec"]["lifecycleHooks"][list].as_array();
            hooks.is_some_and(|l| l.iter().any(ours))
        };
        Self {
            name: metadata["name"].as_str().unwrap().to_owned(),
            devices: devices().map(|d| listed(d).iter().filter_map(parse).collect()).collect(),
            status: status(object),
            labels: labels.map(|(k, v)| (k.clone(), v.as_str().unwrap_or_default().to_owned())).collect(),
            gated: gate("preCreate") || gate("preProvision"),
            deleting: !metadata["deletionTimestamp"].is_null(),
            paused: !metadata["annotations"]["cluster.x-k8s.io/paused"].is_null(),
            unreadable: devices().any(|d| listed(d).iter().any(|a| parse(a).is_none())),
            others: others(object.clone()),
        }
    }

    /// The addresses on its devices.
    pub fn carried(&self) -> BTreeSet<IpAddr> {
        self.devices.iter().flatten().copied().collect()
    }
}

/// `network.cidr` of a Kubermatic machine.
fn network(object: &Value) -> Option<&Value> {
    let places = ["/spec/providerSpec/value/network/cidr", "/spec/providerConfig/network/cidr"];
    places.iter().find_map(|place| object.pointer(place))
}

/// A machine without what mipam writes.
fn others(mut object: Value) -> Value {
    for key in ["resourceVersion", "generation"] {
        object["metadata"].as_object_mut().unwrap().shift_remove(key);
    }
    if let Some(notes) = object["metadata"]["annotations"].as_object_mut() {
        let bypass = "kubermatic.io/bypass-no-spec-mutation-requirement";
        ["mipam.io/nmstate", SECOND, bypass].iter().for_each(|key| drop(notes.shift_remove(*key)));
        let list = notes.get(GATE).and_then(Value::as_str).unwrap_or_default();
        let left = list.split(',').map(str::trim).filter(|e| *e != "ipam" && !e.is_empty());
        let left = left.collect::<Vec<_>>();
        notes.insert(GATE.to_owned(), json!(left));
    }
    for place in ["/spec/providerSpec/value/network", "/spec/providerConfig/network"] {
        let network = object.pointer_mut(place).and_then(Value::as_object_mut);
        let written = ["cidr", "gateway", "dns"];
        network.into_iter().for_each(|n| written.iter().for_each(|k| drop(n.shift_remove(*k))));
    }
    if object["status"]["errorReason"] == "InsufficientResources" {
        let status = object["status"].as_object_mut().unwrap();
        ["errorReason", "errorMessage"].iter().for_each(|k| drop(status.shift_remove(*k)));
    }
    let devices = object.pointer_mut("/spec/providerSpec/value/network/devices");
    for device in devices.and_then(Value::as_array_mut).into_iter().flatten().filter_map(Value::as_object_mut)
    {
        ["ipAddrs", "gateway", "nameservers", "config"].iter().for_each(|k| drop(device.shift_remove(*k)));
    }
    let hooks = object.pointer_mut("/spec/lifecycleHooks").and_then(Value::as_object_mut);
    for list in hooks.into_iter().flat_map(|h| h.values_mut()).filter_map(Value::as_array_mut) {
        list.retain(|h| h["name"] != "ipamController" || h["owner"] != "network-admin");
    }
    bare(&mut object);
    object
}

/// Takes out what is empty.
fn bare(value: &mut Value) {
    if let Some(map) = value.as_object_mut() {
        map.values_mut().for_each(bare);
        map.retain(|_, v| !v.is_null() && *v != json!({}) && *v != json!([]));
    }
}

impl Entry {
    /// `None` for what cannot be read.
    fn read(key: &str, text: &str) -> Option<Self> {
        let entry: Value = serde_json::from_str(text).ok()?;
        let word = |v: &Value| v.as_str().unwrap_or_default().to_owned();
        let address = key.split('_').next()?;
        let address = if address.contains('-') { address.replace('-', ":") } else { address.to_owned() };
        let home = &entry["home"];
        let standing = if let Some(until) = entry["cooling"].as_str() {
            Standing::Cooling(mipam::model::parse_timestamp(until)?)
        } else if entry["surplus"] == true {
            Standing::Surplus
        } else if let Some(at) = parse(&home["address"]) {
            Standing::Member((at, word(&home["network"])))
        } else if entry["bound"] == false {
            Standing::Tentative
        } else {
            Standing::Bound
        };
        let holder = |h: &Value| Holder { name: word(&h["name"]), uid: word(&h["uid"]) };
        Some(Self {
            address: address.parse().ok()?,
            network: word(&entry["network"]),
            holders: entry["holders"].as_array()?.iter().map(holder).collect(),
            standing,
            set: entry["set"].as_array().into_iter().flatten().filter_map(|s| parse(&s["address"])).collect(),
            draft: word(&entry["draft"]),
            text: text.to_owned(),
        })
    }
}
