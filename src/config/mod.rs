//! `ipam-config.yaml` and flags to a [`Config`], with errors that name file, line and key.

use crate::addr::Span;
use crate::model::Pool;

/// All that a person has configured, checked.
#[derive(Clone, Debug)]
pub struct Config {
    /// Pools in the order in which they are tried.
    pub pools: Vec<Pool>,
    /// The hook that marks OpenShift machines as ours; without one no OpenShift machine is served.
    pub lifecycle_hook: Option<Hook>,
    /// Where the nmstate document goes.
    pub nmstate_target: NmstateTarget,
    /// Never part of a node's block.
    pub service_cidrs: Vec<Span>,
    /// Systems that are served although another allocator for them is visible.
    pub beside_peer: Vec<String>,
    /// Who serves metal3 pools.
    pub metal3: Metal3,
    /// Pool kinds that are served, as `Kind` or `Kind.group`; `None`: all for which no peer is visible.
    pub serve_pools: Option<Vec<String>>,
    /// Systems that are served; `None`: all whose kinds are there.
    pub systems: Option<Vec<String>>,
    /// Things that are legal but odd, for stderr.
    pub warnings: Vec<String>,
}

/// Name and owner of a lifecycle hook: both must be equal for it to be ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook {
    /// `ipamController`
    pub name: String,
    /// `network-admin`
    pub owner: String,
}

/// Where the nmstate document of a machine goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NmstateTarget {
    /// Annotation `mipam.io/nmstate`.
    #[default]
    Annotation,
    /// `devices[i].config`, where the first prototype put it.
    DeviceConfig,
}

/// Who serves metal3 pools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Metal3 {
    /// mipam.
    Serve,
    /// A metal3 controller; mipam waits for it.
    Defer,
    /// mipam, unless a metal3 controller is visible.
    #[default]
    Auto,
}
