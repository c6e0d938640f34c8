//! A scenario on the real API server; writes are counted there.

use super::{Stage, Target};
use crate::bed::audit::Mark;
use crate::bed::{self, Locked, Profile};
use crate::deploy::rights;
use serde_json::{Value, json};

pub const HOLD: &str = "test.mipam.io/hold";

/// The account that mipam has here: it may do what the manifests say, and no more.
const ACCOUNT: &str = "mipam";

pub struct Api {
    bed: Locked<'static>,
    mark: Mark,
}

impl Api {
    /// With the rights that the manifests give.
    pub fn new(profile: Profile) -> Self {
        Self::with(profile, &rights::granted())
    }

    /// With the rights of these roles.
    pub fn with(profile: Profile, roles: &str) -> Self {
        let bed = bed::shared(profile).lock();
        // Namespaces outlive a wipe; made here, the first scenario has as many writes as the others.
        bed.namespace("mipam-system");
        bed.grant(ACCOUNT, roles);
        let mark = bed.mark();
        Self { bed, mark }
    }
}

impl Stage for Api {
    fn create(&mut self, yaml: &str) {
        self.bed.create(yaml);
    }

    fn delete(&mut self, target: &Target, hold: bool) {
        let (api, kind, namespace, name) =
            (target.api_version(), &target.kind, &target.namespace, &target.name);
        if hold {
            self.bed.merge(api, kind, namespace, name, &json!({ "metadata": { "finalizers": [HOLD] } }));
        }
        self.bed.delete(api, kind, namespace, name);
    }

    fn merge(&mut self, target: &Target, patch: &Value) {
        self.bed.merge(target.api_version(), &target.kind, &target.namespace, &target.name, patch);
    }

    fn arguments(&self) -> Vec<String> {
        vec!["--kubeconfig".to_owned(), self.bed.kubeconfig(ACCOUNT).display().to_string()]
    }

    fn objects(&self) -> Vec<Value> {
        let kinds = super::COMPARED.iter();
        let mut found: Vec<Value> =
            kinds.flat_map(|(version, kind)| self.bed.list_if_served(version, kind)).collect();
        let maps = self.bed.list("v1", "ConfigMap");
        found.extend(maps.into_iter().filter(|m| m["metadata"]["namespace"] == "mipam-system"));
        found
    }

    fn begin(&mut self) {
        self.mark = self.bed.mark();
    }

    fn writes(&self) -> Option<(usize, usize)> {
        let mut writes = self.bed.writes_since(self.mark, ACCOUNT);
        // They change nothing.
        writes.retain(|w| w.resource != "events");
        let of = |resource: &str| writes.iter().filter(|w| w.resource == resource).count();
        let served = [
            "machines",
            "elfmachines",
            "ipclaims",
            "ipaddresses",
            "ippools",
            "ipaddressclaims",
            "inclusterippools",
            "globalinclusterippools",
            "nodes",
            "clustercidrs",
            "ipamclaims",
        ];
        let machines = served.map(of).iter().sum();
        assert_eq!(
            machines + of("configmaps") + of("namespaces"),
            writes.len(),
            "writes to something else: {writes:?}"
        );
        Some((machines, of("configmaps")))
    }
}
