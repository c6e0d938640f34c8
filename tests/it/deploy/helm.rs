//! helm on a real API server: it installs, changes and takes away, and the ledger stays.

use super::manifests::{kustomize, manifests, ran};
use crate::bed::accounts::ADMIN;
use crate::bed::binaries::{HELM, locate};
use crate::bed::{Bed, documents};
use serde_json::{Value, json};
use std::process::{Command, Output};

/// helm, with the chart as `CHART` among its words.
fn helm(bed: &Bed, words: &str) -> Output {
    let home = tempfile::tempdir().unwrap();
    let chart = manifests().join("chart").display().to_string();
    let words = words.split(' ').map(|word| if word == "CHART" { chart.clone() } else { word.to_owned() });
    let mut helm = Command::new(locate(&HELM));
    helm.args(words).env("HOME", home.path()).env("KUBECONFIG", bed.kubeconfig(ADMIN));
    helm.output().unwrap()
}

fn get(bed: &Bed, version: &str, kind: &str) -> Option<Value> {
    bed.get(version, kind, "mipam-system", "mipam")
}

/// The namespace is there, and stays.
fn keeps_the_namespace(bed: &Bed) -> Value {
    let namespace = bed.get("v1", "Namespace", "", "mipam-system").unwrap();
    assert!(namespace["metadata"]["deletionTimestamp"].is_null(), "it has the ledger");
    namespace
}

#[test]
fn helm_installs_where_mipam_has_made_the_namespace() {
    let bed = Bed::start();
    bed.namespace("mipam-system");
    ran(&helm(&bed, "install mipam CHART --set mode=cronjob"));
    assert!(get(&bed, "batch/v1", "CronJob").is_some());
    ran(&helm(&bed, "upgrade mipam CHART --set mode=watch"));
    assert!(get(&bed, "apps/v1", "Deployment").is_some());
    ran(&helm(&bed, "uninstall mipam"));
    assert!(get(&bed, "apps/v1", "Deployment").is_none());
    keeps_the_namespace(&bed);
}

#[test]
fn helm_installs_from_whichever_namespace() {
    let bed = Bed::start();
    // It makes the namespace, and what it leaves says from where.
    ran(&helm(&bed, "install mipam CHART -n elsewhere --create-namespace --set mode=cronjob"));
    ran(&helm(&bed, "upgrade mipam CHART -n elsewhere --set mode=cronjob"));
    let labels = &keeps_the_namespace(&bed)["metadata"]["labels"];
    assert_eq!(labels["pod-security.kubernetes.io/enforce"], "restricted");
    ran(&helm(&bed, "uninstall mipam -n elsewhere"));
    keeps_the_namespace(&bed);
    // The same name, from another namespace: it is not this one's.
    ran(&helm(&bed, "install mipam CHART --set mode=cronjob"));
    ran(&helm(&bed, "uninstall mipam"));
    keeps_the_namespace(&bed);
}

#[test]
fn helm_installs_into_the_namespace_of_the_ledger() {
    let bed = Bed::start();
    ran(&helm(&bed, "install mipam CHART -n mipam-system --create-namespace --set mode=cronjob"));
    ran(&helm(&bed, "upgrade mipam CHART -n mipam-system --set mode=watch"));
    assert!(get(&bed, "apps/v1", "Deployment").is_some());
    ran(&helm(&bed, "uninstall mipam -n mipam-system"));
    assert!(get(&bed, "apps/v1", "Deployment").is_none());
    keeps_the_namespace(&bed);
}

#[test]
fn helm_takes_over_what_others_have_made() {
    let bed = Bed::start();
    bed.namespace("mipam-system");
    let by_hand = || {
        json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": { "name": "mipam-config", "namespace": "mipam-system" },
            "data": { "ipam-config.yaml": "ipam-config: {prefix: 23}" },
        })
    };
    let applied = documents(&kustomize(&manifests().join("overlays/watch")));
    let applied = applied.into_iter().filter(|object| object["kind"] != "Namespace").collect();
    for before in [vec![by_hand()], applied] {
        bed.create_all(before);
        let refused = helm(&bed, "install mipam CHART");
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success() && said.contains("invalid ownership metadata"), "{said}");
        ran(&helm(&bed, "install mipam CHART --take-ownership --set replicas=3"));
        assert_eq!(get(&bed, "apps/v1", "Deployment").unwrap()["spec"]["replicas"], 3);
        let config = bed.get("v1", "ConfigMap", "mipam-system", "mipam-config").unwrap();
        assert_eq!(config["data"]["ipam-config.yaml"], "ipam-config:\n  metal3: auto\n");
        ran(&helm(&bed, "uninstall mipam"));
        assert!(get(&bed, "apps/v1", "Deployment").is_none());
    }
    keeps_the_namespace(&bed);
    let readme = std::fs::read_to_string(manifests().join("../README.md")).unwrap();
    assert!(readme.contains("--take-ownership"), "people are told");
}
