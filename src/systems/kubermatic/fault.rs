//! The error fields of a Machine's status. What others say there is theirs; ours is told apart by its first
//! word.

use crate::model::Object;
use serde_json::{Map, Value};

const REASON: &str = "errorReason";
const MESSAGE: &str = "errorMessage";

/// machine-controller's word for a want of capacity.
const OURS: &str = "InsufficientResources";
const MARK: &str = "mipam: ";

/// Does the machine carry an error of ours?
pub(super) fn ours(object: &Object) -> bool {
    object.text("/status/errorReason") == Some(OURS)
        && object.text("/status/errorMessage").is_some_and(|m| m.starts_with(MARK))
}

/// Says that there is no address, unless somebody else has something to say.
pub(super) fn set(object: &mut Object, message: &str) {
    let said = object.text("/status/errorReason").is_some_and(|r| !r.is_empty());
    if !said || ours(object) {
        let status = object.ensure_object(&["status"]);
        status.insert(REASON.to_owned(), OURS.into());
        status.insert(MESSAGE.to_owned(), format!("{MARK}{message}").into());
    }
}

/// Takes our error away.
pub(super) fn clear(object: &mut Object) {
    if !ours(object) {
        return;
    }
    let status = object.ensure_object(&["status"]);
    status.shift_remove(REASON);
    status.shift_remove(MESSAGE);
    if status.is_empty() {
        object.0.as_object_mut().map(|all: &mut Map<String, Value>| all.shift_remove("status"));
    }
}
