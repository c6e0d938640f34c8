//! What `reconcile` says.

use super::Look;
use super::lines::{
    DRY_RUN, allocated, by_address, changed_claims, counted, object, owner, pending, problems,
};
use super::{Level, Printer};
use crate::model::{PendingLine, Problem, ReconcileReport};
use serde_json::json;

/// What people are told of those who wait and of what is wrong: all of it, or what they have not been told yet.
#[derive(Clone, Copy)]
pub struct Findings<'a> {
    /// Who waits.
    pub pending: &'a [PendingLine],
    /// What is wrong.
    pub problems: &'a [Problem],
}

impl<'a> Findings<'a> {
    /// All that a report has.
    pub fn of(report: &'a ReconcileReport) -> Self {
        Self { pending: &report.pending, problems: &report.problems }
    }
}

/// The report as text; for programs it is whole, whatever people have been told. `dry_run` chooses the words of the summary.
pub fn render(report: &ReconcileReport, told: Findings<'_>, look: Look, dry_run: bool) -> String {
    let names = || {
        let mut names: Vec<_> = report.allocated.iter().map(owner).collect();
        // An owner with several devices or families has as many lines, one after the other.
        names.dedup();
        names
    };
    super::render(report, look, names, || {
        vec![
            allocated(&report.allocated, look),
            by_address("RELEASED", &report.released, look),
            changed_claims(&report.claims, look),
            pending(told.pending, look),
            problems(told.problems, look),
            summary(report, dry_run),
        ]
    })
}

/// The report for whoever collects logs: a line for each that got, lost or lacks something, and the sums at the end.
pub fn log(report: &ReconcileReport, told: Findings<'_>, printer: &Printer, dry_run: bool) {
    if !printer.logs_json() {
        return;
    }
    let (has, no_longer, was) = if dry_run {
        ("would get", "would no longer have", "would be")
    } else {
        ("has", "no longer has", "was")
    };
    for line in &report.allocated {
        printer.event(Level::Info, &format!("{} {has} {}", owner(line), line.address), line);
    }
    for line in &report.released {
        printer.event(Level::Info, &format!("{} {no_longer} {}", owner(line), line.address), line);
    }
    for line in &report.claims {
        let claim = object(line.claim.kind, &line.claim.namespace, &line.claim.name);
        let message = format!("{claim} of VM {} {was} {}", line.claim.vm, line.change);
        printer.event(Level::Info, &message, line);
    }
    for line in told.pending {
        let who = object(&line.kind, &line.namespace, &line.name);
        printer.event(Level::Warning, &format!("{who} waits: {}", line.message), line);
    }
    for problem in told.problems {
        printer.event(Level::Warning, &format!("{}: {}", problem.object, problem.message), problem);
    }
    let sums = json!({
        "allocated": report.allocated.len(),
        "kept": report.kept,
        "released": report.released.len(),
        "pending": report.pending.len(),
        "problems": report.problems.len(),
        "reads": report.reads,
        "writes": report.writes,
        "dryRun": dry_run,
    });
    printer.event(Level::Info, summary(report, dry_run).lines().next().unwrap_or_default(), &sums);
}

fn summary(report: &ReconcileReport, dry_run: bool) -> String {
    let would = if dry_run { "would be " } else { "" };
    format!(
        "{} {would}allocated, {} kept, {} {would}released, {} pending, {} ({}, {})\n{}",
        report.allocated.len(),
        report.kept,
        report.released.len(),
        report.pending.len(),
        counted(report.problems.len() as u64, "problem"),
        counted(report.reads, "read"),
        counted(report.writes, "write"),
        if dry_run { DRY_RUN } else { "" },
    )
}

#[cfg(test)]
mod tests {
    use super::super::samples::{look, nothing_to_reconcile, reconcile};
    use super::*;
    use crate::cli::Format;

    fn text(report: &ReconcileReport, look: Look, dry_run: bool) -> String {
        render(report, Findings::of(report), look, dry_run)
    }

    #[test]
    fn table() {
        insta::assert_snapshot!(text(&reconcile(), look(Format::Table), false), @"
        SYSTEM     KIND     NAMESPACE              NAME      DEVICE  POOL  ADDRESS
        openshift  Machine  openshift-machine-api  worker-0  0       lab   192.168.101.65/23
        openshift  Machine  openshift-machine-api  worker-0  1       lab   fd00:101::65/64
        openshift  Machine  openshift-machine-api  worker-1  0       lab   192.168.101.66/23

        RELEASED           POOL  OWNER                                   DEVICE
        192.168.101.70/23  lab   Machine/openshift-machine-api/worker-7  0

        PENDING                                 DEVICE  POOL  REASON         MESSAGE
        Machine/openshift-machine-api/worker-9  0       lab   PoolExhausted  all 14 addresses of pool lab are taken

        PROBLEM    OBJECT                                  MESSAGE
        Duplicate  Machine/openshift-machine-api/worker-3  192.168.101.66 is also on Machine/openshift-machine-api/worker-2; change one of them

        3 allocated, 2 kept, 1 released, 1 pending, 1 problem (12 reads, 5 writes)
        ");
    }

    #[test]
    fn wide_dry_run() {
        insta::assert_snapshot!(text(&reconcile(), look(Format::Wide), true), @"
        SYSTEM     KIND     NAMESPACE              NAME      DEVICE  POOL  ADDRESS            NETWORK
        openshift  Machine  openshift-machine-api  worker-0  0       lab   192.168.101.65/23  -
        openshift  Machine  openshift-machine-api  worker-0  1       lab   fd00:101::65/64    -
        openshift  Machine  openshift-machine-api  worker-1  0       lab   192.168.101.66/23  -

        RELEASED           POOL  OWNER                                   DEVICE  SYSTEM     NETWORK
        192.168.101.70/23  lab   Machine/openshift-machine-api/worker-7  0       openshift  -

        PENDING                                 DEVICE  POOL  REASON         MESSAGE
        Machine/openshift-machine-api/worker-9  0       lab   PoolExhausted  all 14 addresses of pool lab are taken

        PROBLEM    OBJECT                                  MESSAGE
        Duplicate  Machine/openshift-machine-api/worker-3  192.168.101.66 is also on Machine/openshift-machine-api/worker-2; change one of them

        3 would be allocated, 2 kept, 1 would be released, 1 pending, 1 problem (12 reads, 5 writes)
        dry run: nothing was written
        ");
    }

    #[test]
    fn on_a_coloured_terminal_of_100_columns() {
        let look = Look { color: true, width: Some(100), ..Look::default() };
        insta::assert_snapshot!(text(&reconcile(), look, false), @"
        \u{1b}[1mSYSTEM     KIND     NAMESPACE              NAME      DEVICE  POOL  ADDRESS\u{1b}[0m
        openshift  Machine  openshift-machine-api  worker-0  0       lab   192.168.101.65/23
        openshift  Machine  openshift-machine-api  worker-0  1       lab   fd00:101::65/64
        openshift  Machine  openshift-machine-api  worker-1  0       lab   192.168.101.66/23

        \u{1b}[1mRELEASED           POOL  OWNER                                   DEVICE\u{1b}[0m
        192.168.101.70/23  lab   Machine/openshift-machine-api/worker-7  0

        \u{1b}[1mPENDING                                 DEVICE  POOL  REASON         MESSAGE\u{1b}[0m
        Machine/openshift-machine-api/worker-9  0       lab   \u{1b}[33mPoolExhausted\u{1b}[0m  all 14 addresses of pool lab are taken

        \u{1b}[1mPROBLEM    OBJECT                                  MESSAGE\u{1b}[0m
        \u{1b}[31mDuplicate\u{1b}[0m  Machine/openshift-machine-api/worker-3  192.168.101.66 is also on
                                                           Machine/openshift-machine-api/worker-2; change
                                                           one of them

        3 allocated, 2 kept, 1 released, 1 pending, 1 problem (12 reads, 5 writes)
        ");
    }

    #[test]
    fn people_are_told_what_they_do_not_know_and_programs_all() {
        let (report, known) = (reconcile(), Findings { pending: &[], problems: &[] });
        let people = render(&report, known, look(Format::Table), false);
        assert!(!people.contains("PoolExhausted") && people.contains("1 pending, 1 problem"), "{people}");
        let all = look(Format::Json);
        assert_eq!(render(&report, known, all, false), text(&report, all, false));
    }

    #[test]
    fn names_each_owner_once() {
        insta::assert_snapshot!(text(&reconcile(), look(Format::Name), false), @"
        Machine/openshift-machine-api/worker-0
        Machine/openshift-machine-api/worker-1
        ");
    }

    #[test]
    fn json_and_yaml() {
        let mut report = nothing_to_reconcile();
        report.allocated.push(reconcile().allocated[0].clone());
        report.pending = reconcile().pending;
        report.problems = reconcile().problems;
        insta::assert_snapshot!(text(&report, look(Format::Json), false), @r#"
        {
          "apiVersion": "mipam.io/v1",
          "kind": "ReconcileReport",
          "allocated": [
            {
              "system": "openshift",
              "kind": "Machine",
              "namespace": "openshift-machine-api",
              "name": "worker-0",
              "device": "0",
              "pool": "lab",
              "address": "192.168.101.65/23"
            }
          ],
          "kept": 0,
          "released": [],
          "pending": [
            {
              "system": "openshift",
              "kind": "Machine",
              "namespace": "openshift-machine-api",
              "name": "worker-9",
              "device": "0",
              "pool": "lab",
              "reason": "PoolExhausted",
              "message": "all 14 addresses of pool lab are taken"
            }
          ],
          "problems": [
            {
              "kind": "Duplicate",
              "object": "Machine/openshift-machine-api/worker-3",
              "message": "192.168.101.66 is also on Machine/openshift-machine-api/worker-2; change one of them"
            }
          ],
          "reads": 1,
          "writes": 0
        }
        "#);
        insta::assert_snapshot!(text(&report, look(Format::Yaml), false), @r#"
        apiVersion: mipam.io/v1
        kind: ReconcileReport
        allocated:
        - system: openshift
          kind: Machine
          namespace: openshift-machine-api
          name: worker-0
          device: "0"
          pool: lab
          address: 192.168.101.65/23
        kept: 0
        released: []
        pending:
        - system: openshift
          kind: Machine
          namespace: openshift-machine-api
          name: worker-9
          device: "0"
          pool: lab
          reason: PoolExhausted
          message: all 14 addresses of pool lab are taken
        problems:
        - kind: Duplicate
          object: Machine/openshift-machine-api/worker-3
          message: 192.168.101.66 is also on Machine/openshift-machine-api/worker-2; change one of them
        reads: 1
        writes: 0
        "#);
    }

    #[test]
    fn nothing_to_do() {
        insta::assert_snapshot!(text(&nothing_to_reconcile(), look(Format::Table), false), @"0 allocated, 0 kept, 0 released, 0 pending, 0 problems (1 read, 0 writes)");
        insta::assert_snapshot!(text(&nothing_to_reconcile(), look(Format::Table), true), @"
        0 would be allocated, 0 kept, 0 would be released, 0 pending, 0 problems (1 read, 0 writes)
        dry run: nothing was written
        ");
        assert_eq!(text(&nothing_to_reconcile(), look(Format::Name), false), "");
    }
}
