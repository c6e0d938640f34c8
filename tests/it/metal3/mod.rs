//! metal3's objects on a real API server: what mipam writes is what metal3 would have written, and mipam and a
//! metal3 controller get along, in turns and at once.

mod beside;
mod fields;
mod many;
mod stages;
mod stand_in;
mod withdrawn;

use crate::bed::Bed;
use crate::bed::accounts::ADMIN;
use crate::scenario::mipam;
use serde_json::{Value, json};

const API: &str = "ipam.metal3.io/v1alpha1";
const ELF: &str = "infrastructure.cluster.x-k8s.io/v1beta1";

/// A pool with room for so many claims.
fn pool(room: usize) -> Value {
    json!({
        "apiVersion": API, "kind": "IPPool", "metadata": { "name": "lab", "namespace": "ns" },
        "spec": {
            "namePrefix": "lab", "prefix": 16, "gateway": "10.0.0.1", "dnsServers": ["10.0.0.2"],
            "pools": [{ "start": "10.0.0.10", "end": format!("10.0.0.{}", 9 + room) }],
        },
    })
}

/// A claim that somebody made.
fn claim(name: &str) -> Value {
    json!({
        "apiVersion": API, "kind": "IPClaim", "metadata": { "name": name, "namespace": "ns" },
        "spec": { "pool": { "name": "lab" } },
    })
}

/// A machine whose device waits for an address of that pool, and its owner.
pub(crate) fn machine(name: &str) -> [Value; 2] {
    let uid = format!("machine-of-{name}");
    let owner = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Machine",
        "metadata": { "name": name, "namespace": "ns", "uid": uid },
        "spec": {
            "clusterName": "lab", "bootstrap": { "dataSecretName": "x" },
            "infrastructureRef": { "apiVersion": ELF, "kind": "ElfMachine", "name": name },
        },
    });
    let elf = json!({
        "apiVersion": ELF, "kind": "ElfMachine",
        "metadata": {
            "name": name, "namespace": "ns", "finalizers": ["elfmachine.infrastructure.cluster.x-k8s.io"],
            "ownerReferences": [
                { "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Machine", "name": name, "uid": uid },
            ],
        },
        "spec": {
            "template": "t",
            "network": { "devices": [
                { "networkType": "IPV4", "vlan": "v", "addressesFromPools": [
                    { "apiGroup": "ipam.metal3.io", "kind": "IPPool", "name": "lab" },
                ] },
            ] },
        },
    });
    [owner, elf]
}

/// The report of a pass in that mode.
fn reconcile(bed: &Bed, mode: &str) -> Value {
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("config.yaml");
    std::fs::write(&config, format!("ipam-config: {{metal3: {mode}}}")).unwrap();
    let mut arguments: Vec<String> = ["reconcile", "-o", "json", "--config"].map(str::to_owned).to_vec();
    arguments.extend([config.display().to_string(), "--kubeconfig".to_owned()]);
    arguments.push(bed.kubeconfig(ADMIN).display().to_string());
    let output = mipam(&arguments);
    let err = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{err}"))
}
