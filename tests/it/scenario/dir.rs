//! A scenario on a directory: one file an object, with uids as an API server would give them.

use super::{Stage, Target};
use crate::bed::{Profile, documents};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

pub struct Directory {
    dir: TempDir,
    uids: u32,
    /// The CRD that lies beside the machines would have dropped their hook.
    prunes: bool,
}

impl Directory {
    pub fn new(crds: Option<Profile>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        for (name, crd) in crds.map(Profile::crds).unwrap_or_default() {
            std::fs::write(dir.path().join(format!("crd-{name}.yaml")), mipam::yaml::to_yaml(&crd)).unwrap();
        }
        Self { dir, uids: 0, prunes: crds.is_some_and(|p| !p.keeps_draft_hooks()) }
    }

    fn path(&self, api_version: &str, kind: &str, namespace: &str, name: &str) -> PathBuf {
        let group = api_version.replace('/', "-");
        // The longest names are too long for a file.
        let name =
            if name.len() < 150 { name.to_owned() } else { format!("{}-{}", &name[..150], name.len()) };
        self.dir.path().join(format!("{kind}_{group}_{namespace}_{name}.yaml"))
    }

    fn path_of(&self, target: &Target) -> PathBuf {
        let path = self.path(target.api_version(), &target.kind, &target.namespace, &target.name);
        if path.exists() {
            return path;
        }
        // Or mipam has made it.
        let plural = if target.kind.ends_with('s') { "es" } else { "s" };
        let resource = format!("{}{plural}.{}", target.kind.to_lowercase(), target.group);
        let file = format!("{}.{}.yaml", target.namespace, target.name);
        self.dir.path().join("mipam").join(resource).join(file)
    }

    fn read(path: &Path) -> Value {
        documents(&std::fs::read_to_string(path).unwrap()).remove(0)
    }

    /// What is deleted is no reason to forget the kind: a cluster serves it all the same.
    fn remove(&self, path: &Path, target: &Target) {
        std::fs::remove_file(path).unwrap();
        let (group, version) = target.api_version().split_once('/').unwrap_or_default();
        let plural = match target.kind.as_str() {
            "NetworkAttachmentDefinition" => "network-attachment-definitions".to_owned(),
            kind => format!("{}s", kind.to_lowercase()),
        };
        let crd = json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": { "name": format!("{plural}.{group}") },
            "spec": {
                "group": group,
                "names": { "kind": target.kind, "plural": plural },
                "versions": [{ "name": version, "served": true, "storage": true }],
            },
        });
        let kept = self.dir.path().join(format!("crd-{plural}-{group}.yaml"));
        std::fs::write(kept, mipam::yaml::to_yaml(&crd)).unwrap();
    }
}

impl Stage for Directory {
    fn create(&mut self, yaml: &str) {
        for mut object in documents(yaml) {
            self.uids += 1;
            let hooks = object.pointer_mut("/spec/lifecycleHooks").and_then(Value::as_object_mut);
            if let (true, Some(hooks)) = (self.prunes, hooks) {
                hooks.retain(|name, _| name == "preDrain" || name == "preTerminate");
            }
            object["metadata"]["uid"] = json!(format!("uid-{}", self.uids));
            let text = |key: &str| object["metadata"][key].as_str().unwrap_or_default().to_owned();
            let (api, kind) = (object["apiVersion"].as_str().unwrap(), object["kind"].as_str().unwrap());
            let path = self.path(api, kind, &text("namespace"), &text("name"));
            assert!(!path.exists(), "{} is there already", path.display());
            std::fs::write(path, mipam::yaml::to_yaml(&object)).unwrap();
        }
    }

    fn delete(&mut self, target: &Target, hold: bool) {
        let path = self.path_of(target);
        let held = !Self::read(&path)["metadata"]["finalizers"].as_array().is_none_or(Vec::is_empty);
        if hold || held {
            let mut object = Self::read(&path);
            if hold {
                object["metadata"]["finalizers"] = json!([super::api::HOLD]);
            }
            object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
            std::fs::write(path, mipam::yaml::to_yaml(&object)).unwrap();
        } else {
            self.remove(&path, target);
        }
    }

    fn merge(&mut self, target: &Target, patch: &Value) {
        let path = self.path_of(target);
        let mut object = Self::read(&path);
        merge(&mut object, patch);
        let held = object["metadata"]["finalizers"].as_array().is_some_and(|f| !f.is_empty());
        if object["metadata"]["deletionTimestamp"].is_string() && !held {
            self.remove(&path, target);
            return;
        }
        std::fs::write(path, mipam::yaml::to_yaml(&object)).unwrap();
    }

    fn arguments(&self) -> Vec<String> {
        vec!["--dir".to_owned(), self.dir.path().display().to_string()]
    }

    fn objects(&self) -> Vec<Value> {
        let mut found = Vec::new();
        let mut folders = vec![self.dir.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|e| e == "yaml") {
                    found.extend(documents(&std::fs::read_to_string(path).unwrap()));
                }
            }
        }
        let is = |o: &Value, (version, kind): (&str, &str)| o["apiVersion"] == version && o["kind"] == kind;
        found.retain(|o| o["kind"] == "ConfigMap" || super::COMPARED.iter().any(|c| is(o, *c)));
        found
    }

    fn begin(&mut self) {}

    fn writes(&self) -> Option<(usize, usize)> {
        None
    }
}

/// A JSON merge patch as RFC 7386 has it.
pub(crate) fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(changes) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    for (key, change) in changes {
        if change.is_null() {
            target.as_object_mut().unwrap().remove(key);
        } else {
            merge(&mut target[key], change);
        }
    }
}
