//! Each rule: what is refused, what is odd, what is allowed, and the words for it.

use super::{bad, good, one};
use crate::config::{parse, parse_bytes};

/// A config with one good pool of 10.0.0.0/24 and these further keys of the pool.
fn pool(keys: &str) -> String {
    format!(
        "ipam-config:\n  pools:\n    - name: a\n      ranges: [10.0.0.0/24]\n      gateway: 10.0.0.1\n{keys}"
    )
}

/// Pools, each as `name ranges… @network`.
fn pools(pools: &[&str]) -> String {
    let mut text = "ipam-config:\n  pools:\n".to_owned();
    for pool in pools {
        let (pool, network) = pool.split_once('@').map_or((*pool, "n"), |(p, n)| (p, n));
        let mut words = pool.split_whitespace();
        let name = words.next().unwrap();
        let ranges: Vec<&str> = words.collect();
        text.push_str(&format!("    - name: {name}\n      ranges: [{}]\n", ranges.join(", ")));
        text.push_str(&format!("      prefix: 8\n      gateway: 10.255.0.1\n      network: {network}\n"));
    }
    text
}

#[test]
fn the_message_has_file_line_key_and_what_is_right() {
    let text = "ipam-config:\n  pools:\n    - name: a\n      prefix: 24\n      gateway: 10.0.0.1\n      ranges:\n        \
                - 10.0.0.10-10.0.0.20\n        - 10.0.0.9-10.0.0.1\n";
    let error = one(text);
    assert_eq!(
        error.to_string(),
        "ipam-config.yaml:8: pools[0].ranges[1]: \"10.0.0.9-10.0.0.1\" is reversed: write 10.0.0.1-10.0.0.9"
    );
    assert_eq!(error.key, "ipam-config.pools[0].ranges[1]");
    let error = one(&pool("      gatewya: 10.0.0.1\n"));
    assert_eq!(
        error.to_string(),
        "ipam-config.yaml:6: pools[0].gatewya: \"gatewya\" is not a known key\n  hint: did you mean \"gateway\"?"
    );
}

#[test]
fn an_empty_text_is_never_an_empty_config() {
    for text in
        ["", "\n\n", "# nothing\n", "---\n", "~", "null\n", "ipam-config:\n", "ipam-config: {}", "{}", "[]"]
    {
        let error = one(text);
        assert_eq!(error.line, 1, "{error}");
        assert!(error.hint.unwrap().contains("ipam-config"));
    }
    assert!(parse_bytes("f", b"ok: 1\n\xff").unwrap_err().to_string().starts_with("f:2: "));
    assert!(parse_bytes("f", &good_bytes()).is_ok());
}

fn good_bytes() -> Vec<u8> {
    pool("").into_bytes()
}

#[test]
fn all_errors_are_told_by_line_up_to_a_bound() {
    let text = "ipam-config:\n  metal3: maybe\n  systems: [x]\n  prefix: a\n  color: red\n";
    let lines: Vec<usize> = bad(text).iter().map(|e| e.line).collect();
    assert_eq!(lines, [2, 3, 4, 4, 5]);
    let many: String = (0..50).map(|i| format!("  k{i}: 1\n")).collect();
    let errors = parse("f", &format!("ipam-config:\n{many}")).unwrap_err();
    assert_eq!((errors.errors.len(), errors.more), (20, 30));
    assert!(errors.to_string().ends_with("\nand 30 more errors"));
}

#[test]
fn ranges_of_one_network_do_not_overlap() {
    let error = one(&pools(&["a 10.0.0.0/24 10.1.0.0/24", "b 10.2.0.0/24 10.1.0.255-10.1.1.9"]));
    assert_eq!(error.key, "ipam-config.pools[1].ranges[1]");
    assert_eq!(error.line, 9);
    assert!(error.message.contains("overlaps pools[0].ranges[1], which is 10.1.0.0/24 (line 4)"), "{error}");
    assert!(error.hint.unwrap().contains("network"));
    // The later place in the file has the error, whichever range begins first.
    let error = one(&pools(&["a 10.0.0.128/25", "b 10.0.0.0/24"]));
    assert_eq!(error.key, "ipam-config.pools[1].ranges[0]");
    // A long range hides a short one in between.
    assert_eq!(bad(&pools(&["a 10.0.0.0/16", "b 10.0.1.0/24", "c 10.0.200.0/24"])).len(), 2);
    assert_eq!(bad(&pools(&["a 10.0.0.1 10.0.0.1"])).len(), 1);
    good(&pools(&["a 10.0.0.0/24 @x", "b 10.0.0.0/24 @y"]));
    good(&pools(&["a 10.0.0.0/24", "b 10.0.1.0/24"]));
    let families = "ipam-config: {pools: [{name: a, ranges: [0.0.0.0/0]}, {name: b, ranges: [\"::/0\"]}]}";
    assert_eq!(good(families).pools.len(), 2);
}

#[test]
fn many_ranges_are_checked_quickly() {
    let ranges: Vec<String> =
        (0..100_000u32).map(|i| format!("10.{}.{}.{}", i >> 16, (i >> 8) & 255, i & 255)).collect();
    let text = |ranges: &str| {
        format!("ipam-config: {{pools: [{{name: a, prefix: 8, gateway: 10.9.0.1, ranges: [{ranges}]}}]}}")
    };
    let start = std::time::Instant::now();
    assert_eq!(good(&text(&ranges.join(","))).pools[0].ranges.len(), 100_000);
    let error = one(&text(&format!("{},10.9.9.9", ranges.join(","))));
    assert!(error.message.contains("has 100001 ranges"), "{error}");
    assert!(start.elapsed().as_secs() < 30, "{:?}", start.elapsed());
}

#[test]
fn input_is_bounded() {
    let long = format!("# {}\n{}", "x".repeat(4 << 20), pool(""));
    assert!(one(&long).message.contains("bytes"));
    let many: Vec<String> = (0..10_001).map(|i| format!("{{name: p{i}}}")).collect();
    let error = one(&format!("ipam-config: {{pools: [{}]}}", many.join(",")));
    assert!(error.message.contains("has 10001 pools"), "{error}");
    let endless = "x".repeat(100_000);
    for text in [
        pool(&format!("      {endless}: 1\n")),
        pool(&format!("      network: {endless}\n")),
        pool(&format!("      exclude: [{endless}]\n")),
        pool(&format!("      exclude: [10.0.0.0/{}]\n", "1".repeat(100_000))),
        pool(&format!("      nameservers: [{endless}]\n")),
        pool(&format!("      reuse-after: {endless}\n")),
    ] {
        assert!(one(&text).to_string().len() < 1_000);
    }
}

#[test]
fn a_prefix_must_fit() {
    let error = one(&pools(&["a 10.0.0.0-11.0.0.0"]));
    assert!(error.message.contains("does not fit into one /8 subnet"), "{error}");
    assert!(error.hint.unwrap().contains("`prefix: 7`"));
    good("ipam-config: {pools: [{name: a, ranges: [10.0.0.0-10.0.0.1], prefix: 31}]}");
    good("ipam-config: {pools: [{name: a, ranges: [10.0.0.7], prefix: 32}]}");
    good("ipam-config: {pools: [{name: a, ranges: [\"fd00::/127\"]}]}");
    let hint = |prefix: &str| one(&pool(&format!("      prefix: {prefix}\n"))).hint.unwrap();
    assert_eq!(hint("\"24\""), "write 24, without quotes");
    assert_eq!(hint("/24"), "write 24");
    assert_eq!(hint("255.255.254.0"), "write 23");
    assert!(hint("33").contains("0 to 32"));
    for prefix in ["-1", "24.5", "99999999999999999999", "255.0.255.0", "024", "[24]", "true"] {
        one(&pool(&format!("      prefix: {prefix}\n")));
    }
}

#[test]
fn the_gateway_may_be_outside_with_a_warning() {
    let config = good("ipam-config:\n  ip-range-cidr: 192.168.1.128/25\n  default-gateway: 192.168.1.1\n");
    assert_eq!(config.warnings.len(), 1);
    let warning = &config.warnings[0];
    assert!(warning.starts_with("ipam-config.yaml:3: default-gateway: 192.168.1.1 is outside"), "{warning}");
    let config = good("ipam-config:\n  ip-range-cidr: 192.168.1.128/25\n");
    assert!(config.warnings[0].contains("has no default-gateway"), "{:?}", config.warnings);
    let config = good("ipam-config: {ipv6-range-cidr: \"fd00::/64\", ipv6-gateway: \"fe80::1\"}");
    assert_eq!(config.warnings, Vec::<String>::new(), "link-local routers are on every link");
}

#[test]
fn warnings_are_bounded() {
    let many: Vec<String> =
        (0..300).map(|i| format!("{{name: p{i}, ranges: [10.0.{}.{}]}}", i / 250, i % 250 + 1)).collect();
    let text = format!("ipam-config: {{pools: [{}]}}", many.join(",").replace("]}", "], prefix: 24}"));
    let warnings = good(&text).warnings;
    assert_eq!(warnings.len(), 21);
    assert!(warnings[20].contains("280 more"));
}

#[test]
fn excluded_addresses_outside_the_ranges_are_odd_only() {
    let config = good(&pool("      exclude: [10.0.0.200-10.0.3.3, 10.9.0.0/24]\n"));
    assert_eq!(config.warnings.len(), 1);
    assert!(config.warnings[0].contains("exclude[1]: 10.9.0.0/24 is in no range"), "{:?}", config.warnings);
}

#[test]
fn a_pool_must_have_something_to_give() {
    for keys in ["      exclude: [10.0.0.0/24]\n", "      exclude: [10.0.0.2-10.0.0.254]\n"] {
        assert!(one(&pool(keys)).message.contains("no address left"), "{keys}");
    }
    let keys = "      exclude: [10.0.0.3-10.0.0.254]\n      nameservers: [10.0.0.2]\n";
    assert!(one(&pool(keys)).message.contains("no address left"));
    good(&pool("      exclude: [10.0.0.3-10.0.0.254]\n"));
    let tiny = |range: &str, prefix: u8| {
        parse("f", &format!("ipam-config: {{ip-range-cidr: {range}, prefix: {prefix}}}")).is_ok()
    };
    assert!(tiny("10.0.0.0/31", 31) && tiny("10.0.0.0/32", 32) && tiny("10.0.0.255", 23));
    assert!(tiny("10.0.0.0/31", 30) && tiny("10.0.0.1", 30));
    assert!(!tiny("10.0.0.0", 24) && !tiny("10.0.0.255", 24));
}

#[test]
fn reserved_addresses_are_those_that_a_machine_can_have() {
    for (address, why) in [
        ("10.0.0.0", "network address"),
        ("10.0.0.255", "broadcast"),
        ("10.0.0.1", "gateway"),
        ("10.0.0.2", "name server"),
        ("10.0.0.3", "excluded"),
        ("10.0.1.5", "in no range"),
        ("\"fd00::1\"", "IPv6"),
    ] {
        let keys = format!(
            "      nameservers: [10.0.0.2]\n      exclude: [10.0.0.3]\n      reserved:\n        ok: 10.0.0.9\n        \
             m.x: {address}\n"
        );
        let error = one(&pool(&keys));
        assert!(error.message.contains(why), "{error}");
        assert_eq!((error.line, error.key.as_str()), (10, "ipam-config.pools[0].reserved[\"m.x\"]"));
    }
    let error = one(&pool("      reserved:\n        a: 10.0.0.9\n        b: 10.0.0.9\n"));
    assert!(error.message.contains("reserved twice: also by pools[0].reserved.a (line 7)"), "{error}");
}

#[test]
fn short_and_general_form_do_not_mix() {
    for keys in ["  ip-range-cidr: 10.5.0.0/24\n", "  ipv6-gateway: fd00::1\n", "  nameserver: 10.0.0.2\n"] {
        let error = one(&format!("{}{keys}", pool("")));
        assert!(error.message.contains("cannot be used together with pools (line 2)"), "{error}");
        assert!(error.hint.unwrap().contains("pools: [{name"));
    }
    let text = "ipam-config:\n  ip-range-cidr: 10.0.0.0/24\n  ipv6-range-cidr: fd00::/64\n";
    assert!(one(text).message.contains("cannot be used together with ipv6-range-cidr (line 3)"));
    assert!(one("ipam-config: {nameserver: 10.0.0.2}").message.contains("ip-range-cidr is missing"));
}

#[test]
fn a_config_without_pools_is_odd_only() {
    for keys in ["systems: [openshift, nodes]", "lifecycle-hook: {name: a, owner: b}"] {
        let config = good(&format!("ipam-config:\n  {keys}\n"));
        assert!(config.pools.is_empty() && config.warnings[0].contains("no pools"), "{:?}", config.warnings);
    }
    for keys in ["metal3: defer", "systems: [nodes]", "service-cidrs: [10.96.0.0/12]"] {
        let config = good(&format!("ipam-config:\n  {keys}\n"));
        assert_eq!(config.warnings, Vec::<String>::new(), "its pools are objects: {keys}");
    }
}

#[test]
fn words_are_checked_and_suggested() {
    let hint = |keys: &str| one(&format!("ipam-config:\n  {keys}\n")).hint.unwrap();
    assert_eq!(hint("systems: [kubernatic]"), "did you mean \"kubermatic\"?");
    assert!(hint("beside-peer: [vsphere]").starts_with("known here: openshift, kubermatic"));
    assert_eq!(hint("nmstate-target: device_config"), "did you mean \"device-config\"?");
    assert_eq!(hint("metal3: yes"), "write one of serve, defer, auto");
    assert!(hint("zzz: 1").starts_with("known here: pools, lifecycle-hook"));
    assert_eq!(hint("service-cidrs: 10.96.0.0/12"), "write it as a list: [10.96.0.0/12]");
    assert_eq!(one(&pool("      cidr: 1\n")).hint.unwrap(), "did you mean \"ranges\"?");
    assert_eq!(one(&pool("      match: {labels: {a: 1}}\n")).hint.unwrap(), "write it in quotes: \"1\"");
    let odd = good(
        "ipam-config: {serve-pools: [InClusterIPPool, FooPool, IPPool.ipam.metal3.io], systems: [capi]}",
    );
    assert_eq!(odd.warnings.iter().filter(|w| w.contains("FooPool")).count(), 1);
}

#[test]
fn addresses_get_the_hint_that_fits() {
    let hint = |address: &str| one(&pool(&format!("      nameservers: [\"{address}\"]\n"))).hint.unwrap();
    assert_eq!(hint("10.0.0.010"), "write 10.0.0.10");
    assert_eq!(hint("10.0.0.1/24"), "leave the prefix length out: 10.0.0.1");
    assert_eq!(hint("::ffff:10.0.0.1"), "write 10.0.0.1");
    assert!(hint("dns.example").contains("such as 192.168.0.1"));
}

#[test]
fn syntax_errors_are_told_in_plain_words() {
    for (text, line, what) in [
        ("ipam-config:\n\tpools: []\n", 2, "tab"),
        ("ipam-config:\n  a: 1\n  a: 2\n", 3, "key \"a\" is given twice"),
        ("---\nipam-config: {a: 1}\n---\nb: 2\n", 3, "more than one document"),
        ("ipam-config: a: b\n", 1, "second `:`"),
        ("ipam-config:\n  a: .inf\n", 2, "infinity"),
        ("ipam-config:\n  ? [a]\n  : b\n", 2, "a key must be plain text"),
        ("ipam-config: @x\n", 1, "no value can begin with"),
        ("ipam-config: &\n", 1, "not valid YAML"),
        ("a: &a [*a]\n", 1, "nested too deeply"),
    ] {
        let error = one(text);
        assert!(error.message.contains(what), "{error}");
        assert_eq!(error.line, line, "{error}");
    }
}

#[test]
fn control_characters_never_reach_the_terminal() {
    for text in [
        pool("      \"\\e[31mred\": 1\n"),
        pool("      network: \"\\e[31mred\"\n"),
        pool("      gateway2: \"\\e[31mred\"\n"),
        pool("      exclude: [\"\\e[31mred\"]\n"),
        pool("      exclude: \"\\e[31mred\"\n"),
        pool("      reserved: {\"\\e[31m\": 10.0.0.7}\n"),
    ] {
        assert!(!one(&text).to_string().contains('\u{1b}'));
    }
}
