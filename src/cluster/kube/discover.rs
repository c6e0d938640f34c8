//! Which kinds the server serves, and in which version.

use super::KubeCluster;
use super::call::Call;
use crate::cluster::ClusterError;
use crate::model::Kind;
use serde_json::Value;

/// Asks for all groups with their resources in one answer.
pub(super) const ACCEPT: &str =
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
    /// The kinds among these that are served; from then on they are read in the best version there is.
    pub(super) async fn discover(&self, kinds: &[Kind]) -> Result<Vec<Kind>, ClusterError> {
        let kind = crate::ledger::NAMESPACE_KIND;
        let call = Call { verb: "discover", kind, namespace: "", name: &self.server };
        let groups: Value = self.request(&call, "/apis", None).await?;
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
    }

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
            let found: Value = self.request(&call, &format!("/apis/{}/{version}", kind.group), None).await?;
            let resources = found.get("resources").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            if resources.iter().any(|r| r.get("name").and_then(Value::as_str) == Some(kind.plural)) {
                return Ok(Some((*version).to_owned()));
            }
        }
        Ok(None)
    }
}
