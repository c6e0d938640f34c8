//! Several runs at once, with different configurations, on one real API server: no address twice, nothing
//! lost, and afterwards nothing left to do.

use crate::bed::accounts::ADMIN;
use crate::bed::{self, Profile};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::process::{Child, Command, Stdio};

const MACHINES: usize = 60;

fn config(name: &str, four: &str, six: &str) -> String {
    format!(
        "ipam-config:
  lifecycle-hook: {{name: ipamController, owner: network-admin}}
  pools:
    - {{name: {name}-4, ranges: [{four}], prefix: 16, gateway: 10.0.255.254}}
    - {{name: {name}-6, ranges: ['{six}'], prefix: 64, gateway: 'fd00::1'}}
"
    )
}

fn machine(i: usize) -> Value {
    let namespace = if i.is_multiple_of(2) { "even" } else { "odd" };
    json!({
        "apiVersion": "machine.openshift.io/v1beta1",
        "kind": "Machine",
        "metadata": { "name": format!("m-{i:03}"), "namespace": namespace },
        "spec": {
            "lifecycleHooks": { "preCreate": [{ "name": "ipamController", "owner": "network-admin" }] },
            "providerSpec": { "value": { "network": { "devices": [{ "networkName": "lab" }] } } },
        },
    })
}

/// Address to machine, from the machines alone; panics where one has two.
fn addresses(machines: &[Value]) -> BTreeMap<String, String> {
    let mut owners = BTreeMap::new();
    for machine in machines {
        let name = machine["metadata"]["name"].as_str().unwrap();
        let list = machine["spec"]["providerSpec"]["value"]["network"]["devices"][0]["ipAddrs"].as_array();
        for address in list.into_iter().flatten() {
            let ip = address.as_str().unwrap().split('/').next().unwrap().to_owned();
            if let Some(other) = owners.insert(ip.clone(), name.to_owned()) {
                panic!("{ip} is on {other} and on {name}");
            }
        }
    }
    owners
}

#[test]
fn runs_with_other_configurations_meet_in_one_ledger() {
    let bed = bed::shared(Profile::Own).lock();
    bed.create_all((0..MACHINES).map(machine).collect());
    let dir = tempfile::tempdir().unwrap();
    let configs = [
        config("laptop", "10.0.0.0-10.0.1.255", "fd00::/120"),
        config("cron", "10.0.0.200-10.0.3.255", "fd00::80-fd00::1ff"),
        config("renamed", "10.0.0.0/16", "fd00::/64"),
    ];
    let start = |at: usize, more: &[&str]| -> Child {
        let file = dir.path().join(format!("{at}.yaml"));
        std::fs::write(&file, &configs[at % configs.len()]).unwrap();
        Command::new(env!("CARGO_BIN_EXE_mipam"))
            .args(["reconcile", "-o", "json", "--kubeconfig"])
            .arg(bed.kubeconfig(ADMIN))
            .arg("--config")
            .arg(file)
            .args(more)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let runs = [start(0, &[]), start(1, &[]), start(2, &["-n", "odd"]), start(3, &["-n", "even"])];
    let mut reported: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for run in runs {
        let output = run.wait_with_output().unwrap();
        let report: Value = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
        assert!(matches!(output.status.code(), Some(0..=2)), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(report["problems"].as_array().map_or(0, Vec::len), 0, "{report:#}");
        for line in report["allocated"].as_array().into_iter().flatten() {
            let (ip, name) = (line["address"].as_str().unwrap(), line["name"].as_str().unwrap());
            reported.entry(ip.to_owned()).or_default().insert(name.to_owned());
        }
    }
    assert!(reported.values().all(|owners| owners.len() == 1), "{reported:?}");
    addresses(&bed.list("machine.openshift.io/v1beta1", "Machine"));

    let last = start(2, &[]).wait_with_output().unwrap();
    assert_eq!(last.status.code(), Some(0), "{}", String::from_utf8_lossy(&last.stderr));
    let owners = addresses(&bed.list("machine.openshift.io/v1beta1", "Machine"));
    assert_eq!(owners.len(), 2 * MACHINES, "every machine has one of each family");
    let mark = bed.mark();
    let idle = start(2, &[]).wait_with_output().unwrap();
    assert_eq!((idle.status.code(), bed.writes_since(mark, ADMIN).len()), (Some(0), 0));

    // The ledger, read without mipam's own code, says the same as the machines.
    let mut recorded = BTreeMap::new();
    for map in bed.list("v1", "ConfigMap") {
        let pages = map["metadata"]["name"].as_str().is_some_and(|n| n.starts_with("mipam-v"));
        for (key, value) in map["data"].as_object().into_iter().flatten().filter(|_| pages) {
            let entry: Value = serde_json::from_str(value.as_str().unwrap()).unwrap();
            let ip: std::net::IpAddr = key.replace('-', ":").parse().unwrap();
            recorded.insert(ip.to_string(), entry["holders"][0]["name"].as_str().unwrap().to_owned());
        }
    }
    assert_eq!(recorded, owners);
}
