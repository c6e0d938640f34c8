//! The program as people meet it: broken input, missing rights, files, pipes.

use crate::bed::{self, Bed, Profile};
use crate::scenario::mipam;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Output;

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

fn run(arguments: &[&str]) -> Output {
    mipam(&arguments.iter().map(ToString::to_string).collect::<Vec<_>>())
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found: Vec<_> = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    found.sort();
    found
}

fn bad(folder: &str) -> Vec<PathBuf> {
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad").join(folder))
}

/// Every file below a folder with its bytes.
fn contents(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for path in files(dir) {
        if path.is_dir() {
            all.extend(contents(&path));
        } else {
            all.insert(path.clone(), std::fs::read(&path).unwrap());
        }
    }
    all
}

fn lab() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("machine.yaml"), MACHINE).unwrap();
    std::fs::write(dir.path().join("ipam-config.yaml"), CONFIG).unwrap();
    dir
}

#[test]
fn broken_configurations_are_explained_and_nothing_is_written() {
    let mut seen = String::new();
    let cases = bad("config");
    assert!(cases.len() >= 30, "{} broken configurations", cases.len());
    for case in cases {
        let dir = lab();
        let before = contents(dir.path());
        let (dir_name, file) = (dir.path().display().to_string(), case.display().to_string());
        let output = run(&["reconcile", "--dir", &dir_name, "--config", &file]);
        let name = case.file_name().unwrap().to_string_lossy();
        assert_eq!(output.status.code(), Some(2), "{name}: {}", err(&output));
        assert!(output.stdout.is_empty(), "{name}: {}", out(&output));
        assert_eq!(contents(dir.path()), before, "{name} wrote something");
        let shown = err(&output).replace(&file, &name);
        seen.push_str(&format!("== {name}\n{shown}\n"));
    }
    insta::assert_snapshot!("broken_configurations", seen);
}

#[test]
fn broken_manifests_are_explained_and_nothing_is_written() {
    let mut seen = String::new();
    for case in bad("manifests") {
        let dir = lab();
        let name = case.file_name().unwrap().to_string_lossy();
        std::fs::copy(&case, dir.path().join(&*name)).unwrap();
        let before = contents(dir.path());
        let dir_name = dir.path().display().to_string();
        let output = run(&["reconcile", "--dir", &dir_name]);
        assert_eq!(output.status.code(), Some(2), "{name}: {}", err(&output));
        assert_eq!(contents(dir.path()), before, "{name} wrote something");
        let shown = err(&output).replace(&dir_name, "DIR");
        assert!(shown.contains(&*name), "{name} is not named: {shown}");
        seen.push_str(&format!("== {name}\n{shown}\n"));
    }
    insta::assert_snapshot!("broken_manifests", seen);
}

#[test]
fn wrong_use_is_explained() {
    let dir = lab();
    let dir_name = dir.path().display().to_string();
    let missing = dir.path().join("missing").display().to_string();
    let cases: &[&[&str]] = &[
        &["reconcile", "--dir", &missing],
        &["reconcile", "--dir", &dir_name, "--config", &missing],
        &["reconcile", "--dir", &dir_name, "--systems", "openshfit"],
        &["reconcile", "--out", "x"],
        &["reconcile", "--dir", &dir_name, "--kubeconfig", "x"],
        &["reconcile", "--kubeconfig", &missing, "--config", "CONFIG"],
        &["allocate", "--pool", "lab", "--name", "x", "--dir", &dir_name],
        &["allocate", "--pool", "default", "--dir", &dir_name],
        &[
            "allocate",
            "--pool",
            "default",
            "--for",
            "machine/openshift-machine-api/nobody",
            "--dir",
            &dir_name,
        ],
        &["allocate", "--pool", "default", "--for", "pod/a/b", "--dir", &dir_name],
        &["allocate", "--pool", "default", "--name", "x", "--address", "10.0.0.1", "--dir", &dir_name],
        &["allocate", "--pool", "default", "--name", "x", "--address", "192.168.101.064", "--dir", &dir_name],
        &["release", "banana", "--dir", &dir_name],
        &["status", "--pool", "lab", "--dir", &dir_name],
        &["render-nmstate", "nobody", "--dir", &dir_name],
        &["render-nmstate", "--address", "10.0.0.1", "--pool", "default", "--dir", &dir_name],
        &["check-capacity", "--for", "machineset/a/b", "--replicas", "3", "--dir", &dir_name],
        &["check-capacity", "--for", "deployment/a/b", "--replicas", "3", "--dir", &dir_name],
        &["check-capacity", "--need", "many", "--dir", &dir_name],
        &["check-capacity", "--need", "-1", "--dir", &dir_name],
        &["check-capacity", "--for", "machineset/a/b", "--replicas", "-3", "--dir", &dir_name],
        &["allocate", "--pool", "default", "--name", "x", "--count", "0", "--dir", &dir_name],
        &["allocate", "--pool", "default", "--name", "x", "--count", "17", "--dir", &dir_name],
        &["reconcile", "--dir", &dir_name, "--network", "10.0.0.0/24"],
        &["reconcile", "--dir", &dir_name, "--network", "10.0.0.5/24,10.0.0.1,10.0.0.2"],
        &["reconcile", "--dir", &dir_name, "--network", "10.0.0.0/24,router,10.0.0.2"],
        &["reconcile", "--dir", &dir_name, "--network", "10.0.0.0/24,10.0.0.1,"],
        &["reconcile", "--dir", &dir_name, "--network", "10.0.0.1-10.0.0.9,10.0.0.1,10.0.0.2"],
        &["reconcile", "--dir", &dir_name, "--network", "10.0.0.0/31,10.0.0.0,10.0.0.1"],
        &["reconcile", "--dir", &dir_name, "--network", "fd00::/64,10.0.0.1,10.0.0.2"],
        &["status", "--dir", &dir_name, "--network", "192.168.101.0/24,192.168.101.1,192.168.101.1"],
        &[
            "check-capacity",
            "--dir",
            &dir_name,
            "--network",
            "10.0.0.0/24,10.0.0.1,10.0.0.2",
            "--network",
            "10.0.0.128/25,10.0.0.1,10.0.0.2",
        ],
        &[
            "reconcile",
            "--dir",
            &dir_name,
            "--config",
            &missing,
            "--network",
            "10.0.0.0/24,10.0.0.1,10.0.0.2",
        ],
        &["reconcile", "--dir", &dir_name, "--publish-capacity", "0s"],
        &["frobnicate"],
    ];
    let before = contents(dir.path());
    let config = dir.path().join("ipam-config.yaml").display().to_string();
    let mut seen = String::new();
    for case in cases {
        let arguments: Vec<&str> =
            case.iter().map(|a| if *a == "CONFIG" { config.as_str() } else { *a }).collect();
        let output = run(&arguments);
        let code = output.status.code();
        assert!(matches!(code, Some(1 | 2)), "{case:?}: {code:?}");
        assert!(output.stdout.is_empty(), "{case:?}: {}", out(&output));
        let shown = err(&output).replace(&dir_name, "DIR");
        let typed = arguments.join(" ").replace(&dir_name, "DIR");
        seen.push_str(&format!("== mipam {typed} (exit {})\n{shown}\n", code.unwrap()));
    }
    assert_eq!(contents(dir.path()), before);
    insta::assert_snapshot!("wrong_use", seen);
}

/// A folder with a Kubermatic machine that waits, and no configuration.
fn unconfigured() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let machine = "apiVersion: cluster.k8s.io/v1alpha1
kind: Machine
metadata:
  name: worker-0
  namespace: kube-system
  annotations: {machine-controller.kubermatic.io/initializers: ipam}
";
    std::fs::write(dir.path().join("machine.yaml"), machine).unwrap();
    dir
}

#[test]
fn networks_on_the_command_line_need_no_configuration() {
    let dir = unconfigured();
    let name = dir.path().display().to_string();
    let network = "10.0.0.0/29,10.0.0.1,10.0.0.2";
    let with_network = |words: &[&str]| {
        let output = run(&[words, &["--dir", &name, "-q", "--network", network]].concat());
        assert_eq!(output.status.code(), Some(0), "{words:?}: {}", err(&output));
        out(&output)
    };
    let without = run(&["reconcile", "--dir", &name]);
    assert_eq!(without.status.code(), Some(2), "without either there is nothing to give");
    assert!(with_network(&["check-capacity", "--need", "3"]).contains("fits"));
    assert!(with_network(&["reconcile"]).contains("10.0.0.3/29"));
    assert!(with_network(&["status", "--addresses"]).contains("worker-0"));
    assert_eq!(
        with_network(&["allocate", "--pool", "10.0.0.0/29", "--name", "x", "-o", "name"]),
        "10.0.0.4/29\n"
    );
    let released = run(&["release", "hold/x", "--yes", "--dir", &name, "-o", "name"]);
    assert_eq!(
        (released.status.code(), out(&released)),
        (Some(0), "10.0.0.4\n".to_owned()),
        "{}",
        err(&released)
    );
}

#[test]
fn a_release_without_the_configuration_that_the_address_came_from_is_refused() {
    let dir = lab();
    let name = dir.path().display().to_string();
    assert_eq!(run(&["allocate", "--pool", "default", "--name", "x", "--dir", &name]).status.code(), Some(0));
    std::fs::remove_file(dir.path().join("ipam-config.yaml")).unwrap();
    let refused = run(&["release", "hold/x", "--yes", "--dir", &name]);
    assert_eq!(refused.status.code(), Some(2), "it might have to rest first: {}", out(&refused));
}

#[test]
fn comments_and_other_documents_survive_beside_a_changed_one() {
    let dir = lab();
    let other = "# a comment\napiVersion: v1   # odd spacing\nkind: Secret\nmetadata: {name:   s}\n";
    let both = format!("{other}---\n# about the machine\n{MACHINE}---\n{other}");
    std::fs::write(dir.path().join("machine.yaml"), both.replacen("name:   s}", "name:   t}", 1)).unwrap();
    let output = run(&["reconcile", "--dir", &dir.path().display().to_string()]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let after = std::fs::read_to_string(dir.path().join("machine.yaml")).unwrap();
    assert!(after.starts_with(&other.replacen("name:   s}", "name:   t}", 1)), "{after}");
    assert!(after.ends_with(other), "{after}");
    assert!(after.contains("192.168.101.64/23") && after.contains("# about the machine"), "{after}");
}

#[test]
fn a_folder_without_manifests_is_most_likely_the_wrong_one() {
    let (dir, empty) = (lab(), tempfile::tempdir().unwrap());
    let (folder, config) = (empty.path().display().to_string(), dir.path().join("ipam-config.yaml"));
    let status = || run(&["status", "--dir", &folder, "--config", &config.display().to_string()]);
    let warning = format!("warning: {folder}: there is no manifest below it (*.yaml, *.yml or *.json)\n");
    assert_eq!((status().status.code(), err(&status())), (Some(0), warning));
    std::fs::write(empty.path().join("machine.yaml"), MACHINE).unwrap();
    assert_eq!(err(&status()), "");
}

#[test]
fn out_leaves_the_source_alone() {
    let dir = lab();
    let target = tempfile::tempdir().unwrap();
    let out_dir = target.path().join("out");
    let before = contents(dir.path());
    let (from, to) = (dir.path().display().to_string(), out_dir.display().to_string());
    for _ in 0..2 {
        let output = run(&["reconcile", "--dir", &from, "--out", &to]);
        assert_eq!(output.status.code(), Some(0), "{}", err(&output));
        assert_eq!(contents(dir.path()), before);
    }
    assert!(std::fs::read_to_string(out_dir.join("machine.yaml")).unwrap().contains("192.168.101.64/23"));
    let output = run(&["reconcile", "--dir", &to]);
    assert_eq!(output.status.code(), Some(0), "what was written can be worked on: {}", err(&output));
    assert!(out(&output).contains("0 allocated, 1 kept"), "{}", out(&output));
}

#[test]
fn a_dry_run_with_diff_shows_what_the_pass_then_does() {
    let dir = lab();
    let name = dir.path().display().to_string();
    let before = contents(dir.path());
    let dry = run(&["reconcile", "--dir", &name, "--dry-run", "--diff"]);
    assert_eq!((dry.status.code(), contents(dir.path()) == before), (Some(0), true));
    let text = out(&dry);
    let machine = text.find("--- Machine/openshift-machine-api/worker-0").unwrap_or_else(|| panic!("{text}"));
    insta::assert_snapshot!("dry_run_diff", &text[machine..]);
    // For programs the report stands alone on stdout.
    let json = run(&["reconcile", "--dir", &name, "--dry-run", "--diff", "-o", "json"]);
    assert!(serde_json::from_slice::<serde_json::Value>(&json.stdout).is_ok());
    assert!(err(&json).contains("+++ Machine/openshift-machine-api/worker-0"));
    let coloured = run(&["reconcile", "--dir", &name, "--dry-run", "--diff", "--color", "always"]);
    assert!(out(&coloured).contains("\u{1b}["), "colour was asked for");
    assert!(!text.contains('\u{1b}'), "NO_COLOR is set");
}

#[test]
fn networkmanager_files_come_from_the_same_state() {
    let dir = lab();
    let name = dir.path().display().to_string();
    let files = run(&["render-nmstate", "worker-0", "--dir", &name, "-o", "networkmanager"]);
    assert_eq!(files.status.code(), Some(0), "{}", err(&files));
    let text: String =
        out(&files).lines().filter(|l| !l.starts_with("uuid=")).map(|l| format!("{l}\n")).collect();
    insta::assert_snapshot!("networkmanager", text);
    let json = run(&["render-nmstate", "worker-0", "--dir", &name, "-o", "json"]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    let yaml = run(&["render-nmstate", "worker-0", "--dir", &name]);
    assert_eq!(serde_yaml::from_slice::<serde_json::Value>(&yaml.stdout).unwrap(), json);
}

#[test]
fn what_has_no_network_configuration_from_mipam_is_not_said_not_to_wait() {
    let elf = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/elf").display().to_string();
    let output = run(&["render-nmstate", "elfk8s8-worker-0", "--dir", &elf]);
    let said = "error: ElfMachine/default/elfk8s8-worker-0 has nothing to show: \
                only Machines of OpenShift and Kubermatic have a network configuration from mipam\n";
    assert_eq!((output.status.code(), err(&output)), (Some(1), said.to_owned()));
}

#[test]
fn two_runs_on_one_directory_keep_apart() {
    let dir = lab();
    let name = dir.path().display().to_string();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_mipam"));
    command.args(["reconcile", "--dir", &name]).env_remove("KUBECONFIG");
    let runs: Vec<_> = (0..4)
        .map(|_| {
            command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap()
        })
        .collect();
    let outputs: Vec<Output> = runs.into_iter().map(|r| r.wait_with_output().unwrap()).collect();
    assert!(outputs.iter().any(|o| o.status.success()));
    for output in &outputs {
        let fine = output.status.success() || err(output).contains("another mipam");
        assert!(fine, "{}", err(output));
    }
}

fn with_bed(bed: &Bed, account: &str, arguments: &[&str]) -> Output {
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("ipam-config.yaml");
    std::fs::write(&config, CONFIG).unwrap();
    let kubeconfig = bed.kubeconfig(account).display().to_string();
    let mut all = arguments.to_vec();
    let config = config.display().to_string();
    all.extend(["--kubeconfig", &kubeconfig, "--config", &config]);
    run(&all)
}

const MAY_READ: &str = "
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: may-read}
rules:
  - {apiGroups: ['*'], resources: ['*'], verbs: [get, list]}
";

const MAY_RECORD: &str = "
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: may-record}
rules:
  - {apiGroups: [''], resources: [configmaps, namespaces], verbs: [create, update]}
";

#[test]
fn missing_rights_are_named() {
    let bed = bed::shared(Profile::Own).lock();
    bed.namespace("mipam-system");
    bed.create(MACHINE);
    let nobody = with_bed(&bed, "nobody", &["status"]);
    bed.grant("reader", MAY_READ);
    let status = with_bed(&bed, "reader", &["status"]);
    assert_eq!(status.status.code(), Some(1), "a reader may look: {}", err(&status));
    let reader = with_bed(&bed, "reader", &["reconcile"]);
    bed.grant("writer", &format!("{MAY_READ}---{MAY_RECORD}"));
    let writer = with_bed(&bed, "writer", &["reconcile"]);
    let mut seen = String::new();
    for (name, output) in
        [("nobody: status", nobody), ("reader: reconcile", reader), ("writer: reconcile", writer)]
    {
        assert_eq!(output.status.code(), Some(2), "{name}: {}", err(&output));
        seen.push_str(&format!("== {name}\n{}\n", err(&output)));
    }
    insta::assert_snapshot!("missing_rights", seen);
}

#[test]
fn an_account_with_the_rights_of_the_manifests_can_do_a_pass() {
    let bed = bed::shared(Profile::Own).lock();
    bed.namespace("mipam-system");
    bed.create(MACHINE);
    bed.grant("mipam", &crate::deploy::rights::granted());
    let output = with_bed(&bed, "mipam", &["reconcile"]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert!(out(&output).contains("1 allocated"), "{}", out(&output));
    bed.delete("machine.openshift.io/v1beta1", "Machine", "openshift-machine-api", "worker-0");
    let output = with_bed(&bed, "mipam", &["reconcile"]);
    assert!(out(&output).contains("1 released"), "{} {}", out(&output), err(&output));

    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/elf");
    bed.namespace("cape-system");
    for file in ["pool.yaml", "templates.yaml", "machines.yaml"] {
        bed.create(&std::fs::read_to_string(examples.join(file)).unwrap());
    }
    let output = with_bed(&bed, "mipam", &["reconcile"]);
    assert_eq!(output.status.code(), Some(0), "{} {}", out(&output), err(&output));
    let claims = bed.list("ipam.metal3.io/v1alpha1", "IPClaim");
    let served = claims.iter().filter(|c| c["status"]["address"].is_object()).count();
    assert_eq!((claims.len(), served), (2, 2), "{} {}", out(&output), err(&output));
    for machine in bed.list("infrastructure.cluster.x-k8s.io/v1beta1", "ElfMachine") {
        let name = machine["metadata"]["name"].as_str().unwrap();
        let (api, namespace) = ("infrastructure.cluster.x-k8s.io/v1beta1", "default");
        bed.delete(api, "ElfMachine", namespace, name);
        let ours = json!(["elfmachinestaticip.infrastructure.cluster.x-k8s.io"]);
        bed.merge(api, "ElfMachine", namespace, name, &json!({ "metadata": { "finalizers": ours } }));
    }
    let output = with_bed(&bed, "mipam", &["reconcile"]);
    assert_eq!(output.status.code(), Some(0), "{} {}", out(&output), err(&output));
    assert_eq!(bed.list("ipam.metal3.io/v1alpha1", "IPClaim"), Vec::<Value>::new(), "{}", out(&output));

    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/nodes/groups");
    for file in ["clustercidrs.yaml", "nodes.yaml"] {
        bed.create(&std::fs::read_to_string(examples.join(file)).unwrap());
    }
    let output = with_bed(&bed, "mipam", &["reconcile"]);
    assert!(out(&output).contains("7 allocated"), "{} {}", out(&output), err(&output));
    bed.delete_all("v1", "Node");
    bed.delete_all("networking.x-k8s.io/v1", "ClusterCIDR");
    let output = with_bed(&bed, "mipam", &["reconcile"]);
    assert_eq!(output.status.code(), Some(0), "{} {}", out(&output), err(&output));
    assert_eq!(bed.list("networking.x-k8s.io/v1", "ClusterCIDR"), Vec::<Value>::new(), "{}", out(&output));

    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/capi");
    for file in ["pools.yaml", "claims.yaml"] {
        bed.create(&std::fs::read_to_string(examples.join(file)).unwrap());
    }
    let output = with_bed(&bed, "mipam", &["reconcile"]);
    assert_eq!(output.status.code(), Some(0), "{} {}", out(&output), err(&output));
    let (api, kind) = ("ipam.cluster.x-k8s.io/v1beta1", "IPAddressClaim");
    let claims = bed.list(api, kind);
    let served = claims.iter().filter(|c| c["status"]["addressRef"].is_object()).count();
    assert_eq!((claims.len(), served), (3, 3), "{} {}", out(&output), err(&output));
    for claim in claims {
        bed.delete(api, kind, "default", claim["metadata"]["name"].as_str().unwrap());
    }
    let output = with_bed(&bed, "mipam", &["reconcile"]);
    assert_eq!(output.status.code(), Some(0), "{} {}", out(&output), err(&output));
    assert_eq!(bed.list(api, kind), Vec::<Value>::new(), "{}", out(&output));
}

#[test]
fn the_namespace_of_the_ledger_is_made_where_it_is_missing() {
    let bed = Bed::with(Profile::Own);
    bed.create(MACHINE);
    let output = with_bed(&bed, "admin", &["reconcile"]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert!(bed.get("v1", "Namespace", "", "mipam-system").is_some());
    assert!(bed.get("v1", "ConfigMap", "mipam-system", "mipam-ledger").is_some());
}

#[test]
fn lists_are_read_to_their_end() {
    // More Nodes than fit on a page, and the last one uses the address that would be given first.
    let bed = bed::shared(Profile::Own).lock();
    bed.create(MACHINE);
    let node = |i: usize| {
        let address =
            if i == 519 { "192.168.101.64".to_owned() } else { format!("10.9.{}.{}", i / 250, i % 250) };
        json!({
            "apiVersion": "v1", "kind": "Node", "metadata": { "name": format!("node-{i:03}") },
            "status": { "addresses": [{ "type": "InternalIP", "address": address }] },
        })
    };
    bed.create_all((0..520).map(node).collect());
    let output = with_bed(&bed, "admin", &["reconcile"]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert!(out(&output).contains("192.168.101.65/23"), "{}", out(&output));
}

#[test]
fn a_cluster_without_any_machine_api_is_fine() {
    // None of the CRDs is there: nothing to serve, nothing to free, nothing to fail on.
    let bed = Bed::start();
    for command in [&["reconcile"][..], &["status"], &["check-capacity", "--need", "3"]] {
        let output = with_bed(&bed, "admin", command);
        assert_eq!(output.status.code(), Some(0), "{command:?}: {}", err(&output));
    }
}

#[test]
fn deletion_works_where_no_ipam_kind_is_served() {
    let bed = Bed::start();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/crds");
    let machines = |name: &str| name == "machine.openshift.io_machines.yaml";
    bed.apply_crds(&bed::crds::read_crds(&folder, machines));
    bed.create(
        &MACHINE
            .replace("preCreate", "preTerminate")
            .replace("name: worker-0,", "name: worker-0, deletionTimestamp: now,"),
    );
    let output = with_bed(&bed, "admin", &["reconcile"]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let machine =
        bed.get("machine.openshift.io/v1beta1", "Machine", "openshift-machine-api", "worker-0").unwrap();
    assert!(machine["spec"]["lifecycleHooks"]["preTerminate"].is_null(), "{machine}");
}

#[test]
fn an_unreachable_cluster_is_an_error_within_the_time_that_was_given() {
    let dir = tempfile::tempdir().unwrap();
    let (config, kubeconfig) = (dir.path().join("c.yaml"), dir.path().join("k.yaml"));
    std::fs::write(&config, CONFIG).unwrap();
    let text = "apiVersion: v1\nkind: Config\nclusters: [{name: a, cluster: {server: 'https://127.0.0.1:1'}}]\n\
                users: [{name: a, user: {token: secret-token}}]\ncontexts: [{name: a, context: {cluster: a, user: a}}]\ncurrent-context: a\n";
    std::fs::write(&kubeconfig, text).unwrap();
    let (config, kubeconfig) = (config.display().to_string(), kubeconfig.display().to_string());
    let output =
        run(&["status", "--config", &config, "--kubeconfig", &kubeconfig, "--request-timeout", "1s"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(err(&output).contains("hint:"), "{}", err(&output));
    assert!(
        err(&output).starts_with("error: asking https://127.0.0.1:1 what it serves: "),
        "{}",
        err(&output)
    );
    assert!(!err(&output).contains("secret-token"));
}

#[test]
fn without_any_kubeconfig_the_file_that_is_missing_is_named() {
    let home = tempfile::tempdir().unwrap();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_mipam"));
    for variable in ["KUBECONFIG", "MIPAM_DIR", "IPAM_KUBECONFIG", "KUBERNETES_SERVICE_HOST"] {
        command.env_remove(variable);
    }
    let output = command.arg("status").env("HOME", home.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = err(&output).replace(&home.path().display().to_string(), "HOME");
    assert!(
        said.starts_with(
            "error: cannot find out how to reach the cluster: kubeconfig HOME/.kube/config: No such file"
        ),
        "{said}"
    );
    assert!(said.contains("\nhint: "), "{said}");
}
