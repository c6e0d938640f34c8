//! Lists, page by page, and what is kept of the objects in them.

use super::KubeCluster;
use super::call::{Call, escape};
use crate::cluster::{ClusterError, EXPIRED};
use crate::model::{Kind, NODE, Object, Sign};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// Objects per page of a list.
const PAGE: u32 = 500;

/// How often a list may begin again because the server forgot where it was.
const RESTARTS: u32 = 5;

/// The objects of a list, and its version.
pub(super) type Listed = (Vec<Arc<Object>>, String);

impl KubeCluster {
    /// The path of a list with the query that narrows it, to which more can be added.
    pub(super) fn query(&self, kind: Kind, namespace: &str, sign: Option<Sign>) -> String {
        let path = self.path(kind, namespace, "");
        match sign {
            None => format!("{path}?"),
            Some(Sign::Label(key, value)) => {
                format!("{path}?labelSelector={}&", escape(&format!("{key}={value}")))
            }
            Some(Sign::Name(name)) => {
                format!("{path}?fieldSelector={}&", escape(&format!("metadata.name={name}")))
            }
        }
    }

    /// The whole list, all of it from one moment.
    pub(super) async fn list_all(
        &self,
        kind: Kind,
        namespace: &str,
        sign: Option<Sign>,
    ) -> Result<Listed, ClusterError> {
        let call = Call { verb: "list", kind, namespace, name: "" };
        let base = format!("{}limit={PAGE}", self.query(kind, namespace, sign));
        for _ in 0..RESTARTS {
            match self.pages(&call, &base).await {
                // The server has forgotten this list. Its offer to go on from now would mix two moments, so
                // the list begins again.
                Err(ClusterError::Transient { why, .. }) if why == EXPIRED => {}
                other => return other,
            }
        }
        Err(call.transient("the list changes faster than it can be read", None))
    }

    async fn pages(&self, call: &Call<'_>, base: &str) -> Result<Listed, ClusterError> {
        let mut items = Vec::new();
        let mut next = String::new();
        loop {
            let path =
                if next.is_empty() { base.to_owned() } else { format!("{base}&continue={}", escape(&next)) };
            let mut page = self.request(call, &path, None).await?;
            match page.get_mut("items").map(Value::take) {
                Some(Value::Array(list)) => items.extend(list.into_iter().map(|o| self.read(call.kind, o))),
                Some(Value::Null) | None if page.get("kind").is_some() => {}
                _ => return Err(call.transient("the answer is no list", None)),
            }
            let meta = |key: &str| {
                let value = page.get("metadata").and_then(|m| m.get(key));
                value.and_then(Value::as_str).unwrap_or_default().to_owned()
            };
            next = meta("continue");
            if next.is_empty() {
                return Ok((items, meta("resourceVersion")));
            }
        }
    }

    /// An object of a list or a watch. Those of built-in kinds come without the first two fields.
    pub(super) fn read(&self, kind: Kind, value: Value) -> Arc<Object> {
        let mut object = trimmed(kind, value);
        let map = object.ensure_object(&[]);
        if !map.contains_key("apiVersion") {
            let version = self.version(kind);
            let api = if kind.group.is_empty() { version } else { format!("{}/{version}", kind.group) };
            map.insert("apiVersion".to_owned(), json!(api));
        }
        map.entry("kind").or_insert_with(|| json!(kind.kind));
        Arc::new(object)
    }
}

/// An object without what mipam never looks at and the server never takes from an update: who set which field,
/// and of a Node's status all but its addresses. That is most of what a cache would have to hold.
pub(super) fn trimmed(kind: Kind, mut value: Value) -> Object {
    if let Some(meta) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        meta.shift_remove("managedFields");
    }
    if kind == NODE
        && let Some(status) = value.get_mut("status").and_then(Value::as_object_mut)
    {
        let addresses = status.shift_remove_entry("addresses");
        *status = addresses.into_iter().collect::<Map<_, _>>();
    }
    Object(value)
}
