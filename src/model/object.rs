//! A Kubernetes object as JSON: everything that mipam does not know about it survives.

use serde_json::{Map, Value};

/// Any Kubernetes object; fields that mipam does not know are kept as they are.
#[derive(Clone, Debug, PartialEq)]
pub struct Object(pub Value);

impl Object {
    fn meta(&self, key: &str) -> &str {
        self.0.get("metadata").and_then(|m| m.get(key)).and_then(Value::as_str).unwrap_or_default()
    }

    /// `metadata.name`
    pub fn name(&self) -> &str {
        self.meta("name")
    }

    /// `metadata.namespace`, empty where there is none.
    pub fn namespace(&self) -> &str {
        self.meta("namespace")
    }

    /// `metadata.uid`, empty where there is none (files).
    pub fn uid(&self) -> &str {
        self.meta("uid")
    }

    /// `metadata.resourceVersion`
    pub fn resource_version(&self) -> &str {
        self.meta("resourceVersion")
    }

    /// `kind`
    pub fn kind(&self) -> &str {
        self.0.get("kind").and_then(Value::as_str).unwrap_or_default()
    }

    /// The group part of `apiVersion`.
    pub fn group(&self) -> &str {
        let api = self.0.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
        api.split_once('/').map_or("", |(group, _)| group)
    }

    /// Has a `metadata.deletionTimestamp`.
    pub fn deleting(&self) -> bool {
        self.at("/metadata/deletionTimestamp").is_some_and(|v| !v.is_null())
    }

    /// Does this finalizer hold it?
    pub fn held_by(&self, finalizer: &str) -> bool {
        self.array("/metadata/finalizers").iter().any(|f| f == finalizer)
    }

    /// `metadata.labels[key]`
    pub fn label(&self, key: &str) -> Option<&str> {
        self.0.get("metadata")?.get("labels")?.get(key)?.as_str()
    }

    /// `metadata.annotations[key]`
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.0.get("metadata")?.get("annotations")?.get(key)?.as_str()
    }

    /// Sets `metadata.annotations[key]`, making the map where it is missing.
    pub fn annotate(&mut self, key: &str, value: &str) {
        let annotations = self.ensure_object(&["metadata", "annotations"]);
        annotations.insert(key.to_owned(), Value::String(value.to_owned()));
    }

    /// The value at a JSON pointer such as `/spec/lifecycleHooks`.
    pub fn at(&self, pointer: &str) -> Option<&Value> {
        // Most of a pass is this: serde_json's own way makes two strings of every step.
        if pointer.contains('~') {
            return self.0.pointer(pointer);
        }
        pointer.split('/').skip(1).try_fold(&self.0, |at, key| match at {
            Value::Object(map) => map.get(key),
            Value::Array(list) => list.get(key.parse::<usize>().ok()?),
            _ => None,
        })
    }

    /// The array at a JSON pointer, empty where there is none.
    pub fn array(&self, pointer: &str) -> &[Value] {
        self.at(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// The string at a JSON pointer.
    pub fn text(&self, pointer: &str) -> Option<&str> {
        self.at(pointer).and_then(Value::as_str)
    }

    /// The map at a path of keys, made where it is missing or is not a map.
    pub fn ensure_object(&mut self, path: &[&str]) -> &mut Map<String, Value> {
        let mut at = &mut self.0;
        for key in path {
            at = as_map(at).entry((*key).to_owned()).or_insert_with(|| Value::Object(Map::new()));
        }
        as_map(at)
    }
}

fn as_map(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    match value {
        Value::Object(map) => map,
        _ => unreachable!("made a map above"),
    }
}
