//! What happens to a server and its rights while a process watches it.

use super::{Stage, until};
use crate::bed::outage::Server;
use crate::bed::{self, Bed, Profile};
use crate::deploy::rights;

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
