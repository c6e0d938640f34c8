//! Every word of the config: the keys of each level and the names of systems.

/// Systems that can be named in the config.
pub const SYSTEMS: [&str; 6] = ["openshift", "kubermatic", "elf", "nodes", "kubevirt", "capi"];

/// Those that have no pools but the ones of a configuration.
pub(super) const CONFIGURED: [&str; 2] = ["openshift", "kubermatic"];

pub(super) const ROOT: &str = "ipam-config";

/// The seed's form with one range.
pub(super) const SINGLE: [&str; 3] = ["ip-range-cidr", "prefix", "default-gateway"];

/// The seed's form with one range for each family.
pub(super) const DUAL: [&str; 6] =
    ["ipv4-range-cidr", "ipv4-prefix", "ipv4-gateway", "ipv6-range-cidr", "ipv6-prefix", "ipv6-gateway"];

/// Below the root.
pub(super) const CONFIG: [&str; 18] = [
    "pools",
    "lifecycle-hook",
    "systems",
    "service-cidrs",
    "beside-peer",
    "nmstate-target",
    "metal3",
    "serve-pools",
    "ip-range-cidr",
    "prefix",
    "default-gateway",
    "nameserver",
    "ipv4-range-cidr",
    "ipv4-prefix",
    "ipv4-gateway",
    "ipv6-range-cidr",
    "ipv6-prefix",
    "ipv6-gateway",
];

pub(super) const POOL: [&str; 12] = [
    "name",
    "ranges",
    "prefix",
    "gateway",
    "nameservers",
    "search-domains",
    "exclude",
    "reserved",
    "reuse-after",
    "interface",
    "network",
    "match",
];

pub(super) const MATCH: [&str; 4] = ["systems", "namespaces", "networks", "labels"];

pub(super) const HOOK: [&str; 2] = ["name", "owner"];

/// Pool kinds that mipam knows today; others in `serve-pools` are odd, not wrong.
pub(super) const POOL_KINDS: [&str; 5] = [
    "InClusterIPPool.ipam.cluster.x-k8s.io",
    "GlobalInClusterIPPool.ipam.cluster.x-k8s.io",
    "IPPool.ipamcontroller.openshift.io",
    "IPPool.ipam.metal3.io",
    "Pool.mipam.io",
];

/// Interface names by device, as vSphere's virtual hardware numbers them.
pub(super) const INTERFACES: [&str; 4] = ["ens192", "ens224", "ens256", "ens161"];
