//! Blocks of Nodes as the checker reads them, and what must hold of them after every write.

use super::Rules;
use mipam::cluster::sim::{Event, Verb};
use mipam::model::Object;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// First and last address as numbers, with the family before them.
type Range = (bool, u128, u128);

#[derive(Clone, Default)]
pub struct Blocks {
    /// Nodes and ClusterCIDRs by kind and name.
    objects: BTreeMap<(String, String), Object>,
    /// What the ledger has: the block, and the uid that it is for.
    ledger: BTreeMap<Range, String>,
}

fn range(text: &str) -> Range {
    let (address, prefix) = text.split_once('/').expect("a CIDR");
    let prefix: u32 = prefix.parse().unwrap();
    let (v6, number, bits) = match address.parse().unwrap() {
        IpAddr::V4(v4) => (false, u128::from(v4.to_bits()), 32),
        IpAddr::V6(v6) => (true, v6.to_bits(), 128),
    };
    let hosts = if prefix == bits { 0 } else { u128::MAX >> (128 - (bits - prefix)) };
    (v6, number & !hosts, number | hosts)
}

/// The same of what mipam has written.
fn of_mipam(text: &str) -> Range {
    let (address, _) = text.split_once('/').expect("a CIDR");
    let first: IpAddr = address.parse().unwrap();
    let number = match first {
        IpAddr::V4(v4) => u128::from(v4.to_bits()),
        IpAddr::V6(v6) => v6.to_bits(),
    };
    assert_eq!(range(text).1, number, "{text} is no block");
    range(text)
}

fn overlap(a: &Range, b: &Range) -> bool {
    a.0 == b.0 && a.1 <= b.2 && b.1 <= a.2
}

fn within(a: &Range, b: &Range) -> bool {
    a.0 == b.0 && a.1 >= b.1 && a.2 <= b.2
}

fn blocks(node: &Object) -> Vec<Range> {
    node.array("/spec/podCIDRs").iter().map(|b| range(b.as_str().unwrap())).collect()
}

/// The key of an entry: an address with dashes for colons, and the prefix after one more dash.
fn of_key(key: &str) -> Range {
    let (address, prefix) = key.rsplit_once('-').unwrap();
    of_mipam(&format!("{}/{prefix}", address.replace('-', ":")))
}

fn entries(page: &Object) -> BTreeMap<Range, String> {
    let data = page.at("/data").and_then(Value::as_object).into_iter().flatten();
    let read = |(key, text): (&String, &Value)| {
        let entry: Value = serde_json::from_str(text.as_str().unwrap()).ok()?;
        let holder = &entry["holders"][0];
        let owner =
            if holder["kind"] == "Node" { holder["uid"].as_str().unwrap_or_default() } else { "hold" };
        Some((of_key(key), owner.to_owned()))
    };
    data.filter_map(read).collect()
}

/// Is it about blocks?
pub fn concerns(event: &Event) -> bool {
    matches!(event.kind.kind, "Node" | "ClusterCIDR" | "ServiceCIDR") || event.object.name() == "mipam-nodes"
}

impl Blocks {
    pub fn accept(&mut self, event: &Event) {
        let object = &event.object;
        if object.name() == "mipam-nodes" {
            self.ledger = entries(object);
            return;
        }
        let place = (event.kind.kind.to_owned(), object.name().to_owned());
        if event.verb == Verb::Deleted {
            self.objects.remove(&place);
        } else {
            self.objects.insert(place, (**object).clone());
        }
    }

    fn all(&self, kind: &str) -> impl Iterator<Item = &Object> {
        self.objects.iter().filter(move |((k, _), _)| k == kind).map(|(_, o)| o)
    }

    /// What mipam has just done.
    pub fn check(&mut self, event: &Event, rules: &Rules) {
        let object = &event.object;
        let before = self.objects.get(&(event.kind.kind.to_owned(), object.name().to_owned())).cloned();
        match event.kind.kind {
            "Node" => self.node(event, &before.expect("a Node that was there")),
            "ClusterCIDR" => {
                self.cluster_cidr(event, &before.expect("a ClusterCIDR that was there"), rules);
            }
            "ConfigMap" => self.page(event),
            _ => panic!("S5: {} was written", object.name()),
        }
        self.accept(event);
    }

    fn node(&self, event: &Event, before: &Object) {
        let (node, name) = (&event.object, event.object.name());
        assert!(event.verb == Verb::Modified, "S5: {name} was made or deleted");
        assert_eq!(
            without(before, &["podCIDR", "podCIDRs"]),
            without(node, &["podCIDR", "podCIDRs"]),
            "S5: {name}"
        );
        assert!(blocks(before).is_empty(), "S4: {name} had {:?}", blocks(before));
        assert!(!node.deleting(), "{name} is being deleted");
        assert_eq!(node.at("/spec/podCIDR"), node.at("/spec/podCIDRs/0"), "{name}");
        let given: Vec<Range> =
            node.array("/spec/podCIDRs").iter().map(|b| of_mipam(b.as_str().unwrap())).collect();
        assert!(given.len() == 1 || given.len() == 2 && given[0].0 != given[1].0, "{name} has {given:?}");
        let services = self.all("ServiceCIDR").flat_map(|s| s.array("/spec/cidrs"));
        let services: Vec<Range> = services.map(|c| range(c.as_str().unwrap())).collect();
        for block in &given {
            for other in self.all("Node").filter(|n| n.name() != name) {
                let taken = blocks(other).iter().any(|b| overlap(b, block));
                assert!(!taken, "S1: {name} has {block:?}, and so has {}", other.name());
            }
            assert!(!services.iter().any(|s| overlap(s, block)), "S2: {name} has {block:?} of Services");
            assert_eq!(
                self.ledger.get(block).map(String::as_str),
                Some(node.uid()),
                "{name} was written before the ledger"
            );
        }
        // S2: all of them are of one ClusterCIDR; it may be gone by now.
        let of_one = self.all("ClusterCIDR").any(|c| {
            let ranges = ["/spec/ipv4", "/spec/ipv6"].into_iter().filter_map(|at| c.text(at));
            let ranges: Vec<Range> = ranges.filter(|t| !t.is_empty()).map(range).collect();
            let bits = c.at("/spec/perNodeHostBits").and_then(Value::as_u64).unwrap_or(0);
            let sized = |b: &Range| b.2 - b.1 == if bits == 0 { 0 } else { u128::MAX >> (128 - bits) };
            ranges.len() == given.len()
                && given.iter().all(|b| sized(b) && ranges.iter().any(|r| within(b, r)))
        });
        assert!(of_one, "S2: {name} has {given:?} of no ClusterCIDR");
    }

    fn cluster_cidr(&self, event: &Event, before: &Object, rules: &Rules) {
        let (after, name) = (&event.object, event.object.name());
        assert!(event.verb != Verb::Added, "S5: {name} was made");
        assert_eq!(before.at("/spec"), after.at("/spec"), "S5: the spec of {name}");
        let was = before.held_by(FINALIZER);
        if !rules.leaving && (event.verb == Verb::Deleted || was && !after.held_by(FINALIZER)) {
            assert!(before.deleting(), "the finalizer of {name}, which is not being deleted");
            let ranges = ["/spec/ipv4", "/spec/ipv6"].into_iter().filter_map(|at| before.text(at)).map(range);
            for range in ranges {
                let used = self.all("Node").any(|n| blocks(n).iter().any(|b| overlap(b, &range)));
                assert!(!used, "{name} was let go, and a Node has a block of it");
            }
        }
    }

    fn page(&self, event: &Event) {
        assert!(event.verb != Verb::Deleted, "the ledger object was deleted");
        let after = entries(&event.object);
        for (block, uid) in after.iter().filter(|(block, uid)| self.ledger.get(*block) != Some(uid)) {
            for other in self.all("Node").filter(|n| n.uid() != uid) {
                let taken = blocks(other).iter().any(|b| overlap(b, block));
                assert!(!taken, "S1: {block:?} was recorded, and {} has it", other.name());
            }
        }
        let all: Vec<&Range> = after.keys().collect();
        for pair in all.windows(2) {
            assert!(!overlap(pair[0], pair[1]), "S1: the ledger has {pair:?}");
        }
        for (block, uid) in self.ledger.iter().filter(|(block, uid)| after.get(*block) != Some(uid)) {
            let node = self.all("Node").find(|n| n.uid() == uid);
            let taken =
                self.all("Node").any(|n| n.uid() != uid && blocks(n).iter().any(|b| overlap(b, block)));
            let done = node.is_none_or(|n| !blocks(n).is_empty());
            assert!(done || taken, "S3: {block:?} was taken from a Node that waits for it");
        }
    }
}

const FINALIZER: &str = "networking.x-k8s.io/cluster-cidr-finalizer";

fn without(object: &Object, keys: &[&str]) -> Value {
    let mut object = object.0.clone();
    object["metadata"]["resourceVersion"] = json!(null);
    object["metadata"]["generation"] = json!(null);
    if let Some(spec) = object["spec"].as_object_mut() {
        keys.iter().for_each(|key| drop(spec.shift_remove(*key)));
    }
    if object["spec"] == json!({}) {
        object["spec"] = json!(null);
    }
    object
}
