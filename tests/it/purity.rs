//! What decides talks to nobody: the pure rooms use no client, runtime, file, clock, environment or process.

use std::path::{Path, PathBuf};

const PURE: [&str; 5] = ["addr", "model", "systems", "plan", "ledger"];
const MAY_USE: [&str; 7] = ["addr", "model", "systems", "plan", "ledger", "config", "yaml"];
const FORBIDDEN: [&str; 12] = [
    "kube::",
    "tokio",
    "futures_util",
    "std::fs",
    "std::io",
    "std::time",
    "std::env",
    "std::process",
    "std::thread",
    "SystemTime",
    "Timestamp::now",
    "HashMap",
];

fn sources(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|e| e == "rs")
            && path.file_name().is_none_or(|n| n != "tests.rs")
        {
            found.push(path);
        }
    }
    found
}

/// What is wrong with a source of a pure room.
fn sins(source: &str) -> Vec<String> {
    let mut sins = Vec::new();
    for (number, line) in source.lines().enumerate() {
        let code = line.split("//").next().unwrap_or_default();
        for word in FORBIDDEN.iter().filter(|w| code.contains(**w)) {
            sins.push(format!("line {}: {word}", number + 1));
        }
        for (at, _) in code.match_indices("crate::") {
            let room: String = code[at + "crate::".len()..]
                .chars()
                .take_while(|c| c.is_alphanumeric() || *c == '_')
                .collect();
            if !room.is_empty() && !MAY_USE.contains(&room.as_str()) {
                sins.push(format!("line {}: crate::{room}", number + 1));
            }
        }
    }
    sins
}

#[test]
fn the_pure_rooms_are_pure() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut seen = 0;
    for room in PURE {
        for path in sources(&src.join(room)) {
            seen += 1;
            let found = sins(&std::fs::read_to_string(&path).unwrap());
            assert!(found.is_empty(), "{} is not pure: {found:?}", path.display());
        }
    }
    assert!(seen > 15, "only {seen} files were looked at");
}

#[test]
fn impure_code_is_found() {
    for code in [
        "use tokio::time;",
        "let now = std::time::Instant::now();",
        "use crate::cluster::Cluster;",
        "kube::Client",
    ] {
        assert_eq!(sins(code).len(), 1, "{code}");
    }
    assert!(sins("use crate::addr::Span; // not tokio").is_empty());
}
