//! Who may do what: tokens, kubeconfig files and grants.

use super::rest::{self, Verdict};
use super::{Bed, documents, eventually};
use serde_json::{Value, json};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Accounts that may do anything.
pub const ADMIN: &str = "admin";
pub const CONTROLLERS: &str = "controllers";

/// Accounts that may do nothing but discovery until [`Bed::grant`] says more. The server reads them when it
/// starts, so a new one is added here.
pub const RESTRICTED: [&str; 4] = ["mipam", "reader", "writer", "nobody"];

/// All accounts.
pub fn all() -> impl Iterator<Item = &'static str> {
    [ADMIN, CONTROLLERS].into_iter().chain(RESTRICTED)
}

/// A token for each account, that nobody else on this machine can guess.
pub struct Tokens(Vec<(&'static str, String)>);

impl Tokens {
    pub fn make() -> Self {
        let random = || RandomState::new().build_hasher().finish();
        Self(all().map(|account| (account, format!("{:016x}{:016x}", random(), random()))).collect())
    }

    /// The file that the server reads: token, user, uid, groups.
    pub fn csv(&self) -> String {
        self.0.iter().fold(String::new(), |csv, (account, token)| {
            let group = if RESTRICTED.contains(account) { "" } else { ",system:masters" };
            csv + &format!("{token},{account},{account}{group}\n")
        })
    }

    /// Writes one kubeconfig file per account into `dir`.
    pub fn write_kubeconfigs(&self, dir: &Path, url: &str, ca: &Path) {
        for (account, token) in &self.0 {
            let config = json!({
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{"name": "bed", "cluster": {"server": url, "certificate-authority": ca}}],
                "users": [{"name": account, "user": {"token": token}}],
                "contexts": [{"name": "bed", "context": {"cluster": "bed", "user": account}}],
                "current-context": "bed",
            });
            std::fs::write(kubeconfig(dir, account), config.to_string()).expect("a kubeconfig file");
        }
    }
}

pub fn kubeconfig(dir: &Path, account: &str) -> PathBuf {
    dir.join(format!("{account}.kubeconfig"))
}

/// What one role with its binding is, so that it can be taken back.
pub struct Grant {
    paths: [String; 2],
    /// Asks the server whether the account has the role's marker.
    review: Value,
}

impl Grant {
    /// Waits until the authorizer has heard of it; its caches trail the writes.
    async fn settle(&self, client: &kube::Client, wanted: bool) {
        eventually("the authorizer to follow", Duration::from_secs(30), async || {
            let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
            let review = rest::send(client, "POST", path, &self.review).await.must("review access");
            (review["status"]["allowed"].as_bool() == Some(wanted)).then_some(())
        })
        .await;
    }
}

impl Bed {
    /// The kubeconfig file of an account.
    pub fn kubeconfig(&self, account: &str) -> PathBuf {
        let path = kubeconfig(self.dir(), account);
        assert!(path.is_file(), "no account {account}: add it to accounts::RESTRICTED");
        path
    }

    /// Gives an account the rules of every `ClusterRole` and `Role` in a YAML text, and returns when they
    /// hold. All else in the text is left out, so that manifests for users can be passed as they are.
    pub fn grant(&self, account: &str, yaml: &str) {
        static MARKERS: AtomicU64 = AtomicU64::new(0);
        let roles: Vec<Value> = documents(yaml)
            .into_iter()
            .filter(|doc| matches!(doc["kind"].as_str(), Some("ClusterRole" | "Role")))
            .collect();
        assert!(!roles.is_empty(), "no ClusterRole or Role in:\n{yaml}");
        for mut role in roles {
            let kind = role["kind"].as_str().expect("a kind").to_owned();
            let number = MARKERS.fetch_add(1, Ordering::Relaxed);
            let name = format!("bed-{account}-{number}");
            let mut metadata = json!({"name": name});
            let mut root = "/apis/rbac.authorization.k8s.io/v1".to_owned();
            let mut attributes =
                json!({"group": "test.mipam.io", "resource": format!("marker{number}"), "verb": "get"});
            if kind == "Role" {
                let namespace =
                    role["metadata"]["namespace"].as_str().expect("the role's namespace").to_owned();
                self.namespace(&namespace);
                root = format!("{root}/namespaces/{namespace}");
                metadata["namespace"] = json!(namespace);
                attributes["namespace"] = json!(namespace);
            }
            role["apiVersion"] = json!("rbac.authorization.k8s.io/v1");
            role["metadata"] = metadata.clone();
            let rules = role["rules"].as_array_mut().expect("rules");
            rules.push(
                json!({"apiGroups": ["test.mipam.io"], "resources": [attributes["resource"]], "verbs": ["get"]}),
            );
            let binding = json!({
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": format!("{kind}Binding"),
                "metadata": metadata,
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name},
                "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": account}],
            });
            let plural = kind.to_lowercase();
            let grant = Grant {
                paths: [format!("{root}/{plural}bindings/{name}"), format!("{root}/{plural}s/{name}")],
                review: json!({
                    "apiVersion": "authorization.k8s.io/v1",
                    "kind": "SubjectAccessReview",
                    "spec": {"user": account, "resourceAttributes": attributes},
                }),
            };
            self.block_on(async {
                let client = self.client(ADMIN);
                rest::send(&client, "POST", &format!("{root}/{plural}s"), &role).await.must("make a role");
                rest::send(&client, "POST", &format!("{root}/{plural}bindings"), &binding)
                    .await
                    .must("bind a role");
                grant.settle(&client, true).await;
            });
            self.grants.lock().expect("grants").push(grant);
        }
    }

    /// Takes back all that was granted, and returns when it no longer holds.
    pub async fn revoke_all(&self) {
        let grants = std::mem::take(&mut *self.grants.lock().expect("grants"));
        let client = self.client(ADMIN);
        for grant in &grants {
            for path in &grant.paths {
                rest::delete(&client, path).await.must_or_gone("take back a grant");
            }
            grant.settle(&client, false).await;
        }
    }
}
