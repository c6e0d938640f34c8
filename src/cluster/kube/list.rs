//! Lists, page by page, and what is kept of the objects in them.

use super::KubeCluster;
use super::call::{Call, escape};
use crate::cluster::{ClusterError, EXPIRED};
use crate::model::{Feed, Kind, Listed, NODE, Object, Sign};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

/// Objects per page of a list.
const PAGE: u32 = 500;

/// How often a list may begin again because the server forgot where it was.
const RESTARTS: u32 = 5;

/// The objects of a list, and its version.
pub(super) type Whole = (Vec<Listed>, String);

/// A page of a list. Its objects are read one after the other: the trees of all of them would take many times the
/// room of what is kept in the end.
#[derive(Deserialize)]
struct Page {
    kind: Option<String>,
    #[serde(default)]
    metadata: Meta,
    items: Option<Vec<Box<RawValue>>>,
}

#[derive(Default, Deserialize)]
struct Meta {
    #[serde(rename = "continue")]
    next: Option<String>,
    #[serde(rename = "resourceVersion")]
    version: Option<String>,
}

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

    /// The whole list of what a feed is about in a namespace, all of it from one moment.
    pub(super) async fn list_all(&self, feed: Feed, namespace: &str) -> Result<Whole, ClusterError> {
        let Feed { kind, sign, .. } = feed;
        let call = Call { verb: "list", kind, namespace, name: "" };
        let base = format!("{}limit={PAGE}", self.query(kind, namespace, sign));
        for _ in 0..RESTARTS {
            match self.pages(&call, &base, feed).await {
                // The server has forgotten this list. Its offer to go on from now would mix two moments, so
                // the list begins again.
                Err(ClusterError::Transient { why, .. }) if why == EXPIRED => {}
                other => return other,
            }
        }
        Err(call.transient("the list changes faster than it can be read", None))
    }

    async fn pages(&self, call: &Call<'_>, base: &str, feed: Feed) -> Result<Whole, ClusterError> {
        let mut items = Vec::new();
        let mut next = String::new();
        loop {
            let path =
                if next.is_empty() { base.to_owned() } else { format!("{base}&continue={}", escape(&next)) };
            let page: Page = self.request(call, &path, None).await?;
            if page.kind.is_none() && page.items.is_none() {
                return Err(call.transient("the answer is no list", None));
            }
            for item in page.items.into_iter().flatten() {
                let value =
                    serde_json::from_str(item.get()).map_err(|e| call.transient(&e.to_string(), None))?;
                items.push(self.read(feed, value));
            }
            next = page.metadata.next.unwrap_or_default();
            if next.is_empty() {
                return Ok((items, page.metadata.version.unwrap_or_default()));
            }
        }
    }

    /// An object of a list or a watch. Those of built-in kinds come without the first two fields.
    pub(super) fn read(&self, feed: Feed, value: Value) -> Listed {
        let kind = feed.kind;
        let mut object = trimmed(kind, value);
        let map = object.ensure_object(&[]);
        if !map.contains_key("apiVersion") {
            let version = self.version(kind);
            let api = if kind.group.is_empty() { version } else { format!("{}/{version}", kind.group) };
            map.insert("apiVersion".to_owned(), json!(api));
        }
        map.entry("kind").or_insert_with(|| json!(kind.kind));
        feed.listed(object)
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
