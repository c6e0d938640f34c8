//! The alerts and the dashboard ask for figures, labels and values of labels that there are.

use super::manifests::manifests;
use crate::bed::documents;
use crate::scenario;
use mipam::model::{PendingLine, PoolLine, Problem, Reason};
use mipam::watch::metrics::Metrics;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

/// What `/metrics` tells when there is one of everything.
fn told() -> String {
    let metrics = Metrics::new();
    metrics.pools(&[PoolLine {
        name: "lab".to_owned(),
        system: "config".to_owned(),
        total: 4,
        used: 1,
        free: 2,
        cooling: 1,
        reserved: 0,
        ranges: Vec::new(),
        network: String::new(),
        blocks: None,
    }]);
    let pending = reasons().map(|reason| PendingLine {
        system: String::new(),
        kind: String::new(),
        namespace: String::new(),
        name: String::new(),
        device: String::new(),
        pool: String::new(),
        reason,
        message: String::new(),
    });
    metrics.findings(&pending, &[Problem::new("Any", &"Node/a", "m")]);
    metrics.pass("any", Duration::from_millis(1));
    metrics.text().unwrap()
}

fn reasons() -> [Reason; 8] {
    [
        Reason::PoolExhausted,
        Reason::NoMatchingPool,
        Reason::NoDevices,
        Reason::NoInterfaceName,
        Reason::AddressUnavailable,
        Reason::Unreconciled,
        Reason::Paused,
        Reason::WriteFailed,
    ]
}

/// May this label have this value? Those that the program gives to `Metrics`.
fn may_be(label: &str, value: &str) -> bool {
    match label {
        "reason" => told().contains(&format!("mipam_pending{{reason=\"{value}\"}}")),
        // What a scenario expects is what the program says.
        "kind" => scenario::folders().iter().any(|folder| {
            let expected = std::fs::read_to_string(folder.join("expected.yaml")).unwrap();
            expected.contains(&format!("    problems:\n    - kind: {value}\n"))
        }),
        // No test makes passes fail in each way, so the words are looked for where they are chosen.
        "result" => {
            let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/watch/mod.rs");
            let source = std::fs::read_to_string(source).unwrap();
            let chosen = source.lines().filter(|line| line.trim_start().starts_with("Ended::"));
            chosen.into_iter().any(|line| line.ends_with(&format!(" => \"{value}\",")))
        }
        other => panic!("no rule has asked for values of {other} yet"),
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).filter(|word| !word.is_empty())
}

/// The texts between these two, wherever they are.
fn between<'t>(text: &'t str, begin: &'t str, end: char) -> impl Iterator<Item = &'t str> {
    text.split(begin).skip(1).filter_map(move |rest| Some(rest.split_once(end)?.0))
}

#[test]
fn alerts_and_dashboard_ask_for_figures_that_there_are() {
    let folder = manifests().join("chart/monitoring");
    let dashboard: Value =
        serde_json::from_str(&std::fs::read_to_string(folder.join("dashboard.json")).unwrap()).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let ids: BTreeSet<_> = panels.iter().map(|p| p["id"].as_u64().unwrap()).collect();
    assert_eq!(ids.len(), panels.len());
    let targets = panels.iter().flat_map(|p| p["targets"].as_array().unwrap());
    let rules = documents(&std::fs::read_to_string(folder.join("rules.yaml")).unwrap());
    let alerts = rules[0]["spec"]["groups"][0]["rules"].as_array().unwrap();
    let exprs: Vec<&str> = targets.chain(alerts).map(|t| t["expr"].as_str().unwrap()).collect();

    let told = told();
    let samples: Vec<&str> = told.lines().filter(|line| !line.starts_with('#')).collect();
    let name = |sample| words(sample).next().unwrap();
    // Of a histogram only the buckets are asked for.
    let part = |name: &str| name.ends_with("_seconds_sum") || name.ends_with("_seconds_count");
    let figures: BTreeSet<&str> =
        samples.iter().map(|sample| name(sample)).filter(|name| !part(name)).collect();
    let asked = exprs.iter().flat_map(|e| words(e)).filter(|word| word.starts_with("mipam_"));
    assert_eq!(asked.collect::<BTreeSet<_>>(), figures, "each is shown, and none that there is not");

    let has = |figure: &str, label: &str| {
        samples.iter().any(|sample| {
            name(sample) == figure
                && between(sample, "{", '}')
                    .any(|labels| labels.split(',').any(|l| l.starts_with(&format!("{label}="))))
        })
    };
    let mut values = 0;
    for expr in &exprs {
        let used: Vec<&str> = words(expr).filter(|word| word.starts_with("mipam_")).collect();
        for label in between(expr, "by (", ')').flat_map(words) {
            assert!(used.iter().any(|figure| has(figure, label)), "{label}: {expr}");
        }
        for (figure, selector) in used.iter().flat_map(|figure| {
            let begin: &str = figure;
            expr.match_indices(begin).filter_map(move |(at, _)| {
                let rest = expr[at + begin.len()..].strip_prefix('{')?;
                Some((begin, rest.split_once('}')?.0))
            })
        }) {
            for one in selector.split(',') {
                let (label, value) = one.split_once(['=', '!']).unwrap();
                assert!(has(figure, label), "{figure} has no {label}: {expr}");
                for value in value.trim_start_matches(['=', '~']).trim_matches('"').split('|') {
                    assert!(may_be(label, value), "no {label} is {value}: {expr}");
                    values += 1;
                }
            }
        }
    }
    assert!(values > 4, "only {values} values were looked at");
    for alert in alerts {
        assert!(alert["annotations"]["summary"].is_string() && alert["labels"]["severity"].is_string());
    }
}
