//! Owners and what they own: who goes with whom.

use super::servers::Server;
use super::{NAMESPACE, Random};
use mipam::cluster::sim::Deletion;
use mipam::ledger::CONFIG_MAP;
use mipam::model::{Kind, Object};
use mipam::systems::openshift::MACHINE;
use serde_json::{Value, json};

const OWNERS: usize = 5;
const OWNED: usize = 14;

fn object(kind: Kind, name: &str) -> Object {
    let api = if kind == MACHINE { "machine.openshift.io/v1beta1" } else { "v1" };
    Object(
        json!({ "apiVersion": api, "kind": kind.kind, "metadata": { "name": name, "namespace": NAMESPACE } }),
    )
}

/// Owners, what they own, and what the owned own in turn; `pause`; then some of the owners go.
pub fn story(server: &dyn Server, seed: u64, pause: impl Fn()) {
    let mut random = Random(seed);
    let mut made: Vec<(Kind, Object)> = Vec::new();
    for at in 0..OWNERS + OWNED {
        let kind = if random.one_in(2) { MACHINE } else { CONFIG_MAP };
        let mut new = object(kind, &format!("g{at}"));
        let owners = if at < OWNERS { 0 } else { 1 + random.below(2) };
        let mut references: Vec<Value> = Vec::new();
        for _ in 0..owners {
            let (kind, owner) = &made[random.below(made.len() as u64)];
            if references.iter().any(|r| r["uid"] == *owner.uid()) {
                continue;
            }
            references.push(json!({
                "apiVersion": owner.0["apiVersion"], "kind": kind.kind, "name": owner.name(), "uid": owner.uid(),
            }));
        }
        if !references.is_empty() {
            new.0["metadata"]["ownerReferences"] = json!(references);
        }
        if random.one_in(5) {
            new.0["metadata"]["finalizers"] = json!(["test.mipam.io/hold"]);
        }
        let new = server.create(kind, &new).unwrap();
        made.push((kind, new));
    }
    pause();
    for (kind, owner) in &made[..OWNERS] {
        let (goes, orphan) = (!random.one_in(3), random.one_in(3));
        if goes {
            let how = Deletion { orphan, ..Deletion::default() };
            server.delete(&kind.at(NAMESPACE, owner.name()), &how).unwrap();
        }
    }
}

/// What the collector has left.
pub fn left(server: &dyn Server) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for kind in [MACHINE, CONFIG_MAP] {
        for o in server.list(kind).iter().filter(|o| o.name().starts_with('g')) {
            let owners = o.array("/metadata/ownerReferences").iter().map(|r| r["name"].clone());
            let owners: Vec<Value> = owners.collect();
            let finalizers = o.array("/metadata/finalizers");
            all.push(format!("{} deleting {} {finalizers:?} owned by {owners:?}", o.name(), o.deleting()));
        }
    }
    all
}
