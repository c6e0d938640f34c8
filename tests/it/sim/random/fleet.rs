//! The machines of a random world: what one looks like when it is made, and where each kind keeps what people lay
//! their hands on.

use mipam::cluster::sim::SimCluster;
use mipam::model::{Kind, Object, ObjectRef};
use mipam::systems::{kubermatic, openshift};
use serde_json::{Value, json};

const INITIALIZERS: &str = "machine-controller.kubermatic.io/initializers";
const SECOND: &str = "mipam.io/second-cidr";

/// Which machines of a world are Kubermatic's; the others are OpenShift's.
#[derive(Clone, Copy, PartialEq)]
pub enum Fleet {
    None,
    Odd,
    All,
}

impl Fleet {
    pub fn of(seed: u64) -> Self {
        match seed % 7 {
            0..=3 => Self::None,
            4 | 5 => Self::Odd,
            _ => Self::All,
        }
    }

    fn kubermatic(self, name: u8) -> bool {
        self == Self::All || self == Self::Odd && name % 2 == 1
    }

    /// The kinds of its machines.
    pub fn kinds(self) -> Vec<Kind> {
        match self {
            Self::None => vec![openshift::MACHINE],
            Self::Odd => vec![openshift::MACHINE, kubermatic::MACHINE],
            Self::All => vec![kubermatic::MACHINE],
        }
    }

    pub fn target(self, name: u8) -> ObjectRef {
        let kind = if self.kubermatic(name) { kubermatic::MACHINE } else { openshift::MACHINE };
        kind.at("ns", &format!("m{name}"))
    }

    /// Makes a machine that waits; false where there is one of that name.
    pub fn create(self, sim: &SimCluster, name: u8, devices: u8, tier: u8, preset: Option<String>) -> bool {
        let mut metadata = json!({ "name": format!("m{name}"), "namespace": "ns", "labels": { "tier": format!("t{tier}") } });
        let object = if self.kubermatic(name) {
            metadata["annotations"] = json!({ (INITIALIZERS): "other,ipam" });
            // It has one device: where another has two, it wants both families.
            let family = if devices > 1 { "IPv4+IPv6" } else { "" };
            let network = json!({ "cidr": preset.unwrap_or_default(), "ipFamily": family });
            json!({
                "apiVersion": "cluster.k8s.io/v1alpha1", "kind": "Machine", "metadata": metadata,
                "spec": { "providerSpec": { "value": { "network": network } } },
            })
        } else {
            let mut list: Vec<_> = (0..devices).map(|_| json!({ "networkName": "lab" })).collect();
            if let Some(address) = preset {
                list[0]["ipAddrs"] = json!([address]);
            }
            json!({
                "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine", "metadata": metadata,
                "spec": {
                    "lifecycleHooks": { "preCreate": [
                        { "name": "other", "owner": "somebody" },
                        { "name": "ipamController", "owner": "network-admin" },
                    ] },
                    "providerSpec": { "value": { "network": { "devices": list } } },
                },
            })
        };
        sim.put(self.target(name).kind, &Object(object)).is_ok()
    }
}

fn openshift(object: &Object) -> bool {
    object.group() == openshift::MACHINE.group
}

fn first_device(object: &mut Object) -> &mut Value {
    object.0.pointer_mut("/spec/providerSpec/value/network/devices/0").unwrap()
}

fn network(object: &mut Object) -> &mut Value {
    object.0.pointer_mut("/spec/providerSpec/value/network").unwrap()
}

/// Puts an address on a machine that has none.
pub fn preset(object: &mut Object, address: &str) {
    if openshift(object) {
        let device = first_device(object);
        if device.get("ipAddrs").is_none() {
            device["ipAddrs"] = json!([address]);
        }
    } else if network(object).get("cidr").is_none_or(|c| *c == json!("")) {
        network(object)["cidr"] = json!(address);
    }
}

/// Puts something on a machine that is no address.
pub fn spoil(object: &mut Object) {
    if openshift(object) {
        first_device(object)["ipAddrs"] = json!(["10.0.0.fish"]);
    } else {
        network(object)["cidr"] = json!("10.0.0.fish/16");
    }
}

/// Takes away what a machine has.
pub fn wipe(object: &mut Object) {
    if openshift(object) {
        first_device(object).as_object_mut().unwrap().shift_remove("ipAddrs");
    } else {
        network(object).as_object_mut().unwrap().shift_remove("cidr");
        object.ensure_object(&["metadata", "annotations"]).shift_remove(SECOND);
    }
}

/// Lets a machine go, as it is.
pub fn unhook(object: &mut Object) {
    if openshift(object) {
        object.ensure_object(&["spec"]).shift_remove("lifecycleHooks");
    } else {
        object.ensure_object(&["metadata", "annotations"]).shift_remove(INITIALIZERS);
    }
}

/// Has a machine wait (again).
pub fn rehook(object: &mut Object) {
    if openshift(object) {
        let hooks = json!([{ "name": "ipamController", "owner": "network-admin" }]);
        object.ensure_object(&["spec", "lifecycleHooks"]).insert("preCreate".into(), hooks);
    } else {
        object.annotate(INITIALIZERS, "ipam");
    }
}
