//! The gate: a comma list in an annotation. machine-controller leaves a machine alone, its deletion included,
//! while the list is not empty; the element `ipam` is ours to take out.

use crate::model::Object;
use serde_json::Value;

const ANNOTATION: &str = "machine-controller.kubermatic.io/initializers";
pub(super) const OURS: &str = "ipam";

fn elements(object: &Object) -> impl Iterator<Item = &str> {
    object.annotation(ANNOTATION).unwrap_or_default().split(',').filter(|e| !e.trim().is_empty())
}

/// Does the machine wait for us?
pub(super) fn closed(object: &Object) -> bool {
    elements(object).any(|e| e.trim() == OURS)
}

/// Takes our element out; those of others stay as they are written.
pub(super) fn open(object: &mut Object) {
    if !closed(object) {
        return;
    }
    let others: Vec<&str> = elements(object).filter(|e| e.trim() != OURS).collect();
    if !others.is_empty() {
        let others = others.join(",");
        object.annotate(ANNOTATION, &others);
        return;
    }
    // An empty list would hold nothing back, but neither would it say anything.
    let metadata = object.ensure_object(&["metadata"]);
    let empty = metadata.get_mut("annotations").and_then(Value::as_object_mut).is_some_and(|all| {
        all.shift_remove(ANNOTATION);
        all.is_empty()
    });
    if empty {
        metadata.shift_remove("annotations");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn machine(list: &str) -> Object {
        Object(json!({ "metadata": { "name": "m", "annotations": { (ANNOTATION): list } } }))
    }

    #[test]
    fn only_the_whole_element_is_ours() {
        for list in ["ipam", "a,ipam", "ipam,a", "a,ipam,b", "a, ipam", "ipam,ipam", ",ipam,"] {
            assert!(closed(&machine(list)), "{list}");
        }
        for list in ["", ",", "myipam", "ipam2", "my-ipam,a", "IPAM", "ip,am"] {
            assert!(!closed(&machine(list)), "{list}");
        }
        assert!(!closed(&Object(json!({ "metadata": { "name": "m" } }))));
    }

    #[test]
    fn what_is_left_of_the_list_is_left_as_it_was() {
        let left = |list: &str| {
            let mut machine = machine(list);
            open(&mut machine);
            machine.annotation(ANNOTATION).map(str::to_owned)
        };
        assert_eq!(left("ipam"), None);
        assert_eq!(left("ipam,"), None, "a lone comma would hold the machine back for ever");
        assert_eq!(left("a,ipam").as_deref(), Some("a"));
        assert_eq!(left("ipam,b").as_deref(), Some("b"));
        assert_eq!(left("a,ipam,myipam").as_deref(), Some("a,myipam"));
        assert_eq!(left("myipam").as_deref(), Some("myipam"));
        let mut machine = machine("ipam");
        machine.annotate("note", "x");
        open(&mut machine);
        assert_eq!(machine.0["metadata"]["annotations"], json!({ "note": "x" }));
    }
}
