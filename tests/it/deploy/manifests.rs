//! The manifests and the chart: what they render to is the same, and an API server takes it.

use crate::bed::accounts::ADMIN;
use crate::bed::binaries::{HELM, KUSTOMIZE, locate};
use crate::bed::{Bed, crds, documents, rest};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub(super) fn manifests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("manifests")
}

/// Objects by kind, namespace and name.
pub(super) type Objects = BTreeMap<(String, String, String), Value>;

pub(super) fn objects(yaml: &str) -> Objects {
    let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
    let place =
        |o: &Value| (text(&o["kind"]), text(&o["metadata"]["namespace"]), text(&o["metadata"]["name"]));
    documents(yaml).into_iter().map(|o| (place(&o), o)).collect()
}

pub(super) fn ran(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub(super) fn helm(words: &[&str]) -> Output {
    let home = tempfile::tempdir().unwrap();
    let mut helm = Command::new(locate(&HELM));
    helm.args(["template", "mipam"]).arg(manifests().join("chart")).args(["--kube-version", "1.36.0"]);
    helm.args(words).env("HOME", home.path()).output().unwrap()
}

pub(super) fn kustomize(folder: &Path) -> String {
    ran(&Command::new(locate(&KUSTOMIZE)).arg("build").arg(folder).output().unwrap())
}

/// An overlay with the component that has alerts and dashboard.
fn monitored() -> String {
    // A component has to lie beside the overlay that uses it: both are copied.
    let scratch = tempfile::tempdir().unwrap();
    let copy = scratch.path().join("manifests");
    ran(&Command::new("cp").arg("-r").arg(manifests()).arg(&copy).output().unwrap());
    let file = copy.join("overlays/watch/kustomization.yaml");
    let text = std::fs::read_to_string(&file).unwrap() + "components: [../../chart/monitoring]\n";
    std::fs::write(file, text).unwrap();
    kustomize(&copy.join("overlays/watch"))
}

#[test]
fn chart_and_overlays_render_to_the_same_objects() {
    let cases = [
        (vec!["--set", "mode=watch"], kustomize(&manifests().join("overlays/watch"))),
        (vec!["--set", "mode=cronjob"], kustomize(&manifests().join("overlays/cronjob"))),
        (vec!["--set", "monitoring.enabled=true"], monitored()),
    ];
    for (words, overlay) in cases {
        let (mut chart, overlay) = (objects(&ran(&helm(&words))), objects(&overlay));
        // helm would take the ledger away with the namespace; kubectl does only what it is told.
        let namespace = chart.get_mut(&("Namespace".into(), String::new(), "mipam-system".into())).unwrap();
        let kept = namespace["metadata"].as_object_mut().unwrap().remove("annotations");
        assert_eq!(kept, Some(json!({ "helm.sh/resource-policy": "keep" })));
        let places = |all: &Objects| all.keys().cloned().collect::<BTreeSet<_>>();
        assert_eq!(places(&chart), places(&overlay), "{words:?}");
        for (place, object) in &chart {
            assert_eq!(object, &overlay[place], "{words:?} {place:?}");
        }
    }
}

#[test]
fn a_system_that_is_not_served_has_no_rights() {
    let all = objects(&ran(&helm(&["--set", "systems={nodes}", "--set", "networkPolicy.enabled=false"])));
    let roles: Vec<&str> =
        all.keys().filter(|(kind, ..)| kind == "ClusterRole").map(|(.., name)| name.as_str()).collect();
    assert_eq!(roles, ["mipam-capacity", "mipam-nodes", "mipam-read", "mipam-watch"]);
    assert!(!all.keys().any(|(kind, ..)| kind == "NetworkPolicy"));
    // Nor does it try to serve it.
    let args = |words: &[&str], kind: &str, pod: &str| {
        let all = objects(&ran(&helm(words)));
        let object = &all[&(kind.to_owned(), "mipam-system".to_owned(), "mipam".to_owned())];
        object.pointer(pod).unwrap()["spec"]["containers"][0]["args"].as_array().unwrap().clone()
    };
    let (some, job) = ("systems={nodes,capi}", "/spec/jobTemplate/spec/template");
    assert!(args(&["--set", some], "Deployment", "/spec/template").contains(&json!("--systems=nodes,capi")));
    let jobs = args(&["--set", "mode=cronjob", "--set", some], "CronJob", job);
    assert!(jobs.contains(&json!("--systems=nodes,capi")), "{jobs:?}");
}

#[test]
fn values_that_make_no_sense_are_refused() {
    for (value, says) in [
        ("mode=daemon", "mode"),
        ("systems={openshfit}", "systems"),
        ("replicas=0", "replicas"),
        ("resync=soon", "resync"),
        ("config=pools: []", "config"),
        ("replica=3", "replica"),
        ("image.pullPolicy=never", "pullPolicy"),
        ("apiServerPorts={}", "apiServerPorts"),
        ("apiServerPorts={https}", "apiServerPorts"),
        ("apiServerPorts={70000}", "apiServerPorts"),
        ("apiServerPorts={443,443}", "apiServerPorts"),
        ("mode=cronjob,monitoring.enabled=true", "needs mode watch"),
    ] {
        let output = helm(&["--set", value]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(says), "{value}: {said}");
    }
}

/// What the server says to an object, which it does not keep.
async fn offered(bed: &Bed, object: &Value) -> Result<Value, String> {
    let (version, kind) = (object["apiVersion"].as_str().unwrap(), object["kind"].as_str().unwrap());
    let client = bed.client(ADMIN);
    let found =
        rest::discover(&client, version, kind).await.unwrap_or_else(|| panic!("{kind} is not served"));
    let path = found.path(object["metadata"]["namespace"].as_str().unwrap_or_default(), "");
    let path = format!("{path}?dryRun=All&fieldValidation=Strict");
    rest::send(&client, "POST", &path, object).await.map_err(|e| e.to_string())
}

#[test]
fn an_api_server_takes_all_of_it() {
    let bed = Bed::start();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/packaging/crds");
    bed.apply_crds(&crds::read_crds(&folder, |_| true));
    let webhook = std::fs::read_to_string(manifests().join("kubevirt-webhook.yaml")).unwrap();
    let all = [monitored(), kustomize(&manifests().join("overlays/cronjob")), webhook].join("---\n");
    let all = objects(&all);
    let place = |kind: &str, namespace: &str, name: &str| (kind.into(), namespace.into(), name.into());
    // These are kept: the namespace enforces what its pods may do, and pods need their account.
    for kept in [
        place("Namespace", "", "mipam-system"),
        place("ServiceAccount", "mipam-system", "mipam"),
        place("ServiceAccount", "mipam-system", "mipam-webhook"),
    ] {
        bed.create_all(vec![all[&kept].clone()]);
    }
    for (place, object) in
        all.iter().filter(|((kind, ..), _)| kind != "Namespace" && kind != "ServiceAccount")
    {
        let answer = bed.block_on(offered(&bed, object));
        assert!(answer.is_ok(), "{place:?}: {}", answer.unwrap_err());
    }
    let wrong = json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": "x", "namespace": "mipam-system" }, "spec": { "port": [] } });
    assert!(bed.block_on(offered(&bed, &wrong)).is_err(), "unknown fields are refused");

    let deployment = &all[&place("Deployment", "mipam-system", "mipam")]["spec"]["template"];
    let job = &all[&place("CronJob", "mipam-system", "mipam")]["spec"]["jobTemplate"]["spec"]["template"];
    let webhook = &all[&place("Deployment", "mipam-system", "mipam-webhook")]["spec"]["template"];
    for template in [deployment, job, webhook] {
        let metadata = json!({ "name": "probe", "namespace": "mipam-system" });
        let pod =
            json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"] });
        let answer = bed.block_on(offered(&bed, &pod));
        assert!(answer.is_ok(), "{}", answer.unwrap_err());
        let mut loose = pod.clone();
        loose["spec"]["containers"][0]["securityContext"]["allowPrivilegeEscalation"] = json!(true);
        let refused = bed.block_on(offered(&bed, &loose)).unwrap_err();
        assert!(refused.contains("violates PodSecurity"), "{refused}");
        let container = &pod["spec"]["containers"][0];
        assert_eq!(container["securityContext"]["readOnlyRootFilesystem"], true);
        assert!(container["resources"]["limits"]["memory"].is_string());
    }
}

#[test]
fn what_is_taken_away_again_leaves_the_ledger() {
    for file in ["kubevirt-webhook.yaml", "kubermatic-admission.yaml"] {
        let all = objects(&std::fs::read_to_string(manifests().join(file)).unwrap());
        assert!(
            !all.keys().any(|(kind, ..)| kind == "Namespace"),
            "{file}: `kubectl delete -f` would take it"
        );
    }
}

#[test]
fn the_image_is_built_from_all_that_it_needs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |name: &str| std::fs::read_to_string(root.join(name)).unwrap();
    let scratch = tempfile::tempdir().unwrap();
    let let_in: Vec<String> =
        read(".dockerignore").lines().filter_map(|l| l.strip_prefix('!')).map(str::to_owned).collect();
    for path in &let_in {
        ran(&Command::new("cp").arg("-r").arg(root.join(path)).arg(scratch.path()).output().unwrap());
    }
    // cargo says which file of the package is missing.
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let metadata = Command::new(cargo)
        .args(["metadata", "--offline", "--locked", "--no-deps", "--format-version=1"])
        .current_dir(scratch.path())
        .output()
        .unwrap();
    assert!(ran(&metadata).contains("\"name\":\"mipam\""));
    let files = Command::new("grep").args(["-rlE", "include_(str|bytes)!"]).arg(root.join("src")).output();
    let files = String::from_utf8(files.unwrap().stdout).unwrap();
    assert!(
        files.lines().all(|file| file.contains("/tests/")),
        "files of elsewhere, in the program: {files}"
    );
    let dockerfile = read("Dockerfile");
    for line in ["FROM scratch", "USER 65532:65532", "ENTRYPOINT [\"/mipam\"]"] {
        assert!(dockerfile.lines().any(|l| l == line), "{line}: {dockerfile}");
    }
}

#[test]
fn versions_are_those_of_the_program() {
    let version = env!("CARGO_PKG_VERSION");
    let chart = std::fs::read_to_string(manifests().join("chart/Chart.yaml")).unwrap();
    assert!(chart.contains(&format!("\nversion: {version}\nappVersion: {version}\n")), "{chart}");
    for overlay in ["watch", "cronjob"] {
        let file = manifests().join("overlays").join(overlay).join("kustomization.yaml");
        assert!(std::fs::read_to_string(file).unwrap().contains(&format!("newTag: {version}")));
    }
}
