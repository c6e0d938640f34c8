//! Owners and what they own: who goes with whom.

use super::servers::Server;
use super::{NAMESPACE, Random};
use mipam::cluster::sim::Deletion;
use mipam::ledger::CONFIG_MAP;
use mipam::model::{Kind, Object, ObjectRef};
use mipam::systems::openshift::MACHINE;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const OWNERS: usize = 5;
const OWNED: usize = 14;

/// The controller has other things to do, too.
pub const PATIENCE: Duration = Duration::from_secs(30);

fn object(kind: Kind, name: &str) -> Object {
    let api = if kind == MACHINE { "machine.openshift.io/v1beta1" } else { "v1" };
    Object(
        json!({ "apiVersion": api, "kind": kind.kind, "metadata": { "name": name, "namespace": NAMESPACE } }),
    )
}

/// An owner that goes, and whether what it owns is to stay.
pub type Goes = (ObjectRef, bool);

/// Makes owners, what they own, and what the owned own in turn; returns which of the owners are to go.
pub fn make(server: &dyn Server, seed: u64) -> Vec<Goes> {
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
    let goes = made[..OWNERS].iter().filter_map(|(kind, owner)| {
        let (goes, orphan) = (!random.one_in(3), random.one_in(3));
        goes.then(|| (kind.at(NAMESPACE, owner.name()), orphan))
    });
    goes.collect()
}

/// Deletes those of them whose own is to stay, or the others. Not all at once: what is owned by one of each stays or
/// goes by which of the two the controller comes to first.
pub fn go(server: &dyn Server, goes: &[Goes], orphan: bool) {
    for (target, _) in goes.iter().filter(|(_, stays)| *stays == orphan) {
        server.delete(target, &Deletion { orphan, ..Deletion::default() }).unwrap();
    }
}

/// Returns when the controller has heard of all that was made before: it hears of each kind in order, and has collected
/// what came last, whose owner was never there.
pub fn heard(server: &dyn Server) {
    let nobody = json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": "nobody", "uid": format!("nobody-{:x}", mipam::cluster::random()) });
    for kind in [MACHINE, CONFIG_MAP] {
        let mut last = object(kind, "last");
        last.0["metadata"]["ownerReferences"] = json!([nobody]);
        server.create(kind, &last).unwrap();
    }
    let start = Instant::now();
    for kind in [MACHINE, CONFIG_MAP] {
        while server.get(&kind.at(NAMESPACE, "last")).is_ok() {
            assert!(start.elapsed() < PATIENCE, "the controller does not collect garbage");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// What the collector has left. What is on its way out has lost those of its owners that went while another one
/// was still seen: which ones that were depends on when the controller looked, so they are not compared.
pub fn left(server: &dyn Server) -> Vec<String> {
    let lists = [MACHINE, CONFIG_MAP].map(|kind| server.list(kind));
    let all = || lists.iter().flatten().filter(|o| o.name().starts_with('g'));
    let told = all().map(|o| {
        let owners = o.array("/metadata/ownerReferences").iter();
        let there = |r: &&Value| !o.deleting() || all().any(|owner| r["uid"] == *owner.uid());
        let owners: Vec<&Value> = owners.filter(there).map(|r| &r["name"]).collect();
        let finalizers = o.array("/metadata/finalizers");
        format!("{} deleting {} {finalizers:?} owned by {owners:?}", o.name(), o.deleting())
    });
    told.collect()
}
