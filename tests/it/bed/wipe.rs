//! A shared server in one test's hands at a time, as empty as a new one.

use super::Bed;
use futures_util::future::{join, join_all};
use serde_json::Value;
use std::sync::{MutexGuard, PoisonError};

/// Kinds of Kubernetes itself that tests leave behind.
const BUILT_IN: [(&str, &str); 15] = [
    ("v1", "Node"),
    ("v1", "ConfigMap"),
    ("v1", "Secret"),
    ("v1", "Event"),
    ("v1", "Pod"),
    ("v1", "ServiceAccount"),
    ("apps/v1", "Deployment"),
    ("batch/v1", "Job"),
    ("batch/v1", "CronJob"),
    ("coordination.k8s.io/v1", "Lease"),
    ("networking.k8s.io/v1", "ServiceCIDR"),
    ("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration"),
    ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"),
    ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding"),
    ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy"),
];

/// The bed, for the one who holds this.
pub struct Locked<'a> {
    bed: &'a Bed,
    _turn: MutexGuard<'a, ()>,
}

impl std::ops::Deref for Locked<'_> {
    type Target = Bed;

    fn deref(&self) -> &Bed {
        self.bed
    }
}

impl Bed {
    /// Waits for its turn, then wipes the server: custom objects, Nodes, what tests leave in namespaces, and
    /// grants. CRDs stay, and so do namespaces: their controller would still be emptying an old one while the
    /// next test fills its successor.
    pub fn lock(&self) -> Locked<'_> {
        // A test that panicked leaves nothing that the wipe does not remove.
        let turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        self.block_on(self.wipe());
        Locked { bed: self, _turn: turn }
    }

    async fn wipe(&self) {
        let customs: Vec<_> = self.customs.lock().expect("customs").values().cloned().collect();
        // Webhooks and policies of a test would stand in the way of all that follows.
        let (hooks, others): (Vec<_>, Vec<_>) =
            BUILT_IN.iter().partition(|(version, _)| version.starts_with("admissionregistration"));
        let built_in = async |kinds: Vec<&(&str, &str)>| {
            let sweeps = kinds.into_iter().map(async |(api_version, kind)| {
                let kind = self.kind(api_version, kind).await;
                self.sweep(&kind, |item| !of_the_system(&item["metadata"])).await;
            });
            join_all(sweeps).await
        };
        built_in(hooks).await;
        let custom = join_all(customs.iter().map(|kind| self.sweep(kind, |_| true)));
        join(built_in(others), custom).await;
        self.revoke_all().await;
    }
}

/// What the server itself has made, such as the ServiceCIDR named kubernetes.
fn of_the_system(metadata: &Value) -> bool {
    let starts = |key: &str, with: &str| metadata[key].as_str().is_some_and(|text| text.starts_with(with));
    starts("namespace", "kube-") || metadata["namespace"].is_null() && starts("name", "kubernetes")
}
