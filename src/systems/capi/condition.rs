//! The condition `Ready` of a claim: whether it has its address, and why not.

use crate::model::{Object, Reason, Seconds, timestamp};
use serde_json::{Value, json};

const READY: &str = "Ready";

/// What the condition says.
#[derive(Clone)]
pub(super) struct Ready {
    status: &'static str,
    reason: &'static str,
    message: String,
}

impl Ready {
    /// It has its address.
    pub(super) fn yes(message: String) -> Self {
        Self { status: "True", reason: READY, message }
    }

    /// It waits, in the words of Cluster API.
    pub(super) fn no(reason: Reason, message: String) -> Self {
        let reason = match reason {
            Reason::PoolExhausted => "PoolExhausted",
            Reason::NoMatchingPool => "PoolNotReady",
            _ => "AllocationFailed",
        };
        Self { status: "False", reason, message }
    }

    /// Does the claim say just this?
    pub(super) fn is_said(&self, claim: &Object) -> bool {
        let text = |key: &str| find(claim).and_then(|c| c.get(key)?.as_str());
        text("status") == Some(self.status)
            && text("reason") == Some(self.reason)
            && text("message") == Some(&self.message)
    }

    /// Says it. The time is that of the last change of the status, as everywhere in Kubernetes.
    pub(super) fn say(&self, claim: &mut Object, now: Seconds) {
        let before = find(claim).filter(|c| c.get("status").and_then(Value::as_str) == Some(self.status));
        let since = before.and_then(|c| c.get("lastTransitionTime").cloned());
        let condition = json!({
            "type": READY,
            "status": self.status,
            "reason": self.reason,
            "message": self.message,
            "lastTransitionTime": since.unwrap_or_else(|| json!(timestamp(now))),
        });
        let list = claim.ensure_object(&["status"]).entry("conditions").or_insert_with(|| json!([]));
        if !list.is_array() {
            *list = json!([]);
        }
        if let Some(list) = list.as_array_mut() {
            match list.iter_mut().find(|c| is_ready(c)) {
                Some(old) => *old = condition,
                None => list.push(condition),
            }
        }
    }
}

/// Does the claim say that it is ready?
pub(super) fn is_true(claim: &Object) -> bool {
    find(claim).is_some_and(|c| c.get("status").and_then(Value::as_str) == Some("True"))
}

fn find(claim: &Object) -> Option<&Value> {
    claim.array("/status/conditions").iter().find(|c| is_ready(c))
}

fn is_ready(condition: &Value) -> bool {
    condition.get("type").and_then(Value::as_str) == Some(READY)
}
