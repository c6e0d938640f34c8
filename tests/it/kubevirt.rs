//! Claims of virtual machines where files cannot show it: what the garbage collector makes of them, what a list shows
//! that is not so any more, and what many cost.

use crate::bed::accounts::ADMIN;
use crate::bed::rest::{self, Verdict as _};
use crate::bed::{self, Bed, Profile, eventually};
use crate::scenario::mipam;
use crate::sim::bent::{Bent, at_once, pass};
use crate::sim::stage::World;
use mipam::model::Object;
use mipam::plan::Scope;
use mipam::systems::kubevirt::{CLAIM, FINALIZER, NAD, VM, VMI};
use serde_json::{Value, json};
use std::time::Duration;

const CLAIMS: &str = "k8s.cni.cncf.io/v1alpha1";
const CONFIG: &str = "ipam-config: {systems: [kubevirt]}";

pub(crate) fn network() -> Value {
    let config = json!({ "cniVersion": "0.3.1", "name": "blue", "type": "ovn-k8s-cni-overlay", "allowPersistentIPs": true });
    json!({
        "apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition",
        "metadata": { "name": "blue", "namespace": "default" }, "spec": { "config": config.to_string() },
    })
}

fn networks() -> Value {
    json!([{ "name": "anet", "multus": { "networkName": "blue" } }])
}

pub(crate) fn vm(name: &str) -> Value {
    json!({
        "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine",
        "metadata": { "name": name, "namespace": "default", "uid": format!("uid-of-{name}") },
        "spec": { "running": true, "template": { "spec": { "domain": { "devices": {} }, "networks": networks() } } },
    })
}

fn vmi(name: &str) -> Value {
    let owner = json!({ "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "name": name,
        "uid": format!("uid-of-{name}"), "controller": true, "blockOwnerDeletion": true });
    json!({
        "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance",
        // KubeVirt's own, which it takes off when the machine has stopped.
        "metadata": { "name": name, "namespace": "default", "ownerReferences": [owner], "finalizers": ["foregroundDeleteVirtualMachine"] },
        "spec": { "domain": { "devices": {} }, "networks": networks() },
        "status": { "activePods": { "6f1c": "node-1" } },
    })
}

fn reconcile(bed: &Bed) -> Value {
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("config.yaml");
    std::fs::write(&config, CONFIG).unwrap();
    let (config, kubeconfig) = (config.display().to_string(), bed.kubeconfig(ADMIN).display().to_string());
    let output = mipam(
        &["reconcile", "-o", "json", "--config", &config, "--kubeconfig", &kubeconfig].map(str::to_owned),
    );
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn claim(bed: &Bed) -> Option<Value> {
    bed.get(CLAIMS, "IPAMClaim", "default", "vm-a.anet")
}

/// Waits until the garbage collector has done something about an object.
fn wait(bed: &Bed, kind: &str, path: &str, until: impl Fn(Option<&Value>) -> bool) {
    let path = format!("{path}/vm-a{}", if kind == "IPAMClaim" { ".anet" } else { "" });
    bed.block_on(eventually(&format!("{kind} to be collected"), Duration::from_secs(90), async || {
        let found = rest::get(&bed.client(ADMIN), &path).await.must_or_gone(&path);
        until(found.as_ref()).then_some(())
    }));
}

/// Deletes a machine that runs in one of the three ways, and plays on until nothing is left.
fn deleted(policy: &str) {
    let bed = bed::shared(Profile::Own).lock();
    bed.create_all(vec![network(), vm("vm-a"), vmi("vm-a")]);
    reconcile(&bed);
    let claims = "/apis/k8s.cni.cncf.io/v1alpha1/namespaces/default/ipamclaims";
    let machines = "/apis/kubevirt.io/v1/namespaces/default/virtualmachines";
    let instances = "/apis/kubevirt.io/v1/namespaces/default/virtualmachineinstances";
    let options = json!({ "propagationPolicy": policy });
    bed.block_on(rest::send(&bed.client(ADMIN), "DELETE", &format!("{machines}/vm-a"), &options))
        .must("delete it");
    let deleting = |o: Option<&Value>| o.is_some_and(|o| o["metadata"]["deletionTimestamp"].is_string());
    if policy == "Orphan" {
        wait(&bed, "VirtualMachine", machines, |o| o.is_none());
        wait(&bed, "IPAMClaim", claims, |o| o.is_some_and(|o| o["metadata"]["ownerReferences"].is_null()));
    } else {
        wait(&bed, "VirtualMachineInstance", instances, deleting);
        wait(&bed, "IPAMClaim", claims, deleting);
    }
    // It runs: whatever has been deleted, its addresses are its own.
    assert_eq!(reconcile(&bed)["writes"], json!(0), "{policy}");
    let kept = claim(&bed).unwrap();
    assert_eq!(kept["metadata"]["finalizers"], json!([FINALIZER]), "{policy}");
    let (api, kind) = ("kubevirt.io/v1", "VirtualMachineInstance");
    bed.merge(api, kind, "default", "vm-a", &json!({ "metadata": { "finalizers": null }, "status": null }));
    if policy == "Orphan" {
        bed.delete(api, kind, "default", "vm-a");
    }
    wait(&bed, kind, instances, |o| o.is_none());
    let report = reconcile(&bed);
    assert_eq!(report["claims"][0]["change"], json!("released"), "{policy}: {report}");
    wait(&bed, "IPAMClaim", claims, |o| o.is_none());
    wait(&bed, "VirtualMachine", machines, |o| o.is_none());
    assert_eq!(reconcile(&bed)["writes"], json!(0), "{policy}");
}

#[test]
fn a_machine_that_is_deleted_in_the_background_keeps_its_claim_while_it_runs() {
    deleted("Background");
}

#[test]
fn a_machine_that_is_deleted_in_the_foreground_keeps_its_claim_while_it_runs() {
    deleted("Foreground");
}

#[test]
fn a_machine_that_is_deleted_without_what_it_owns_keeps_its_claim_while_it_runs() {
    deleted("Orphan");
}

fn world(machines: &[&str]) -> World {
    let world = World::new(CONFIG);
    world.sim.put(NAD, &Object(network())).unwrap();
    for name in machines {
        world.sim.put(VM, &Object(vm(name))).unwrap();
        let mut running = vmi(name);
        running["metadata"].as_object_mut().unwrap().remove("ownerReferences");
        world.sim.put(VMI, &Object(running)).unwrap();
        world.accept();
    }
    world
}

fn held(world: &World, name: &str) -> Option<bool> {
    let all = world.sim.all();
    let found = all.iter().find(|(kind, o)| *kind == CLAIM && o.name() == name);
    found.map(|(_, o)| o.held_by(FINALIZER) && !o.deleting())
}

/// A list that leaves a machine out is no proof that it is gone.
#[test]
fn a_claim_is_let_go_by_what_is_there_now_and_not_by_what_a_list_has_shown() {
    let world = world(&["vm-a", "vm-b"]);
    at_once(&world);
    assert_eq!(held(&world, "vm-a.anet"), Some(true));
    let stale = Bent { hidden: Some("vm-a"), ..Bent::default() };
    let outcome = pass(&world, &stale, Scope::default());
    assert!(outcome.changed.is_empty(), "{:?}", outcome.changed);
    assert_eq!(held(&world, "vm-a.anet"), Some(true));
    assert!(at_once(&world).changed.is_empty());
}

/// A list that shows a machine without a network that was plugged in since is no proof that nothing uses it.
#[test]
fn a_claim_of_a_network_is_let_go_by_what_the_machine_names_now() {
    let world = world(&["vm-a"]);
    at_once(&world);
    let find = |kind| world.sim.all().into_iter().find(|(k, _)| *k == kind).unwrap().1;
    let mut old = (*find(VM)).clone();
    old.0["spec"]["template"]["spec"]["networks"] = json!([]);
    let reference = VMI.at("default", "vm-a");
    world.edit(&reference, |o| o.0["spec"]["networks"] = json!([]));
    let outcome = pass(&world, &Bent { old: Some(old), ..Bent::default() }, Scope::default());
    assert!(outcome.changed.is_empty(), "{:?}", outcome.changed);
    assert_eq!(held(&world, "vm-a.anet"), Some(true));
}

/// Each claim costs one write, an idle pass none.
#[test]
fn a_claim_costs_one_write() {
    let names: Vec<String> = (0..1_000).map(|i| format!("vm-{i:04}")).collect();
    let world = world(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let outcome = at_once(&world);
    assert_eq!((outcome.report.claims.len(), outcome.changed.len()), (1_000, 1_000));
    assert!(at_once(&world).changed.is_empty(), "an idle pass writes");
}
