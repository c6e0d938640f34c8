//! Objects on the server: made from YAML, read, changed and deleted as JSON values.

use super::rest::{self, Kind, Verdict, code};
use super::{Bed, accounts::ADMIN};
use futures_util::stream::{self, StreamExt as _};
use serde::Deserialize as _;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// How many requests a helper has in flight.
pub const WIDTH: usize = 32;

/// Holds an object that is to be terminating and has no finalizer of its own.
pub const HOLD: &str = "test.mipam.io/hold";

/// What [`Bed::create`] made.
pub struct Created {
    /// The objects as the server has them, in the order of the documents.
    pub objects: Vec<Value>,
    /// For each `metadata.uid` in the documents, the one that the server gave in its place.
    pub uids: BTreeMap<String, String>,
}

/// The documents of a YAML text, the items of Lists among them.
pub fn documents(yaml: &str) -> Vec<Value> {
    let mut found = Vec::new();
    for document in serde_yaml::Deserializer::from_str(yaml) {
        let mut value = Value::deserialize(document).unwrap_or_else(|e| panic!("{e} in:\n{yaml}"));
        match value["items"].take() {
            Value::Array(items) => found.extend(items),
            _ if value.is_null() => {}
            _ => {
                value.as_object_mut().expect("a document that is a map").remove("items");
                found.push(value);
            }
        }
    }
    found
}

impl Bed {
    /// Makes the objects of a YAML text. See [`Bed::create_all`].
    pub fn create(&self, yaml: &str) -> Created {
        self.create_all(documents(yaml))
    }

    /// Makes objects, as they would be found on a cluster that has run for a while:
    /// - namespaces are made as needed, `default` where a document has none;
    /// - status is written, through the subresource if there is one;
    /// - one with a `deletionTimestamp` is deleted after that and held by its finalizers;
    /// - a server gives out uids itself: where a document has one, others may refer to it (in owner
    ///   references, anywhere as a whole value, or inside the data of a `ConfigMap`) and get the real one.
    pub fn create_all(&self, documents: Vec<Value>) -> Created {
        let mut waiting: Vec<(usize, Value)> = documents.into_iter().enumerate().collect();
        let mut objects: Vec<Value> = vec![Value::Null; waiting.len()];
        let mut uids = BTreeMap::new();
        let mut spaces: BTreeSet<String> = BTreeSet::new();
        for (_, document) in &waiting {
            spaces.extend(document["metadata"]["namespace"].as_str().map(str::to_owned));
        }
        for space in spaces {
            self.namespace(&space);
        }
        while !waiting.is_empty() {
            let batch = next_batch(&mut waiting);
            let made: Vec<(usize, Option<String>, Value)> = self.block_on(async {
                let making = batch.into_iter().map(|(index, mut document)| {
                    let known = uid(&document).map(str::to_owned);
                    let data = document["kind"] == "ConfigMap";
                    replace_uids(&mut document, &uids, data);
                    async move { (index, known, self.make(document).await) }
                });
                stream::iter(making).buffer_unordered(WIDTH).collect().await
            });
            for (index, known, object) in made {
                if let Some(known) = known {
                    uids.insert(known, uid(&object).expect("a uid from the server").to_owned());
                }
                objects[index] = object;
            }
        }
        Created { objects, uids }
    }

    async fn make(&self, mut document: Value) -> Value {
        let client = self.client(ADMIN);
        let kind = self.kind_of(&document).await;
        let what = format!("make {} {}", document["kind"], document["metadata"]["name"]);
        let metadata = document["metadata"].as_object_mut().unwrap_or_else(|| panic!("{what}: no metadata"));
        let terminating = metadata.remove("deletionTimestamp").is_some_and(|at| !at.is_null());
        for of_the_server in [
            "uid",
            "resourceVersion",
            "generation",
            "creationTimestamp",
            "managedFields",
            "selfLink",
            "deletionGracePeriodSeconds",
        ] {
            metadata.remove(of_the_server);
        }
        if terminating && metadata.get("finalizers").and_then(Value::as_array).is_none_or(Vec::is_empty) {
            metadata.insert("finalizers".to_owned(), json!([HOLD]));
        }
        let mut namespace = String::new();
        if kind.namespaced {
            namespace =
                metadata.entry("namespace").or_insert(json!("default")).as_str().unwrap_or("").to_owned();
        }
        let status =
            if kind.status { document.as_object_mut().and_then(|d| d.remove("status")) } else { None };
        let collection = kind.path(&namespace, "");
        let mut object = match rest::send(&client, "POST", &collection, &document).await {
            // Made as the namespace of something else, or by the server itself.
            Err(e) if code(&e) == 409 && document["kind"] == "Namespace" => {
                rest::merge(&client, &kind.path_of(&document), &document).await.must(&what)
            }
            answer => answer.must(&what),
        };
        let path = kind.path_of(&object);
        if let Some(status) = status {
            let patch = json!({"status": status});
            object = rest::merge(&client, &format!("{path}/status"), &patch).await.must(&what);
        }
        if terminating {
            rest::delete(&client, &path).await.must(&what);
            object = rest::get(&client, &path).await.must(&what);
        }
        object
    }

    /// Makes a namespace if it is not there.
    pub fn namespace(&self, name: &str) {
        let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        match self.block_on(rest::send(&self.client(ADMIN), "POST", "/api/v1/namespaces", &body)) {
            Err(e) if code(&e) == 409 => {}
            answer => drop(answer.must("make a namespace")),
        }
    }

    /// All objects of a kind, by namespace and name.
    pub fn list(&self, api_version: &str, kind: &str) -> Vec<Value> {
        self.block_on(async {
            let served = self.kind(api_version, kind).await;
            let mut items = rest::list(&self.client(ADMIN), &served.path("", "")).await.must(kind);
            for item in &mut items {
                // A list says them once for all, which no comparison expects.
                item["apiVersion"] = json!(api_version);
                item["kind"] = json!(kind);
            }
            items
        })
    }

    /// One object, if it is there.
    pub fn get(&self, api_version: &str, kind: &str, namespace: &str, name: &str) -> Option<Value> {
        self.block_on(async {
            let path = self.kind(api_version, kind).await.path(namespace, name);
            rest::get(&self.client(ADMIN), &path).await.must_or_gone(&path)
        })
    }

    /// A JSON merge patch on one object.
    pub fn merge(&self, api_version: &str, kind: &str, namespace: &str, name: &str, patch: &Value) -> Value {
        self.block_on(async {
            let kind = self.kind(api_version, kind).await;
            let path = kind.path(namespace, name);
            let made = rest::merge(&self.client(ADMIN), &path, patch).await.must(&path);
            // What a controller would have said there is dropped by the server everywhere else.
            match patch.get("status").filter(|_| kind.status) {
                Some(status) => {
                    let (path, patch) = (format!("{path}/status"), json!({ "status": status }));
                    rest::merge(&self.client(ADMIN), &path, &patch).await.must(&path)
                }
                None => made,
            }
        })
    }

    /// Deletes one object as a person would: finalizers hold it, and it may be gone already.
    pub fn delete(&self, api_version: &str, kind: &str, namespace: &str, name: &str) {
        self.block_on(async {
            let path = self.kind(api_version, kind).await.path(namespace, name);
            rest::delete(&self.client(ADMIN), &path).await.must_or_gone(&path);
        });
    }

    /// Deletes all objects of a kind, finalizers or not.
    pub fn delete_all(&self, api_version: &str, kind: &str) {
        self.block_on(async { self.sweep(&self.kind(api_version, kind).await, |_| true).await });
    }

    /// All objects of a kind; none where the server does not know the kind.
    pub fn list_if_served(&self, api_version: &str, kind: &str) -> Vec<Value> {
        let found = self.block_on(rest::discover(&self.client(ADMIN), api_version, kind));
        found.map_or_else(Vec::new, |_| self.list(api_version, kind))
    }

    /// Deletes the objects of a kind that are chosen, finalizers or not.
    pub(super) async fn sweep(&self, kind: &Kind, chosen: impl Fn(&Value) -> bool) {
        let client = &self.client(ADMIN);
        let items = rest::list(client, &kind.path("", "")).await.must("list what is to be deleted");
        stream::iter(items.iter().filter(|item| chosen(item)))
            .for_each_concurrent(WIDTH, async |item| {
                let path = kind.path_of(item);
                if item["metadata"]["finalizers"].is_array() {
                    let patch = json!({"metadata": {"finalizers": null}});
                    rest::merge(client, &path, &patch).await.must_or_gone(&path);
                }
                rest::delete(client, &path).await.must_or_gone(&path);
            })
            .await;
    }

    async fn kind_of(&self, document: &Value) -> Kind {
        let text = |key: &str| document[key].as_str().unwrap_or_else(|| panic!("no {key} in {document}"));
        self.kind(text("apiVersion"), text("kind")).await
    }

    /// How a kind is served.
    pub(super) async fn kind(&self, api_version: &str, kind: &str) -> Kind {
        let key = (api_version.to_owned(), kind.to_owned());
        if let Some(known) = self.kinds.lock().expect("kinds").get(&key) {
            return known.clone();
        }
        let found = rest::discover(&self.client(ADMIN), api_version, kind).await;
        let found = found.unwrap_or_else(|| panic!("the test bed does not serve {api_version} {kind}"));
        self.kinds.lock().expect("kinds").insert(key, found.clone());
        found
    }
}

fn uid(object: &Value) -> Option<&str> {
    object["metadata"]["uid"].as_str()
}

/// Takes out what can be made next: namespaces before all, as their documents may have labels; owners before
/// what they own; `ConfigMaps` after all, as their data may speak of anything.
fn next_batch(waiting: &mut Vec<(usize, Value)>) -> Vec<(usize, Value)> {
    let rank = |document: &Value| match document["kind"].as_str() {
        Some("Namespace") => 0,
        Some("ConfigMap") => 2,
        _ => 1,
    };
    let lowest = waiting.iter().map(|(_, document)| rank(document)).min();
    let pending: BTreeSet<String> =
        waiting.iter().filter_map(|(_, document)| uid(document).map(str::to_owned)).collect();
    let owned = |document: &Value| {
        let owners = document["metadata"]["ownerReferences"].as_array();
        owners
            .into_iter()
            .flatten()
            .any(|owner| owner["uid"].as_str().is_some_and(|uid| pending.contains(uid)))
    };
    let batch: Vec<_> =
        waiting.extract_if(.., |(_, document)| Some(rank(document)) == lowest && !owned(document)).collect();
    // Owners in a circle: the first goes without the others.
    if batch.is_empty() { vec![waiting.remove(0)] } else { batch }
}

fn replace_uids(value: &mut Value, uids: &BTreeMap<String, String>, within: bool) {
    match value {
        Value::String(text) => {
            if let Some(real) = uids.get(text.as_str()) {
                text.clone_from(real);
            } else if within {
                for (known, real) in uids {
                    if text.contains(known.as_str()) {
                        *text = text.replace(known.as_str(), real);
                    }
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| replace_uids(item, uids, within)),
        Value::Object(fields) => fields.values_mut().for_each(|field| replace_uids(field, uids, within)),
        _ => {}
    }
}
