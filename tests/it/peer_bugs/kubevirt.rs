//! Claims of virtual machines, and how ipam-extensions went wrong with them.

use super::clean;
use crate::sim::stage::World;
use mipam::model::Object;
use mipam::systems::kubevirt::{CLAIM, NAD, VM, VMI};
use serde_json::{Value, json};

fn nad(name: &str, config: &str) -> Value {
    json!({
        "apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition",
        "metadata": { "name": name, "namespace": "ns" }, "spec": { "config": config },
    })
}

fn persistent(name: &str) -> String {
    json!({ "cniVersion": "0.3.1", "name": name, "type": "ovn-k8s-cni-overlay", "allowPersistentIPs": true })
        .to_string()
}

/// A network of a machine for each of these definitions.
fn networks(nads: &[&str]) -> Value {
    nads.iter().map(|nad| json!({ "name": format!("to-{nad}"), "multus": { "networkName": nad } })).collect()
}

fn vm(name: &str, networks: &Value) -> Value {
    json!({
        "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": { "name": name, "namespace": "ns" },
        "spec": { "running": true, "template": { "spec": { "domain": { "devices": {} }, "networks": networks } } },
    })
}

fn vmi(name: &str, networks: &Value) -> Value {
    json!({
        "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance",
        "metadata": { "name": name, "namespace": "ns" },
        "spec": { "domain": { "devices": {} }, "networks": networks },
        "status": { "phase": "Running", "activePods": { "6f1c": "node-1" } },
    })
}

fn world(objects: &[Value]) -> World {
    let world = World::new("ipam-config: {systems: [kubevirt]}");
    objects.iter().for_each(|object| world.create(&object.to_string()));
    world
}

/// The names of all claims.
fn claims(world: &World) -> Vec<String> {
    let all = world.sim.all();
    all.iter().filter(|(kind, _)| *kind == CLAIM).map(|(_, claim)| claim.name().to_owned()).collect()
}

/// ipam-extensions (read): the claim of an interface that is unplugged stays as long as the machine. Here it goes when
/// neither the template nor what runs names its network (`All::let_go`).
#[test]
fn bug_26_an_interface_is_unplugged() {
    let both = networks(&["blue", "red"]);
    let (blue, red) = (nad("blue", &persistent("blue")), nad("red", &persistent("red")));
    let world = world(&[blue, red, vm("vm-a", &both), vmi("vm-a", &both)]);
    clean(&world);
    assert_eq!(claims(&world), ["vm-a.to-blue", "vm-a.to-red"]);
    let left = networks(&["blue"]);
    world.edit(&VM.at("ns", "vm-a"), |o: &mut Object| {
        o.0["spec"]["template"]["spec"]["networks"] = left.clone();
    });
    clean(&world);
    assert_eq!(claims(&world), ["vm-a.to-blue", "vm-a.to-red"], "it is still plugged in");
    world.edit(&VMI.at("ns", "vm-a"), |o: &mut Object| o.0["spec"]["networks"] = left.clone());
    clean(&world);
    assert_eq!(claims(&world), ["vm-a.to-blue"]);
    assert!(clean(&world).changed.is_empty());
}

/// ipam-extensions (read): one definition that cannot be read, and no machine of the namespace gets its claims. Here it is a
/// problem of its own, and of those machines alone that name it (`Nads`).
#[test]
fn bug_34_one_malformed_nad_breaks_a_namespace() {
    let pods =
        json!([{ "name": "pods", "pod": {} }, { "name": "to-blue", "multus": { "networkName": "blue" } }]);
    let world = world(&[
        nad("a-broken", r#"{"name": "#),
        nad("blue", &persistent("blue")),
        vm("names-it", &networks(&["a-broken", "blue"])),
        vm("pods", &pods),
        vm("vm-a", &networks(&["blue"])),
    ]);
    let outcome = clean(&world);
    assert_eq!(claims(&world), ["names-it.to-blue", "pods.to-blue", "vm-a.to-blue"]);
    let about: Vec<_> = outcome.report.problems.iter().map(|p| (p.kind, p.object.as_str())).collect();
    let broken = ("Unreadable", "NetworkAttachmentDefinition/ns/a-broken");
    assert!(!about.is_empty() && about.iter().all(|p| *p == broken), "{about:?}");
    world.edit(&NAD.at("ns", "a-broken"), |o: &mut Object| {
        o.0["spec"]["config"] = json!(persistent("mended"));
    });
    clean(&world);
    let now = ["names-it.to-a-broken", "names-it.to-blue", "pods.to-blue", "vm-a.to-blue"];
    assert_eq!(claims(&world), now);
}

/// CAPV#2671: a label with the name of an object that has more than 63 characters is refused. Here such a name is hashed in
/// the label (`name::label`), and whole in an annotation, so that the claim still says whose it is.
#[test]
fn bug_48_labels_of_63_characters() {
    let (fits, long) = ("f".repeat(63), "l".repeat(64));
    let on = networks(&["blue"]);
    let world = world(&[nad("blue", &persistent("blue")), vm(&fits, &on), vm(&long, &on)]);
    clean(&world);
    let all = world.sim.all();
    let claim = |vm: &str| {
        let name = format!("{vm}.to-blue");
        all.iter().find(|(kind, o)| *kind == CLAIM && o.name() == name).unwrap().1.clone()
    };
    assert_eq!(claim(&fits).label("kubevirt.io/vm"), Some(fits.as_str()));
    let label = claim(&long).label("kubevirt.io/vm").unwrap().to_owned();
    assert!(label.len() <= 63 && label.starts_with("llll"), "{label}");
    assert_eq!(claim(&long).annotation("mipam.io/vm"), Some(long.as_str()));
    // It is the machine's by that, too, when its owner is not there to say so.
    world.edit(&CLAIM.at("ns", &format!("{long}.to-blue")), |o: &mut Object| {
        o.0["metadata"]["ownerReferences"] = json!([]);
    });
    assert_eq!(clean(&world).changed.len(), 1, "it gets its owner back");
    assert!(clean(&world).changed.is_empty());
}
