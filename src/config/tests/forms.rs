//! The two short forms and the general one: what they mean.

use super::{good, one};
use crate::addr::{Family, parse_span};
use crate::config::{Hook, Metal3, NmstateTarget, empty};
use crate::model::PoolOrigin;
use std::net::IpAddr;

const SEED: &str = "ipam-config:
  ip-range-cidr: 192.168.101.64/28
  prefix: 23
  nameserver:
    - 192.168.1.215
  default-gateway: 192.168.100.1
  lifecycle-hook:
    name: ipamController
    owner: network-admin
";

const DUAL: &str = "ipam-config:
  ipv4-range-cidr: 192.168.101.64/28
  ipv4-prefix: 23
  ipv4-gateway: 192.168.100.1
  ipv6-range-cidr: fd00:101::/112
  ipv6-prefix: 64
  ipv6-gateway: fd00:101::1:1
  nameserver: [192.168.1.215, fd00::53]
  lifecycle-hook: {name: ipamController, owner: network-admin}
";

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

#[test]
fn the_seed_form_word_for_word() {
    let config = good(SEED);
    assert_eq!(config.warnings, Vec::<String>::new());
    let [pool] = &config.pools[..] else { panic!("{:?}", config.pools) };
    assert_eq!((&*pool.name, &*pool.network, pool.prefix, pool.family), ("default", "", 23, Family::V4));
    assert_eq!(pool.origin, PoolOrigin::Config);
    assert_eq!(pool.ranges, [parse_span("192.168.101.64/28").unwrap()]);
    assert_eq!(pool.gateway, Some(ip("192.168.100.1")));
    assert_eq!(pool.nameservers, [ip("192.168.1.215")]);
    assert_eq!(pool.interfaces, ["ens192", "ens224", "ens256", "ens161"]);
    assert_eq!((pool.reuse_after, pool.exclude.spans().count()), (0, 0));
    let hook = Hook { name: "ipamController".into(), owner: "network-admin".into() };
    assert_eq!(config.lifecycle_hook, Some(hook));
}

#[test]
fn the_flow_spelling_of_the_seed_form_is_the_same() {
    let flow = "ipam-config:
  ip-range-cidr: 192.168.101.64/28
  prefix: 23
  nameserver: [192.168.1.215]
  default-gateway: 192.168.100.1
  lifecycle-hook: {name: ipamController, owner: network-admin}
";
    assert_eq!(format!("{:?}", good(flow)), format!("{:?}", good(SEED)));
    let single = SEED.replace("nameserver:\n    - 192", "nameserver: 192");
    assert_eq!(format!("{:?}", good(&single)), format!("{:?}", good(SEED)));
}

#[test]
fn the_dual_stack_form_makes_two_pools() {
    let config = good(DUAL);
    assert_eq!(config.warnings, Vec::<String>::new());
    let pools: Vec<_> = config.pools.iter().map(|p| (&*p.name, p.family, p.prefix, p.gateway)).collect();
    assert_eq!(
        pools,
        [
            ("default-v4", Family::V4, 23, Some(ip("192.168.100.1"))),
            ("default-v6", Family::V6, 64, Some(ip("fd00:101::1:1"))),
        ]
    );
    for pool in &config.pools {
        assert_eq!(pool.nameservers, [ip("192.168.1.215"), ip("fd00::53")]);
    }
}

#[test]
fn a_family_that_is_left_out_is_off() {
    let lines = |wanted: &str| {
        DUAL.lines().filter(|l| !l.contains(wanted)).map(|l| format!("{l}\n")).collect::<String>()
    };
    let (v4, v6) = (good(&lines("  ipv6-")), good(&lines("  ipv4-")));
    assert_eq!((v4.pools.len(), &*v4.pools[0].name), (1, "default-v4"));
    assert_eq!((v6.pools.len(), &*v6.pools[0].name), (1, "default-v6"));
}

#[test]
fn a_wrong_name_server_is_told_once_for_both_families() {
    assert_eq!(one(&DUAL.replace("fd00::53", "dns")).key, "ipam-config.nameserver[1]");
}

#[test]
fn without_a_prefix_a_network_tells_its_own() {
    assert_eq!(good(&SEED.replace("  prefix: 23\n", "")).pools[0].prefix, 28);
    let range = SEED.replace("  prefix: 23\n", "").replace("64/28", "64-192.168.101.70");
    let error = one(&range);
    assert!(error.message.contains("prefix is missing"), "{error}");
    assert!(error.hint.unwrap().contains("`prefix: 24`"));
    let two = "ipam-config: {pools: [{name: a, ranges: [10.0.0.0/24, 10.0.1.0/24]}]}";
    assert_eq!(good(two).pools[0].prefix, 24);
    assert!(one(&two.replace("1.0/24", "1.0/25")).message.contains("prefix is missing"));
}

#[test]
fn the_general_form_with_every_key() {
    let config = good(
        "ipam-config:
  pools:
    - name: lab
      ranges: [192.168.101.64/28, 192.168.101.100-192.168.101.120]
      prefix: 23
      gateway: 192.168.100.1
      nameservers: [192.168.1.215]
      search-domains: [lab.example]
      exclude: [192.168.101.70, 192.168.101.110-192.168.101.112]
      reserved: {infra-0: 192.168.101.71, ns/infra-0: 192.168.101.72}
      reuse-after: 10m
      interface: [eno1, eno2]
      network: lab
      match: {systems: [openshift], namespaces: [a, b], networks: [VM Network], labels: {k: v}}
  service-cidrs: [10.96.0.0/12, fd00:96::/108]
  beside-peer: [elf]
  nmstate-target: device-config
  metal3: defer
  serve-pools: []
  systems: [openshift, nodes]
",
    );
    assert_eq!(config.warnings, Vec::<String>::new());
    let pool = &config.pools[0];
    assert_eq!(pool.ranges.len(), 2);
    assert_eq!(pool.search_domains, ["lab.example"]);
    let excluded: Vec<String> = pool.exclude.spans().map(|s| s.to_string()).collect();
    assert_eq!(
        excluded,
        ["192.168.101.70", "192.168.101.110-192.168.101.112"],
        "the user's own and no other"
    );
    assert_eq!(pool.reserved_for(&machine("x", "infra-0")), Some(ip("192.168.101.71")));
    assert_eq!(pool.reserved_for(&machine("ns", "infra-0")), Some(ip("192.168.101.72")));
    assert_eq!((pool.reuse_after, &*pool.network), (600, "lab"));
    assert_eq!(pool.interfaces, ["eno1", "eno2"]);
    assert_eq!(pool.matches.systems, ["openshift"]);
    assert_eq!(pool.matches.namespaces, ["a", "b"]);
    assert_eq!(pool.matches.networks, ["VM Network"]);
    assert_eq!(pool.matches.labels["k"], "v");
    assert_eq!(config.service_cidrs.len(), 2);
    assert_eq!(config.beside_peer, ["elf"]);
    assert_eq!((config.nmstate_target, config.metal3), (NmstateTarget::DeviceConfig, Metal3::Defer));
    assert_eq!(config.serve_pools, Some(Vec::new()));
    assert_eq!(config.systems.unwrap(), ["openshift", "nodes"]);
}

#[test]
fn one_interface_name_is_the_first_devices() {
    let of = |name: &str| {
        let text = format!(
            "ipam-config: {{pools: [{{name: a, ranges: [10.0.0.0/24], gateway: 10.0.0.1, interface: {name}}}]}}"
        );
        let config = good(&text);
        (config.pools[0].interfaces.join(" "), config.warnings.len())
    };
    assert_eq!(of("ens192"), ("ens192 ens224 ens256 ens161".to_owned(), 0));
    assert_eq!(of("eno1"), ("eno1 ens224 ens256 ens161".to_owned(), 0));
    assert_eq!(of("ens256"), ("ens256 ens224".to_owned(), 1));
    assert_eq!(of("[eno1]"), ("eno1".to_owned(), 0));
}

#[test]
fn anchors_may_be_used_sparingly() {
    let config = good(
        "ipam-config:
  pools:
    - {name: a, ranges: [10.0.0.0/24], gateway: 10.0.0.1, nameservers: &dns [10.0.0.2, 10.0.0.3]}
    - {name: b, ranges: [10.0.1.0/24], gateway: 10.0.1.1, nameservers: *dns}
",
    );
    assert_eq!(config.pools[0].nameservers, config.pools[1].nameservers);
}

#[test]
fn json_windows_line_ends_and_a_byte_order_mark_are_fine() {
    good("{\"ipam-config\": {\"ip-range-cidr\": \"10.0.0.0/24\", \"default-gateway\": \"10.0.0.1\"}}");
    good(&SEED.replace('\n', "\r\n"));
    good(&format!("\u{feff}{SEED}"));
}

#[test]
fn without_a_file_there_are_no_pools_and_every_default() {
    let config = empty();
    assert!(config.pools.is_empty() && config.systems.is_none() && config.serve_pools.is_none());
    assert_eq!((config.nmstate_target, config.metal3), (NmstateTarget::Annotation, Metal3::Auto));
}

fn machine(namespace: &str, name: &str) -> crate::model::Owner {
    crate::model::Owner {
        group: "g".into(),
        kind: "Machine".into(),
        namespace: namespace.into(),
        name: name.into(),
        uid: "".into(),
        system: "openshift".into(),
    }
}
