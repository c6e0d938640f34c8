//! The rights that watching needs besides: without any one of them it says which.

use super::{Stage, Watcher, until};
use crate::bed::accounts::{ADMIN, RESTRICTED};
use crate::bed::{self, Bed, Profile, documents};
use crate::deploy::rights;
use serde_json::Value;

const FILE: &str = include_str!("../../../manifests/chart/rbac/watch/watch.yaml");

/// A verb that one of the rules gives.
struct Right {
    role: usize,
    rule: usize,
    group: String,
    resource: String,
    verb: String,
}

fn rights() -> Vec<Right> {
    let mut all = Vec::new();
    for (role, document) in documents(FILE).iter().enumerate() {
        for (at, rule) in document["rules"].as_array().into_iter().flatten().enumerate() {
            let texts = |key: &str| -> Vec<String> {
                rule[key].as_array().unwrap().iter().map(|v| v.as_str().unwrap().to_owned()).collect()
            };
            let ([group], [resource]) = (&texts("apiGroups")[..], &texts("resources")[..]) else {
                panic!("one resource a line: {rule}");
            };
            all.extend(texts("verbs").into_iter().map(|verb| {
                let (group, resource) = (group.clone(), resource.clone());
                Right { role, rule: at, group, resource, verb }
            }));
        }
    }
    all
}

/// The roles of the file without one of the rights, as text.
fn without(left_out: &Right) -> String {
    let mut roles = documents(FILE);
    let verbs = roles[left_out.role]["rules"][left_out.rule]["verbs"].as_array_mut().unwrap();
    verbs.retain(|verb| *verb != left_out.verb);
    if verbs.is_empty() {
        roles[left_out.role]["rules"].as_array_mut().unwrap().remove(left_out.rule);
    }
    roles.iter().map(|role| format!("---\n{role}\n")).collect()
}

/// Is this group served at all?
fn is_served(bed: &Bed, group: &str) -> bool {
    let path = if group.is_empty() { "/api/v1".to_owned() } else { format!("/apis/{group}") };
    bed.block_on(bed::rest::get(&bed.client(ADMIN), &path)).is_ok()
}

/// Without these rights, each taken from an account of its own, a process of each account says which it lacks.
fn missed(bed: &Bed, stage: &Stage, rights: &[Right], more: &[&str]) {
    let accounts = &RESTRICTED[..rights.len()];
    for (right, account) in rights.iter().zip(accounts) {
        bed.grant(account, &format!("{}---\n{}", rights::granted(), without(right)));
    }
    let words = [&["-v", "--resync", "1s"], more].concat();
    let start = |account| Watcher::start(stage.dir.path(), &bed.kubeconfig(account), &stage.config, &words);
    let watchers: Vec<Watcher> = accounts.iter().map(|account| start(account)).collect();
    for (Right { group, resource, verb, .. }, watcher) in rights.iter().zip(watchers) {
        let resource = if group.is_empty() { resource.clone() } else { format!("{resource}.{group}") };
        until(&format!("it misses {verb} {resource}"), || {
            // What can be done without is only noted.
            let said = watcher.ask("/readyz").filter(|(code, _)| *code != 200).map(|(_, why)| why);
            let said = said.unwrap_or_default() + &watcher.stderr();
            said.contains(&format!("not allowed to {verb} {resource}"))
        });
    }
    bed.block_on(bed.revoke_all());
}

#[test]
fn each_right_to_watch_is_needed() {
    let bed = bed::shared(Profile::Own).lock();
    let stage = Stage::new(&bed);
    let (served, unserved): (Vec<_>, Vec<_>) =
        rights().into_iter().partition(|right| is_served(&bed, &right.group));
    let unserved: Vec<_> = unserved.iter().map(|right| right.group.as_str()).collect();
    assert_eq!(unserved, ["config.openshift.io"], "these are not shown");
    let (lists, lease): (Vec<_>, Vec<_>) = served.into_iter().partition(|right| right.verb == "watch");
    assert!(lists.len() > 20 && lease.len() == 3, "{} and {}", lists.len(), lease.len());
    // Several processes at once, as each takes a while to start: the Lease would have all but one wait.
    for rights in lists.chunks(RESTRICTED.len()) {
        missed(&bed, &stage, rights, &["--enable-leader-election=false"]);
    }
    for right in lease.chunks(1) {
        if stage.lease() != Value::Null {
            bed.delete("coordination.k8s.io/v1", "Lease", "mipam-system", "mipam");
        }
        missed(&bed, &stage, right, &[]);
    }
}
