//! A Kubernetes API as the cluster: plain requests on plain JSON, so that no field is lost on the way.

mod call;
mod discover;
mod list;
mod watch;

use super::{Answer, Cluster, ClusterError, Traffic, Watch};
use crate::ledger::{CONFIG_MAP, LABEL, NAMESPACE};
use crate::model::{EVENT, Feed, Kind, LEASE, Listed, Object, ObjectRef};
use call::{Call, chain, escape, unread};
use http::{Method, Request};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

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
    /// Its address, for the one who has named another one than was meant; may be empty.
    server: String,
    /// For watches: an answer that goes on for minutes is no sign of trouble there.
    watcher: kube::Client,
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
        let server = access.server.as_ref().map(|server| {
            server.parse::<http::Uri>().map_err(|e| problem(&format!("--apiserver {server}: {e}")))
        });
        let server = server.transpose()?;
        let mut config = match (&access.kubeconfig, &access.context) {
            (Some(path), _) => {
                let file = kube::config::Kubeconfig::read_from(path).map_err(|e| problem(&unread(&e)))?;
                kube::Config::from_custom_kubeconfig(file, &options)
                    .await
                    .map_err(|e| problem(&unread(&e)))?
            }
            (None, Some(_)) => {
                kube::Config::from_kubeconfig(&options).await.map_err(|e| problem(&unread(&e)))?
            }
            (None, None) => match (kube::Config::infer().await, &server) {
                (Ok(config), _) => config,
                // Where nothing says who this is, a server that needs not know may answer all the same.
                (Err(_), Some(url)) if !configured() => kube::Config::new(url.clone()),
                (Err(e), _) => {
                    return Err(match std::error::Error::source(&e) {
                        // Outside of a pod only the kubeconfig is to blame.
                        Some(why) if std::env::var_os("KUBERNETES_SERVICE_HOST").is_none() => {
                            problem(&unread(why))
                        }
                        _ => problem(&chain(&e)),
                    });
                }
            },
        };
        if let Some(url) = server {
            config.cluster_url = url;
        }
        // mipam bounds and repeats requests itself; the library's own way may take minutes.
        config.default_retry = false;
        config.connect_timeout = Some(access.timeout);
        config.read_timeout = Some(access.timeout);
        config.write_timeout = Some(access.timeout);
        // How long a connection was idle before is not held against the next answer.
        config.reset_reader_on_write = true;
        let server = config.cluster_url.to_string().trim_end_matches('/').to_owned();
        let mut patient = config.clone();
        patient.read_timeout = None;
        let client = kube::Client::try_from(config).map_err(|e| problem(&chain(&e)))?;
        let watcher = kube::Client::try_from(patient).map_err(|e| problem(&chain(&e)))?;
        Ok(Self { server, watcher, ..Self::new(client, access.timeout) })
    }

    /// Uses a client that exists.
    pub fn new(client: kube::Client, timeout: Duration) -> Self {
        let watcher = client.clone();
        let (versions, traffic) = (Mutex::default(), Traffic::default());
        Self { client, server: String::new(), watcher, timeout, versions, traffic }
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

    async fn request<T: DeserializeOwned>(
        &self,
        call: &Call<'_>,
        path: &str,
        body: Option<&Value>,
    ) -> Result<T, ClusterError> {
        let method = match call.verb {
            "create" => Method::POST,
            "update" => Method::PUT,
            "delete" => Method::DELETE,
            _ => Method::GET,
        };
        if call.kind == EVENT || call.kind == LEASE {
            // They change nothing that anybody's addresses depend on.
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
            request = request.header(http::header::ACCEPT, discover::ACCEPT);
        }
        let request =
            request.body(bytes.unwrap_or_default()).map_err(|e| ClusterError::Other(e.to_string()))?;
        match tokio::time::timeout(self.timeout, self.client.request::<T>(request)).await {
            Ok(answer) => answer.map_err(|e| {
                let error = call.lost(e);
                // An Event that is there was said before, and a Lease that was taken is no address.
                let counts = call.kind != EVENT && call.kind != LEASE;
                if counts && matches!(error, ClusterError::Conflict(_) | ClusterError::Exists(_)) {
                    self.traffic.conflict();
                }
                error
            }),
            Err(_) => Err(call.late(self.timeout)),
        }
    }
}

/// What is sent in place of an object of mipam's own: nobody else sets fields of it, so the server need not keep account
/// of who has set which. For a full page of the ledger that is a third of what the write costs.
fn untracked(kind: Kind, object: &Object) -> Option<Value> {
    if kind != CONFIG_MAP || object.namespace() != NAMESPACE || object.label(LABEL.0) != Some(LABEL.1) {
        return None;
    }
    let mut body = object.clone();
    // One empty entry is how the server is told; an empty list would mean that nothing is said about it.
    body.ensure_object(&["metadata"]).insert("managedFields".to_owned(), json!([{}]));
    Some(body.0)
}

/// Is there anything that says who this is?
fn configured() -> bool {
    let set = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty());
    let home = set("HOME").is_some_and(|home| PathBuf::from(home).join(".kube/config").exists());
    home || ["KUBECONFIG", "KUBERNETES_SERVICE_HOST"].into_iter().any(|name| set(name).is_some())
}

impl Cluster for KubeCluster {
    fn served<'a>(&'a self, kinds: &'a [Kind]) -> Answer<'a, Vec<Kind>> {
        Box::pin(self.discover(kinds))
    }

    fn list(&self, feed: Feed) -> Answer<'_, Vec<Listed>> {
        Box::pin(async move { self.list_all(feed, feed.namespace).await.map(|(objects, _)| objects) })
    }

    fn list_within<'a>(&'a self, kind: Kind, namespace: &'a str) -> Answer<'a, Vec<Listed>> {
        Box::pin(async move { self.list_all(Feed::all(kind), namespace).await.map(|(objects, _)| objects) })
    }

    fn get<'a>(&'a self, target: &'a ObjectRef) -> Answer<'a, Object> {
        Box::pin(async move {
            let call =
                Call { verb: "get", kind: target.kind, namespace: &target.namespace, name: &target.name };
            let path = self.path(target.kind, &target.namespace, &target.name);
            self.request(&call, &path, None).await.map(|answer| list::trimmed(target.kind, answer))
        })
    }

    fn watch(&self, feed: Feed) -> Watch<'_> {
        watch::follow(self, feed)
    }

    fn create<'a>(&'a self, kind: Kind, object: &'a Object) -> Answer<'a, Object> {
        Box::pin(async move {
            let call = Call { verb: "create", kind, namespace: object.namespace(), name: object.name() };
            let path = self.path(kind, object.namespace(), "");
            self.request(&call, &path, Some(&object.0)).await.map(|answer| list::trimmed(kind, answer))
        })
    }

    fn replace<'a>(&'a self, kind: Kind, object: &'a Object) -> Answer<'a, Object> {
        Box::pin(async move {
            let call = Call { verb: "update", kind, namespace: object.namespace(), name: object.name() };
            let path = self.path(kind, object.namespace(), object.name());
            let own = untracked(kind, object);
            let body = own.as_ref().unwrap_or(&object.0);
            self.request(&call, &path, Some(body)).await.map(|answer| list::trimmed(kind, answer))
        })
    }

    fn replace_status<'a>(&'a self, kind: Kind, object: &'a Object) -> Answer<'a, Object> {
        Box::pin(async move {
            let call = Call { verb: "update", kind, namespace: object.namespace(), name: object.name() };
            let path = format!("{}/status", self.path(kind, object.namespace(), object.name()));
            self.request(&call, &path, Some(&object.0)).await.map(|answer| list::trimmed(kind, answer))
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
