//! A Kubernetes API as the cluster: plain requests on plain JSON, so that no field is lost on the way.

use super::{Answer, Cluster, ClusterError, EXPIRED, Traffic};
use crate::model::{EVENT, Kind, Object, ObjectRef, Sign};
use http::{Method, Request};
use kube::core::Status;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

/// Objects per page of a list.
const PAGE: u32 = 500;

/// How often a list may begin again because the server forgot where it was.
const RESTARTS: u32 = 5;

/// How to reach the API.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// `--kubeconfig`
    pub kubeconfig: Option<PathBuf>,
    /// `--context`
    pub context: Option<String>,
    /// `--apiserver`
    pub server: Option<String>,
    /// The longest that one request may take.
    pub timeout: Duration,
}

/// A connection to a Kubernetes API.
pub struct KubeCluster {
    client: kube::Client,
    timeout: Duration,
    versions: Mutex<BTreeMap<Kind, String>>,
    traffic: Traffic,
}

impl KubeCluster {
    /// Reads the kubeconfig (or the service account of the pod) and prepares a client; no request is made.
    pub async fn connect(access: &Access) -> Result<Self, ClusterError> {
        let options =
            kube::config::KubeConfigOptions { context: access.context.clone(), ..Default::default() };
        let problem = |e: &dyn std::fmt::Display| {
            ClusterError::Other(format!("cannot find out how to reach the cluster: {e}"))
        };
        let mut config = match (&access.kubeconfig, &access.context) {
            (Some(path), _) => {
                let file = kube::config::Kubeconfig::read_from(path).map_err(|e| problem(&chain(&e)))?;
                kube::Config::from_custom_kubeconfig(file, &options).await.map_err(|e| problem(&chain(&e)))?
            }
            (None, Some(_)) => {
                kube::Config::from_kubeconfig(&options).await.map_err(|e| problem(&chain(&e)))?
            }
            (None, None) => kube::Config::infer().await.map_err(|e| problem(&chain(&e)))?,
        };
        if let Some(server) = &access.server {
            config.cluster_url =
                server.parse().map_err(|e| problem(&format!("--apiserver {server}: {e}")))?;
        }
        // mipam bounds and repeats requests itself; the library's own way may take minutes.
        config.default_retry = false;
        config.connect_timeout = Some(access.timeout);
        config.read_timeout = Some(access.timeout);
        config.write_timeout = Some(access.timeout);
        let client = kube::Client::try_from(config).map_err(|e| problem(&chain(&e)))?;
        Ok(Self::new(client, access.timeout))
    }

    /// Uses a client that exists.
    pub fn new(client: kube::Client, timeout: Duration) -> Self {
        Self { client, timeout, versions: Mutex::default(), traffic: Traffic::default() }
    }

    fn version(&self, kind: Kind) -> String {
        let known = self.versions.lock().ok().and_then(|v| v.get(&kind).cloned());
        known.unwrap_or_else(|| kind.versions.first().copied().unwrap_or("v1").to_owned())
    }

    fn path(&self, kind: Kind, namespace: &str, name: &str) -> String {
        let version = self.version(kind);
        let mut path = if kind.group.is_empty() {
            format!("/api/{version}")
        } else {
            format!("/apis/{}/{version}", kind.group)
        };
        if kind.namespaced && !namespace.is_empty() {
            path.push_str("/namespaces/");
            path.push_str(&escape(namespace));
        }
        path.push('/');
        path.push_str(kind.plural);
        if !name.is_empty() {
            path.push('/');
            path.push_str(&escape(name));
        }
        path
    }

    async fn request(
        &self,
        call: &Call<'_>,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, ClusterError> {
        let method = match call.verb {
            "create" => Method::POST,
            "update" => Method::PUT,
            "delete" => Method::DELETE,
            _ => Method::GET,
        };
        if call.kind == EVENT {
            // It changes nothing.
        } else if body.is_some() {
            self.traffic.write();
        } else {
            self.traffic.read();
        }
        let bytes =
            body.map(serde_json::to_vec).transpose().map_err(|e| ClusterError::Other(e.to_string()))?;
        let mut request = Request::builder().method(method).uri(path);
        if bytes.is_some() {
            request = request.header(http::header::CONTENT_TYPE, "application/json");
        }
        if call.verb == "discover" {
            request = request.header(http::header::ACCEPT, DISCOVERY);
        }
        let request =
            request.body(bytes.unwrap_or_default()).map_err(|e| ClusterError::Other(e.to_string()))?;
        match tokio::time::timeout(self.timeout, self.client.request::<Value>(request)).await {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(kube::Error::Api(status))) => Err(call.failed(&status)),
            Ok(Err(kube::Error::Auth(e))) => {
                Err(ClusterError::Other(format!("cannot sign in: {}", chain(&e))))
            }
            // What went wrong on the way says more than that something did.
            Ok(Err(kube::Error::Service(e))) => Err(call.transient(&chain(&*e), None)),
            Ok(Err(other)) => Err(call.transient(&chain(&other), None)),
            Err(_) => {
                Err(call.transient(&format!("no answer within {} s", self.timeout.as_secs_f32()), None))
            }
        }
    }

    /// `select` is empty or a query that narrows the list.
    async fn list_all(&self, kind: Kind, namespace: &str, select: &str) -> Result<Vec<Object>, ClusterError> {
        let call = Call { verb: "list", kind, namespace, name: "" };
        let base = format!("{}?{select}limit={PAGE}", self.path(kind, namespace, ""));
        let api = if kind.group.is_empty() {
            self.version(kind)
        } else {
            format!("{}/{}", kind.group, self.version(kind))
        };
        for _ in 0..RESTARTS {
            match self.pages(&call, &base).await {
                // The server has forgotten this list. Its offer to go on from now would mix two moments, so
                // the list begins again.
                Err(ClusterError::Transient { why, .. }) if why == EXPIRED => {}
                Err(other) => return Err(other),
                Ok(mut items) => {
                    // Lists of built-in kinds leave these two out of their items.
                    for item in &mut items {
                        let map = item.ensure_object(&[]);
                        map.entry("apiVersion").or_insert_with(|| json!(api));
                        map.entry("kind").or_insert_with(|| json!(kind.kind));
                    }
                    return Ok(items);
                }
            }
        }
        Err(call.transient("the list changes faster than it can be read", None))
    }

    async fn pages(&self, call: &Call<'_>, base: &str) -> Result<Vec<Object>, ClusterError> {
        let mut items = Vec::new();
        let mut next = String::new();
        loop {
            let path =
                if next.is_empty() { base.to_owned() } else { format!("{base}&continue={}", escape(&next)) };
            let mut page = self.request(call, &path, None).await?;
            match page.get_mut("items").map(Value::take) {
                Some(Value::Array(list)) => items.extend(list.into_iter().map(Object)),
                Some(Value::Null) | None if page.get("kind").is_some() => {}
                _ => return Err(call.transient("the answer is no list", None)),
            }
            page.pointer("/metadata/continue")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .clone_into(&mut next);
            if next.is_empty() {
                return Ok(items);
            }
        }
    }
}

impl Cluster for KubeCluster {
    fn served<'a>(&'a self, kinds: &'a [Kind]) -> Answer<'a, Vec<Kind>> {
        Box::pin(async move {
            let call =
                Call { verb: "discover", kind: crate::ledger::NAMESPACE_KIND, namespace: "", name: "" };
            let groups = self.request(&call, "/apis", None).await?;
            let mut served = Vec::new();
            for kind in kinds {
                let version = if kind.group.is_empty() {
                    Some("v1".to_owned())
                } else if groups.get("kind").and_then(Value::as_str) == Some("APIGroupDiscoveryList") {
                    aggregated(&groups, *kind)
                } else {
                    self.legacy(&groups, *kind).await?
                };
                if let Some(version) = version {
                    served.push(*kind);
                    if let Ok(mut versions) = self.versions.lock() {
                        versions.insert(*kind, version);
                    }
                }
            }
            Ok(served)
        })
    }

    fn list(&self, kind: Kind) -> Answer<'_, Vec<Object>> {
        Box::pin(self.list_all(kind, "", ""))
    }

    fn list_in<'a>(&'a self, kind: Kind, namespace: &'a str) -> Answer<'a, Vec<Object>> {
        Box::pin(self.list_all(kind, namespace, ""))
    }

    fn list_signed(&self, kind: Kind, sign: Sign) -> Answer<'_, Vec<Object>> {
        let select = match sign {
            Sign::Label(key, value) => format!("labelSelector={}&", escape(&format!("{key}={value}"))),
            Sign::Name(name) => format!("fieldSelector={}&", escape(&format!("metadata.name={name}"))),
        };
        Box::pin(async move { self.list_all(kind, "", &select).await })
    }

    fn get<'a>(&'a self, target: &'a ObjectRef) -> Answer<'a, Object> {
        Box::pin(async move {
            let call =
                Call { verb: "get", kind: target.kind, namespace: &target.namespace, name: &target.name };
            let path = self.path(target.kind, &target.namespace, &target.name);
            self.request(&call, &path, None).await.map(Object)
        })
    }

    fn create<'a>(&'a self, kind: Kind, object: &'a Object) -> Answer<'a, Object> {
        Box::pin(async move {
            let call = Call { verb: "create", kind, namespace: object.namespace(), name: object.name() };
            let path = self.path(kind, object.namespace(), "");
            self.request(&call, &path, Some(&object.0)).await.map(Object)
        })
    }

    fn replace<'a>(&'a self, kind: Kind, object: &'a Object) -> Answer<'a, Object> {
        Box::pin(async move {
            let call = Call { verb: "update", kind, namespace: object.namespace(), name: object.name() };
            let path = self.path(kind, object.namespace(), object.name());
            self.request(&call, &path, Some(&object.0)).await.map(Object)
        })
    }

    fn replace_status<'a>(&'a self, kind: Kind, object: &'a Object) -> Answer<'a, Object> {
        Box::pin(async move {
            let call = Call { verb: "update", kind, namespace: object.namespace(), name: object.name() };
            let path = format!("{}/status", self.path(kind, object.namespace(), object.name()));
            self.request(&call, &path, Some(&object.0)).await.map(Object)
        })
    }

    fn delete<'a>(&'a self, target: &'a ObjectRef, uid: &'a str) -> Answer<'a, Option<Object>> {
        Box::pin(async move {
            let call =
                Call { verb: "delete", kind: target.kind, namespace: &target.namespace, name: &target.name };
            let path = self.path(target.kind, &target.namespace, &target.name);
            let mut options = json!({ "apiVersion": "v1", "kind": "DeleteOptions" });
            if !uid.is_empty() {
                options["preconditions"] = json!({ "uid": uid });
            }
            let answer = self.request(&call, &path, Some(&options)).await.map(Object)?;
            Ok((answer.kind() == target.kind.kind && answer.deleting()).then_some(answer))
        })
    }

    fn settle(&self) -> Answer<'_, ()> {
        Box::pin(async { Ok(()) })
    }

    fn announce<'a>(&'a self, event: &'a Object) -> Answer<'a, ()> {
        Box::pin(async move {
            match self.create(EVENT, event).await {
                Ok(_) | Err(ClusterError::Exists(_)) => Ok(()),
                Err(error) => Err(error),
            }
        })
    }

    fn traffic(&self) -> &Traffic {
        &self.traffic
    }
}

const DISCOVERY: &str =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";

/// The best version of a kind, from the answer that lists all groups with their resources.
fn aggregated(groups: &Value, kind: Kind) -> Option<String> {
    let items = groups.get("items")?.as_array()?;
    let group =
        items.iter().find(|g| g.pointer("/metadata/name").and_then(Value::as_str) == Some(kind.group))?;
    let versions = group.get("versions")?.as_array()?;
    let serves = |v: &&&str| {
        let version = versions.iter().find(|s| s.get("version").and_then(Value::as_str) == Some(**v));
        let resources = version.and_then(|s| s.get("resources")?.as_array());
        resources
            .into_iter()
            .flatten()
            .any(|r| r.get("resource").and_then(Value::as_str) == Some(kind.plural))
    };
    kind.versions.iter().find(serves).map(|v| (*v).to_owned())
}

impl KubeCluster {
    /// The same from servers that only list the names of groups: one request more per group and version.
    async fn legacy(&self, groups: &Value, kind: Kind) -> Result<Option<String>, ClusterError> {
        let list = groups.get("groups").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let group = list.iter().find(|g| g.get("name").and_then(Value::as_str) == Some(kind.group));
        let versions = group.and_then(|g| g.get("versions")?.as_array()).map_or(&[][..], Vec::as_slice);
        for version in kind.versions {
            if !versions.iter().any(|v| v.get("version").and_then(Value::as_str) == Some(version)) {
                continue;
            }
            let call = Call { verb: "discover", kind, namespace: "", name: "" };
            let found = self.request(&call, &format!("/apis/{}/{version}", kind.group), None).await?;
            let resources = found.get("resources").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            if resources.iter().any(|r| r.get("name").and_then(Value::as_str) == Some(kind.plural)) {
                return Ok(Some((*version).to_owned()));
            }
        }
        Ok(None)
    }
}

/// What was tried, for errors.
struct Call<'a> {
    verb: &'static str,
    kind: Kind,
    namespace: &'a str,
    name: &'a str,
}

impl Call<'_> {
    fn what(&self) -> String {
        if self.verb == "discover" {
            return "asking the API server what it serves".to_owned();
        }
        let of = if self.name.is_empty() {
            String::new()
        } else {
            format!(" {}", self.kind.at(self.namespace, self.name))
        };
        let place = if self.name.is_empty() { format!(" {}", self.kind.resource()) } else { String::new() };
        format!("{}{place}{of}", self.verb)
    }

    fn transient(&self, why: &str, after: Option<u64>) -> ClusterError {
        ClusterError::Transient { what: self.what(), why: why.to_owned(), after }
    }

    fn failed(&self, status: &Status) -> ClusterError {
        let object = self.kind.at(self.namespace, self.name).to_string();
        let details = status.details.as_ref();
        let retry = details.map(|d| u64::from(d.retry_after_seconds)).filter(|s| *s > 0);
        match status.code {
            401 => ClusterError::Other("the cluster does not accept the credentials".to_owned()),
            // What is about an owner of the object is a right of another name: the server says which.
            403 if status.message.contains("blockOwnerDeletion") => {
                ClusterError::Refused { what: self.what(), why: status.message.clone() }
            }
            403 if status.message.contains(" cannot ") || status.message.is_empty() => {
                ClusterError::Forbidden {
                    verb: if self.verb == "discover" { "get" } else { self.verb },
                    resource: if self.verb == "discover" { "/apis".to_owned() } else { self.kind.resource() },
                    namespace: if self.kind.namespaced { self.namespace.to_owned() } else { String::new() },
                }
            }
            404 if status.reason == "NotFound"
                && details.is_some_and(|d| !d.name.is_empty() && d.name == self.name) =>
            {
                ClusterError::NotFound(object)
            }
            404 if status.reason == "NotFound"
                && details.is_some_and(|d| d.kind == "namespaces" && !d.name.is_empty()) =>
            {
                ClusterError::NoNamespace(self.namespace.to_owned())
            }
            404 => ClusterError::NotServed(self.kind.resource()),
            409 if status.reason == "AlreadyExists" => ClusterError::Exists(object),
            409 => ClusterError::Conflict(object),
            410 => self.transient(EXPIRED, None),
            408 | 429 | 500..=599 => {
                let why = if status.message.is_empty() {
                    format!("HTTP {}", status.code)
                } else {
                    status.message.clone()
                };
                self.transient(&why, retry)
            }
            _ => ClusterError::Refused { what: self.what(), why: status.message.clone() },
        }
    }
}

/// An error with all its causes: the innermost one is what a person needs.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let inner_text = inner.to_string();
        if !text.contains(&inner_text) {
            text.push_str(": ");
            text.push_str(&inner_text);
        }
        cause = inner.source();
    }
    text
}

/// Escapes a name for a path, or a continue token for a query.
fn escape(text: &str) -> String {
    use std::fmt::Write;
    text.bytes().fold(String::new(), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
        out
    })
}
