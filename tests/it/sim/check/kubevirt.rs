//! What must hold of every write to an IPAMClaim: it is let go only where nothing of its machine can use it.

use super::Rules;
use mipam::cluster::sim::{Event, SimCluster, Verb};
use mipam::model::Object;
use serde_json::Value;
use std::sync::Arc;

const FINALIZER: &str = "kubevirt.io/persistent-ipam";

pub fn claim(sim: &SimCluster, event: &Event, rules: &Rules) {
    let claim = &event.object;
    if event.verb == Verb::Added {
        let owners = claim.array("/metadata/ownerReferences");
        assert!(claim.held_by(FINALIZER) && owners.len() == 1, "{} was made bare", claim.name());
        assert_eq!(claim.text("/spec/interface"), Some(""));
        return;
    }
    let gone = event.verb == Verb::Deleted || claim.deleting();
    // Held by nothing, it still is there as long as its machine: so it is left when mipam leaves.
    let let_go = gone || !claim.held_by(FINALIZER) && !rules.leaving;
    if !let_go || rules.leaving && rules.forced {
        return;
    }
    let owner = claim.array("/metadata/ownerReferences").first().cloned().unwrap_or(Value::Null);
    let name =
        owner["name"].as_str().or_else(|| claim.label("kubevirt.io/vm")).unwrap_or_default().to_owned();
    let all = sim.all();
    let find = |kind: &str| -> Option<&Arc<Object>> {
        let here = |o: &Object| o.name() == name && o.namespace() == claim.namespace();
        all.iter().find(|(k, o)| k.kind == kind && here(o)).map(|(_, o)| o)
    };
    let is_vm = |vm: &&Arc<Object>| owner["kind"] != "VirtualMachine" || owner["uid"] == *vm.uid();
    let is_vmi = |vmi: &&Arc<Object>| owner["kind"] != "VirtualMachineInstance" || owner["uid"] == *vmi.uid();
    let (vm, vmi) = (find("VirtualMachine").filter(is_vm), find("VirtualMachineInstance").filter(is_vmi));
    let names = |object: Option<&Arc<Object>>, at: &str| {
        let networks = object.map(|o| o.array(at).to_vec()).unwrap_or_default();
        networks.iter().any(|n| {
            let plain = format!("{name}.{}", n["name"].as_str().unwrap_or_default());
            claim.name() == plain || claim.name().starts_with(&format!("{plain}-"))
        })
    };
    let pods = |o: &Arc<Object>| {
        o.at("/status/activePods").is_some_and(|p| p.as_object().is_some_and(|p| !p.is_empty()))
    };
    let what = format!("S3: {} was let go", claim.name());
    match (vm, vmi) {
        (Some(vm), vmi) if !vm.deleting() => {
            // Unplugged; or its network is another one now, and what runs has addresses of that.
            let network = claim.text("/spec/network").unwrap_or_default();
            let replaced = all.iter().any(|(k, o)| {
                k.kind == "NetworkAttachmentDefinition"
                    && !o.text("/spec/config").unwrap_or_default().contains(network)
            });
            let named = names(Some(vm), "/spec/template/spec/networks") || names(vmi, "/spec/networks");
            assert!(!named || replaced, "{what} while its VM names it");
        }
        (Some(_), Some(_)) => panic!("{what} while its VM runs"),
        (None, Some(vmi)) => assert!(vmi.deleting() && !pods(vmi), "{what} while it runs"),
        (_, None) => {}
    }
}
