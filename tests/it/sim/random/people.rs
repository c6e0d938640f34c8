//! What people and other controllers do to the objects of a random world.

use super::act::Act;
use super::setup::Setup;
use crate::sim::stage::kinds;
use mipam::cluster::sim::{Part, SimCluster};
use mipam::model::{Object, ObjectRef};
use mipam::systems::openshift::MACHINE;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Machines on which somebody has laid hands since they were made: what becomes of them depends on when.
pub type Touched = BTreeSet<u8>;

pub fn target(name: u8) -> ObjectRef {
    MACHINE.at("ns", &format!("m{name}"))
}

fn machine(name: u8, devices: u8, tier: u8, preset: Option<String>) -> Object {
    let mut list: Vec<_> = (0..devices).map(|_| json!({ "networkName": "lab" })).collect();
    if let Some(address) = preset {
        list[0]["ipAddrs"] = json!([address]);
    }
    Object(json!({
        "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
        "metadata": { "name": format!("m{name}"), "namespace": "ns", "labels": { "tier": format!("t{tier}") } },
        "spec": {
            "lifecycleHooks": { "preCreate": [
                { "name": "other", "owner": "somebody" }, { "name": "ipamController", "owner": "network-admin" },
            ] },
            "providerSpec": { "value": { "network": { "devices": list } } },
        },
    }))
}

fn first_device(object: &mut Object) -> &mut Value {
    object.0.pointer_mut("/spec/providerSpec/value/network/devices/0").unwrap()
}

/// Does what a person does; whoever does not exist is left in peace.
pub fn act(sim: &SimCluster, setup: &Setup, act: Act, touched: &mut Touched) {
    let prefix = |address: String| {
        if address.contains(':') { format!("{address}/64") } else { format!("{address}/16") }
    };
    let mut touch = |name: u8, change: &dyn Fn(&mut Object)| {
        touched.insert(name);
        let _ = sim.edit(&target(name), |o| change(o));
    };
    match act {
        Act::Create { name, devices, preset, tier } => {
            let preset = preset.map(|n| prefix(setup.address(n)));
            let by_hand = preset.is_some();
            if sim.put(MACHINE, &machine(name, devices, tier, preset)).is_ok() {
                touched.remove(&name);
                touched.extend(by_hand.then_some(name));
            }
        }
        Act::Delete { name, held } => {
            if held {
                let hold = |o: &mut Object| {
                    drop(o.ensure_object(&["metadata"]).insert("finalizers".into(), json!(["hold"])))
                };
                let _ = sim.edit(&target(name), hold);
            }
            let _ = sim.delete(&target(name));
        }
        Act::Finish { name } => {
            let finish = |o: &mut Object| drop(o.ensure_object(&["metadata"]).shift_remove("finalizers"));
            let _ = sim.edit(&target(name), finish);
        }
        Act::Recreate { name } => {
            let _ = sim.delete(&target(name));
            if sim.put(MACHINE, &machine(name, 1, 1, None)).is_ok() {
                touched.remove(&name);
            }
        }
        Act::Preset { name, address } => touch(name, &|o| {
            let device = first_device(o);
            if device.get("ipAddrs").is_none() {
                device["ipAddrs"] = json!([prefix(setup.address(address))]);
            }
        }),
        Act::Wipe { name } => touch(name, &|o| {
            first_device(o).as_object_mut().unwrap().shift_remove("ipAddrs");
        }),
        Act::Unhook { name } => {
            touch(name, &|o| drop(o.ensure_object(&["spec"]).shift_remove("lifecycleHooks")))
        }
        Act::Rehook { name } => touch(name, &|o| {
            let hooks = json!([{ "name": "ipamController", "owner": "network-admin" }]);
            o.ensure_object(&["spec", "lifecycleHooks"]).insert("preCreate".into(), hooks);
        }),
        Act::Relabel { name, tier } => touch(name, &|o| {
            o.ensure_object(&["metadata", "labels"]).insert("tier".into(), json!(format!("t{tier}")));
        }),
        Act::Spoil { name } => touch(name, &|o| first_device(o)["ipAddrs"] = json!(["10.0.0.fish"])),
        Act::Pause { name } => {
            let pause = |o: &mut Object| {
                let notes = o.ensure_object(&["metadata", "annotations"]);
                if notes.shift_remove("cluster.x-k8s.io/paused").is_none() {
                    notes.insert("cluster.x-k8s.io/paused".into(), json!(""));
                }
            };
            let _ = sim.edit(&target(name), pause);
        }
        Act::Node { name, address } => {
            let node = kinds().into_iter().find(|k| k.kind == "Node").expect("nodes");
            let new =
                json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": format!("m{name}") } });
            let _ = sim.put(node, &Object(new));
            let _ = sim.patch(&node.at("", &format!("m{name}")), Part::Status, &status(setup, address));
        }
        Act::Status { name, address } => {
            let _ = sim.patch(&target(name), Part::Status, &status(setup, address));
        }
        Act::Clock { .. } | Act::Edit { .. } | Act::Request { .. } | Act::Kill { .. } => {
            unreachable!("nobody does this to an object")
        }
    }
}

fn status(setup: &Setup, address: Option<u8>) -> Value {
    let shown = address.map(|n| json!({ "type": "InternalIP", "address": setup.address(n) }));
    json!({ "status": { "addresses": shown.into_iter().collect::<Vec<_>>() } })
}
