//! `mipam reconcile --watch` on a real API server.

mod basics;
mod begin;
mod cut;
mod gone;
mod leaders;
mod process;
mod rights;
mod stale;
mod trouble;
mod variables;
mod wire;

pub use process::{Watcher, until, within};

use crate::bed::Bed;
use crate::bed::accounts::ADMIN;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;

const API: &str = "machine.openshift.io/v1beta1";

/// A folder, the configuration in it, and how processes are started.
pub struct Stage<'b> {
    pub bed: &'b Bed,
    pub dir: tempfile::TempDir,
    pub config: PathBuf,
}

impl<'b> Stage<'b> {
    pub fn new(bed: &'b Bed) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let config = dir.path().join("ipam-config.yaml");
        let stage = Self { bed, dir, config };
        stage.configure("10.0.0.0/20");
        stage
    }

    pub fn configure(&self, range: &str) {
        let text = format!(
            "ipam-config:
  lifecycle-hook: {{name: ipamController, owner: network-admin}}
  pools: [{{name: lab, ranges: [{range}], prefix: 16, gateway: 10.0.255.254}}]
"
        );
        std::fs::write(&self.config, text).unwrap();
    }

    pub fn start(&self, more: &[&str]) -> Watcher {
        Watcher::start(self.dir.path(), &self.bed.kubeconfig(ADMIN), &self.config, more)
    }

    pub fn create(&self, names: std::ops::Range<usize>) {
        self.bed.create_all(names.map(machine).collect());
    }

    /// Who has which address; panics where one has two.
    pub fn addresses(&self) -> BTreeMap<String, String> {
        let mut owners = BTreeMap::new();
        for machine in self.bed.list(API, "Machine") {
            let name = machine["metadata"]["name"].as_str().unwrap().to_owned();
            let device = &machine["spec"]["providerSpec"]["value"]["network"]["devices"][0];
            for address in device["ipAddrs"].as_array().into_iter().flatten() {
                let other = owners.insert(address.as_str().unwrap().to_owned(), name.clone());
                assert_eq!(other, None, "{address} is on {name}, too");
            }
        }
        owners
    }

    pub fn lease(&self) -> Value {
        let lease = self.bed.get("coordination.k8s.io/v1", "Lease", "mipam-system", "mipam");
        lease.unwrap_or_default()
    }

    pub fn holder(&self) -> String {
        self.lease()["spec"]["holderIdentity"].as_str().unwrap_or_default().to_owned()
    }
}

pub fn machine(i: usize) -> Value {
    json!({
        "apiVersion": API,
        "kind": "Machine",
        "metadata": { "name": format!("m-{i:05}"), "namespace": "openshift-machine-api" },
        "spec": {
            "lifecycleHooks": { "preCreate": [{ "name": "ipamController", "owner": "network-admin" }] },
            "providerSpec": { "value": { "network": { "devices": [{ "networkName": "lab" }] } } },
        },
    })
}
