//! What the folder promises, seen from outside.

mod out;
mod reading;
mod round;
mod rules;
mod scale;
mod writing;

use super::{DirCluster, DirError, Mode};
use crate::cluster::{Answer, Cluster, ClusterError};
use crate::model::{Feed, Kind, Listed, Object};
use futures_util::FutureExt;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

pub(super) const MACHINE: Kind = Kind {
    group: "machine.openshift.io",
    versions: &["v1beta1"],
    kind: "Machine",
    plural: "machines",
    namespaced: true,
};

pub(super) const NODE: Kind =
    Kind { group: "", versions: &["v1"], kind: "Node", plural: "nodes", namespaced: false };

pub(super) const CONFIG_MAP: Kind =
    Kind { group: "", versions: &["v1"], kind: "ConfigMap", plural: "configmaps", namespaced: true };

pub(super) const IP_ADDRESS: Kind = Kind {
    group: "ipam.metal3.io",
    versions: &["v1alpha1"],
    kind: "IPAddress",
    plural: "ipaddresses",
    namespaced: true,
};

pub(super) const CRD: Kind = Kind {
    group: "apiextensions.k8s.io",
    versions: &["v1"],
    kind: "CustomResourceDefinition",
    plural: "customresourcedefinitions",
    namespaced: false,
};

pub(super) const KINDS: [Kind; 5] = [MACHINE, NODE, CONFIG_MAP, IP_ADDRESS, CRD];

/// The answers of a folder are there at once.
pub(super) fn now<T>(answer: Answer<'_, T>) -> Result<T, ClusterError> {
    answer.now_or_never().expect("ready at once")
}

/// A temporary folder with these files.
pub(super) struct World(tempfile::TempDir);

impl World {
    pub(super) fn with(files: &[(&str, &str)]) -> Self {
        let world = Self(tempfile::tempdir().unwrap());
        fs::create_dir(world.dir()).unwrap();
        for (name, text) in files {
            world.put(name, text);
        }
        world
    }

    pub(super) fn dir(&self) -> PathBuf {
        self.0.path().join("dir")
    }

    pub(super) fn out(&self) -> PathBuf {
        self.0.path().join("out")
    }

    pub(super) fn put(&self, name: &str, text: &str) {
        let path = self.dir().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(super) fn text(&self, name: &str) -> String {
        fs::read_to_string(self.dir().join(name)).unwrap()
    }

    pub(super) fn try_open(&self, mode: Mode) -> Result<DirCluster, DirError> {
        DirCluster::open(&self.dir(), &KINDS, mode)
    }

    pub(super) fn open(&self) -> DirCluster {
        self.try_open(Mode::InPlace).unwrap()
    }

    /// What is wrong, with the folder's own path left out.
    pub(super) fn error(&self) -> String {
        let error = self.try_open(Mode::InPlace).unwrap_err().to_string();
        error.replace(&format!("{}/", self.dir().display()), "")
    }

    pub(super) fn notes(&self) -> Vec<String> {
        let cluster = self.try_open(Mode::ReadOnly).unwrap();
        let dir = format!("{}/", self.dir().display());
        cluster.notes().iter().map(|note| note.replace(&dir, "")).collect()
    }
}

/// Every file below a folder, hidden ones included, with its bytes.
pub(super) fn tree(root: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
                found.insert(name, fs::read_to_string(path).unwrap());
            }
        }
    }
    found.remove(".mipam.lock");
    found
}

pub(super) fn machine(name: &str) -> String {
    format!(
        "apiVersion: machine.openshift.io/v1beta1\nkind: Machine\nmetadata:\n  name: {name}\n  namespace: ns\n"
    )
}

pub(super) fn names(objects: &[Listed]) -> Vec<String> {
    objects.iter().map(|o| format!("{}/{}", o.namespace(), o.name())).collect()
}

/// Reads an object, changes one annotation, and writes it back.
pub(super) fn annotate(cluster: &DirCluster, kind: Kind, namespace: &str, name: &str) -> Object {
    let mut object = now(cluster.get(&kind.at(namespace, name))).unwrap();
    object.annotate("changed", "by the test");
    now(cluster.replace(kind, &object)).unwrap()
}

pub(super) fn object(value: Value) -> Object {
    Object(value)
}
