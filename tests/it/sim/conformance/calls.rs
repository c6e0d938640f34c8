//! Random calls on three machines: created, replaced, patched and deleted, with and without conditions, and a
//! watch that tells of all of it.

use super::servers::{Reply, Server};
use super::{NAMESPACE, Random};
use crate::scenario::normal::sorted;
use mipam::cluster::sim::{Deletion, Part};
use mipam::model::Object;
use mipam::systems::openshift::MACHINE;
use serde_json::{Value, json};

const CALLS: usize = 500;
const NAMES: [&str; 3] = ["m0", "m1", "m2"];
const NO_UID: &str = "00000000-0000-0000-0000-000000000000";

/// A server, with every version that it has shown of each machine, newest last.
struct Side<'a> {
    server: &'a dyn Server,
    shown: [Vec<Object>; 3],
}

pub fn story(server: &dyn Server, seed: u64) -> Vec<String> {
    let mut random = Random(seed);
    let (_, begin, _) = server.page(MACHINE, 1, None).unwrap();
    let mut side = Side { server, shown: Default::default() };
    let mut said: Vec<String> = Vec::new();
    let mut middle = begin.clone();
    for call in 0..CALLS {
        let at = random.below(3);
        said.push(side.call(at, &mut random));
        if call == CALLS / 2 {
            middle = server.page(MACHINE, 1, None).unwrap().1;
        }
    }
    for since in [begin, middle] {
        for (verb, object) in server.watch(MACHINE, &since).unwrap() {
            let state = if verb == "DELETED" { Value::Null } else { state(&object) };
            said.push(format!("watch {verb} {}\n{state}", object.name()));
        }
    }
    said
}

/// What both servers must agree on.
fn state(object: &Object) -> Value {
    sorted(&json!({
        "generation": object.at("/metadata/generation"),
        "finalizers": object.array("/metadata/finalizers"),
        "deleting": object.deleting(),
        "annotations": object.at("/metadata/annotations"),
        "value": object.at("/spec/providerSpec/value"),
        "status": object.at("/status"),
    }))
}

impl Side<'_> {
    fn call(&mut self, at: usize, random: &mut Random) -> String {
        let target = MACHINE.at(NAMESPACE, NAMES[at]);
        let (what, answer): (String, Reply<Object>) = match random.below(16) {
            0..=2 => {
                let finalizers = if random.one_in(2) { json!(["test.mipam.io/hold"]) } else { json!([]) };
                let mut object = Object(json!({
                    "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
                    "metadata": { "name": NAMES[at], "namespace": NAMESPACE, "finalizers": finalizers },
                    "spec": { "providerSpec": { "value": { "n": 0 } } },
                }));
                if random.one_in(2) {
                    object.0["status"] = json!({ "phase": "Early" });
                }
                ("create".into(), self.server.create(MACHINE, &object))
            }
            3..=6 => {
                let part = if random.one_in(3) { Part::Status } else { Part::Main };
                let age = random.below(3);
                let (change, edit) = edit(random);
                let unguarded = random.one_in(12);
                let known = &self.shown[at];
                let Some(mut new) = known.len().checked_sub(age + 1).map(|i| known[i].clone()) else {
                    return "nothing to replace".to_owned();
                };
                edit(&mut new);
                if unguarded {
                    new.ensure_object(&["metadata"]).shift_remove("resourceVersion");
                }
                let what = format!("replace {part:?} {change} age {age} unguarded {unguarded}");
                (what, self.server.replace(MACHINE, &new, part))
            }
            7..=10 => {
                let part = if random.one_in(3) { Part::Status } else { Part::Main };
                let mut patch = patch(random);
                let known = self.shown[at].len();
                let guard = random.below(6);
                let version = match guard {
                    0 => known.checked_sub(1),
                    1 => known.checked_sub(2),
                    _ => None,
                };
                let what = format!("patch {part:?} {patch} guard {guard}");
                if let Some(version) = version {
                    patch["metadata"]["resourceVersion"] = json!(self.shown[at][version].resource_version());
                }
                if guard == 2 && random.one_in(3) {
                    patch["metadata"]["uid"] = json!(NO_UID);
                }
                (what, self.server.patch(&target, part, &patch))
            }
            11 | 12 => {
                let (by_uid, by_version) = (random.below(6), random.below(6));
                let known = self.shown[at].last();
                let uid = match by_uid {
                    0 => known.map(|o| o.uid().to_owned()),
                    1 => Some(NO_UID.to_owned()),
                    _ => None,
                };
                let version =
                    (by_version < 2).then(|| known.map(|o| o.resource_version().to_owned())).flatten();
                let how = Deletion { uid, version, orphan: false };
                let deleted = self.server.delete(&target, &how);
                let what = format!("delete uid {by_uid} version {by_version}: {deleted:?}");
                (what, self.server.get(&target))
            }
            13 | 14 => ("get".into(), self.server.get(&target)),
            _ => {
                let all = self.server.list(MACHINE);
                let all: Vec<_> = all.iter().map(|o| (o.name().to_owned(), state(o))).collect();
                return format!("list {all:?}");
            }
        };
        self.note(at, &what, answer)
    }

    fn note(&mut self, at: usize, what: &str, answer: Reply<Object>) -> String {
        let before = self.shown[at].last().map(|o| o.resource_version().to_owned());
        let answer = answer.map(|object| {
            let moved = before.as_deref() != Some(object.resource_version());
            let state = state(&object);
            self.shown[at].push(object);
            format!("moved {moved} {state}")
        });
        format!("{what} of {}\n{answer:?}", NAMES[at])
    }
}

type Edit = Box<dyn Fn(&mut Object)>;

fn edit(random: &mut Random) -> (String, Edit) {
    let n = random.below(50);
    let (what, edit): (&str, Edit) = match random.below(8) {
        0 => ("nothing", Box::new(|_| ())),
        1 | 2 => ("spec", Box::new(move |o| o.0["spec"]["providerSpec"]["value"]["n"] = json!(n))),
        3 => ("annotation", Box::new(move |o| o.annotate("n", &n.to_string()))),
        4 => {
            ("finalizers off", Box::new(|o| drop(o.ensure_object(&["metadata"]).shift_remove("finalizers"))))
        }
        5 => {
            let more = json!(["test.mipam.io/hold", "test.mipam.io/more"]);
            ("finalizers on", Box::new(move |o| o.0["metadata"]["finalizers"] = more.clone()))
        }
        6 => ("status", Box::new(move |o| o.0["status"] = json!({ "phase": format!("Odd{n}") }))),
        _ => ("uid", Box::new(|o| o.0["metadata"]["uid"] = json!(NO_UID))),
    };
    (format!("{what} {n}"), edit)
}

fn patch(random: &mut Random) -> Value {
    let n = random.below(50);
    let value = |v: Value| json!({ "spec": { "providerSpec": { "value": v } } });
    match random.below(9) {
        0 => json!({}),
        1 => value(json!({ "n": n })),
        2 => value(json!({ "n": null })),
        3 => value(json!({ "deep": { "er": [n, { "x": null }], "est": { "n": null, "m": n % 3 } } })),
        4 => value(json!({ "deep": n })),
        5 => json!({ "metadata": { "annotations": { "n": format!("{n}"), "m": null } } }),
        6 => json!({ "metadata": { "annotations": null, "finalizers": null } }),
        7 => json!({ "metadata": { "annotations": { "m": "1" } }, "status": { "phase": format!("Odd{n}") } }),
        _ => json!({ "status": { "phase": null, "lastOperation": { "description": format!("{n}") } } }),
    }
}
