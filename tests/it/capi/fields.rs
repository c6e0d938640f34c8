//! What mipam writes, field by field as Cluster API's contract for IPAM providers has it.

use super::{API, POOLS, claim, pool, reconcile};
use crate::bed::accounts::ADMIN;
use crate::bed::{self, Profile, eventually};
use serde_json::{Value, json};
use std::time::Duration;

#[test]
fn a_record_belongs_to_its_claim_and_to_its_pool() {
    for profile in Profile::available().filter(|p| *p != Profile::OwnStock) {
        let bed = bed::shared(profile).lock();
        bed.create_all(vec![pool(), claim("a")]);
        let report = reconcile(&bed);
        assert_eq!((&report["pending"], &report["problems"]), (&json!([]), &json!([])), "{profile:?}");
        let uid = |api: &str, kind: &str, name: &str| {
            bed.get(api, kind, "ns", name).unwrap()["metadata"]["uid"].clone()
        };
        let record = bed.get(API, "IPAddress", "ns", "a").unwrap();
        // The version is the best that is served there; the rest is the same.
        let mut owners = record["metadata"]["ownerReferences"].clone();
        let version = owners[0].as_object_mut().unwrap().remove("apiVersion").unwrap();
        assert!(version.as_str().unwrap().starts_with("ipam.cluster.x-k8s.io/v1"), "{version}");
        assert_eq!(
            owners,
            json!([
                {
                    "kind": "IPAddressClaim", "name": "a", "uid": uid(API, "IPAddressClaim", "a"),
                    "controller": true, "blockOwnerDeletion": true,
                },
                {
                    "apiVersion": POOLS, "kind": "InClusterIPPool", "name": "lab",
                    "uid": uid(POOLS, "InClusterIPPool", "lab"), "blockOwnerDeletion": true,
                },
            ])
        );
        assert_eq!(record["metadata"]["finalizers"], json!(["ipam.cluster.x-k8s.io/ProtectAddress"]));
        assert_eq!(record["metadata"]["labels"], json!({ "cluster.x-k8s.io/cluster-name": "c1" }));
        let bound = bed.get(API, "IPAddressClaim", "ns", "a").unwrap();
        assert_eq!(bound["status"]["addressRef"], json!({ "name": "a" }));
        let ready = &bound["status"]["conditions"][0];
        assert_eq!(
            (&ready["type"], &ready["status"], &ready["reason"]),
            (&json!("Ready"), &json!("True"), &json!("Ready"))
        );
        assert!(ready["lastTransitionTime"].as_str().unwrap().ends_with('Z'));
    }
}

#[test]
fn a_claim_that_is_deleted_in_the_foreground_goes() {
    let bed = bed::shared(Profile::Own).lock();
    bed.create_all(vec![pool(), claim("a")]);
    reconcile(&bed);
    let body = json!({ "propagationPolicy": "Foreground" }).to_string().into_bytes();
    let request = http::Request::delete(format!("/apis/{API}/namespaces/ns/ipaddressclaims/a"))
        .header("content-type", "application/json");
    bed.block_on(async { bed.client(ADMIN).request::<Value>(request.body(body).unwrap()).await.unwrap() });
    let held = bed.get(API, "IPAddressClaim", "ns", "a").unwrap()["metadata"]["finalizers"].clone();
    assert!(held.as_array().unwrap().contains(&json!("foregroundDeletion")), "{held}");
    let first = reconcile(&bed);
    assert_eq!(bed.get(API, "IPAddress", "ns", "a"), None, "{first}");
    // The collector waits for the record, and lets the claim go when that is gone.
    bed.block_on(eventually("the claim to be gone", Duration::from_secs(60), async || {
        let path = format!("/apis/{API}/namespaces/ns/ipaddressclaims");
        let request = http::Request::get(path).body(Vec::new()).unwrap();
        let list = bed.client(ADMIN).request::<Value>(request).await.unwrap();
        list["items"].as_array().unwrap().is_empty().then_some(())
    }));
    // The collector may have been fast enough for the first pass to see it.
    let second = reconcile(&bed);
    let released = [&first, &second].map(|report| report["released"].as_array().unwrap().clone()).concat();
    let released: Vec<&Value> = released.iter().map(|line| &line["address"]).collect();
    assert_eq!(released, ["10.0.0.10/16"], "{first} {second}");
}
