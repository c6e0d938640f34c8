//! What is sent to the webhook: an answer every time, a refusal where it is no review, and of a pod nothing changes but
//! what is added to its networks.

use mipam::model::Object;
use mipam::systems::kubevirt::machine::Machine;
use mipam::systems::kubevirt::nad::Nads;
use mipam::webhook::pod::{Facts, decide, launcher};
use mipam::webhook::review::{answer, read, unbase64};
use serde_json::{Value, json};

pub fn run(bytes: &[u8]) {
    let review = match read(bytes) {
        Ok(review) => review,
        Err(why) => return assert!(!why.is_empty()),
    };
    let networks = json!([
        { "name": "default", "pod": {} },
        { "name": "one", "multus": { "networkName": "blue" } },
        { "name": "two", "multus": { "networkName": "ns/blue" } },
    ]);
    let vmi = Object(json!({
        "kind": "VirtualMachineInstance",
        "metadata": { "name": "vm-a", "namespace": review.namespace, "uid": "u" },
        "spec": { "networks": networks },
    }));
    let nad = |namespace: &str, name: &str, config: Value| {
        Object(
            json!({ "metadata": { "name": name, "namespace": namespace }, "spec": { "config": config.to_string() } }),
        )
    };
    let persistent = json!({ "name": "blue", "allowPersistentIPs": true, "subnets": "10.0.0.0/24" });
    let primary = json!({ "name": "p", "allowPersistentIPs": true, "role": "primary" });
    let nads = [
        nad(&review.namespace, "blue", persistent.clone()),
        nad("ns", "blue", persistent),
        nad(&review.namespace, "primary", primary),
    ];
    let facts = Facts {
        machine: Machine { vm: None, vmi: Some(&vmi) },
        nads: &Nads::read(&nads),
        claim: &|_| None,
        default_namespace: "ovn-kubernetes",
    };
    let decision = match launcher(&review) {
        Ok(None) => Ok(Vec::new()),
        Ok(Some(pod)) => decide(&pod, &facts),
        Err(denial) => Err(denial),
    };
    let response = answer(&review, &decision)["response"].clone();
    assert_eq!((&response["uid"], &response["allowed"]), (&json!(review.uid), &json!(decision.is_ok())));
    match &decision {
        Err(denial) => assert!(denial.code >= 400 && !denial.message.is_empty()),
        Ok(annotations) => {
            let patch = response["patch"].as_str().map(|text| unbase64(text).unwrap());
            let patch: Value = patch.map_or(json!([]), |bytes| serde_json::from_slice(&bytes).unwrap());
            let paths = patch.as_array().unwrap().iter().filter_map(|op| op["path"].as_str());
            paths.for_each(|path| assert!(path.starts_with("/metadata/annotations"), "{path}"));
            for (_, value) in annotations.iter().filter(|(key, _)| key.ends_with("/networks")) {
                same_but_for_claims(&review.pod, value);
            }
        }
    }
}

/// The networks of a pod are what they were, with claims.
fn same_but_for_claims(pod: &Value, after: &str) {
    let Value::Array(after) = serde_json::from_str(after).unwrap() else { panic!("{after} is no list") };
    let before = pod["metadata"]["annotations"]["k8s.v1.cni.cncf.io/networks"].as_str().unwrap();
    let Ok(Value::Array(before)) = serde_json::from_str::<Value>(before) else {
        return assert_eq!(after.len(), before.split(',').count());
    };
    assert_eq!(before.len(), after.len());
    for (before, after) in before.iter().zip(&after) {
        for (key, value) in before.as_object().unwrap() {
            assert!(
                key == "ipam-claim-reference" || after[key] == *value,
                "{key} of {before} became {after}"
            );
        }
    }
}
