//! `clusterctl move` in miniature: what is paused is made on a second server in the order in which clusterctl makes
//! it, with new uids and without status; then it is let go there, and removed here.

use super::{API, POOLS, claim, pool, reconcile};
use crate::bed::{self, Bed, Profile};
use serde_json::{Value, json};
use std::collections::BTreeMap;

const CLUSTERS: &str = "cluster.x-k8s.io/v1beta1";
const MOVED: [(&str, &str); 4] =
    [(CLUSTERS, "Cluster"), (POOLS, "InClusterIPPool"), (API, "IPAddressClaim"), (API, "IPAddress")];

fn cluster() -> Value {
    json!({
        "apiVersion": CLUSTERS, "kind": "Cluster", "metadata": { "name": "c1", "namespace": "ns" },
        "spec": { "paused": false, "controlPlaneEndpoint": { "host": "10.0.0.9", "port": 6443 } },
    })
}

fn pause(bed: &Bed, paused: bool) {
    bed.merge(CLUSTERS, "Cluster", "ns", "c1", &json!({ "spec": { "paused": paused } }));
}

/// What each claim has, by way of its status.
fn addresses(bed: &Bed) -> BTreeMap<String, String> {
    let claims = bed.list(API, "IPAddressClaim");
    let bound = claims.iter().map(|claim| {
        let name = claim["metadata"]["name"].as_str().unwrap().to_owned();
        let record = claim["status"]["addressRef"]["name"].as_str().unwrap_or_else(|| panic!("{claim}"));
        let record = bed.get(API, "IPAddress", "ns", record).unwrap();
        (name, record["spec"]["address"].as_str().unwrap().to_owned())
    });
    bound.collect()
}

/// Makes an object on the other server, whose owners have other uids there.
fn carry(object: &Value, uids: &mut BTreeMap<String, Value>, to: &Bed) {
    let mut moved = object.clone();
    moved.as_object_mut().unwrap().remove("status");
    let metadata = moved["metadata"].as_object_mut().unwrap();
    let uid = metadata.remove("uid").unwrap();
    for key in ["resourceVersion", "creationTimestamp", "generation", "managedFields"] {
        metadata.remove(key);
    }
    for owner in metadata.get_mut("ownerReferences").and_then(Value::as_array_mut).into_iter().flatten() {
        owner["uid"] = uids[owner["uid"].as_str().unwrap()].clone();
    }
    let made = to.create_all(vec![moved]).objects.remove(0);
    uids.insert(uid.as_str().unwrap().to_owned(), made["metadata"]["uid"].clone());
}

#[test]
fn nothing_is_given_anew_after_a_move() {
    let from = bed::shared(Profile::Own).lock();
    let to = Bed::with(Profile::Own);
    from.create_all(vec![cluster(), pool(), claim("a"), claim("b"), claim("c")]);
    reconcile(&from);
    // So that the lowest addresses are not what the claims have.
    from.delete(API, "IPAddressClaim", "ns", "a");
    reconcile(&from);
    let had = addresses(&from);
    assert_eq!(had.values().collect::<Vec<_>>(), ["10.0.0.11", "10.0.0.12"]);

    pause(&from, true);
    let mut uids = BTreeMap::new();
    for (api, kind) in MOVED {
        for object in from.list(api, kind) {
            carry(&object, &mut uids, &to);
            // Whoever looks on meanwhile gives nothing.
            let report = reconcile(&to);
            assert_eq!(report["allocated"], json!([]), "after {kind}: {report}");
        }
    }
    pause(&to, false);
    let report = reconcile(&to);
    assert_eq!((&report["allocated"], &report["problems"]), (&json!([]), &json!([])), "{report}");
    assert_eq!(addresses(&to), had);

    for (api, kind) in MOVED.into_iter().rev() {
        for object in from.list(api, kind) {
            let name = object["metadata"]["name"].as_str().unwrap();
            from.merge(api, kind, "ns", name, &json!({ "metadata": { "finalizers": null } }));
            from.delete(api, kind, "ns", name);
        }
    }
    let report = reconcile(&from);
    assert_eq!(report["released"].as_array().unwrap().len(), 2, "{report}");
    let report = reconcile(&to);
    assert_eq!((&report["writes"], &report["released"]), (&json!(0), &json!([])), "{report}");
    to.create_all(vec![claim("d")]);
    let report = reconcile(&to);
    assert_eq!(report["allocated"][0]["address"], "10.0.0.10/16", "{report}");
}
