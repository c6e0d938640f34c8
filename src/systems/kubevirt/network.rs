//! The networks that a virtual machine, or its template, names.

use crate::model::Object;
use serde_json::Value;

/// One of `spec.networks` that a claim may be for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name in the machine.
    pub name: String,
    /// Where its definition is.
    pub at: At,
    /// Its interface is being taken out.
    pub leaves: bool,
}

/// Which network it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum At {
    /// That of the pods of its namespace.
    Pod,
    /// That of this NetworkAttachmentDefinition.
    Nad {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
}

/// The networks of a VirtualMachineInstance.
pub fn of_vmi(vmi: &Object) -> Vec<Entry> {
    read(vmi.at("/spec"), vmi.namespace())
}

/// The networks of the template of a VirtualMachine.
pub fn of_vm(vm: &Object) -> Vec<Entry> {
    read(vm.at("/spec/template/spec"), vm.namespace())
}

fn read(spec: Option<&Value>, namespace: &str) -> Vec<Entry> {
    let list = |at: &str| spec.and_then(|s| s.pointer(at)).and_then(Value::as_array).into_iter().flatten();
    let text =
        |value: &Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let leaves = |name: &str| {
        let mut interfaces = list("/domain/devices/interfaces");
        interfaces.any(|i| text(i, "name") == name && text(i, "state") == "absent")
    };
    let entry = |network: &Value| {
        let at = match network.get("multus") {
            // It takes the place of the pods' network, and the CNI knows it by nothing else.
            Some(multus) if multus.get("default") == Some(&Value::Bool(true)) => return None,
            Some(multus) => {
                let full = text(multus, "networkName");
                let (namespace, name) = full.split_once('/').unwrap_or((namespace, &full));
                At::Nad { namespace: namespace.to_owned(), name: name.to_owned() }
            }
            None if network.get("pod").is_some_and(|pod| !pod.is_null()) => At::Pod,
            None => return None,
        };
        let name = text(network, "name");
        let named = !name.is_empty() && !matches!(&at, At::Nad { name, .. } if name.is_empty());
        named.then(|| Entry { leaves: leaves(&name), name, at })
    };
    list("/networks").filter_map(entry).collect()
}
