//! CRDs in profiles: which kinds a server has, and in whose schemas.

use super::rest::{self, Kind, Verdict, code};
use super::{Bed, accounts::ADMIN, documents, eventually};
use futures_util::future::join_all;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Sets of CRDs that collide, so each has a server of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// The project's own minimal CRDs, OpenShift's Machine with the draft hooks.
    Own,
    /// The same, but for what stock OpenShift serves: draft hooks are pruned, no `v1beta2` of Cluster API.
    OwnStock,
    /// The upstream CRDs, with the draft hooks put into OpenShift's Machine.
    Upstream,
    /// The upstream CRDs as stock OpenShift serves them.
    Openshift,
}

impl Profile {
    pub const ALL: [Self; 4] = [Self::Own, Self::OwnStock, Self::Upstream, Self::Openshift];

    /// The profiles whose CRDs are here: the upstream ones are no part of the repository.
    pub fn available() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|profile| profile.is_own() || upstream().is_dir())
    }

    /// Whether machines on this server keep `preCreate` and `preProvision`.
    pub fn keeps_draft_hooks(self) -> bool {
        matches!(self, Self::Own | Self::Upstream)
    }

    fn is_own(self) -> bool {
        matches!(self, Self::Own | Self::OwnStock)
    }

    /// The CRDs by name.
    pub fn crds(self) -> BTreeMap<String, Value> {
        let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/crds");
        if self.is_own() {
            let mut crds = read_crds(&own, |_| true);
            if self == Self::OwnStock {
                crds.extend(read_crds(&own.join("stock"), |_| true));
            }
            return crds;
        }
        let of_openshift = |file: &str| file.starts_with("openshift-mao_");
        let mut crds = read_crds(&upstream(), |file| !of_openshift(file));
        if self == Self::Openshift {
            crds.extend(read_crds(&upstream(), of_openshift));
        } else {
            crds.values_mut().for_each(add_draft_hooks);
        }
        crds
    }

    /// Puts the CRDs on a server.
    pub fn apply(self, bed: &Bed) {
        bed.apply_crds(&self.crds());
    }
}

fn upstream() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/crds")
}

/// All CRDs in the YAML files of a folder whose file names pass.
pub fn read_crds(folder: &Path, pass: impl Fn(&str) -> bool) -> BTreeMap<String, Value> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut crds = BTreeMap::new();
    for path in entries.map(|entry| entry.expect("a file").path()) {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if path.is_file() && name.ends_with(".yaml") && pass(name) {
            let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            for crd in documents(&text) {
                assert_eq!(crd["kind"], "CustomResourceDefinition", "{}", path.display());
                crds.insert(crd["metadata"]["name"].as_str().expect("a name").to_owned(), crd);
            }
        }
    }
    crds
}

/// Puts `preCreate` and `preProvision` wherever a schema of OpenShift's machines has lifecycle hooks, as the
/// draft of openshift/api pull 1334 does.
fn add_draft_hooks(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if let Some(hooks) =
                fields.get_mut("lifecycleHooks").and_then(|hooks| hooks.get_mut("properties"))
                && let Some(model) = hooks.get("preDrain").cloned()
            {
                hooks["preCreate"] = model.clone();
                hooks["preProvision"] = model;
            }
            fields.values_mut().for_each(add_draft_hooks);
        }
        Value::Array(items) => items.iter_mut().for_each(add_draft_hooks),
        _ => {}
    }
}

impl Bed {
    /// Makes or replaces CRDs, and returns when every version of every kind is served.
    pub fn apply_crds(&self, crds: &BTreeMap<String, Value>) {
        self.block_on(async { join_all(crds.iter().map(|(name, crd)| self.apply_crd(name, crd))).await });
        self.kinds.lock().expect("kinds").clear();
    }

    async fn apply_crd(&self, name: &str, crd: &Value) {
        let client = self.client(ADMIN);
        let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        let at = format!("{path}/{name}");
        match rest::send(&client, "POST", path, crd).await {
            Err(e) if code(&e) == 409 => {
                let found = rest::get(&client, &at).await.must(name);
                let mut crd = crd.clone();
                crd["metadata"]["resourceVersion"] = found["metadata"]["resourceVersion"].clone();
                rest::send(&client, "PUT", &at, &crd).await.must(name);
            }
            answer => drop(answer.must(name)),
        }
        let spec = &crd["spec"];
        let text = |value: &Value| value.as_str().expect("a string").to_owned();
        let patience = Duration::from_secs(60);
        for version in spec["versions"].as_array().expect("versions") {
            if version["served"] == json!(false) {
                continue;
            }
            let api_version = format!("{}/{}", text(&spec["group"]), text(&version["name"]));
            let kind = Kind {
                root: rest::root(&api_version),
                plural: text(&spec["names"]["plural"]),
                namespaced: spec["scope"] == "Namespaced",
                status: version["subresources"]["status"].is_object(),
            };
            // Whatever the answer but 404, the kind is served. A server holds back the creates of the first two
            // seconds, for the sake of its peers; they are spent here rather than in somebody's test.
            let probe = json!({
                "apiVersion": api_version,
                "kind": spec["names"]["kind"],
                "metadata": {"generateName": "probe-"},
            });
            let create = format!("{}?dryRun=All", kind.path("default", ""));
            eventually(&format!("{name} to be served"), patience, async || {
                rest::send(&client, "POST", &create, &probe)
                    .await
                    .err()
                    .is_none_or(|e| code(&e) != 404)
                    .then_some(())
            })
            .await;
            rest::list(&client, &kind.path("", "")).await.must(name);
            // A server says a little later what it serves.
            let made = text(&spec["names"]["kind"]);
            eventually(&format!("{api_version} {made} to be announced"), patience, async || {
                rest::discover(&client, &api_version, &made).await.map(drop)
            })
            .await;
            if version["storage"] == json!(true) {
                self.customs.lock().expect("customs").insert(name.to_owned(), kind);
            }
        }
    }
}
