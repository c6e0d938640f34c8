//! What a write changes in an object, as a unified diff of YAML.

use super::lines::object;
use super::paint::{Paint, plain};
use crate::model::Object;
use crate::yaml::to_yaml;
use similar::TextDiff;

/// What the server keeps for itself: it changes with every write and tells nothing.
const HIDDEN: [&str; 3] = ["resourceVersion", "managedFields", "generation"];

/// The diff from `before` to `after`; `None` is an object that does not exist. Empty where nothing differs.
pub fn diff(before: Option<&Object>, after: Option<&Object>, color: bool) -> String {
    let (old, new) = (before.map(text).unwrap_or_default(), after.map(text).unwrap_or_default());
    let lines = TextDiff::from_lines(&old, &new);
    let (from, to) = (title(before), title(after));
    let unified = lines.unified_diff().context_radius(3).header(&from, &to).to_string();
    unified.lines().enumerate().map(|(number, line)| paint(number, line, color) + "\n").collect()
}

fn paint(number: usize, line: &str, color: bool) -> String {
    // The header is the first two lines; further down `--- ` is a line that went away.
    let paint = match line.as_bytes().first() {
        _ if number < 2 => Paint::Bold,
        Some(b'+') => Paint::Green,
        Some(b'-') => Paint::Red,
        Some(b'@') => Paint::Cyan,
        _ => return line.to_owned(),
    };
    paint.on(line, color)
}

fn title(side: Option<&Object>) -> String {
    side.map_or_else(|| "/dev/null".to_owned(), |o| plain(&object(o.kind(), o.namespace(), o.name())))
}

fn text(object: &Object) -> String {
    let mut value = object.0.clone();
    if let Some(metadata) = value.get_mut("metadata").and_then(|m| m.as_object_mut()) {
        for key in HIDDEN {
            // Not `remove`, which puts the last key in the place of the one that goes.
            metadata.shift_remove(key);
        }
    }
    to_yaml(&value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn machine(version: &str, spec: &serde_json::Value) -> Object {
        Object(json!({
            "apiVersion": "machine.openshift.io/v1beta1",
            "kind": "Machine",
            "metadata": {
                "resourceVersion": version, "generation": version, "managedFields": [{"manager": version}],
                "namespace": "openshift-machine-api", "name": "worker-0", "labels": {"zone": "a"}
            },
            "spec": spec
        }))
    }

    fn before() -> Object {
        machine(
            "1",
            &json!({"a": 1, "b": 2, "c": 3, "devices": [{"networkName": "lab"}], "text": "x\n--- y\n"}),
        )
    }

    fn after() -> Object {
        let device = json!({"networkName": "lab", "ipAddrs": ["192.168.101.65/23"]});
        machine("2", &json!({"a": 1, "b": 2, "c": 3, "devices": [device], "text": "x\n"}))
    }

    #[test]
    fn a_change_has_three_lines_around_it() {
        insta::assert_snapshot!(diff(Some(&before()), Some(&after()), false), @"
        --- Machine/openshift-machine-api/worker-0
        +++ Machine/openshift-machine-api/worker-0
        @@ -11,6 +11,7 @@
           c: 3
           devices:
           - networkName: lab
        +    ipAddrs:
        +    - 192.168.101.65/23
           text: |
             x
        -    --- y
        ");
    }

    #[test]
    fn colour_is_by_line() {
        insta::assert_snapshot!(diff(Some(&before()), Some(&after()), true), @"
        \u{1b}[1m--- Machine/openshift-machine-api/worker-0\u{1b}[0m
        \u{1b}[1m+++ Machine/openshift-machine-api/worker-0\u{1b}[0m
        \u{1b}[36m@@ -11,6 +11,7 @@\u{1b}[0m
           c: 3
           devices:
           - networkName: lab
        \u{1b}[32m+    ipAddrs:\u{1b}[0m
        \u{1b}[32m+    - 192.168.101.65/23\u{1b}[0m
           text: |
             x
        \u{1b}[31m-    --- y\u{1b}[0m
        ");
    }

    #[test]
    fn created_and_removed_objects_have_dev_null_on_the_other_side() {
        let node = Object(json!({"kind": "Node", "metadata": {"name": "n", "resourceVersion": "5"}}));
        insta::assert_snapshot!(diff(None, Some(&node), false), @r#"
        --- /dev/null
        +++ Node/n
        @@ -0,0 +1,3 @@
        +kind: Node
        +metadata:
        +  name: "n"
        "#);
        insta::assert_snapshot!(diff(Some(&node), None, false), @r#"
        --- Node/n
        +++ /dev/null
        @@ -1,3 +0,0 @@
        -kind: Node
        -metadata:
        -  name: "n"
        "#);
    }

    #[test]
    fn what_the_server_counts_is_no_difference() {
        assert_eq!(diff(Some(&before()), Some(&machine("7", &before().0["spec"])), true), "");
        assert_eq!(diff(None, None, true), "");
    }
}
