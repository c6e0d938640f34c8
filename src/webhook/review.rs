//! An AdmissionReview in, an AdmissionReview out. Pure.

use crate::yaml::parse_json;
use serde_json::{Value, json};

/// What an API server asks.
#[derive(Clone, Debug, PartialEq)]
pub struct Review {
    /// Which question this is.
    pub uid: String,
    /// Is the pod new?
    pub create: bool,
    /// The namespace of the pod.
    pub namespace: String,
    /// The pod as it would be.
    pub pod: Value,
    /// The pod as it is; `Null` where it is new.
    pub before: Value,
}

/// Why a pod is not let through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    /// As of HTTP.
    pub code: u16,
    /// A sentence for people.
    pub message: String,
}

impl Denial {
    /// The pod says something that cannot be understood.
    pub fn bad(message: impl Into<String>) -> Self {
        Self { code: 400, message: message.into() }
    }

    /// The pod may not be as it is, or not yet.
    pub fn forbidden(message: impl Into<String>) -> Self {
        Self { code: 403, message: message.into() }
    }

    /// The cluster did not say what is needed to decide.
    pub fn unknown(message: impl Into<String>) -> Self {
        Self { code: 500, message: message.into() }
    }
}

/// Reads what was sent; an error says what is wrong with it.
pub fn read(body: &[u8]) -> Result<Review, String> {
    let text = std::str::from_utf8(body).map_err(|error| format!("the body is no text: {error}"))?;
    let review = parse_json(text).map_err(|error| format!("the body is no JSON: {error}"))?;
    let text = |at: &str| review.pointer(at).and_then(Value::as_str).unwrap_or_default();
    if text("/kind") != "AdmissionReview" || text("/apiVersion") != "admission.k8s.io/v1" {
        return Err("the body is no AdmissionReview of admission.k8s.io/v1".to_owned());
    }
    let uid = text("/request/uid").to_owned();
    if uid.is_empty() {
        return Err("request.uid is missing".to_owned());
    }
    let create = match text("/request/operation") {
        "CREATE" => true,
        "UPDATE" => false,
        other => return Err(format!("request.operation is {other:?}: CREATE or UPDATE can be answered")),
    };
    let kind = [text("/request/kind/group"), text("/request/kind/version"), text("/request/kind/kind")];
    if kind != ["", "v1", "Pod"] {
        return Err(format!("request.kind is {kind:?}: only pods can be answered"));
    }
    let pod = review.pointer("/request/object").filter(|o| o.is_object());
    let pod = pod.ok_or("request.object is no object")?.clone();
    // A pod that is made says its namespace only in the request.
    let namespace = text("/request/namespace").to_owned();
    if namespace.is_empty() {
        return Err("request.namespace is missing".to_owned());
    }
    for at in ["/metadata/annotations", "/metadata/labels"] {
        let values = pod.pointer(at).filter(|map| !map.is_null());
        if values.is_some_and(|map| map.as_object().is_none_or(|m| m.values().any(|v| !v.is_string()))) {
            return Err(format!("request.object{} is no map of texts", at.replace('/', ".")));
        }
    }
    let before = review.pointer("/request/oldObject").cloned().unwrap_or_default();
    Ok(Review { uid, create, namespace, pod, before })
}

/// The answer: annotations to set on the pod, or why it is not let through.
pub fn answer(review: &Review, decision: &Result<Vec<(String, String)>, Denial>) -> Value {
    let mut response = json!({ "uid": review.uid, "allowed": decision.is_ok() });
    match decision {
        Ok(annotations) => {
            if let Some(patch) = patch(&review.pod, annotations) {
                response["patchType"] = json!("JSONPatch");
                response["patch"] = json!(base64(patch.to_string().as_bytes()));
            }
        }
        Err(Denial { code, message }) => {
            response["status"] = json!({ "code": code, "message": format!("mipam: {message}") });
        }
    }
    json!({ "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response })
}

/// The JSON patch that sets annotations; `None` where they are so already.
fn patch(pod: &Value, annotations: &[(String, String)]) -> Option<Value> {
    let has = pod.pointer("/metadata/annotations").filter(|a| a.is_object());
    let wanted =
        annotations.iter().filter(|(key, value)| has.and_then(|h| h.get(key)) != Some(&json!(value)));
    let mut patch: Vec<Value> = Vec::new();
    if has.is_none() {
        patch.push(json!({ "op": "add", "path": "/metadata/annotations", "value": {} }));
    }
    let before = patch.len();
    patch.extend(wanted.map(|(key, value)| {
        let key = key.replace('~', "~0").replace('/', "~1");
        json!({ "op": "add", "path": format!("/metadata/annotations/{key}"), "value": value })
    }));
    (patch.len() > before).then_some(Value::Array(patch))
}

/// As RFC 4648 has it, with padding.
pub fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * at) & 63) as usize];
            text.push(if at > chunk.len() { '=' } else { char::from(digit) });
        }
    }
    text
}

/// The reverse of [`base64`].
pub fn unbase64(text: &str) -> Option<Vec<u8>> {
    let value = |c: u8| match c {
        b'A'..=b'Z' => Some(c - b'A'),
        b'a'..=b'z' => Some(c - b'a' + 26),
        b'0'..=b'9' => Some(c - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let digits: Vec<u8> = text.trim_end_matches('=').bytes().map(value).collect::<Option<_>>()?;
    let whole = |chunk: &[u8]| {
        let bits =
            chunk.iter().fold(0u32, |bits, digit| bits << 6 | u32::from(*digit)) << (6 * (4 - chunk.len()));
        let [_, a, b, c] = bits.to_be_bytes();
        [a, b, c].into_iter().take((chunk.len() * 6 / 8).min(3)).collect::<Vec<u8>>()
    };
    (digits.len() % 4 != 1).then(|| digits.chunks(4).flat_map(whole).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_standard() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foobar", "Zm9vYmFy"),
            ("\u{ff}>?", "w78+Pw=="),
        ] {
            assert_eq!(base64(bytes.as_bytes()), text);
            assert_eq!(unbase64(text).as_deref(), Some(bytes.as_bytes()));
        }
        assert_eq!((unbase64("a"), unbase64("a*bc")), (None, None));
    }
}
