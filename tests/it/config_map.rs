//! The configuration in a ConfigMap of the cluster: the same pools, and the same words about what is wrong.

use crate::bed::{self, Profile};
use crate::scenario::mipam;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Output;

const AT: &str = "configmap/mipam-system/mipam-config";

const CONFIG: &str = "ipam-config:
  ip-range-cidr: 192.168.101.64/28
  prefix: 23
  nameserver: [192.168.1.215]
  default-gateway: 192.168.100.1
  lifecycle-hook: {name: ipamController, owner: network-admin}
";

const MACHINE: &str = "apiVersion: machine.openshift.io/v1beta1
kind: Machine
metadata: {name: worker-0, namespace: openshift-machine-api}
spec:
  lifecycleHooks: {preCreate: [{name: ipamController, owner: network-admin}]}
  providerSpec: {value: {network: {devices: [{networkName: lab}]}}}
";

fn map(data: Value) -> Value {
    let metadata = json!({"name": "mipam-config", "namespace": "mipam-system"});
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
}

/// A directory with a machine that waits, and this ConfigMap.
fn lab(data: Value) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("machine.yaml"), MACHINE).unwrap();
    std::fs::write(dir.path().join("map.json"), map(data).to_string()).unwrap();
    dir
}

fn run(dir: &Path, words: &[&str]) -> Output {
    let dir = dir.display().to_string();
    mipam(&[words, &["--dir", &dir]].concat().iter().map(ToString::to_string).collect::<Vec<_>>())
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn in_a_directory() {
    let dir = lab(json!({"ipam-config.yaml": CONFIG}));
    let text = |words: &[&str]| {
        let output = run(dir.path(), &[words, &["--config", AT]].concat());
        assert_eq!(output.status.code(), Some(0), "{words:?}: {}", err(&output));
        out(&output)
    };
    let shown = ["render-nmstate", "--address", "192.168.101.70", "--pool", "default"];
    assert!(text(&shown).contains("next-hop-address: 192.168.100.1"));
    assert!(text(&["reconcile"]).contains("192.168.101.64/23"));
    assert!(text(&["reconcile"]).contains("0 allocated, 1 kept"));
    assert!(text(&["status"]).contains("default"));
    assert!(text(&["check-capacity", "--need", "3"]).contains("fits"));
    assert_eq!(text(&["allocate", "--pool", "default", "--name", "x", "-o", "name"]), "192.168.101.65/23\n");
    assert_eq!(text(&["release", "hold/x", "--yes", "-o", "name"]), "192.168.101.65/23\n");
    let mut by_variable = std::process::Command::new(env!("CARGO_BIN_EXE_mipam"));
    let by_variable = by_variable.args(["status", "--dir"]).arg(dir.path()).env("MIPAM_CONFIG", AT);
    assert_eq!(by_variable.output().unwrap().status.code(), Some(0));
}

#[test]
fn what_is_wrong_in_it_is_said_in_the_words_that_a_file_gets() {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad/config");
    let mut compared = 0;
    for case in std::fs::read_dir(cases).unwrap().map(|e| e.unwrap().path()) {
        // What is no text cannot be in a ConfigMap.
        let Ok(text) = std::fs::read_to_string(&case) else { continue };
        let file = case.display().to_string();
        let dir = lab(json!({"ipam-config.yaml": text}));
        let by_file = run(dir.path(), &["reconcile", "--config", &file]);
        let by_map = run(dir.path(), &["reconcile", "--config", AT]);
        assert_eq!(by_map.status.code(), Some(2), "{file}: {}", err(&by_map));
        assert_eq!(err(&by_map), err(&by_file).replace(&file, AT));
        assert!(err(&by_map).contains(AT), "{file}: {}", err(&by_map));
        compared += 1;
    }
    assert!(compared >= 30, "{compared} broken configurations");
}

#[test]
fn one_that_is_not_there_or_has_no_such_key() {
    let dir = lab(json!({"config.yaml": CONFIG, "other": "x"}));
    let output = run(dir.path(), &["reconcile", "--config", AT]);
    let said = "error: cannot read the configuration configmap/mipam-system/mipam-config: it has no key \
                ipam-config.yaml under `data` (its keys: config.yaml, other)\n\n\
                hint: the text of the configuration belongs under the key ipam-config.yaml\n";
    assert_eq!((output.status.code(), err(&output).as_str()), (Some(2), said));
    let output = run(dir.path(), &["reconcile", "--config", "configmap/lab/pools"]);
    let said = "error: there is no configuration configmap/lab/pools\n\n\
                hint: make it with: kubectl create configmap pools -n lab --from-file=ipam-config.yaml\n";
    assert_eq!((output.status.code(), err(&output).as_str()), (Some(2), said));
    // Never taken for a run that has only networks.
    let network = ["--network", "10.0.0.0/24,10.0.0.1,10.0.0.2"];
    let output = run(dir.path(), &[&["reconcile", "--config", "configmap/lab/pools"], &network[..]].concat());
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn on_an_api_server() {
    let bed = bed::shared(Profile::Own).lock();
    bed.namespace("mipam-system");
    bed.create(MACHINE);
    bed.create_all(vec![map(json!({"ipam-config.yaml": CONFIG}))]);
    let run = |account: &str, words: &[&str]| {
        let kubeconfig = bed.kubeconfig(account).display().to_string();
        let all = [words, &["--config", AT, "--kubeconfig", &kubeconfig]].concat();
        mipam(&all.iter().map(ToString::to_string).collect::<Vec<_>>())
    };
    let given = run("admin", &["reconcile"]);
    assert_eq!(given.status.code(), Some(0), "{}", err(&given));
    assert!(out(&given).contains("192.168.101.64/23"), "{}", out(&given));
    let refused = run("nobody", &["reconcile"]);
    let said = "error: cannot read the configuration configmap/mipam-system/mipam-config: not allowed to get \
                configmaps in namespace mipam-system\n\n\
                hint: give the account that right, and check with: kubectl auth can-i get configmaps -n \
                mipam-system\n";
    assert_eq!((refused.status.code(), err(&refused).as_str()), (Some(2), said));
}
