//! `ipam-config.yaml.example` is valid and names every key.

use super::good;
use crate::addr::Family;
use crate::config::schema::{CONFIG, HOOK, MATCH, POOL};

pub(super) const EXAMPLE: &str = include_str!("../../../ipam-config.yaml.example");

#[test]
fn the_example_is_valid_and_odd_in_nothing() {
    let config = good(EXAMPLE);
    assert_eq!(config.warnings, Vec::<String>::new());
    let pools: Vec<_> = config.pools.iter().map(|p| (&*p.name, p.family, p.prefix)).collect();
    assert_eq!(pools, [("lab", Family::V4, 23), ("lab-v6", Family::V6, 64)]);
    let served: Vec<&str> = crate::systems::ALL.iter().filter(|s| s.serves()).map(|s| s.name()).collect();
    assert_eq!(config.systems.unwrap(), served);
}

#[test]
fn the_example_names_every_key() {
    for key in CONFIG.iter().chain(&POOL).chain(&MATCH).chain(&HOOK) {
        let named = |line: &str| {
            let line = line.trim_start_matches(['#', ' ', '-']);
            line.strip_prefix(key).is_some_and(|rest| rest.starts_with(':'))
        };
        assert!(EXAMPLE.lines().any(named), "{key} is not in the example");
    }
}

#[test]
fn the_short_forms_in_the_comments_are_valid_too() {
    let commented: Vec<&str> = EXAMPLE.lines().filter_map(|l| l.strip_prefix("  # ")).collect();
    let from = |start: &str| {
        let keys = commented.iter().skip_while(|l| !l.starts_with(start));
        let keys: Vec<String> = keys.take_while(|l| l.contains(": ")).map(|l| format!("  {l}\n")).collect();
        format!("ipam-config:\n{}", keys.concat())
    };
    assert_eq!(good(&from("ip-range-cidr")).pools.len(), 1);
    let dual = good(&from("ipv4-range-cidr"));
    assert_eq!(dual.pools.len(), 2);
    assert_eq!(dual.warnings, Vec::<String>::new());
}
