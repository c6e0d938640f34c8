//! Lifecycle hooks: which are ours, and how one is moved without touching the others.

use crate::config::{Hook, nearest};
use crate::model::Object;
use serde_json::{Value, json};

/// The two names that the hook before creation has had.
const GATES: [&str; 2] = ["preCreate", "preProvision"];
const MARK: &str = "preTerminate";

/// Which of our hooks a machine carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Marks {
    /// It waits for us.
    pub(super) gate: bool,
    /// It has been served.
    pub(super) served: bool,
}

impl Marks {
    pub(super) fn of(object: &Object, hook: Option<&Hook>) -> Self {
        let Some(hook) = hook else { return Self::default() };
        let has = |list: &str| hooks(object, list).iter().any(|h| is(h, hook));
        Self { gate: GATES.iter().any(|g| has(g)), served: has(MARK) }
    }

    /// Is the machine one that we serve?
    pub(super) fn ours(self) -> bool {
        self.gate || self.served
    }
}

/// Has it any hook at all of the kind that mipam's is, whoever's it is?
pub fn is_hooked(object: &Object) -> bool {
    GATES.iter().any(|gate| !hooks(object, gate).is_empty())
}

/// What is to be said of a machine that waits on a hook which nobody will take off: there is none in the configuration, or
/// one that is spelt almost like it.
pub(super) fn unserved(object: &Object, hook: Option<&Hook>) -> Option<String> {
    let gates = || GATES.iter().flat_map(|gate| hooks(object, gate));
    let word = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or("").to_owned();
    let Some(hook) = hook else {
        let found = gates().next()?;
        return Some(format!(
            "OpenShift machines wait on hook {} of {}, and the configuration has no lifecycle-hook: none of them is served",
            word(found, "name"),
            word(found, "owner"),
        ));
    };
    let all = || gates().chain(hooks(object, MARK));
    if all().any(|value| is(value, hook)) {
        return None;
    }
    let near = |value: &&Value| {
        nearest(&word(value, "name"), &[&hook.name]).is_some()
            && nearest(&word(value, "owner"), &[&hook.owner]).is_some()
    };
    let found = all().find(near)?;
    Some(format!(
        "OpenShift machines have hook {} of {}, and lifecycle-hook in the configuration is {} of {}: they are left alone",
        word(found, "name"),
        word(found, "owner"),
        hook.name,
        hook.owner,
    ))
}

fn hooks<'a>(object: &'a Object, list: &str) -> &'a [Value] {
    let at = object.at("/spec/lifecycleHooks").and_then(|h| h.get(list));
    at.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn is(value: &Value, hook: &Hook) -> bool {
    value.get("name").and_then(Value::as_str) == Some(&hook.name)
        && value.get("owner").and_then(Value::as_str) == Some(&hook.owner)
}

/// Our gate becomes our mark.
pub(super) fn serve(object: &mut Object, hook: &Hook) {
    GATES.iter().for_each(|gate| remove(object, gate, hook));
    if !Marks::of(object, Some(hook)).served {
        let all = object.ensure_object(&["spec", "lifecycleHooks"]);
        let list = all.entry(MARK).or_insert_with(|| json!([]));
        if let Some(list) = list.as_array_mut() {
            list.push(json!({ "name": hook.name, "owner": hook.owner }));
        }
    }
}

/// None of our hooks is left.
pub(super) fn clear(object: &mut Object, hook: &Hook) {
    GATES.iter().for_each(|gate| remove(object, gate, hook));
    remove(object, MARK, hook);
}

fn remove(object: &mut Object, list: &str, hook: &Hook) {
    let Some(all) = object.0.pointer_mut("/spec/lifecycleHooks").and_then(Value::as_object_mut) else {
        return;
    };
    let Some(hooks) = all.get_mut(list).and_then(Value::as_array_mut) else { return };
    let before = hooks.len();
    hooks.retain(|h| !is(h, hook));
    // An empty list that we made empty goes; one that was there before is not ours to tidy.
    if hooks.is_empty() && before > 0 {
        all.shift_remove(list);
    }
}
