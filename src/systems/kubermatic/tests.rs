//! What a write does to a machine that has changed since it was decided on.

use super::*;
use crate::model::{Action, Edited, Write};
use serde_json::json;

const GATE: &str = "machine-controller.kubermatic.io/initializers";

fn config() -> Config {
    let text = "ipam-config: {pools: [{name: lab, ranges: [10.0.0.0/24], gateway: 10.0.0.1, nameservers: [10.0.0.2]}]}";
    crate::config::parse("x", text).unwrap()
}

fn machine() -> Object {
    Object(json!({
        "apiVersion": "cluster.k8s.io/v1alpha1",
        "kind": "Machine",
        "metadata": { "name": "m", "namespace": "ns", "uid": "u", "annotations": { (GATE): "ipam" } },
        "spec": { "providerSpec": { "value": { "cloudProvider": "vsphere" } } },
    }))
}

fn with(change: impl FnOnce(&mut Value)) -> Object {
    let mut object = machine();
    change(&mut object.0);
    object
}

fn network(network: &Value) -> Object {
    with(|m| m["spec"]["providerSpec"]["value"]["network"] = network.clone())
}

fn ungated(mut object: Object) -> Object {
    gate::open(&mut object);
    object
}

fn survey(object: &Object) -> Survey {
    Kubermatic.survey_one(MACHINE, object, &config())
}

/// What the one write of a chain makes of a machine.
fn apply(chain: &[Write], object: &Object) -> Edited {
    let [Write { action: Action::Update(edit), .. }] = chain else { panic!("not one write: {chain:?}") };
    edit.apply(object)
}

fn write(claim: &Claim, given: &[Given]) -> Chain {
    let (config, observed) = (config(), Observed::default());
    let pools: Arc<[Pool]> = config.pools.clone().into();
    Kubermatic.write(claim, given, &Scene { observed: &observed, pools: &pools, config: &config, now: 0 })
}

/// What the write of an address that was decided for a machine makes of the machine as it is now.
fn given(now: &Object) -> Edited {
    let claim = survey(&machine()).claims.remove(0);
    let given =
        [Given { device: "".into(), address: "10.0.0.5".parse().unwrap(), pool: "lab".into(), block: None }];
    apply(&write(&claim, &given), now)
}

#[test]
fn what_a_person_did_in_the_meantime_wins() {
    let deleting = with(|m| m["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z"));
    let paused = with(|m| m["metadata"]["annotations"]["cluster.x-k8s.io/paused"] = json!(""));
    let value = with(|m| m["spec"]["providerSpec"]["value"] = json!("as text"));
    for moot in [
        network(&json!({ "cidr": "10.0.0.9/24" })),
        ungated(network(&json!({ "cidr": "10.0.0.9/24" }))),
        network(&json!({ "cidr": "what" })),
        ungated(machine()),
        deleting,
        paused,
        value,
    ] {
        assert_eq!(given(&moot), Edited::Moot, "{moot:?}");
    }
    assert_eq!(given(&ungated(network(&json!({ "cidr": "10.0.0.5/24" })))), Edited::Already);
    for wanting in [
        machine(),
        with(|m| m["metadata"]["labels"] = json!({ "a": "b" })),
        network(&json!({ "cidr": "10.0.0.5/24" })),
    ] {
        let Edited::To(after) = given(&wanting) else { panic!("{wanting:?}") };
        assert_eq!(after.text("/spec/providerSpec/value/network/cidr"), Some("10.0.0.5/24"));
        assert!(!gate::closed(&after));
        assert_eq!(given(&after), Edited::Already, "the second time there is nothing to do");
    }
}

#[test]
fn a_machine_whose_own_address_was_taken_away_again_is_not_let_go_without_one() {
    let claim = survey(&network(&json!({ "cidr": "10.0.0.9/24" }))).claims.remove(0);
    assert_eq!(apply(&write(&claim, &[]), &machine()), Edited::Moot);
}

#[test]
fn only_a_machine_that_still_waits_is_told_why() {
    let claim = survey(&machine()).claims.remove(0);
    let full = PendingLine::of(&claim.owner, "", "lab", Reason::PoolExhausted, "pool lab is full".to_owned());
    let (observed, config, pools) = (Observed::default(), config(), Arc::default());
    let scene = Scene { observed: &observed, pools: &pools, config: &config, now: 0 };
    let explain = |claim: &Claim, now: &Object| apply(&Kubermatic.pending(claim, &full, &scene), now);
    let Edited::To(told) = explain(&claim, &machine()) else { panic!("nothing is said") };
    assert_eq!(told.text("/status/errorReason"), Some("InsufficientResources"));
    assert_eq!(told.text("/status/errorMessage"), Some("mipam: pool lab is full"));
    assert_eq!(explain(&claim, &told), Edited::To(told.clone()), "and nothing new the second time");
    assert_eq!(explain(&claim, &ungated(machine())), Edited::Moot);
    let mut mended = told.clone();
    mended
        .ensure_object(&["spec", "providerSpec", "value", "network"])
        .insert("cidr".into(), "10.0.0.9/24".into());
    let Edited::To(mended) = explain(&claim, &mended) else { panic!("the error stays") };
    assert_eq!(mended.at("/status"), None);
    let theirs = with(|m| m["status"] = json!({ "errorReason": "CreateError", "errorMessage": "quota" }));
    assert_eq!(explain(&claim, &theirs), Edited::To(Box::new(theirs.clone())));
    let asked = Kubermatic.ask(MACHINE, &machine(), &scene).unwrap().unwrap();
    assert!(
        Kubermatic.pending(&asked, &full, &scene).is_empty(),
        "who asks by name is answered on the terminal"
    );
}
