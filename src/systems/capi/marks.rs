//! The finalizers by which claims and records are held: those of the controller whose pools they are from, so that
//! either can let go what the other has held.

use super::METAL3_POOL;
use crate::model::Kind;

/// Finalizers.
#[derive(Debug)]
pub(super) struct Marks {
    /// On claims.
    pub(super) claim: &'static str,
    /// On records.
    pub(super) record: &'static str,
}

/// What the in-cluster provider puts there, and whoever follows it.
const IN_CLUSTER: Marks =
    Marks { claim: "ipam.cluster.x-k8s.io/ReleaseAddress", record: "ipam.cluster.x-k8s.io/ProtectAddress" };

/// What metal3 puts there.
const METAL3: Marks = Marks { claim: "ipam.metal3.io/ipaddressclaim", record: "ipam.metal3.io/ipaddress" };

impl Marks {
    /// Those for pools of this kind.
    pub(super) fn of(kind: Kind) -> &'static Self {
        if kind == METAL3_POOL { &METAL3 } else { &IN_CLUSTER }
    }
}
