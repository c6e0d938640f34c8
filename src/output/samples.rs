//! Reports for the tests of the renderers.

use super::Look;
use crate::cli::Format;
use crate::model::{
    Allocated, AllocationReport, CapacityReport, ClaimLine, PendingLine, PoolLine, Problem, Reason,
    ReconcileReport, StatusReport,
};

pub(super) fn look(format: Format) -> Look {
    Look { format, ..Look::default() }
}

pub(super) fn machine(name: &str, device: &str, address: &str) -> Allocated {
    Allocated {
        system: "openshift".into(),
        kind: "Machine".into(),
        namespace: "openshift-machine-api".into(),
        name: name.into(),
        device: device.into(),
        pool: "lab".into(),
        address: address.into(),
        network: String::new(),
    }
}

pub(super) fn hold(name: &str, address: &str) -> Allocated {
    Allocated {
        system: "hold".into(),
        kind: "Hold".into(),
        name: name.into(),
        pool: "dmz".into(),
        address: address.into(),
        network: "dmz".into(),
        ..Allocated::default()
    }
}

pub(super) fn claim(name: &str, addresses: &[&str], wrong: &str) -> ClaimLine {
    ClaimLine {
        system: "kubevirt",
        kind: "IPAMClaim",
        namespace: "default".into(),
        name: format!("{name}.anet"),
        vm: name.into(),
        network: "tenantblue".into(),
        addresses: addresses.iter().map(ToString::to_string).collect(),
        wrong: wrong.into(),
    }
}

fn pending() -> PendingLine {
    PendingLine {
        system: "openshift".into(),
        kind: "Machine".into(),
        namespace: "openshift-machine-api".into(),
        name: "worker-9".into(),
        device: "0".into(),
        pool: "lab".into(),
        reason: Reason::PoolExhausted,
        message: "all 14 addresses of pool lab are taken".into(),
    }
}

fn problem() -> Problem {
    Problem::new(
        "Duplicate",
        &"Machine/openshift-machine-api/worker-3",
        "192.168.101.66 is also on Machine/openshift-machine-api/worker-2; change one of them",
    )
}

pub(super) fn reconcile() -> ReconcileReport {
    ReconcileReport {
        allocated: vec![
            machine("worker-0", "0", "192.168.101.65/23"),
            machine("worker-0", "1", "fd00:101::65/64"),
            machine("worker-1", "0", "192.168.101.66/23"),
        ],
        kept: 2,
        released: vec![machine("worker-7", "0", "192.168.101.70/23")],
        pending: vec![pending()],
        problems: vec![problem()],
        reads: 12,
        writes: 5,
        ..nothing_to_reconcile()
    }
}

pub(super) fn nothing_to_reconcile() -> ReconcileReport {
    ReconcileReport {
        api_version: "mipam.io/v1",
        kind: "ReconcileReport",
        dry_run: false,
        allocated: Vec::new(),
        kept: 0,
        released: Vec::new(),
        claims: Vec::new(),
        pending: Vec::new(),
        problems: Vec::new(),
        reads: 1,
        writes: 0,
    }
}

pub(super) fn pool(name: &str, total: u128, free: u128) -> PoolLine {
    PoolLine {
        name: name.into(),
        system: "config".into(),
        total,
        used: total - free,
        free,
        cooling: 0,
        reserved: 0,
        ranges: vec!["192.168.101.64/28".into()],
        network: String::new(),
        blocks: None,
    }
}

pub(super) fn huge() -> PoolLine {
    PoolLine {
        used: 3,
        cooling: 1,
        reserved: 2,
        ranges: vec!["fd00:101::/64".into(), "fd00:102::10-fd00:102::20".into()],
        network: "storage".into(),
        ..pool("six", (1 << 64) + 17, (1 << 64) + 11)
    }
}

pub(super) fn status() -> StatusReport {
    StatusReport {
        pools: vec![pool("lab", 14, 0), pool("edge", 10, 2), pool("dmz", 254, 240), huge()],
        allocations: vec![machine("worker-0", "0", "192.168.101.65/23"), hold("printer", "10.0.0.9/24")],
        pending: vec![pending()],
        problems: vec![problem()],
        ..no_pools()
    }
}

pub(super) fn no_pools() -> StatusReport {
    StatusReport {
        api_version: "mipam.io/v1",
        kind: "StatusReport",
        pools: Vec::new(),
        allocations: Vec::new(),
        claims: Vec::new(),
        pending: Vec::new(),
        problems: Vec::new(),
    }
}

pub(super) fn allocation(allocated: Vec<Allocated>, released: Vec<Allocated>) -> AllocationReport {
    AllocationReport { api_version: "mipam.io/v1", kind: "AllocationReport", allocated, released }
}

pub(super) fn capacity(need: u128, free: u128) -> CapacityReport {
    CapacityReport {
        api_version: "mipam.io/v1",
        kind: "CapacityReport",
        fits: need <= free,
        need,
        free,
        short: need.saturating_sub(free),
        pools: Vec::new(),
        messages: Vec::new(),
    }
}
