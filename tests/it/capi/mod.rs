//! Cluster API's claims on a real API server: every field that mipam writes, what the garbage collector makes of
//! them, and a move from one server to another.

mod fields;
mod many;
mod moved;
mod stages;

use crate::bed::Bed;
use crate::bed::accounts::ADMIN;
use crate::scenario::mipam;
use serde_json::{Value, json};

const API: &str = "ipam.cluster.x-k8s.io/v1beta1";
const POOLS: &str = "ipam.cluster.x-k8s.io/v1alpha2";

fn pool() -> Value {
    json!({
        "apiVersion": POOLS, "kind": "InClusterIPPool", "metadata": { "name": "lab", "namespace": "ns" },
        "spec": { "addresses": ["10.0.0.10-10.0.19.255"], "prefix": 16, "gateway": "10.0.0.1" },
    })
}

fn claim(name: &str) -> Value {
    json!({
        "apiVersion": API, "kind": "IPAddressClaim",
        "metadata": { "name": name, "namespace": "ns", "labels": { "cluster.x-k8s.io/cluster-name": "c1" } },
        "spec": { "poolRef": { "apiGroup": "ipam.cluster.x-k8s.io", "kind": "InClusterIPPool", "name": "lab" } },
    })
}

/// The report of a pass.
fn reconcile(bed: &Bed) -> Value {
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("config.yaml");
    std::fs::write(&config, "ipam-config: {serve-pools: [InClusterIPPool]}").unwrap();
    let mut arguments: Vec<String> = ["reconcile", "-o", "json", "--config"].map(str::to_owned).to_vec();
    arguments.extend([config.display().to_string(), "--kubeconfig".to_owned()]);
    arguments.push(bed.kubeconfig(ADMIN).display().to_string());
    let output = mipam(&arguments);
    let err = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{err}"))
}
