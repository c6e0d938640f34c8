//! Arbitrary objects through every system: what they make of them can be decided on, and what is written to an
//! object leaves what is not ours alone and is written once.

use super::make::Bytes;
use mipam::config::{Config, parse};
use mipam::ledger::Ledger;
use mipam::model::{Action, Claim, Edited, Kind, Object, Observed, Write};
use mipam::observe::Observation;
use mipam::pass::Sight;
use mipam::plan::{Scope, decide};
use mipam::systems::{ALL, kinds};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::LazyLock;

static CONFIGS: LazyLock<[Config; 3]> = LazyLock::new(|| {
    let hook = "lifecycle-hook: {name: ipamController, owner: network-admin}";
    let pools = "pools: [{name: four, ranges: [10.0.0.0-10.0.0.12], prefix: 24, gateway: 10.0.0.1}, \
                 {name: six, ranges: ['fd00::/124'], prefix: 64, match: {networks: [lab]}}]";
    [
        format!("ipam-config: {{{hook}, {pools}}}"),
        format!("ipam-config: {{{hook}, nmstate-target: device-config, {pools}}}"),
        format!("ipam-config: {{{pools}}}"),
    ]
    .map(|text| parse("f", &text).unwrap())
});

pub fn run(bytes: &[u8]) {
    let mut bytes = Bytes(bytes);
    let config = bytes.pick(&CONFIGS[..]);
    let mut observed = Observed::default();
    for kind in kinds() {
        observed.insert(kind, Vec::<Object>::new());
    }
    for (kind, object) in bytes.some(8, object) {
        observed.insert(kind, vec![object]);
    }
    survive(config, observed);
}

/// All that a pass does with what it has seen, but for the cluster.
pub fn survive(config: &Config, observed: Observed) {
    let seen = Observation {
        observed,
        ledger: Ledger::default(),
        gone: BTreeSet::new(),
        problems: Vec::new(),
        notes: Vec::new(),
    };
    let sight = Sight::of(seen, config, &|_| ());
    let scope = Scope::default();
    let decision = decide(sight.world(&scope, 100));
    let scene = sight.scene(config, 100);
    let of = |claim: &Claim| *ALL.iter().find(|s| s.name() == claim.owner.system).unwrap();
    let claims = &sight.survey.claims;
    let served = decision.served.iter().map(|s| (&claims[s.claim], &s.given));
    let given = served.map(|(claim, given)| of(claim).write(claim, given, &scene));
    let waiting = decision.unmet.iter().zip(&decision.pending);
    let told = waiting.map(|(at, line)| of(&claims[*at]).pending(&claims[*at], line, &scene));
    let chores = sight.survey.chores.iter().map(|chore| chore.writes.clone());
    let closing = ALL.iter().flat_map(|s| s.closing(&scene));
    for write in given.chain(told).chain(chores).chain(closing).flatten() {
        written(scene.observed, &write);
    }
    for kind in kinds() {
        for object in scene.observed.all(kind) {
            for system in ALL {
                let _ = system.nmstate(kind, object, &sight.pools);
                let _ = system.ask(kind, object, &scene);
                let scaled = system.scaled(scene.observed, (kind, object), 3).unwrap_or_default();
                assert!(scaled.len() <= 64);
            }
        }
    }
}

fn written(observed: &Observed, write: &Write) {
    let Some(before) = observed.find(&write.target) else { return };
    let (Action::Update(edit) | Action::UpdateStatus(edit)) = &write.action else { return };
    let Edited::To(after) = edit.apply(before) else { return };
    assert_eq!((before.name(), before.uid(), before.kind()), (after.name(), after.uid(), after.kind()));
    let (old, new) = (devices(before), devices(&after));
    assert_eq!(old.len(), new.len());
    for (old, new) in old.iter().zip(new) {
        let had = old.get("ipAddrs").and_then(Value::as_array).is_some_and(|list| !list.is_empty());
        assert!(!had || old.get("ipAddrs") == new.get("ipAddrs"), "{old} became {new}");
    }
    assert_eq!(foreign(before), foreign(&after));
    match edit.apply(&after) {
        Edited::To(again) => assert_eq!(again, after, "written twice, it is something else"),
        Edited::Already | Edited::Moot => {}
    }
}

fn devices(object: &Object) -> &[Value] {
    object.array("/spec/providerSpec/value/network/devices")
}

/// Finalizers that mipam sets, as metal3, its companion for ELF and the in-cluster provider do.
const OURS: [&str; 5] = [
    "ipclaim.ipam.metal3.io",
    "elfmachinestaticip.infrastructure.cluster.x-k8s.io",
    "ipam.cluster.x-k8s.io/ReleaseAddress",
    "ipam.cluster.x-k8s.io/ProtectAddress",
    "ipam.cluster.x-k8s.io/ProtectPool",
];

/// The hooks of others, and their finalizers.
fn foreign(object: &Object) -> Vec<&Value> {
    let hooks = object.at("/spec/lifecycleHooks").and_then(Value::as_object);
    let hooks = hooks.into_iter().flatten().filter_map(|(_, list)| list.as_array()).flatten();
    let ours = |h: &&Value| h["name"] == "ipamController" && h["owner"] == "network-admin";
    let finalizers = object.array("/metadata/finalizers").iter().filter(|f| !OURS.iter().any(|o| *f == o));
    hooks.filter(|h| !ours(h)).chain(finalizers).collect()
}

fn object(bytes: &mut Bytes<'_>) -> (Kind, Object) {
    let all = kinds();
    let machine = all.iter().position(|k| k.kind == "Machine" && k.group == "machine.openshift.io").unwrap();
    let kind = if bytes.one_in(2) { *bytes.pick(&all) } else { all[machine] };
    let version =
        if kind.group.is_empty() { "v1".to_owned() } else { format!("{}/{}", kind.group, kind.versions[0]) };
    let mut object = json!({ "apiVersion": version, "kind": kind.kind, "metadata": metadata(bytes) });
    object["spec"] = spec(bytes);
    object["status"] = status(bytes);
    bytes.spoil(&mut object);
    (kind, Object(object))
}

fn metadata(bytes: &mut Bytes<'_>) -> Value {
    let name = *bytes.pick(&["a", "b", "c", "machines.machine.openshift.io"]);
    let mut metadata = bytes.map(&[
        ("uid", json!(name)),
        ("labels", json!({ "set": "x" })),
        ("finalizers", json!(["other"])),
        ("annotations", json!({ "machine.openshift.io/machine": "ns/a" })),
    ]);
    metadata["name"] = json!(name);
    metadata["namespace"] = json!("ns");
    if bytes.one_in(6) {
        metadata["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    }
    if bytes.one_in(12) {
        metadata["annotations"] = json!({ "cluster.x-k8s.io/paused": "" });
    }
    metadata
}

fn spec(bytes: &mut Bytes<'_>) -> Value {
    let ours = json!({ "name": "ipamController", "owner": "network-admin" });
    let hooks = |bytes: &mut Bytes<'_>| {
        let list =
            bytes.some(3, |b| if b.one_in(2) { json!({ "name": "x", "owner": "y" }) } else { ours.clone() });
        json!(list)
    };
    let hooks = [("preCreate", hooks(bytes)), ("preProvision", hooks(bytes)), ("preTerminate", hooks(bytes))];
    let hooks = bytes.map(&hooks);
    let devices = bytes.some(5, |b| {
        let address = format!("{}/{}", b.address(), b.byte());
        let mut device = b.map(&[("networkName", json!("lab")), ("extra", json!([1]))]);
        match b.below(6) {
            0 => device["ipAddrs"] = json!([address]),
            1 => device["ipAddrs"] = json!([]),
            2 => device["addressesFromPools"] = json!([{}]),
            _ => {}
        }
        if b.one_in(4) {
            device["gateway"] = json!(b.address().to_string());
            device["nameservers"] = json!([b.address().to_string()]);
        }
        device
    });
    let address = bytes.address().to_string();
    bytes.map(&[
        ("lifecycleHooks", hooks.clone()),
        ("providerSpec", json!({ "value": { "network": { "devices": devices, "cidr": address } } })),
        ("address", json!(address)),
        ("controlPlaneEndpoint", json!({ "host": address })),
        ("network", json!({ "devices": devices })),
        ("selector", json!({ "matchLabels": { "set": "x" } })),
        ("replicas", json!(3)),
        (
            "template",
            json!({ "metadata": { "labels": { "set": "x" } }, "spec": { "lifecycleHooks": hooks } }),
        ),
        (
            "versions",
            json!([{ "name": "v1", "schema": { "openAPIV3Schema": { "properties": { "spec": {} } } } }]),
        ),
    ])
}

fn status(bytes: &mut Bytes<'_>) -> Value {
    let address = bytes.address().to_string();
    bytes.map(&[
        ("addresses", json!([{ "type": "InternalIP", "address": address }, { "address": "host.name" }])),
        ("ips", json!([format!("{address}/24")])),
        ("platformStatus", json!({ "vsphere": { "apiServerInternalIP": address, "ingressIPs": [address] } })),
        ("interfaces", json!([{ "ipAddress": address, "ipAddresses": [address, "x"] }])),
        ("authoritativeAPI", json!("MachineAPI")),
    ])
}
