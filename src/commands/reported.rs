//! What a report of `status -o json` says can be released.

use super::Failure;
use crate::model::Slot;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::io::Read;
use std::net::IpAddr;
use std::path::Path;

/// A report that is larger than this is none.
const LARGEST: u64 = 256 << 20;

#[derive(Deserialize)]
struct Report {
    kind: String,
    #[serde(default)]
    problems: Vec<Line>,
}

#[derive(Deserialize)]
struct Line {
    kind: String,
    address: Option<IpAddr>,
    #[serde(default)]
    network: String,
}

/// The addresses whose owners are gone, as the report has it.
pub(super) fn read(path: &Path) -> Result<BTreeSet<Slot>, Failure> {
    let shown = if path == Path::new("-") { "stdin".to_owned() } else { path.display().to_string() };
    let bad = |why: &dyn std::fmt::Display| {
        Failure::error(format!("--from-report {shown}: {why}"))
            .hint("it takes what `mipam status -o json` prints")
    };
    let input: Box<dyn Read> = if path == Path::new("-") {
        Box::new(std::io::stdin())
    } else {
        Box::new(std::fs::File::open(path).map_err(|e| bad(&e))?)
    };
    let mut text = String::new();
    input.take(LARGEST + 1).read_to_string(&mut text).map_err(|e| bad(&e))?;
    if text.len() as u64 > LARGEST {
        return Err(bad(&format!("it has more than {LARGEST} bytes")));
    }
    let report: Report = serde_json::from_str(&text).map_err(|e| bad(&e))?;
    if report.kind != "StatusReport" {
        return Err(bad(&format!("its kind is {}, not StatusReport", report.kind)));
    }
    let gone = report.problems.into_iter().filter(|line| line.kind == "OwnerGone");
    Ok(gone.filter_map(|l| Some(Slot::new(l.address?, l.network.into()))).collect())
}
