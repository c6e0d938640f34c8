//! What mipam writes when it serves, field by field beside a list that was taken from what metal3's own code
//! writes (ip-address-manager 1.1 to 1.9: `createAddress`, `formatAddressName`, `updateStatusTimestamp`).

use super::{API, claim, machine, pool, reconcile};
use crate::bed::{self, Profile};
use serde_json::{Value, json};

/// What only the server knows.
fn strip(object: &Value) -> Value {
    let mut object = object.clone();
    for key in ["creationTimestamp", "generation", "managedFields", "resourceVersion", "uid"] {
        object["metadata"].as_object_mut().unwrap().remove(key);
    }
    object
}

#[test]
fn serving_writes_what_metal3_would_have_written() {
    let profile = Profile::available().find(|p| *p == Profile::Upstream).unwrap_or(Profile::Own);
    let bed = bed::shared(profile).lock();
    bed.create_all([pool(4)].into_iter().chain(machine("m")).collect());
    let holder =
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "data", "namespace": "ns" } });
    let holder = bed.create_all(vec![holder]).objects.remove(0);
    let mut plain = claim("plain");
    plain["metadata"]["labels"] = json!({ "tier": "infra" });
    let above = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "name": "data", "uid": holder["metadata"]["uid"], "controller": true,
    });
    plain["metadata"]["ownerReferences"] = json!([above]);
    bed.create_all(vec![plain]);
    let report = reconcile(&bed, "serve");
    assert_eq!((&report["pending"], &report["problems"]), (&json!([]), &json!([])));

    let get = |kind: &str, name: &str| bed.get(API, kind, "ns", name).unwrap();
    let uid = |kind: &str, name: &str| get(kind, name)["metadata"]["uid"].clone();
    let made = get("IPClaim", "ns-m-0");
    assert_eq!(
        strip(&made),
        json!({
            "apiVersion": API, "kind": "IPClaim",
            "metadata": {
                "name": "ns-m-0", "namespace": "ns",
                "annotations": { "mipam.io/owner": "ElfMachine/ns/m/0" },
                "finalizers": ["ipclaim.ipam.metal3.io"],
            },
            "spec": { "pool": { "apiVersion": API, "kind": "IPPool", "name": "lab", "namespace": "ns" } },
            "status": { "address": { "name": "lab-10-0-0-10", "namespace": "ns" } },
        })
    );
    let record = |claim: &str, address: &str, name: &str, labels: Option<Value>| {
        let owner = |kind: &str, name: &str| json!({ "apiVersion": API, "kind": kind, "name": name, "uid": uid(kind, name) });
        // Neither is its controller, and those of the claim are no owners of the record.
        let owners = [owner("IPPool", "lab"), owner("IPClaim", claim)];
        let mut record = json!({
            "apiVersion": API, "kind": "IPAddress",
            "metadata": {
                "name": name, "namespace": "ns", "finalizers": ["ipaddress.ipam.metal3.io"],
                "ownerReferences": owners,
            },
            "spec": {
                "address": address, "prefix": 16, "gateway": "10.0.0.1", "dnsServers": ["10.0.0.2"],
                "claim": { "name": claim, "namespace": "ns" }, "pool": { "name": "lab", "namespace": "ns" },
            },
        });
        if let Some(labels) = labels {
            record["metadata"]["labels"] = labels;
        }
        record
    };
    assert_eq!(
        strip(&get("IPAddress", "lab-10-0-0-10")),
        record("ns-m-0", "10.0.0.10", "lab-10-0-0-10", None)
    );
    assert_eq!(
        strip(&get("IPAddress", "lab-10-0-0-11")),
        record("plain", "10.0.0.11", "lab-10-0-0-11", Some(json!({ "tier": "infra" })))
    );
    let plain = get("IPClaim", "plain");
    assert_eq!(plain["metadata"]["finalizers"], json!(["ipclaim.ipam.metal3.io"]));
    assert_eq!(plain["status"], json!({ "address": { "name": "lab-10-0-0-11", "namespace": "ns" } }));
    let mut status = get("IPPool", "lab")["status"].clone();
    let updated = status.as_object_mut().unwrap().remove("lastUpdated");
    assert!(updated.is_some_and(|t| t.as_str().is_some_and(|t| t.ends_with('Z'))));
    assert_eq!(status, json!({ "indexes": { "ns-m-0": "10.0.0.10", "plain": "10.0.0.11" } }));
    let elf = bed.get(super::ELF, "ElfMachine", "ns", "m").unwrap();
    let device = &elf["spec"]["network"]["devices"][0];
    let given = ["ipAddrs", "netmask", "routes", "nameservers"].map(|key| device[key].clone());
    let wanted =
        [json!(["10.0.0.10"]), json!("255.255.0.0"), json!([{ "gateway": "10.0.0.1" }]), json!(["10.0.0.2"])];
    assert_eq!(given, wanted);
}
