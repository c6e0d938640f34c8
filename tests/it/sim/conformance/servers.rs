//! The two servers behind one set of calls.

use super::NAMESPACE;
use crate::bed::{Bed, rest};
use kube::Client;
use mipam::cluster::kube::KubeCluster;
use mipam::cluster::sim::{Deletion, Part, SimCluster, Verb};
use mipam::cluster::{Cluster, ClusterError, EXPIRED};
use mipam::model::{Feed, Kind, Object, ObjectRef};
use serde_json::{Value, json};
use std::io::{Read, Write};

/// An answer, or code and reason of a refusal.
pub type Reply<T> = Result<T, String>;

/// Names of objects, the version of the list, and what gets its next part.
pub type Listed = (Vec<String>, String, Option<String>);

/// The objects of a list.
fn owned(objects: Vec<mipam::model::Listed>) -> Vec<Object> {
    objects.into_iter().map(|listed| listed.glance().into_owned()).collect()
}

pub trait Server {
    fn create(&self, kind: Kind, object: &Object) -> Reply<Object>;
    fn replace(&self, kind: Kind, object: &Object, part: Part) -> Reply<Object>;
    fn patch(&self, target: &ObjectRef, part: Part, patch: &Value) -> Reply<Object>;
    fn delete(&self, target: &ObjectRef, how: &Deletion) -> Reply<()>;
    fn get(&self, target: &ObjectRef) -> Reply<Object>;
    fn list(&self, kind: Kind) -> Vec<Object>;
    fn page(&self, kind: Kind, limit: usize, token: Option<&str>) -> Reply<Listed>;
    fn watch(&self, kind: Kind, since: &str) -> Reply<Vec<(String, Object)>>;
    /// Earlier versions are forgotten.
    fn compact(&self);
    /// Goes on with a list that began at the very first version.
    fn ancient_token(&self) -> String;
}

fn told<T>(answer: Result<T, ClusterError>) -> Reply<T> {
    answer.map_err(|error| match error {
        ClusterError::NotFound(_) => "404 NotFound".to_owned(),
        ClusterError::Conflict(_) => "409 Conflict".to_owned(),
        ClusterError::Exists(_) => "409 AlreadyExists".to_owned(),
        ClusterError::Refused { .. } => "422 Invalid".to_owned(),
        ClusterError::Transient { why, .. } if why == EXPIRED => "410 Expired".to_owned(),
        other => other.to_string(),
    })
}

impl Server for SimCluster {
    fn create(&self, kind: Kind, object: &Object) -> Reply<Object> {
        told(now(Cluster::create(self, kind, object)))
    }

    fn replace(&self, kind: Kind, object: &Object, part: Part) -> Reply<Object> {
        told(match part {
            Part::Main => now(Cluster::replace(self, kind, object)),
            Part::Status => self.replace_status(kind, object),
        })
    }

    fn patch(&self, target: &ObjectRef, part: Part, patch: &Value) -> Reply<Object> {
        told(SimCluster::patch(self, target, part, patch))
    }

    fn delete(&self, target: &ObjectRef, how: &Deletion) -> Reply<()> {
        told(self.delete_if(target, how))
    }

    fn get(&self, target: &ObjectRef) -> Reply<Object> {
        told(now(Cluster::get(self, target)))
    }

    fn list(&self, kind: Kind) -> Vec<Object> {
        owned(now(Cluster::list(self, Feed::within(kind, NAMESPACE))).unwrap())
    }

    fn page(&self, kind: Kind, limit: usize, token: Option<&str>) -> Reply<Listed> {
        let page = told(SimCluster::page(self, kind, NAMESPACE, limit, token))?;
        Ok((page.items.iter().map(|o| o.name().to_owned()).collect(), page.version, page.next))
    }

    fn watch(&self, kind: Kind, since: &str) -> Reply<Vec<(String, Object)>> {
        let events = told(SimCluster::watch(self, kind, NAMESPACE, since.parse().unwrap()))?;
        let verb = |verb| match verb {
            Verb::Added => "ADDED",
            Verb::Modified => "MODIFIED",
            Verb::Deleted => "DELETED",
        };
        Ok(events.iter().map(|e| (verb(e.verb).to_owned(), (*e.object).clone())).collect())
    }

    fn compact(&self) {
        SimCluster::compact(self);
    }

    fn ancient_token(&self) -> String {
        format!("1 {NAMESPACE}/c0")
    }
}

/// The simulation never waits.
fn now<T>(answer: impl Future<Output = T>) -> T {
    use futures_util::FutureExt as _;
    answer.now_or_never().expect("an answer at once")
}

/// The API server of the test bed: the calls of mipam by its own client, the others as they are.
pub struct Real<'a> {
    pub bed: &'a Bed,
    pub kube: KubeCluster,
    pub client: Client,
}

impl Real<'_> {
    fn path(&self, kind: Kind, name: &str, part: Part) -> String {
        let api = if kind.group.is_empty() {
            "/api/v1".to_owned()
        } else {
            format!("/apis/{}/{}", kind.group, kind.versions[0])
        };
        let name = if name.is_empty() { String::new() } else { format!("/{name}") };
        let part = if part == Part::Status { "/status" } else { "" };
        format!("{api}/namespaces/{NAMESPACE}/{}{name}{part}", kind.plural)
    }

    fn plain<T>(&self, call: impl Future<Output = kube::Result<T>>) -> Reply<T> {
        self.bed.block_on(call).map_err(|error| match error {
            kube::Error::Api(status) => format!("{} {}", status.code, status.reason),
            other => other.to_string(),
        })
    }
}

impl Server for Real<'_> {
    fn create(&self, kind: Kind, object: &Object) -> Reply<Object> {
        told(self.bed.block_on(self.kube.create(kind, object)))
    }

    fn replace(&self, kind: Kind, object: &Object, part: Part) -> Reply<Object> {
        if part == Part::Main {
            return told(self.bed.block_on(self.kube.replace(kind, object)));
        }
        let path = self.path(kind, object.name(), part);
        self.plain(rest::send(&self.client, "PUT", &path, &object.0)).map(Object)
    }

    fn patch(&self, target: &ObjectRef, part: Part, patch: &Value) -> Reply<Object> {
        let path = self.path(target.kind, &target.name, part);
        self.plain(rest::merge(&self.client, &path, patch)).map(Object)
    }

    fn delete(&self, target: &ObjectRef, how: &Deletion) -> Reply<()> {
        let path = self.path(target.kind, &target.name, Part::Main);
        let policy = if how.orphan { "Orphan" } else { "Background" };
        let mut conditions = json!({});
        for (key, wanted) in [("uid", &how.uid), ("resourceVersion", &how.version)] {
            if let Some(wanted) = wanted {
                conditions[key] = json!(wanted);
            }
        }
        let options = json!({
            "apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": policy, "preconditions": conditions,
        });
        self.plain(rest::send(&self.client, "DELETE", &path, &options)).map(drop)
    }

    fn get(&self, target: &ObjectRef) -> Reply<Object> {
        told(self.bed.block_on(self.kube.get(target)))
    }

    fn list(&self, kind: Kind) -> Vec<Object> {
        owned(self.bed.block_on(self.kube.list(Feed::within(kind, NAMESPACE))).unwrap())
    }

    fn page(&self, kind: Kind, limit: usize, token: Option<&str>) -> Reply<Listed> {
        let base = self.path(kind, "", Part::Main);
        let token = token.map(|t| format!("&continue={t}")).unwrap_or_default();
        let page = self.plain(rest::get(&self.client, &format!("{base}?limit={limit}{token}")))?;
        let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
        let items = page["items"].as_array().unwrap().iter().map(|o| text(&o["metadata"]["name"])).collect();
        let next = Some(text(&page["metadata"]["continue"])).filter(|t| !t.is_empty());
        Ok((items, text(&page["metadata"]["resourceVersion"]), next))
    }

    fn watch(&self, kind: Kind, since: &str) -> Reply<Vec<(String, Object)>> {
        let base = self.path(kind, "", Part::Main);
        let path = format!("{base}?watch=true&resourceVersion={since}&timeoutSeconds=1");
        let request = http::Request::get(path).body(vec![]).unwrap();
        let text = self.plain(self.client.request_text(request))?;
        let mut events = Vec::new();
        for line in text.lines() {
            let mut event: Value = serde_json::from_str(line).unwrap();
            if event["type"] == "ERROR" {
                let status = &event["object"];
                return Err(format!("{} {}", status["code"], status["reason"].as_str().unwrap_or_default()));
            }
            events.push((event["type"].as_str().unwrap().to_owned(), Object(event["object"].take())));
        }
        Ok(events)
    }

    /// What the API server does every five minutes, in its place: its versions are those of etcd.
    fn compact(&self) {
        let now = self.bed.block_on(rest::get(&self.client, "/api/v1/namespaces?limit=1")).unwrap();
        let body = json!({ "revision": now["metadata"]["resourceVersion"] }).to_string();
        let mut socket = std::os::unix::net::UnixStream::connect(self.bed.dir().join("etcd:0")).unwrap();
        let head = format!(
            "POST /v3/kv/compaction HTTP/1.1\r\nHost: etcd\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        socket.write_all(format!("{head}{body}").as_bytes()).unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }

    /// Newer tokens are served from the server's cache for a while, whatever etcd has forgotten.
    fn ancient_token(&self) -> String {
        base64(br#"{"v":"meta.k8s.io/v1","rv":1,"start":"c0\u0000"}"#)
    }
}

/// The alphabet of URLs, without padding.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let bits = group.iter().fold(0, |bits, b| bits << 8 | u32::from(*b)) << (8 * (3 - group.len()));
        for digit in 0..=group.len() {
            text.push(char::from(DIGITS[(bits >> (18 - 6 * digit) & 63) as usize]));
        }
    }
    text
}
