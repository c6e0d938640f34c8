//! The rights that watching needs besides: without any one of them it says which.

use super::{Stage, Watcher, until};
use crate::bed::{self, Bed, Profile, documents};
use crate::deploy::rights;
use serde_json::{Value, json};

const ACCOUNT: &str = "mipam";
const FILE: &str = include_str!("../../../manifests/chart/rbac/watch/watch.yaml");

/// The rules of the file without one of them, as text.
fn without(left_out: (usize, usize)) -> String {
    let mut roles = documents(FILE);
    roles[left_out.0]["rules"].as_array_mut().unwrap().remove(left_out.1);
    roles.iter().map(|role| format!("---\n{role}\n")).collect()
}

/// Is this kind served at all?
fn is_served(bed: &Bed, rule: &Value) -> bool {
    let group = rule["apiGroups"][0].as_str().unwrap();
    let path = if group.is_empty() { "/api/v1".to_owned() } else { format!("/apis/{group}") };
    bed.block_on(bed::rest::get(&bed.client(bed::accounts::ADMIN), &path)).is_ok()
}

#[test]
fn each_right_to_watch_is_needed() {
    let bed = bed::shared(Profile::Own).lock();
    let stage = Stage::new(&bed);
    let roles = documents(FILE);
    let rules = roles.iter().enumerate().flat_map(|(at, role)| {
        let rules = role["rules"].as_array().cloned().unwrap_or_default();
        rules.into_iter().enumerate().map(move |(i, rule)| ((at, i), rule))
    });
    let mut unserved = Vec::new();
    for (at, rule) in rules {
        if !is_served(&bed, &rule) {
            unserved.push(rule["apiGroups"][0].clone());
            continue;
        }
        bed.grant(ACCOUNT, &rights::granted());
        bed.grant(ACCOUNT, &without(at));
        if stage.lease() != Value::Null {
            bed.delete("coordination.k8s.io/v1", "Lease", "mipam-system", "mipam");
        }
        let (dir, kubeconfig) = (stage.dir.path(), bed.kubeconfig(ACCOUNT));
        let watcher = Watcher::start(dir, &kubeconfig, &stage.config, &["-v", "--resync", "1s"]);
        let verbs = rule["verbs"].as_array().unwrap();
        let resources = rule["resources"].as_array().unwrap();
        until(&format!("it misses {rule}"), || {
            // What can be done without is only noted.
            let said = watcher.ask("/readyz").filter(|(code, _)| *code != 200).map(|(_, why)| why);
            let said = said.unwrap_or_default() + &watcher.stderr();
            let text = |v: &Value| v.as_str().unwrap().to_owned();
            verbs.iter().map(text).any(|verb| {
                resources.iter().map(text).any(|of| said.contains(&format!("not allowed to {verb} {of}")))
            })
        });
        drop(watcher);
        bed.block_on(bed.revoke_all());
    }
    assert_eq!(unserved, [json!("config.openshift.io")], "these are not shown");
}
