//! One pass in a job: what it logs, how it ends, and how it waits for another one.

use crate::scenario::mipam;
use serde_json::{Value, json};
use std::fs::File;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

const CONFIG: &str = "ipam-config:
  ip-range-cidr: 192.168.101.64/30
  prefix: 23
  default-gateway: 192.168.100.1
  lifecycle-hook: {name: ipamController, owner: network-admin}
";

fn lab(machines: usize) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let machine = |i: usize| {
        json!({
            "apiVersion": "machine.openshift.io/v1beta1",
            "kind": "Machine",
            "metadata": { "name": format!("worker-{i}"), "namespace": "openshift-machine-api" },
            "spec": {
                "lifecycleHooks": { "preCreate": [{ "name": "ipamController", "owner": "network-admin" }] },
                "providerSpec": { "value": { "network": { "devices": [{ "networkName": "lab" }] } } },
            },
        })
    };
    let items: Vec<Value> = (0..machines).map(machine).collect();
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": items });
    std::fs::write(dir.path().join("machines.json"), list.to_string()).unwrap();
    std::fs::write(dir.path().join("ipam-config.yaml"), CONFIG).unwrap();
    dir
}

fn run(dir: &Path, words: &[&str]) -> Output {
    let dir = dir.display().to_string();
    mipam(&[words, &["--dir", &dir]].concat().iter().map(ToString::to_string).collect::<Vec<_>>())
}

/// Every line on stderr, which must be an object with a time.
fn logged(output: &Output) -> Vec<Value> {
    let text = String::from_utf8_lossy(&output.stderr);
    let read = |line: &str| {
        let mut line: Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
        let time = line.as_object_mut().unwrap().remove("time");
        assert!(time.is_some_and(|t| t.as_str().is_some_and(|t| t.ends_with('Z') && t.len() == 20)));
        line
    };
    text.lines().map(read).collect()
}

#[test]
fn logs_for_programs_have_all_of_the_report() {
    let dir = lab(5);
    let dry = run(dir.path(), &["reconcile", "--dry-run", "--log-format", "json"]);
    assert_eq!(
        logged(&dry)[0]["message"],
        "Machine/openshift-machine-api/worker-0 would get 192.168.101.64/23"
    );
    let output = run(dir.path(), &["reconcile", "--log-format", "json"]);
    assert_eq!(output.status.code(), Some(1), "one waits: the job is to fail");
    assert!(output.stdout.is_empty(), "{}", String::from_utf8_lossy(&output.stdout));
    let lines = logged(&output);
    let levels: Vec<&str> = lines.iter().map(|l| l["level"].as_str().unwrap()).collect();
    assert_eq!(levels, ["info", "info", "info", "info", "warning", "info"]);
    assert_eq!(lines[0]["message"], "Machine/openshift-machine-api/worker-0 has 192.168.101.64/23");
    assert_eq!((&lines[0]["pool"], &lines[0]["device"]), (&json!("default"), &json!("0")));
    assert_eq!((&lines[4]["name"], &lines[4]["reason"]), (&json!("worker-4"), &json!("PoolExhausted")));
    let sums = json!({
        "level": "info", "message": lines[5]["message"], "allocated": 4, "kept": 0, "released": 0, "pending": 1,
        "problems": 0, "reads": lines[5]["reads"], "writes": lines[5]["writes"], "dryRun": false,
    });
    assert_eq!(lines[5], sums);
    assert!(lines[5]["message"].as_str().unwrap().starts_with("4 allocated, 0 kept, 0 released, 1 pending"));

    let quiet = run(dir.path(), &["reconcile", "--log-format", "json", "-q"]);
    assert!(logged(&quiet).is_empty());
    let report = run(dir.path(), &["reconcile", "--log-format", "json", "-o", "json"]);
    assert_eq!(serde_json::from_slice::<Value>(&report.stdout).unwrap()["kept"], 4);
    assert_eq!(logged(&report).last().unwrap()["kept"], 4);

    std::fs::write(dir.path().join("ipam-config.yaml"), "ipam-config: {prefix: 23}").unwrap();
    let broken = run(dir.path(), &["reconcile", "--log-format", "json"]);
    assert_eq!(broken.status.code(), Some(2));
    let lines = logged(&broken);
    assert_eq!(lines[0]["level"], "error");
    assert!(lines[0]["message"].as_str().unwrap().contains("ipam-config.yaml:1:"), "{}", lines[0]);
}

#[test]
fn it_waits_for_another_run_as_long_as_it_is_told() {
    let dir = lab(1);
    let lock = File::create(dir.path().join(".mipam.lock")).unwrap();
    lock.lock().unwrap();
    for words in [&["reconcile"][..], &["reconcile", "--wait-for-lock", "100ms"]] {
        let refused = run(dir.path(), words);
        assert_eq!(refused.status.code(), Some(2), "{words:?}");
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(said.contains("another mipam is working on this folder"), "{said}");
    }
    let mut waiting = Command::new(env!("CARGO_BIN_EXE_mipam"))
        .args(["reconcile", "--wait-for-lock", "60s", "-o", "name", "--dir"])
        .arg(dir.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(300));
    assert!(waiting.try_wait().unwrap().is_none(), "it waits");
    lock.unlock().unwrap();
    let output = waiting.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "Machine/openshift-machine-api/worker-0\n");
}
