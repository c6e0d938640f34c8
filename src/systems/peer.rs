//! Signs that another controller is at work: its Deployment, or the Lease that it keeps fresh.

use crate::ledger::NAMESPACE;
use crate::model::{DEPLOYMENT, LEASE, Object, ObjectRef, Observed, Sign, parse_timestamp};
use serde_json::Value;

/// The Deployment with this sign that runs, if there is one.
pub(super) fn deployed(observed: &Observed, sign: Sign) -> Option<ObjectRef> {
    let found = observed.all(DEPLOYMENT).filter(|d| sign.is_on(d)).find(|d| runs(d))?;
    Some(DEPLOYMENT.at(found.namespace(), found.name()))
}

/// Is a Deployment to have any pods?
pub(crate) fn runs(deployment: &Object) -> bool {
    deployment.at("/spec/replicas").and_then(Value::as_u64).unwrap_or(1) > 0
}

/// The Lease with this sign that somebody holds, if there is one. One beside the ledger is mipam's own, whatever a
/// person calls it.
pub(super) fn leased(observed: &Observed, sign: Sign) -> Option<ObjectRef> {
    let found = observed
        .all(LEASE)
        .filter(|l| sign.is_on(l) && l.namespace() != NAMESPACE)
        .find(|l| fresh(l, observed))?;
    Some(LEASE.at(found.namespace(), found.name()))
}

fn fresh(lease: &Object, observed: &Observed) -> bool {
    let held = lease.text("/spec/holderIdentity").is_some_and(|h| !h.is_empty());
    let renewed = lease.text("/spec/renewTime").and_then(parse_timestamp);
    let lasts = lease.at("/spec/leaseDurationSeconds").and_then(Value::as_i64).unwrap_or(60);
    held && renewed.is_some_and(|r| r.saturating_add(lasts.max(60)) > observed.now())
}
