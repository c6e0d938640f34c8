//! Arbitrary input, and the texts of the other tests damaged: an answer every time, never a panic, and what must
//! hold of every answer. The bodies are those of the `cargo fuzz` targets.

mod body;
mod seeds;
mod slow;

use proptest::prelude::*;
use seeds::{damaged, files};
use serde_json::json;

const EXAMPLE: &str = include_str!("../../../ipam-config.yaml.example");
const DENSE: &str = "ipam-config: {pools: [{name: a, ranges: [10.0.0.0/24, 10.0.1.5-10.0.1.9], prefix: 8, gateway: \
                     10.0.0.1, exclude: [10.0.0.9], reserved: {m: 10.0.0.8}, reuse-after: 1h, interface: [a, b], \
                     match: {systems: [elf], labels: {a: b}}}], service-cidrs: [10.96.0.0/12], metal3: auto}\n";

/// So many cases, unless `PROPTEST_CASES` asks for more or fewer.
fn cases(cases: u32) -> ProptestConfig {
    let asked = std::env::var_os("PROPTEST_CASES").is_some();
    let config = if asked { ProptestConfig::default() } else { ProptestConfig::with_cases(cases) };
    ProptestConfig { failure_persistence: None, ..config }
}

fn bytes(longest: usize) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..longest)
}

fn configs() -> Vec<String> {
    let mut all = files(&["tests/bad/config", "tests/scenarios"], |path| {
        path.ends_with("config.yaml") || path.contains("/bad/")
    });
    all.extend([EXAMPLE, DENSE].map(str::to_owned));
    all
}

fn manifests() -> Vec<String> {
    files(&["tests/bad/manifests", "tests/scenarios", "examples/lab"], |path| {
        path.ends_with("before.yaml") || path.contains("/bad/") || path.contains("/lab/")
    })
}

/// Objects as JSON, and one with JSON inside.
fn json() -> Vec<String> {
    let cni = json!({ "cniVersion": "0.3.1", "name": "lab", "type": "ovn-k8s-cni-overlay", "subnets": "10.0.0.0/24",
        "excludeSubnets": "10.0.0.0/30,10.0.0.9/32", "topology": "layer2", "mtu": 1400, "allowPersistentIPs": true });
    let nad = json!({ "apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition",
        "metadata": { "name": "lab", "namespace": "ns", "annotations": { "a": "b" } },
        "spec": { "config": cni.to_string() } });
    let mut all = vec![nad.to_string(), serde_json::to_string_pretty(&nad).unwrap(), cni.to_string()];
    let documents = manifests();
    let documents = documents.iter().filter_map(|text| mipam::yaml::parse_yaml(text).ok());
    all.extend(documents.filter(|v| v.is_object()).map(|v| v.to_string()));
    all
}

/// Reviews of launcher pods, with networks in both forms.
fn reviews() -> Vec<String> {
    let short = "blue, ns/blue@net1,other";
    let long = json!([{ "name": "blue", "interface": "pod1" }, { "name": "blue", "namespace": "ns", "mac": "02:00:00:00:00:01" }]);
    let review = |operation: &str, networks: &str| {
        let annotations = json!({ "kubevirt.io/domain": "vm-a", "k8s.v1.cni.cncf.io/networks": networks });
        let labels = json!({ "kubevirt.io": "virt-launcher" });
        json!({ "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
            "uid": "705ab4f5", "kind": { "group": "", "version": "v1", "kind": "Pod" }, "namespace": "lab",
            "operation": operation, "object": { "metadata": { "annotations": annotations, "labels": labels } } } })
        .to_string()
    };
    let long = long.to_string();
    vec![
        review("CREATE", &short[..14]),
        review("CREATE", &long),
        review("UPDATE", &long),
        review("CREATE", short),
    ]
}

fn addresses() -> impl Strategy<Value = String> {
    let edge = prop::sample::select(vec![
        "0.0.0.0",
        "255.255.255.255",
        "10.0.0.1",
        "10.0.0.255",
        "::",
        "fd00::",
        "fd00::ffff",
        "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
        "::ffff:1.2.3.4",
        "010.0.0.1",
        "",
    ]);
    let range = (edge.clone(), prop::sample::select(vec!["-", "/", "", " - "]), edge, 0u16..140).prop_map(
        |(first, between, last, prefix)| match between {
            "/" => format!("{first}/{prefix}"),
            "" => first.to_owned(),
            _ => format!("{first}{between}{last}"),
        },
    );
    prop::collection::vec(range, 0..8).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn a_damaged_config_is_answered(text in damaged(configs())) {
        body::config::run(text.as_bytes());
    }

    #[test]
    fn arbitrary_text_is_no_config(text in any::<String>(), below in any::<bool>()) {
        body::config::run(if below { format!("ipam-config: {text}") } else { text }.as_bytes());
    }

    #[test]
    fn addresses_and_ranges_are_read_and_written_alike(text in prop_oneof![addresses(), any::<String>()]) {
        body::address::run(text.as_bytes());
    }

    #[test]
    fn a_damaged_review_is_answered(text in damaged(reviews())) {
        body::review::run(text.as_bytes());
    }

    #[test]
    fn arbitrary_networks_of_a_pod_are_answered(networks in any::<String>(), list in any::<bool>()) {
        let networks = if list { format!("[{networks}]") } else { networks };
        let annotations = json!({ "kubevirt.io/domain": "vm-a", "k8s.v1.cni.cncf.io/networks": networks });
        let pod = json!({ "metadata": { "annotations": annotations, "labels": { "kubevirt.io": "virt-launcher" } } });
        let mut review: serde_json::Value = serde_json::from_str(&reviews()[0]).unwrap();
        review["request"]["object"] = pod;
        body::review::run(review.to_string().as_bytes());
    }

    #[test]
    fn json_within_json_is_read_strictly_and_kept(text in damaged(json())) {
        body::nad::run(text.as_bytes());
    }
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn arbitrary_bytes_are_answered_by_every_reader(bytes in bytes(200)) {
        body::config::run(&bytes);
        body::address::run(&bytes);
        body::nad::run(&bytes);
        body::review::run(&bytes);
        body::manifest::run(&bytes);
    }

    #[test]
    fn a_damaged_manifest_is_refused_or_kept(text in damaged(manifests())) {
        body::manifest::run(format!("y{text}").as_bytes());
    }

    #[test]
    fn a_damaged_json_manifest_is_refused_or_kept(text in damaged(json())) {
        body::manifest::run(format!("d{text}").as_bytes());
    }
}

proptest! {
    #![proptest_config(cases(1_000))]

    #[test]
    fn arbitrary_objects_are_surveyed_and_written_once(bytes in bytes(600)) {
        body::objects::run(&bytes);
    }

    #[test]
    fn an_arbitrary_ledger_is_read_and_kept(bytes in bytes(400)) {
        body::ledger::run(&bytes);
    }

    #[test]
    fn no_arbitrary_world_makes_the_planner_give_what_it_must_not(bytes in bytes(600)) {
        body::planner::run(&bytes);
    }
}
