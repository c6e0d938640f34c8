//! JSON inside JSON, as in a NetworkAttachmentDefinition (`spec.config` is a text with a CNI configuration): what
//! reads it is bounded in depth, refuses keys that are there twice, and loses nothing.

use mipam::model::Object;
use mipam::yaml::{parse_json, parse_yaml, to_yaml};
use serde_json::Value;

pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let parsed = parse_json(text);
    let plain = serde_json::from_str::<Value>(text);
    // Strict: whatever it takes, a lenient reader takes for the same.
    match (&parsed, &plain) {
        (Ok(strict), Ok(plain)) => assert_eq!(strict, plain),
        (Ok(strict), Err(error)) => panic!("{strict} is read although {error}"),
        (Err(error), _) => assert!(!error.message.is_empty()),
    }
    let Ok(value) = parsed else { return };
    assert!(depth(&value) <= 128);
    assert_eq!(parse_json(&value.to_string()).as_ref(), Ok(&value));
    let yaml = to_yaml(&value);
    assert_eq!(parse_yaml(&yaml).as_ref(), Ok(&value), "{yaml}");
    access(Object(value));
}

fn depth(value: &Value) -> usize {
    1 + match value {
        Value::Array(list) => list.iter().map(depth).max().unwrap_or(0),
        Value::Object(map) => map.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

fn access(mut object: Object) {
    if let Some(inner) = object.text("/spec/config").map(str::to_owned) {
        run(inner.as_bytes());
    }
    let _ = (object.name(), object.namespace(), object.uid(), object.resource_version(), object.kind());
    let _ = (object.group(), object.deleting(), object.label("a"), object.annotation("a"));
    for pointer in ["", "/", "/spec/", "/spec/config/0", "/metadata/annotations", "no pointer"] {
        let _ = (object.at(pointer), object.array(pointer), object.text(pointer));
    }
    object.annotate("k", "v");
    assert_eq!(object.annotation("k"), Some("v"));
}
