//! What happens to a server and its rights while a process watches it.

use super::{API, Stage, until};
use crate::bed::accounts::ADMIN;
use crate::bed::outage::Server;
use crate::bed::{self, Bed, Profile, rest};
use crate::deploy::rights;
use serde_json::json;
use std::time::{Duration, Instant};

#[test]
fn a_server_that_restarts_is_watched_again() {
    let bed = Bed::with(Profile::Own);
    bed.namespace("openshift-machine-api");
    let stage = Stage::new(&bed);
    let watcher = stage.start(&["--request-timeout", "5s"]).ready();
    stage.create(0..5);
    until("they are served", || stage.addresses().len() == 5);
    for (round, servers) in
        [&[Server::Apiserver][..], &[Server::Apiserver, Server::Etcd][..]].into_iter().enumerate()
    {
        let outage = bed.kill(servers);
        until("it is not ready", || !watcher.is_ready());
        drop(outage);
        let first = 5 + 5 * round;
        stage.create(first..first + 5);
        until("the new ones are served", || stage.addresses().len() == first + 5);
        until("it is ready", || watcher.is_ready());
    }
    watcher.stop_well();
}

#[test]
fn kinds_that_are_served_later_are_picked_up() {
    let bed = Bed::start();
    let stage = Stage::new(&bed);
    let watcher = stage.start(&[]).ready();
    Profile::Own.apply(&bed);
    bed.namespace("openshift-machine-api");
    stage.create(0..3);
    until("they are served", || stage.addresses().len() == 3);
    watcher.stop_well();
}

#[test]
fn a_right_that_is_withdrawn_is_said_and_all_goes_on_when_it_is_back() {
    const ACCOUNT: &str = "mipam";
    let bed = bed::shared(Profile::Own).lock();
    let stage = Stage::new(&bed);
    // Exactly what the manifests give.
    let watching = include_str!("../../../manifests/chart/rbac/watch/watch.yaml");
    let all = || [rights::granted(), watching.to_owned()].iter().for_each(|text| bed.grant(ACCOUNT, text));
    all();
    let start = super::Watcher::start(
        stage.dir.path(),
        &bed.kubeconfig(ACCOUNT),
        &stage.config,
        &["--leader-elect-retry-period", "1s"],
    );
    let watcher = start.ready();
    stage.create(0..2);
    until("they are served", || stage.addresses().len() == 2);
    until("that is said", || {
        bed.list("v1", "Event").iter().filter(|e| e["reason"] == "AddressAllocated").count() == 2
    });
    bed.block_on(bed.revoke_all());
    stage.create(2..4);
    until("it is not ready", || !watcher.is_ready());
    assert_eq!(stage.addresses().len(), 2);
    all();
    until("the others are served", || stage.addresses().len() == 4);
    until("it is ready again", || watcher.is_ready());
    watcher.stop_well();
}

#[test]
fn an_object_that_is_refused_is_said_once_and_keeps_nobody_waiting() {
    const REFUSED: &str = "m-00000";
    let bed = Bed::with(Profile::Own);
    bed.namespace("openshift-machine-api");
    let stage = Stage::new(&bed);
    let binding = json!({ "policyName": "strict", "validationActions": ["Deny"] });
    let rule = json!({
        "apiGroups": ["machine.openshift.io"], "apiVersions": ["*"], "operations": ["UPDATE"], "resources": ["machines"],
    });
    let policy = json!({
        "matchConstraints": { "resourceRules": [rule] },
        "validations": [{ "expression": format!("object.metadata.name != '{REFUSED}'") }],
    });
    for (kind, spec) in [("ValidatingAdmissionPolicy", policy), ("ValidatingAdmissionPolicyBinding", binding)]
    {
        let version = "admissionregistration.k8s.io/v1";
        let object =
            json!({ "apiVersion": version, "kind": kind, "metadata": { "name": "strict" }, "spec": spec });
        bed.create_all(vec![object]);
    }
    stage.create(0..1);
    let label = |text: &str| json!({ "metadata": { "labels": { "seen": text } } });
    let path = format!("/apis/{API}/namespaces/openshift-machine-api/machines/{REFUSED}");
    until("the policy is in force", || {
        bed.block_on(rest::merge(&bed.client(ADMIN), &path, &label("yes"))).is_err()
    });

    let watcher = stage.start(&[]).ready();
    until("that is said", || watcher.stderr().contains("failed expression"));
    stage.create(1..2);
    until("the other one is served", || stage.addresses().len() == 1);
    let tried = || watcher.metric("mipam_passes_total{result=\"refused\"}").unwrap_or(0.0);
    let (before, begun) = (tried(), Instant::now());
    let mut changes = 0;
    while begun.elapsed() < Duration::from_secs(4) {
        bed.merge(API, "Machine", "openshift-machine-api", "m-00001", &label(&changes.to_string()));
        changes += 1;
    }
    assert!(changes > 20, "{changes}");
    assert!(tried() - before <= 9.0, "{} tries beside {changes} changes", tried() - before);
    assert_eq!(watcher.stderr().matches("failed expression").count(), 1, "{}", watcher.stderr());
    assert!(watcher.is_ready(), "one object is no reason to think that nothing goes on");
    stage.create(2..3);
    until("one more is served", || stage.addresses().len() == 2);
    watcher.stop_well();
}
