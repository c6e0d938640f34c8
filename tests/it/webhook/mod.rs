//! The webhook for launcher pods: the real program over TLS, asked by the real API server, and by clients of ours.

mod client;
mod load;
mod pods;
mod running;

use crate::bed::accounts::ADMIN;
use crate::bed::{Bed, documents, rest};
use crate::scenario::mipam;
use serde_json::{Value, json};
use std::path::Path;

const NETWORKS: &str = "k8s.v1.cni.cncf.io/networks";
const PRIMARY: &str = "k8s.ovn.org/primary-udn-ipamclaim";
const DEFAULT: &str = "v1.multus-cni.io/default-network";

fn file(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// The configuration of the manifest, for a webhook on this machine.
fn configuration(url: &str) -> Value {
    let documents = documents(&file("manifests/kubevirt-webhook.yaml"));
    let mut found = documents.into_iter().find(|d| d["kind"] == "MutatingWebhookConfiguration").unwrap();
    let path = found["webhooks"][0]["clientConfig"]["service"]["path"].as_str().unwrap().to_owned();
    found["webhooks"][0]["clientConfig"] = json!({ "url": format!("{url}{path}") });
    found
}

fn nad(namespace: &str, name: &str, config: &Value) -> Value {
    json!({
        "apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition",
        "metadata": { "name": name, "namespace": namespace }, "spec": { "config": config.to_string() },
    })
}

fn persistent(name: &str) -> Value {
    json!({ "cniVersion": "0.3.1", "name": name, "type": "ovn-k8s-cni-overlay", "allowPersistentIPs": true })
}

fn vm(name: &str, networks: &Value) -> Value {
    json!({
        "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine",
        "metadata": { "name": name, "namespace": "default", "uid": format!("uid-of-{name}") },
        "spec": { "running": true, "template": { "spec": { "domain": { "devices": {} }, "networks": networks } } },
    })
}

fn vmi(name: &str, networks: &Value) -> Value {
    json!({
        "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance",
        "metadata": {
            "name": name, "namespace": "default",
            "ownerReferences": [{ "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "name": name, "uid": format!("uid-of-{name}") }],
        },
        "spec": { "domain": { "devices": {} }, "networks": networks },
    })
}

/// A launcher pod as virt-controller makes it.
fn launcher(vmi: &str, networks: &str) -> Value {
    let mut annotations = json!({ "kubevirt.io/domain": vmi });
    if !networks.is_empty() {
        annotations[NETWORKS] = json!(networks);
    }
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": format!("virt-launcher-{vmi}"), "namespace": "default",
            "labels": { "kubevirt.io": "virt-launcher" }, "annotations": annotations,
        },
        "spec": { "containers": [{ "name": "compute", "image": "compute" }] },
    })
}

fn reconcile(bed: &Bed) {
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("config.yaml");
    std::fs::write(&config, "ipam-config: {systems: [kubevirt]}").unwrap();
    let kubeconfig = bed.kubeconfig(ADMIN).display().to_string();
    let config = config.display().to_string();
    let output = mipam(&["reconcile", "--config", &config, "--kubeconfig", &kubeconfig].map(str::to_owned));
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

/// Makes a pod; the pod, or the status and the message of the refusal.
async fn try_create(bed: &Bed, pod: &Value) -> Result<Value, (u16, String)> {
    let namespace = pod["metadata"]["namespace"].as_str().unwrap();
    match rest::send(&bed.client(ADMIN), "POST", &format!("/api/v1/namespaces/{namespace}/pods"), pod).await {
        Ok(pod) => Ok(pod),
        Err(kube::Error::Api(status)) => Err((status.code, status.message.clone())),
        Err(other) => panic!("{other}"),
    }
}

fn create(bed: &Bed, pod: &Value) -> Result<Value, (u16, String)> {
    bed.block_on(try_create(bed, pod))
}

/// The claims that a pod refers to, in the order of its networks.
fn references(pod: &Value) -> Vec<Option<String>> {
    let text = pod["metadata"]["annotations"][NETWORKS].as_str().unwrap();
    let list: Vec<Value> = serde_json::from_str(text).unwrap();
    list.iter().map(|e| e["ipam-claim-reference"].as_str().map(str::to_owned)).collect()
}
