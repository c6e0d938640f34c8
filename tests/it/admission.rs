//! The admission policy for Kubermatic machines on the real API server: what it refuses, and all that it lets
//! through.

use crate::bed::accounts::ADMIN;
use crate::bed::{Bed, Profile, eventually, rest};
use crate::scenario::mipam;
use serde_json::{Value, json};
use std::time::Duration;

const NETWORK: &str = "10.1.0.0/30,10.1.9.1,10.1.9.53";
const GATE: &str = "machine-controller.kubermatic.io/initializers";

/// A server of the test's own with the policy on it. A server stops hearing of figures for good when it sees that its last
/// policy about them has gone, so that a policy that is made again where a wipe removed another may never see any.
fn bed_with_policy() -> Bed {
    let bed = Bed::with(Profile::Own);
    bed.namespace("mipam-system");
    let manifest =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("manifests/kubermatic-admission.yaml");
    bed.create(&std::fs::read_to_string(manifest).unwrap());
    bed
}

fn machine(name: &str) -> Value {
    json!({
        "apiVersion": "cluster.k8s.io/v1alpha1",
        "kind": "Machine",
        "metadata": { "name": name, "namespace": "default", "annotations": { (GATE): "ipam" } },
        "spec": { "providerSpec": { "value": { "cloudProvider": "vsphere" } } },
    })
}

/// Why the server would refuse a machine; `None` where it lets it through.
async fn refusal(bed: &Bed, machine: &Value) -> Option<String> {
    let version = machine["apiVersion"].as_str().unwrap();
    let namespace = machine["metadata"]["namespace"].as_str().unwrap();
    let path = format!("/apis/{version}/namespaces/{namespace}/machines?dryRun=All");
    match rest::send(&bed.client(ADMIN), "POST", &path, machine).await {
        Ok(_) => None,
        Err(kube::Error::Api(status)) => Some(format!("{} {}", status.code, status.message)),
        Err(other) => panic!("{other}"),
    }
}

/// Waits until the server, which hears of new figures a moment later, lets a machine through or does not.
fn settles(bed: &Bed, refused: bool, why: &str) -> String {
    bed.block_on(eventually(why, Duration::from_secs(180), async || {
        let answer = refusal(bed, &machine("probe")).await;
        (answer.is_some() == refused).then(|| answer.unwrap_or_default())
    }))
}

fn lets_through(bed: &Bed, machine: &Value) -> bool {
    bed.block_on(refusal(bed, machine)).is_none()
}

fn reconcile(bed: &Bed, network: &str, exit: i32) {
    let kubeconfig = bed.kubeconfig(ADMIN).display().to_string();
    let words =
        ["reconcile", "--network", network, "--publish-capacity", "10m", "-q", "--kubeconfig", &kubeconfig];
    let output = mipam(&words.map(str::to_owned));
    assert_eq!(output.status.code(), Some(exit), "{}", String::from_utf8_lossy(&output.stderr));
}

fn figures(bed: &Bed, data: &Value) {
    bed.merge("v1", "ConfigMap", "mipam-system", "mipam-status", &json!({ "data": data }));
}

fn until(seconds: i64) -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    mipam::model::timestamp(i64::try_from(now).unwrap() + seconds)
}

#[test]
fn a_machine_is_refused_while_no_address_is_free_and_the_figures_are_young() {
    let bed = bed_with_policy();
    assert!(lets_through(&bed, &machine("probe")), "without figures everything is let through");

    for name in ["w-0", "w-1"] {
        bed.create(&machine(name).to_string());
    }
    reconcile(&bed, NETWORK, 0);
    let why = settles(&bed, true, "a refusal at zero free");
    assert!(why.starts_with("403") && why.contains("pool 10.1.0.0/30"), "{why}");

    // Others than those that wait for an address of these pools are none of its business.
    let change = |change: &dyn Fn(&mut Value)| {
        let mut other = machine("probe");
        change(&mut other);
        other
    };
    let network = |n: Value| change(&|m| m["spec"]["providerSpec"]["value"]["network"] = n.clone());
    for fine in [
        change(&|m| m["metadata"]["annotations"][GATE] = json!("myipam,a")),
        change(&|m| drop(m["metadata"].as_object_mut().unwrap().remove("annotations"))),
        network(json!({ "cidr": "10.9.0.5/24" })),
        network(json!({ "ipFamily": "IPv6" })),
    ] {
        assert!(lets_through(&bed, &fine), "{fine}");
    }
    for refused in [
        change(&|m| m["metadata"]["annotations"][GATE] = json!("a, ipam")),
        network(json!({ "cidr": "", "gateway": "", "ipFamily": "IPv4" })),
        network(json!({ "ipFamily": "IPv4+IPv6" })),
        change(&|m| {
            m["apiVersion"] = json!("machine.k8s.io/v1alpha1");
            m["spec"] = json!({ "providerConfig": {} });
        }),
    ] {
        assert!(!lets_through(&bed, &refused), "{refused}");
    }

    bed.delete("cluster.k8s.io/v1alpha1", "Machine", "default", "w-0");
    reconcile(&bed, NETWORK, 0);
    settles(&bed, false, "one free address to let a machine through");

    bed.create(&machine("w-2").to_string());
    reconcile(&bed, NETWORK, 0);
    settles(&bed, true, "a refusal at zero free again");
    figures(&bed, &json!({ "validUntil": until(-1) }));
    settles(&bed, false, "figures past their time to let a machine through");

    figures(&bed, &json!({ "validUntil": until(600) }));
    settles(&bed, true, "figures in their time to count");
    figures(&bed, &json!({ "validUntil": "soon" }));
    settles(&bed, false, "figures that cannot be read to let a machine through");

    reconcile(&bed, NETWORK, 0);
    settles(&bed, true, "the next run to mend them");
    bed.delete("v1", "ConfigMap", "mipam-system", "mipam-status");
    settles(&bed, false, "missing figures to let a machine through");
}

#[test]
fn the_policy_looks_at_the_pools_that_a_machine_can_use() {
    let bed = bed_with_policy();
    bed.create(&json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "mipam-status", "namespace": "mipam-system" },
        "data": {
            "validUntil": until(600),
            "pools": "a|IPv4|0|default|\nb|IPv4|7|elsewhere|\nc|IPv4|2||tier=web\nd|IPv6|0||\ne|IPv6|0||tier=web",
        },
    }).to_string());
    let why = settles(&bed, true, "a refusal");
    assert!(why.contains("left in pool a:"), "{why}");
    bed.namespace("elsewhere");
    let of = |namespace: &str, labels: Value, family: &str| {
        let mut machine = machine("probe");
        machine["metadata"]["namespace"] = json!(namespace);
        machine["metadata"]["labels"] = labels;
        machine["spec"]["providerSpec"]["value"]["network"] = json!({ "ipFamily": family });
        bed.block_on(refusal(&bed, &machine)).unwrap_or_default()
    };
    assert_eq!(of("elsewhere", json!({}), ""), "");
    assert_eq!(of("default", json!({ "tier": "web" }), ""), "");
    assert!(of("default", json!({ "tier": "db" }), "").contains("pool a:"));
    assert!(of("default", json!({ "tier": "web" }), "IPv6").contains("pool d, pool e:"));
    assert!(of("default", json!({ "tier": "web" }), "IPv4+IPv6").contains("pool d, pool e:"));
    assert!(of("default", json!(null), "IPv6+IPv4").contains("pool a, pool d:"));
}
