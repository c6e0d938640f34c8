//! The stock Machine CRD knows no `preCreate`: an API server with it drops the hook without a word. Say so.

use crate::config::Config;
use crate::model::{Kind, Object, Observed, Problem};
use serde_json::Value;

pub(super) const MACHINES: &str = "machines.machine.openshift.io";

pub(super) const CRD: Kind = Kind {
    group: "apiextensions.k8s.io",
    versions: &["v1"],
    kind: "CustomResourceDefinition",
    plural: "customresourcedefinitions",
    namespaced: false,
};

/// The problem, where a hook is configured and the installed CRD would prune it.
pub(super) fn pruned(observed: &Observed, config: &Config) -> Option<Problem> {
    config.lifecycle_hook.as_ref()?;
    let crd = observed.all(CRD).find(|c| c.name() == MACHINES)?;
    let object = format!("CustomResourceDefinition/{MACHINES}");
    let message = "the installed CRD has neither spec.lifecycleHooks.preCreate nor preProvision, so the API server drops the hook from new machines and mipam never sees it; on stock OpenShift use addressesFromPools with IPAddressClaims instead";
    (!keeps_gate(crd)).then(|| Problem::new("HookPruned", &object, message))
}

fn keeps_gate(crd: &Object) -> bool {
    crd.array("/spec/versions").iter().any(|version| {
        let Some(schema) = version.pointer("/schema/openAPIV3Schema") else { return true };
        let spec = schema.pointer("/properties/spec");
        let hooks = schema.pointer("/properties/spec/properties/lifecycleHooks");
        let open = |v: Option<&Value>| {
            v.and_then(|v| v.get("x-kubernetes-preserve-unknown-fields")).and_then(Value::as_bool)
                == Some(true)
        };
        let has = |key: &str| hooks.and_then(|h| h.get("properties")?.get(key)).is_some();
        // A pruned list inside an open one survives only if the list itself is known or open.
        has("preCreate")
            || has("preProvision")
            || open(hooks)
            || (hooks.is_none() && (open(spec) || (spec.is_none() && open(Some(schema)))))
    })
}
