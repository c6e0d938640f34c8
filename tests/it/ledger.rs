//! The ledger as files: what mipam refuses to work on, and what it leaves alone.

use crate::bed::documents;
use crate::scenario::mipam;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Output;

const CONFIG: &str = "ipam-config:
  lifecycle-hook: {name: ipamController, owner: network-admin}
  pools:
    - {name: a, ranges: [10.0.0.8/29], prefix: 24, gateway: 10.0.0.1}
";

fn machine(name: &str) -> String {
    format!(
        "apiVersion: machine.openshift.io/v1beta1
kind: Machine
metadata: {{name: {name}, namespace: ns}}
spec:
  lifecycleHooks: {{preCreate: [{{name: ipamController, owner: network-admin}}]}}
  providerSpec: {{value: {{network: {{devices: [{{networkName: lab}}]}}}}}}
"
    )
}

/// A folder with one machine that has been served.
fn lab() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("ipam-config.yaml"), CONFIG).unwrap();
    std::fs::write(dir.path().join("a.yaml"), machine("a")).unwrap();
    let output = run(dir.path(), &["reconcile"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::write(dir.path().join("b.yaml"), machine("b")).unwrap();
    dir
}

fn run(dir: &Path, arguments: &[&str]) -> Output {
    let mut all: Vec<String> = arguments.iter().map(ToString::to_string).collect();
    all.extend(["--dir".to_owned(), dir.display().to_string()]);
    mipam(&all)
}

fn page(dir: &Path) -> PathBuf {
    dir.join("mipam/configmaps/mipam-system.mipam-v4-10-0-0-0.yaml")
}

fn head(dir: &Path) -> PathBuf {
    dir.join("mipam/configmaps/mipam-system.mipam-ledger.yaml")
}

fn edit(path: &Path, from: &str, to: &str) {
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.contains(from), "{text}");
    std::fs::write(path, text.replace(from, to)).unwrap();
}

fn contents(dir: &Path) -> BTreeMap<PathBuf, String> {
    let mut all = BTreeMap::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(contents(&path));
        } else {
            all.insert(path.clone(), std::fs::read_to_string(&path).unwrap());
        }
    }
    all
}

/// What is wrong with a ledger, how it comes about, and what is said.
type Case<'a> = (&'a str, &'a dyn Fn(&Path), &'a str);

#[test]
fn a_ledger_that_must_not_be_used_stops_everything() {
    let newer = |dir: &Path| edit(&head(dir), "format: \"1\"", "format: \"2\"");
    let foreign = |dir: &Path| edit(&page(dir), "mipam.io/epoch: ", "mipam.io/epoch: x");
    let headless = |dir: &Path| std::fs::remove_file(head(dir)).unwrap();
    let broken = |dir: &Path| edit(&head(dir), "epoch: ", "apoch: ");
    let cases: [Case<'_>; 4] = [
        ("a newer format", &newer, "use the newer mipam"),
        ("a page of another ledger", &foreign, "belongs to another ledger"),
        ("no head", &headless, "is missing beside 1 ledger object"),
        ("a head that cannot be read", &broken, "cannot be read"),
    ];
    for (name, spoil, says) in cases {
        let dir = lab();
        spoil(dir.path());
        let before = contents(dir.path());
        for command in [
            &["reconcile"][..],
            &["status"],
            &["allocate", "--pool", "a", "--name", "x"],
            &["release", "10.0.0.8", "--force", "--yes"],
            &["check-capacity"],
        ] {
            let output = run(dir.path(), command);
            let err = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{name}, {command:?}: {err}");
            assert!(err.contains(says), "{name}, {command:?}: {err}");
        }
        assert_eq!(contents(dir.path()), before, "{name}");
    }
}

#[test]
fn an_entry_that_cannot_be_read_keeps_its_address() {
    let dir = lab();
    edit(&page(dir.path()), "holders", "holdres");
    std::fs::remove_file(dir.path().join("a.yaml")).unwrap();
    let broken = std::fs::read_to_string(page(dir.path())).unwrap();
    let taken = run(dir.path(), &["allocate", "--pool", "a", "--name", "x", "--address", "10.0.0.8"]);
    assert_eq!(taken.status.code(), Some(1), "{}", String::from_utf8_lossy(&taken.stderr));
    let output = run(dir.path(), &["reconcile", "-o", "json"]);
    assert_eq!(output.status.code(), Some(1), "it is a problem: {}", String::from_utf8_lossy(&output.stderr));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["allocated"][0]["address"], "10.0.0.9/24");
    assert_eq!(report["problems"][0]["kind"], "Unreadable");
    let entry = |text: &str| documents(text)[0]["data"]["10.0.0.8"].clone();
    assert_eq!(
        entry(&std::fs::read_to_string(page(dir.path())).unwrap()),
        entry(&broken),
        "it is left as it is"
    );
}

#[test]
fn an_entry_in_another_page_than_its_own_is_reported_and_left() {
    let dir = lab();
    let stray = dir.path().join("mipam/configmaps/mipam-system.mipam-v4-10-0-9-0.yaml");
    std::fs::copy(page(dir.path()), &stray).unwrap();
    edit(&stray, "mipam-v4-10-0-0-0", "mipam-v4-10-0-9-0");
    edit(&stray, "\"name\":\"a\"", "\"name\":\"z\"");
    let before = std::fs::read_to_string(&stray).unwrap();
    let output = run(dir.path(), &["reconcile", "-o", "json"]);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["problems"][0]["kind"], "Unreadable", "{report:#}");
    assert_eq!(report["released"], serde_json::json!([]), "the entry that counts is the machine's");
    assert_eq!(report["allocated"][0]["address"], "10.0.0.9/24");
    assert_eq!(std::fs::read_to_string(&stray).unwrap(), before);
}

#[test]
fn when_the_last_machine_of_a_folder_goes_nothing_is_freed_unseen() {
    let dir = lab();
    for file in ["a.yaml", "b.yaml"] {
        std::fs::remove_file(dir.path().join(file)).unwrap();
    }
    let output = run(dir.path(), &["reconcile", "-o", "json"]);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), &report["problems"][0]["kind"]), (Some(1), &"NotServed".into()));
    assert_eq!(report["released"], serde_json::json!([]));
    let refused = run(dir.path(), &["release", "10.0.0.8", "--yes"]);
    let err = String::from_utf8_lossy(&refused.stderr);
    assert!(refused.status.code() == Some(1) && err.contains("cannot be told"), "{err}");
    assert_eq!(run(dir.path(), &["release", "10.0.0.8", "--force", "--yes"]).status.code(), Some(0));
}

#[test]
fn a_report_frees_nothing_whose_owner_exists() {
    let dir = lab();
    let report = dir.path().join("report.txt");
    let gone = |address: &str| {
        format!(r#"{{"kind":"StatusReport","problems":[{{"kind":"OwnerGone","address":"{address}"}}]}}"#)
    };
    let before = std::fs::read_to_string(page(dir.path())).unwrap();
    for address in ["10.0.0.8", "10.0.0.9"] {
        std::fs::write(&report, gone(address)).unwrap();
        let output = run(dir.path(), &["release", "--from-report", report.to_str().unwrap()]);
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{err}");
        assert!(err.contains(&format!("{address} is not released")), "{err}");
    }
    assert_eq!(std::fs::read_to_string(page(dir.path())).unwrap(), before);
    for broken in ["", "[]", "{}", "not json", r#"{"kind":"ReconcileReport"}"#] {
        std::fs::write(&report, broken).unwrap();
        let output = run(dir.path(), &["release", "--from-report", report.to_str().unwrap()]);
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && err.contains("mipam status -o json"), "{broken}: {err}");
    }
}

#[test]
fn status_names_what_an_interrupted_run_left_and_what_it_does_not_know() {
    let dir = lab();
    // Half of a set whose home is not there, and an address of a kind that only a newer mipam serves.
    let entry = |name: &str, more: &str| {
        format!(
            r#"'{{"holders":[{{"group":"example.com","kind":"{name}","name":"x","system":"other"}}],"pool":"a","since":"2026-01-01T00:00:00Z"{more}}}'"#
        )
    };
    let left = entry("Machine", r#","home":{"address":"10.0.0.14"}"#)
        .replace("example.com", "machine.openshift.io")
        .replace(r#""name":"x""#, r#""namespace":"ns","name":"a""#);
    let added = format!("data:\n  10.0.0.12: {left}\n  10.0.0.13: {}\n", entry("Spaceship", ""));
    edit(&page(dir.path()), "\ndata:\n", &format!("\n{added}"));
    let output = run(dir.path(), &["status", "-o", "json"]);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let problems: Vec<(&str, &str)> = report["problems"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| (p["kind"].as_str().unwrap(), p["object"].as_str().unwrap()))
        .collect();
    assert_eq!(problems, [("Orphan", "Machine/ns/a"), ("UnknownKind", "Spaceship.example.com")]);
    assert_eq!(output.status.code(), Some(1));
    run(dir.path(), &["reconcile"]);
    let after = std::fs::read_to_string(page(dir.path())).unwrap();
    assert!(!after.contains("10.0.0.12") && after.contains("10.0.0.13"), "{after}");
}
