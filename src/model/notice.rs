//! What mipam says on an object of the cluster: a Kubernetes Event.

use super::{Kind, Object, ObjectRef, Seconds, hash, timestamp};
use serde_json::json;
use std::borrow::Cow;

/// Core Events.
pub const EVENT: Kind = Kind::namespaced("", &["v1"], "Event", "events");

/// Objects without a namespace have their Events here.
const DEFAULT_NAMESPACE: &str = "default";

/// Something that is worth saying on an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Notice {
    /// The system that says it.
    pub system: Cow<'static, str>,
    /// The object.
    pub about: ObjectRef,
    /// Its uid.
    pub uid: String,
    /// It is nothing to worry about.
    pub normal: bool,
    /// One word for programs.
    pub reason: String,
    /// A sentence for people.
    pub message: String,
}

impl Notice {
    /// The Event. The same notice always has the same name, so it is there once however often it is made.
    pub fn event(&self, now: Seconds) -> Object {
        let Self { about, uid, normal, reason, message, .. } = self;
        let says = hash([uid, "/", reason, "/", message].iter().flat_map(|t| t.bytes()));
        let name: String = about.name.chars().take(200).collect();
        // Where a long name is cut, there may be what no part of a name ends with.
        let name = name.trim_end_matches(['.', '-']);
        let namespace = if about.namespace.is_empty() { DEFAULT_NAMESPACE } else { &about.namespace };
        let (group, version) = (about.kind.group, about.kind.versions.first().copied().unwrap_or("v1"));
        let api_version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
        let time = timestamp(now);
        Object(json!({
            "apiVersion": "v1",
            "kind": EVENT.kind,
            "metadata": { "name": format!("{name}.{says:016x}"), "namespace": namespace },
            "involvedObject": {
                "apiVersion": api_version,
                "kind": about.kind.kind,
                "namespace": about.namespace,
                "name": about.name,
                "uid": uid,
            },
            "type": if *normal { "Normal" } else { "Warning" },
            "reason": reason,
            "message": message,
            "source": { "component": "mipam" },
            "reportingComponent": "mipam",
            "firstTimestamp": time,
            "lastTimestamp": time,
            "count": 1,
        }))
    }
}
