//! Takes out what differs from run to run: uids, times, versions, epochs, counts of reads.

use serde_json::{Map, Value, json};

/// What a run printed: JSON without its counts, or text.
pub fn output(stdout: &[u8]) -> Value {
    let text = String::from_utf8_lossy(stdout).into_owned();
    match serde_json::from_str::<Value>(&text) {
        Ok(Value::Object(mut report)) => {
            report.remove("reads");
            report.remove("writes");
            // The rest of the text has no times; messages may.
            let printed = self::text(&serde_json::to_string(&report).unwrap());
            serde_json::from_str(&printed).unwrap()
        }
        _ => Value::String(self::text(&text)),
    }
}

/// Times become `<time>`, and uids in messages `<uid>`.
pub fn text(text: &str) -> String {
    let mut parts = text.split("(uid ");
    let first = parts.next().unwrap_or_default().to_owned();
    let rest: String = parts.map(|p| format!("(uid <uid>{}", &p[p.find(')').unwrap_or(0)..])).collect();
    times(&(first + &rest))
}

fn times(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("20") {
        let candidate = &rest[at..];
        let shape = |i: usize, b: u8| match i {
            4 | 7 => b == b'-',
            10 => b == b'T',
            13 | 16 => b == b':',
            19 => b == b'Z',
            _ => b.is_ascii_digit(),
        };
        let is_time =
            candidate.len() >= 20 && candidate.bytes().take(20).enumerate().all(|(i, b)| shape(i, b));
        let (shown, used) = if is_time { ("<time>", 20) } else { ("20", 2) };
        out.push_str(&rest[..at]);
        out.push_str(shown);
        rest = &candidate[used..];
    }
    out + rest
}

/// Machines and the ledger as a person would compare them.
pub fn objects(objects: Vec<Value>) -> Value {
    let mut machines = Map::new();
    let mut ledger = Map::new();
    let mut others = Map::new();
    for object in objects {
        let text = |key: &str| object["metadata"][key].as_str().unwrap_or_default().to_owned();
        if object["kind"] == "Node" {
            // All else on it is none of our business.
            if !object["spec"]["podCIDR"].is_null() {
                let blocks = object["spec"]["podCIDRs"].as_array().into_iter().flatten();
                let first = std::iter::once(&object["spec"]["podCIDR"]);
                let blocks: Vec<&str> = first.chain(blocks).filter_map(Value::as_str).collect();
                others.insert(format!("Node//{}", text("name")), json!(blocks.join(" ")));
            }
        } else if object["kind"] != "ConfigMap" && object["kind"] != "Machine" {
            let mut kind = object["kind"].as_str().unwrap().to_owned();
            let group = object["apiVersion"].as_str().unwrap().split('/').next().unwrap();
            // Several groups have kinds of these names.
            if (kind == "IPAddress" || kind == "IPPool") && group != "ipam.metal3.io" {
                kind = format!("{kind}.{group}");
            }
            let place = format!("{kind}/{}/{}", text("namespace"), text("name"));
            others.insert(place, other(&object));
        } else if object["kind"] == "Machine" {
            let namespace = Some(text("namespace")).filter(|n| !n.is_empty()).unwrap_or("default".to_owned());
            let group = object["apiVersion"].as_str().unwrap().split('/').next().unwrap().to_owned();
            let mut shown = machine(&object);
            let mut place = format!("{namespace}/{}", text("name"));
            if group != "machine.openshift.io" {
                place = format!("{group}/{place}");
                if !object["status"].is_null() {
                    shown["status"] = sorted(&object["status"]);
                }
            }
            machines.insert(place, shown);
        } else if text("name") == "mipam-status" {
            ledger.insert(text("name"), object["data"]["pools"].clone());
        } else if text("name") == "mipam-ledger" {
            ledger.insert(
                "pools".to_owned(),
                serde_json::from_str(object["data"]["pools"].as_str().unwrap()).unwrap(),
            );
        } else {
            let entries = object["data"].as_object().cloned().unwrap_or_default();
            let entries: Map<String, Value> = entries.iter().map(|(k, v)| (k.clone(), entry(v))).collect();
            ledger.insert(text("name"), sorted(&Value::Object(entries)));
        }
    }
    let mut all =
        json!({ "ledger": sorted(&Value::Object(ledger)), "machines": sorted(&Value::Object(machines)) });
    if !others.is_empty() {
        all["others"] = sorted(&Value::Object(others));
    }
    all
}

/// An object of another kind, with its status and whom it belongs to.
fn other(object: &Value) -> Value {
    let mut shown = machine(object);
    let owners = object["metadata"]["ownerReferences"].as_array().into_iter().flatten();
    // Files have no uids, and so no owners of what is made there.
    let owners: Vec<Value> = owners
        .filter(|o| o["kind"] != "IPPool" && o["kind"] != "IPClaim")
        .map(|o| json!(format!("{}/{}", o["kind"].as_str().unwrap(), o["name"].as_str().unwrap())))
        .collect();
    if !owners.is_empty() {
        shown["owners"] = json!(owners);
    }
    let mut status = object["status"].clone();
    if let Some(status) = status.as_object_mut() {
        status.remove("lastUpdated");
        for condition in status.get_mut("conditions").and_then(Value::as_array_mut).into_iter().flatten() {
            condition.as_object_mut().unwrap().remove("lastTransitionTime");
        }
        status.retain(|_, v| *v != json!({}));
    }
    if !status.is_null() && status != json!({}) {
        shown["status"] = status;
    }
    // What the CRDs fill in where nobody says anything.
    if let Some(spec) = shown["spec"].as_object_mut() {
        let filled_in = [("allocationStrategy", "sequential"), ("osType", "LINUX")];
        spec.retain(|key, value| !filled_in.iter().any(|(k, v)| key == k && value == v));
    }
    sorted(&shown)
}

fn machine(object: &Value) -> Value {
    let metadata = &object["metadata"];
    let mut metadata = metadata.clone();
    // Uids, and none in files.
    if let Some(annotations) = metadata["annotations"].as_object_mut() {
        annotations.remove("mipam.io/withdrawn");
    }
    let mut shown = json!({ "spec": object["spec"] });
    for key in ["annotations", "labels", "finalizers"] {
        if !metadata[key].is_null() && metadata[key] != json!({}) && metadata[key] != json!([]) {
            shown[key] = metadata[key].clone();
        }
    }
    if !metadata["deletionTimestamp"].is_null() {
        shown["deleting"] = json!(true);
    }
    // What the CRDs fill in where a machine says nothing.
    if let Some(spec) = shown["spec"].as_object_mut() {
        spec.retain(|key, value| !(key == "authoritativeAPI" && value == "MachineAPI"));
        for key in ["lifecycleHooks", "metadata"] {
            if spec.get(key) == Some(&json!({})) {
                spec.remove(key);
            }
        }
    }
    sorted(&shown)
}

fn entry(value: &Value) -> Value {
    let mut entry: Value = serde_json::from_str(value.as_str().unwrap()).unwrap();
    ["since", "draft"].iter().for_each(|key| drop(entry.as_object_mut().unwrap().remove(*key)));
    for holder in entry["holders"].as_array_mut().unwrap() {
        let text = |key: &str| holder[key].as_str().unwrap_or_default().to_owned();
        *holder =
            json!(format!("{}/{}/{}#{}", text("kind"), text("namespace"), text("name"), text("device")));
    }
    if !entry["cooling"].is_null() {
        entry["cooling"] = json!(true);
    }
    sorted(&entry)
}

/// The same with keys in order.
pub fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut keys: Vec<_> = map.iter().collect();
            keys.sort_by(|a, b| a.0.cmp(b.0));
            Value::Object(keys.into_iter().map(|(k, v)| (k.clone(), sorted(v))).collect())
        }
        Value::Array(list) => Value::Array(list.iter().map(sorted).collect()),
        other => other.clone(),
    }
}
