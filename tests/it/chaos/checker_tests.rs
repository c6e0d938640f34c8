//! The checker itself: worlds that are wrong, and what it says to each.

use super::checker::{Checker, Machine, Step, entries};
use super::fleet;
use serde_json::{Value, json};

fn machine(uid: &str, network: &str, addresses: &[&str]) -> Value {
    let list = if addresses.is_empty() { "preCreate" } else { "preTerminate" };
    let mut object = json!({
        "kind": "Machine",
        "metadata": {"name": format!("m-{uid}"), "namespace": "single", "uid": uid},
        "spec": {"lifecycleHooks": {}, "providerSpec": {"value": {"network": {"devices": [
            {"networkName": network, "ipAddrs": addresses},
        ]}}}},
    });
    object["spec"]["lifecycleHooks"][list] = json!([{"name": "ipamController", "owner": "network-admin"}]);
    object
}

fn page(holders: &[(&str, Value)]) -> Value {
    let data = holders.iter().map(|(key, entry)| ((*key).to_owned(), json!(entry.to_string()))).collect();
    json!({"metadata": {"name": "mipam-v4-10-0-0-0"}, "data": Value::Object(data)})
}

fn held(uid: &str) -> Value {
    json!({"holders": [{"uid": uid}]})
}

/// The world step by step: machines that are there (or, without an address list, gone), and the whole ledger.
#[derive(Default)]
struct Story {
    checker: Checker,
    revision: u64,
}

impl Story {
    fn see(mut self, machines: &[&Value], gone: &[&str], ledger: &[(&str, Value)]) -> Self {
        self.revision += 1;
        let mut step = Step { revision: self.revision, ..Step::default() };
        step.machines = machines.iter().copied().map(Machine::read).map(|(uid, m)| (uid, Some(m))).collect();
        step.machines.extend(gone.iter().map(|uid| ((*uid).to_owned(), None)));
        let now = entries(&page(ledger));
        let object = "mipam-v4-10-0-0-0".to_owned();
        let old = self.checker.ledger.keys().filter(|slot| !now.contains_key(*slot));
        step.entries = old.map(|slot| (slot.clone(), object.clone(), None)).collect();
        step.entries.extend(now.into_iter().map(|(slot, entry)| (slot, object.clone(), Some(entry))));
        self.checker.apply(step);
        self
    }

    /// What was found by the end, each by its first word.
    fn found(mut self) -> Vec<String> {
        self.checker.finish(fleet::served, fleet::usable);
        let word = |finding: &String| {
            let text = finding
                .strip_prefix("revision ")
                .and_then(|t| t.split_once(": "))
                .map_or(finding.as_str(), |t| t.1);
            text.split(':').next().unwrap_or_default().to_owned()
        };
        self.checker.findings.iter().map(word).collect()
    }
}

const A: &str = "10.0.0.1_lab";
const B: &str = "10.0.0.2_lab";

#[test]
fn a_world_that_is_as_it_should_be_has_no_findings() {
    let story = Story::default()
        .see(&[&machine("1", "lab", &[]), &machine("2", "store", &[])], &[], &[])
        .see(&[], &[], &[(A, held("1")), ("10.0.0.1_store", held("2"))])
        .see(
            &[&machine("1", "lab", &["10.0.0.1/16"]), &machine("2", "store", &["10.0.0.1/16"])],
            &[],
            &[(A, held("1")), ("10.0.0.1_store", held("2"))],
        )
        .see(&[], &["2"], &[(A, held("1")), ("10.0.0.1_store", held("2"))])
        .see(&[], &[], &[(A, held("1"))]);
    assert_eq!(story.found(), Vec::<String>::new());
}

#[test]
fn an_address_on_two_machines_is_found_when_it_is_given_and_in_the_end() {
    let both = json!({"holders": [{"uid": "1"}, {"uid": "2"}]});
    let story = Story::default().see(&[&machine("1", "lab", &["10.0.0.1/16"])], &[], &[(A, held("1"))]).see(
        &[&machine("2", "lab", &["10.0.0.1/16"])],
        &[],
        &[(A, both)],
    );
    assert_eq!(story.found(), ["duplicate", "duplicate", "duplicate"]);
}

#[test]
fn an_address_given_without_a_record_is_found_even_if_it_is_recorded_later() {
    let given = machine("1", "lab", &["10.0.0.1/16"]);
    let story = Story::default().see(&[&given], &[], &[]).see(&[], &[], &[(A, held("1"))]);
    assert_eq!(story.found(), ["unrecorded"]);
    let tentative = json!({"holders": [{"uid": "1"}], "bound": false, "set": [{"address": "10.0.0.1", "network": "lab"}]});
    let story = Story::default().see(&[&given], &[], &[(A, tentative)]).see(&[], &[], &[(A, held("1"))]);
    assert_eq!(story.found(), ["unrecorded"]);
}

#[test]
fn an_address_that_changes_is_found_even_if_it_changes_back() {
    let (one, two) = (machine("1", "lab", &["10.0.0.1/16"]), machine("1", "lab", &["10.0.0.2/16"]));
    let ledger = [(A, held("1")), (B, held("1"))];
    let story = Story::default()
        .see(&[&one], &[], &ledger)
        .see(&[&two], &[], &ledger)
        .see(&[&one], &[], &ledger)
        .see(&[], &[], &[(A, held("1")), (B, json!({"holders": [{"uid": "1"}], "surplus": true}))])
        .see(&[], &[], &[(A, held("1"))]);
    assert_eq!(story.found(), ["changed", "changed"]);
}

#[test]
fn an_address_taken_from_a_machine_that_lives_is_found() {
    let story = Story::default()
        .see(&[&machine("1", "lab", &["10.0.0.1/16"])], &[], &[(A, held("1"))])
        .see(&[], &[], &[(A, held("2"))])
        .see(&[], &[], &[(A, held("1"))]);
    assert_eq!(story.found(), ["freed"]);
}

#[test]
fn what_is_left_over_in_the_ledger_is_found() {
    let served = machine("1", "lab", &["10.0.0.1/16"]);
    for left in [
        held("gone"),
        held("1"),
        json!({"holders": [{"uid": "1"}], "surplus": true}),
        json!({"holders": [{"uid": "gone"}], "cooling": "2030-01-01T00:00:00Z"}),
        json!({"holders": [{"uid": "gone"}], "home": {"address": "10.0.0.1", "network": "lab"}}),
        json!({"holders": [{"uid": "gone"}], "bound": false, "set": []}),
        json!("no entry"),
    ] {
        let story = Story::default().see(&[&served], &[], &[(A, held("1")), (B, left.clone())]);
        let found = story.found();
        assert!(found.iter().any(|f| f == "leak" || f == "duplicate"), "{left}: {found:?}");
    }
}

#[test]
fn an_entry_in_two_ledger_objects_is_found() {
    let mut story = Story::default().see(&[&machine("1", "lab", &["10.0.0.1/16"])], &[], &[(A, held("1"))]);
    let slot = ("10.0.0.1".to_owned(), "lab".to_owned());
    let step =
        Step { entries: vec![(slot, "mipam-v4-10-0-1-0".to_owned(), Some(held("1")))], ..Step::default() };
    story.checker.apply(step);
    assert_eq!(story.found(), ["duplicate"]);
}

#[test]
fn a_machine_without_all_its_addresses_or_with_an_unusable_one_is_found() {
    let story = Story::default().see(&[&machine("1", "lab", &[])], &[], &[]);
    assert_eq!(story.found(), ["unserved"]);
    let mut dual = machine("1", "lab", &["10.0.0.1/16"]);
    dual["metadata"]["namespace"] = json!("dual");
    let story = Story::default().see(&[&dual], &[], &[(A, held("1"))]);
    assert_eq!(story.found(), ["unserved"]);
    let gateway = machine("1", "lab", &["10.0.0.7/16"]);
    let story = Story::default().see(&[&gateway], &[], &[("10.0.0.7_lab", held("1"))]);
    assert_eq!(story.found(), ["unusable"]);
}
