//! Plain requests: JSON in, JSON out.

use http::Request;
use kube::Client;
use serde_json::{Value, json};

/// A kind as the server serves it.
#[derive(Clone, Debug)]
pub struct Kind {
    /// `/api/v1` or `/apis/<group>/<version>`
    pub root: String,
    /// `machines`
    pub plural: String,
    pub namespaced: bool,
    /// Whether status is a subresource of its own.
    pub status: bool,
}

impl Kind {
    /// The path of one object; with an empty name of the collection, with an empty namespace of all
    /// namespaces.
    pub fn path(&self, namespace: &str, name: &str) -> String {
        let mut path = self.root.clone();
        if self.namespaced && !namespace.is_empty() {
            path = format!("{path}/namespaces/{namespace}");
        }
        path = format!("{path}/{}", self.plural);
        if name.is_empty() { path } else { format!("{path}/{name}") }
    }

    /// The path of an object that the server returned.
    pub fn path_of(&self, object: &Value) -> String {
        let text = |key: &str| object["metadata"][key].as_str().unwrap_or_default();
        self.path(text("namespace"), text("name"))
    }
}

/// `/api/v1` or `/apis/<group>/<version>`
pub fn root(api_version: &str) -> String {
    let prefix = if api_version.contains('/') { "apis" } else { "api" };
    format!("/{prefix}/{api_version}")
}

/// Asks the server how it serves a kind; `None` if it does not.
pub async fn discover(client: &Client, api_version: &str, kind: &str) -> Option<Kind> {
    let root = root(api_version);
    let found = get(client, &root).await.must_or_gone(&root)?;
    let resources = found["resources"].as_array()?;
    let main =
        resources.iter().find(|r| r["kind"] == kind && !r["name"].as_str().unwrap_or("/").contains('/'))?;
    let plural = main["name"].as_str()?.to_owned();
    let status = format!("{plural}/status");
    Some(Kind {
        root,
        namespaced: main["namespaced"].as_bool()?,
        status: resources.iter().any(|r| r["name"] == status.as_str()),
        plural,
    })
}

pub async fn get(client: &Client, path: &str) -> kube::Result<Value> {
    client.request(Request::get(path).body(vec![]).expect("a request")).await
}

/// All objects of a collection.
pub async fn list(client: &Client, path: &str) -> kube::Result<Vec<Value>> {
    let mut list = get(client, path).await?;
    Ok(match list["items"].take() {
        Value::Array(items) => items,
        _ => Vec::new(),
    })
}

/// Sends a body with POST or PUT.
pub async fn send(client: &Client, method: &str, path: &str, body: &Value) -> kube::Result<Value> {
    let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
    client.request(request.body(body.to_string().into_bytes()).expect("a request")).await
}

/// A JSON merge patch.
pub async fn merge(client: &Client, path: &str, patch: &Value) -> kube::Result<Value> {
    let request = Request::patch(path).header("content-type", "application/merge-patch+json");
    client.request(request.body(patch.to_string().into_bytes()).expect("a request")).await
}

/// Deletes at once, whatever the grace period; what finalizers hold stays.
pub async fn delete(client: &Client, path: &str) -> kube::Result<Value> {
    let options = json!({"gracePeriodSeconds": 0, "propagationPolicy": "Background"});
    send(client, "DELETE", path, &options).await
}

/// The HTTP status of a refusal, 0 if there was no answer.
pub fn code(error: &kube::Error) -> u16 {
    match error {
        kube::Error::Api(status) => status.code,
        _ => 0,
    }
}

/// What a test does with an answer.
pub trait Verdict<T> {
    /// The answer, or a panic that says what was tried.
    fn must(self, what: &str) -> T;
    /// The same, where an object that is not there is fine.
    fn must_or_gone(self, what: &str) -> Option<T>;
}

impl<T> Verdict<T> for kube::Result<T> {
    fn must(self, what: &str) -> T {
        self.unwrap_or_else(|e| panic!("{what}: {e}"))
    }

    fn must_or_gone(self, what: &str) -> Option<T> {
        match self {
            Err(e) if code(&e) == 404 => None,
            other => Some(other.must(what)),
        }
    }
}
