//! The rights that the manifests give: an account with exactly these plays all scenarios on the API server (see
//! [`crate::scenario`]), and behind each rule stands a scenario that does not end well without it.

use crate::bed::documents;
use crate::scenario;
use serde_json::{Value, json};
use std::path::Path;

/// A rule and the scenario that is named behind it.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    file: &'static str,
    role: &'static str,
    pub(super) rule: Value,
    pub(super) why: String,
}

const FILES: [&str; 10] =
    ["read", "ledger", "openshift", "kubermatic", "elf", "capi", "nodes", "kubevirt", "capacity", "detach"];

/// The rules of all roles, as the files have them: one a line.
pub(super) fn rules() -> Vec<Rule> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("manifests/chart/rbac");
    let mut rules = Vec::new();
    for name in FILES {
        let text = std::fs::read_to_string(folder.join(format!("{name}.yaml"))).unwrap();
        let before = rules.len();
        for line in text.lines().filter(|l| l.starts_with("  - {apiGroups")) {
            let (rule, why) = line.split_once("  # ").unwrap_or_else(|| panic!("no reason: {line}"));
            let rule: Value = serde_yaml::from_str(rule.trim_start_matches("  - ")).unwrap();
            let role = if ["ledger", "detach"].contains(&name) { "Role" } else { "ClusterRole" };
            rules.push(Rule { file: name, role, rule, why: why.to_owned() });
        }
        let found: usize = documents(&text).iter().map(|d| d["rules"].as_array().map_or(0, Vec::len)).sum();
        assert_eq!(rules.len() - before, found, "{name}.yaml: each rule on a line of its own");
    }
    rules
}

/// Two roles with these rules.
pub(super) fn roles<'r>(rules: impl Iterator<Item = &'r Rule> + Clone) -> String {
    let of = |role: &'static str| rules.clone().filter(move |r| r.role == role).map(|r| r.rule.clone());
    let role = |kind: &'static str| json!({ "kind": kind, "metadata": { "namespace": "mipam-system" }, "rules": of(kind).collect::<Vec<_>>() });
    format!("{}\n---\n{}\n", role("ClusterRole"), role("Role"))
}

/// What the manifests give, for [`crate::bed::Bed::grant`].
pub(crate) fn granted() -> String {
    roles(rules().iter())
}

/// What only people ask for, by the scenarios behind the rules.
const FOR_PEOPLE: [&str; 2] = ["/capacity", "/detach-refused"];

#[test]
fn what_only_people_ask_for_is_not_given_to_the_pods() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("manifests/chart/rbac");
    let mut seen = 0;
    for name in FILES {
        let text = std::fs::read_to_string(folder.join(format!("{name}.yaml"))).unwrap();
        let bound =
            documents(&text).iter().any(|d| d["kind"].as_str().is_some_and(|k| k.ends_with("Binding")));
        for rule in rules().iter().filter(|rule| rule.file == name) {
            let people = FOR_PEOPLE.iter().any(|what| rule.why.contains(what));
            assert_eq!(people, !bound, "{name}.yaml: {} ({})", rule.rule, rule.why);
            seen += usize::from(people);
        }
    }
    assert!(seen > 4, "{seen} rules for people");
}

/// What a scenario alone does not show, and [`super::elsewhere`] does.
const ELSEWHERE: [&str; 3] = [", after a conflict", ", in Events", ", where it is served"];

#[test]
fn each_rule_is_needed_by_the_scenario_behind_it() {
    let only = std::env::var("MIPAM_SCENARIO").unwrap_or_default();
    let rules = rules();
    let shown = |rule: &&Rule| !ELSEWHERE.iter().any(|how| rule.why.ends_with(how));
    let mut superfluous = Vec::new();
    for (at, rule) in rules.iter().enumerate().filter(|(_, r)| shown(r) && r.why.contains(&only)) {
        let others = rules.iter().enumerate().filter(|(i, _)| *i != at).map(|(_, r)| r);
        if scenario::passes_with(&rule.why, &roles(others)) {
            superfluous.push(format!("{} without {}", rule.why, rule.rule));
        }
    }
    assert!(superfluous.is_empty(), "these end well all the same:\n{}", superfluous.join("\n"));
}
