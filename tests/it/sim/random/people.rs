//! What people and other controllers do to the objects of a random world.

use super::act::Act;
use super::fleet::{self, Fleet};
use super::setup::Setup;
use crate::sim::stage::kinds;
use mipam::cluster::sim::{Part, SimCluster};
use mipam::model::Object;
use mipam::systems::kubermatic;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Machines on which somebody has laid hands since they were made: what becomes of them depends on when.
pub type Touched = BTreeSet<u8>;

/// Does what a person does; whoever does not exist is left in peace.
pub fn act(sim: &SimCluster, fleet: Fleet, setup: &Setup, act: Act, touched: &mut Touched) {
    let target = |name: u8| fleet.target(name);
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
            if fleet.create(sim, name, devices, tier, preset) {
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
            if fleet.create(sim, name, 1, 1, None) {
                touched.remove(&name);
            }
        }
        Act::Preset { name, address } => {
            touch(name, &|o| fleet::preset(o, &prefix(setup.address(address))));
        }
        Act::Wipe { name } => touch(name, &fleet::wipe),
        Act::Unhook { name } => touch(name, &fleet::unhook),
        Act::Rehook { name } => touch(name, &fleet::rehook),
        Act::Relabel { name, tier } => touch(name, &|o| {
            o.ensure_object(&["metadata", "labels"]).insert("tier".into(), json!(format!("t{tier}")));
        }),
        Act::Spoil { name } => touch(name, &fleet::spoil),
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
            let target = target(name);
            // Kubermatic's machines have no status of their own.
            let part = if target.kind == kubermatic::MACHINE { Part::Main } else { Part::Status };
            let _ = sim.patch(&target, part, &status(setup, address));
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
