//! The machines that a MachineSet or MachineDeployment would make to reach so many replicas.

use crate::model::{Kind, Object, Observed};
use serde_json::{Value, json};

/// New machines of this kind, as the parent's template has them; none where there are enough.
pub(super) fn scaled(
    observed: &Observed,
    machine: Kind,
    parent: (Kind, &Object),
    replicas: usize,
) -> Vec<(Kind, Object)> {
    let (_, set) = parent;
    let have = observed.all(machine).filter(|m| !m.deleting() && belongs(m, parent)).count();
    let make = |i: usize| {
        let template = set.at("/spec/template/metadata").and_then(Value::as_object);
        let mut metadata = template.cloned().unwrap_or_default();
        metadata.insert("name".to_owned(), json!(format!("{}-new-{i}", set.name())));
        metadata.insert("namespace".to_owned(), json!(set.namespace()));
        metadata.insert("uid".to_owned(), json!(format!("new-{i}")));
        let spec = set.at("/spec/template/spec").cloned().unwrap_or_else(|| json!({}));
        let api = set.0.get("apiVersion").cloned().unwrap_or_default();
        let object = json!({ "apiVersion": api, "kind": machine.kind, "metadata": metadata, "spec": spec });
        (machine, Object(object))
    };
    (have..replicas).map(make).collect()
}

/// Its owner says so; or its labels do, where no other parent of that kind has it: a deployment owns its
/// machines by way of its sets.
fn belongs(machine: &Object, (kind, parent): (Kind, &Object)) -> bool {
    let owners = machine.array("/metadata/ownerReferences");
    let field = |o: &Value, key: &str, value: &str| o.get(key).and_then(Value::as_str) == Some(value);
    let mut alike = owners.iter().filter(|o| field(o, "kind", kind.kind)).peekable();
    let owned = if alike.peek().is_some() {
        alike.any(|o| field(o, "name", parent.name()))
    } else {
        let wanted = parent.at("/spec/selector/matchLabels").and_then(Value::as_object);
        wanted.is_some_and(|w| !w.is_empty() && w.iter().all(|(k, v)| machine.label(k) == v.as_str()))
    };
    owned && machine.namespace() == parent.namespace()
}
