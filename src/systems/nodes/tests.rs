//! The order of ClusterCIDRs, each rule alone and against the next; what is refused.

use super::cidr::{Choices, ClusterCidr};
use super::*;
use crate::config;
use serde_json::Value;

fn cluster_cidr(name: &str, spec: &Value) -> Object {
    Object(json!({ "kind": "ClusterCIDR", "metadata": { "name": name }, "spec": spec }))
}

/// A spec with this range, and a selector of these labels, each with the value `x`.
fn spec(ipv4: &str, host_bits: u8, keys: &[&str]) -> Value {
    let requirement = |key: &&str| json!({ "key": key, "operator": "In", "values": ["x"] });
    let terms = json!([{ "matchExpressions": keys.iter().map(requirement).collect::<Vec<_>>() }]);
    let mut spec = json!({ "ipv4": ipv4, "perNodeHostBits": host_bits });
    if !keys.is_empty() {
        spec["nodeSelector"] = json!({ "nodeSelectorTerms": terms });
    }
    spec
}

/// The names in the order in which a Node with labels a, b and c gets them.
fn order(specs: &[(&str, Value)]) -> Vec<String> {
    let node = Object(json!({ "metadata": { "name": "n", "labels": { "a": "x", "b": "x", "c": "x" } } }));
    let read = |reversed: bool| {
        let mut all: Vec<ClusterCidr> =
            specs.iter().map(|(name, spec)| ClusterCidr::read(&cluster_cidr(name, spec)).unwrap()).collect();
        if reversed {
            all.reverse();
        }
        Choices::new(&all).of(&node).iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(read(false), read(true), "the order in which they are listed does not matter");
    read(false)
}

#[test]
fn more_matched_requirements_come_first() {
    // Against every later rule: more blocks, larger blocks, a higher selector and CIDR.
    let one = spec("10.0.0.0/24", 4, &["a"]);
    let two = spec("10.9.0.0/16", 8, &["b", "c"]);
    assert_eq!(order(&[("one", one), ("two", two)]), ["two", "one"]);
}

#[test]
fn then_fewer_blocks_in_all() {
    let many = spec("10.0.0.0/16", 4, &["a"]);
    let few = spec("10.9.0.0/16", 8, &["b"]);
    assert_eq!(order(&[("many", many), ("few", few)]), ["few", "many"]);
    // Of two families the scarcer one counts.
    let mut dual = spec("10.0.0.0/16", 8, &["a"]);
    dual["ipv6"] = json!("fd00::/118");
    assert_eq!(order(&[("dual", dual), ("few", spec("10.9.0.0/20", 8, &["b"]))]), ["dual", "few"]);
}

#[test]
fn then_smaller_blocks() {
    let large = spec("10.0.0.0/16", 8, &["a"]);
    let small = spec("10.9.0.0/20", 4, &["b"]);
    assert_eq!(order(&[("large", large), ("small", small)]), ["small", "large"]);
}

#[test]
fn then_the_lower_selector() {
    let (b, a) = (spec("10.0.0.0/16", 8, &["b"]), spec("10.9.0.0/16", 8, &["a"]));
    assert_eq!(order(&[("b", b), ("a", a)]), ["a", "b"]);
}

#[test]
fn then_the_lower_cidr_and_then_the_name() {
    let cidrs = [("p", "10.9.0.0/16"), ("q", "10.10.0.0/16"), ("r", "10.10.0.0/16")];
    let specs: Vec<_> = cidrs.iter().map(|(name, cidr)| (*name, spec(cidr, 8, &["a"]))).collect();
    assert_eq!(order(&specs), ["q", "r", "p"], "they are compared as text");
}

#[test]
fn those_for_all_nodes_come_last_in_the_same_order() {
    let specs = [
        ("large", spec("10.0.0.0/16", 4, &[])),
        ("small", spec("10.1.0.0/24", 4, &[])),
        ("chosen", spec("10.2.0.0/8", 4, &["a"])),
    ];
    let specs = specs.map(|(n, s)| if n == "chosen" { (n, spec("11.0.0.0/8", 4, &["a"])) } else { (n, s) });
    assert_eq!(order(&specs), ["chosen", "small", "large"]);
}

#[test]
fn nodes_that_do_not_match_are_not_served() {
    assert_eq!(order(&[("other", spec("10.0.0.0/16", 8, &["a", "rack"]))]), [""; 0]);
}

#[test]
fn what_is_wrong_with_a_cluster_cidr_is_said() {
    let why = |spec: Value| ClusterCidr::read(&cluster_cidr("c", &spec)).err().unwrap_or_default();
    for (spec, wanted) in [
        (json!({ "ipv4": "10.0.0.0/16" }), "it has no perNodeHostBits"),
        (json!({ "perNodeHostBits": 8 }), "it has neither ipv4 nor ipv6"),
        (json!({ "perNodeHostBits": 8, "ipv4": "" }), "it has neither ipv4 nor ipv6"),
        (
            json!({ "perNodeHostBits": 3, "ipv4": "10.0.0.0/16" }),
            "perNodeHostBits is 3, and at least 4 are needed",
        ),
        (
            json!({ "perNodeHostBits": 9, "ipv4": "10.0.0.0/24" }),
            "ipv4: a block of perNodeHostBits 9 is wider than 10.0.0.0/24, which has 8 host bits",
        ),
        (
            json!({ "perNodeHostBits": 33, "ipv4": "0.0.0.0/0", "ipv6": "fd00::/16" }),
            "ipv4: a block of perNodeHostBits 33 is wider than 0.0.0.0/0, which has 32 host bits",
        ),
        (
            json!({ "perNodeHostBits": 300, "ipv6": "::/0" }),
            "ipv6: a block of perNodeHostBits 300 is wider than ::/0, which has 128 host bits",
        ),
        (json!({ "perNodeHostBits": 8, "ipv4": "fd00::/64" }), "ipv4: \"fd00::/64\" is no IPv4 CIDR"),
        (json!({ "perNodeHostBits": 8, "ipv6": "10.0.0.0/16" }), "ipv6: \"10.0.0.0/16\" is no IPv6 CIDR"),
        (
            json!({ "perNodeHostBits": 8, "ipv4": "10.0.0.0-10.0.255.255" }),
            "ipv4: \"10.0.0.0-10.0.255.255\" is no IPv4 CIDR",
        ),
        (
            json!({ "perNodeHostBits": 8, "ipv4": "10.0.0.1/16" }),
            "ipv4: \"10.0.0.1/16\" has bits set beyond its prefix: write 10.0.0.0/16 for that network",
        ),
        (
            json!({ "perNodeHostBits": 8, "ipv4": "10.0.0.0/16", "nodeSelector": { "nodeSelectorTerms": [{ "matchExpressions": [{ "key": "a", "operator": "Like" }] }] } }),
            "nodeSelector: there is no operator \"Like\" (for a)",
        ),
    ] {
        assert_eq!(why(spec), wanted);
    }
}

#[test]
fn blocks_are_exact_at_the_extremes() {
    let parts = |spec: Value| ClusterCidr::read(&cluster_cidr("c", &spec)).map(|c| c.pool.parts).unwrap();
    let total = |spec: Value| parts(spec)[0].total();
    assert_eq!(total(json!({ "perNodeHostBits": 32, "ipv4": "0.0.0.0/0" })), 1);
    assert_eq!(total(json!({ "perNodeHostBits": 4, "ipv4": "0.0.0.0/0" })), 1 << 28);
    assert_eq!(total(json!({ "perNodeHostBits": 128, "ipv6": "::/0" })), 1);
    assert_eq!(total(json!({ "perNodeHostBits": 4, "ipv6": "::/0" })), 1 << 124);
    assert_eq!(total(json!({ "perNodeHostBits": 4, "ipv4": "10.0.0.16/28" })), 1);
    assert_eq!(total(json!({ "perNodeHostBits": 64, "ipv6": "fd00::/32" })), 1 << 32);
    assert_eq!(parts(json!({ "perNodeHostBits": 128, "ipv6": "::/0" }))[0].prefix, 0);
}

#[test]
fn a_node_keeps_what_it_has() {
    let node = |spec: Value| Object(json!({ "metadata": { "name": "n" }, "spec": spec }));
    let wanted = ["10.0.0.0/24".to_owned(), "fd00::/64".to_owned()];
    let Edited::To(served) = edited(&node(json!({})), &wanted) else { panic!("it has none yet") };
    assert_eq!(
        served.0["spec"],
        json!({ "podCIDR": "10.0.0.0/24", "podCIDRs": ["10.0.0.0/24", "fd00::/64"] })
    );
    assert_eq!(edited(&served, &wanted), Edited::Already);
    for other in [
        json!({ "podCIDR": "10.0.1.0/24" }),
        json!({ "podCIDR": "10.0.0.0/24", "podCIDRs": ["10.0.0.0/24"] }),
    ] {
        assert_eq!(edited(&node(other), &wanted), Edited::Moot);
    }
    let mut going = node(json!({}));
    going.0["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    assert_eq!(edited(&going, &wanted), Edited::Moot);
}

#[test]
fn where_there_are_no_cluster_cidrs_nodes_are_none_of_our_business() {
    let mut observed = Observed::default();
    observed.insert(NODE, vec![Object(json!({ "kind": "Node", "metadata": { "name": "n" } }))]);
    let survey = Nodes.survey(&observed, &config::empty());
    assert!(survey.claims.is_empty() && survey.settled.is_empty() && survey.warnings.is_empty());
}
