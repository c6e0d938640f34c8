//! The claims that the machines of a MachineDeployment would have made for them, by the pools that their template names.

use super::CLAIM;
use crate::model::{Kind, Object, ObjectRef, Observed};
use crate::systems::elf::{MACHINE, MACHINE_DEPLOYMENT};
use crate::systems::scale;
use serde_json::{Value, json};

const fn template(versions: &'static [&'static str], kind: &'static str, plural: &'static str) -> Kind {
    Kind::namespaced("infrastructure.cluster.x-k8s.io", versions, kind, plural)
}

/// The templates of providers that make claims: CAPV, CAPO and Proxmox.
pub(super) const TEMPLATES: &[Kind] = &[
    template(&["v1beta2", "v1beta1"], "VSphereMachineTemplate", "vspheremachinetemplates"),
    template(&["v1beta2", "v1beta1"], "OpenStackMachineTemplate", "openstackmachinetemplates"),
    template(&["v1alpha2", "v1alpha1"], "ProxmoxMachineTemplate", "proxmoxmachinetemplates"),
];

/// The template of a MachineDeployment, if it is one of those.
pub(super) fn template_of((kind, object): (Kind, &Object)) -> Option<ObjectRef> {
    let text = |key: &str| object.text(&format!("/spec/template/spec/infrastructureRef/{key}"));
    let known = TEMPLATES.iter().find(|t| kind == MACHINE_DEPLOYMENT && Some(t.kind) == text("kind"))?;
    Some(known.at(object.namespace(), text("name")?))
}

/// The machines that are missing, and their claims.
pub(super) fn scaled(
    observed: &Observed,
    parent: (Kind, &Object),
    replicas: usize,
) -> Option<Vec<(Kind, Object)>> {
    let template = observed.find(&template_of(parent)?)?;
    let mut pools = Vec::new();
    collect(template.at("/spec/template/spec").unwrap_or(&Value::Null), &mut pools);
    let mut made = scale::scaled(observed, MACHINE, parent, replicas);
    let claims: Vec<_> =
        made.iter().flat_map(|(_, m)| pools.iter().enumerate().map(|(at, p)| claim(m, at, p))).collect();
    made.extend(claims);
    Some(made)
}

fn claim(machine: &Object, at: usize, pool: &Value) -> (Kind, Object) {
    let metadata = json!({
        "name": format!("{}-{at}", machine.name()), "namespace": machine.namespace(),
        "uid": format!("{}-{at}", machine.uid()),
    });
    let api = format!("{}/{}", CLAIM.group, CLAIM.versions[0]);
    let object =
        json!({ "apiVersion": api, "kind": CLAIM.kind, "metadata": metadata, "spec": { "poolRef": pool } });
    (CLAIM, Object(object))
}

/// The pools that a template names, wherever its provider has them: in `addressesFromPools` or under a key that
/// ends in `PoolRef`; a claim is made for each.
fn collect<'a>(value: &'a Value, pools: &mut Vec<&'a Value>) {
    let list = value.as_array().into_iter().flatten();
    list.for_each(|item| collect(item, pools));
    for (key, inner) in value.as_object().into_iter().flatten() {
        match inner {
            Value::Array(all) if key == "addressesFromPools" || key.ends_with("PoolRef") => pools.extend(all),
            Value::Object(_) if key.ends_with("PoolRef") => pools.push(inner),
            _ => collect(inner, pools),
        }
    }
}
