//! What `detach` says.

use super::Look;
use super::lines::{DRY_RUN, counted, object};
use super::paint::Paint;
use super::table::{Cell, Table};
use crate::model::{DetachLine, DetachReport};

/// The report as text.
pub fn render(report: &DetachReport, look: Look) -> String {
    let whose = |line: &DetachLine| object(&line.kind, &line.namespace, &line.name);
    super::render(
        report,
        look,
        || report.detached.iter().map(whose).collect(),
        || {
            let mut detached = Table::new(&["DETACHED", "SYSTEM", "TAKEN OFF"]);
            for line in &report.detached {
                detached.row(vec![Cell::new(whose(line)), Cell::new(&line.system), Cell::new(&line.mark)]);
            }
            let mut left = Table::new(&["LEFT", "SYSTEM", "STILL THERE", "REASON", "MESSAGE"]);
            left.wrap_last();
            for line in &report.left {
                left.row(vec![
                    Cell::new(whose(line)),
                    Cell::new(&line.system),
                    Cell::new(&line.mark),
                    Cell::new(line.reason).paint(Paint::Yellow),
                    Cell::new(&line.message),
                ]);
            }
            vec![detached.render(look), left.render(look), summary(report)]
        },
    )
}

fn summary(report: &DetachReport) -> String {
    format!(
        "{} {}detached, {} left; all addresses and the ledger are kept ({}, {})\n{}",
        report.detached.len(),
        if report.dry_run { "would be " } else { "" },
        report.left.len(),
        counted(report.reads, "read"),
        counted(report.writes, "write"),
        if report.dry_run { DRY_RUN } else { "" },
    )
}

#[cfg(test)]
mod tests {
    use super::super::samples::look;
    use super::*;
    use crate::cli::Format;
    use crate::model::{API_VERSION, Stay};

    fn report(dry_run: bool) -> DetachReport {
        let line = |name: &str| DetachLine {
            system: "openshift".to_owned(),
            kind: "Machine".to_owned(),
            namespace: "openshift-machine-api".to_owned(),
            name: name.to_owned(),
            mark: "hook ipamController of network-admin".to_owned(),
            reason: "",
            message: String::new(),
        };
        let why = Stay::Waiting("without its hook it would be made without an address".to_owned());
        DetachReport {
            api_version: API_VERSION,
            kind: "DetachReport",
            dry_run,
            detached: vec![line("worker-0")],
            left: vec![line("worker-1").stays(&why)],
            reads: 12,
            writes: u64::from(!dry_run),
        }
    }

    #[test]
    fn tables() {
        insta::assert_snapshot!(render(&report(false), look(Format::Table)), @"
        DETACHED                                SYSTEM     TAKEN OFF
        Machine/openshift-machine-api/worker-0  openshift  hook ipamController of network-admin

        LEFT                                    SYSTEM     STILL THERE                           REASON   MESSAGE
        Machine/openshift-machine-api/worker-1  openshift  hook ipamController of network-admin  Waiting  without its hook it would be made without an address

        1 detached, 1 left; all addresses and the ledger are kept (12 reads, 1 write)
        ");
        insta::assert_snapshot!(render(&report(true), look(Format::Name)), @"Machine/openshift-machine-api/worker-0");
    }

    #[test]
    fn json() {
        insta::assert_snapshot!(render(&report(true), look(Format::Json)), @r#"
        {
          "apiVersion": "mipam.io/v1",
          "kind": "DetachReport",
          "dryRun": true,
          "detached": [
            {
              "system": "openshift",
              "kind": "Machine",
              "namespace": "openshift-machine-api",
              "name": "worker-0",
              "mark": "hook ipamController of network-admin"
            }
          ],
          "left": [
            {
              "system": "openshift",
              "kind": "Machine",
              "namespace": "openshift-machine-api",
              "name": "worker-1",
              "mark": "hook ipamController of network-admin",
              "reason": "Waiting",
              "message": "without its hook it would be made without an address"
            }
          ],
          "reads": 12,
          "writes": 0
        }
        "#);
    }
}
