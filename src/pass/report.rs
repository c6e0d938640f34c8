//! What is reported of a pass: what was given, kept and released, what waits, what is wrong, what failed.

use super::sight::once;
use super::{Answer, Outcome, Pass, Sight, given, is_recorded, lines, notices};
use crate::apply::{Changed, Ran, Recorded, Written};
use crate::cluster::ClusterError;
use crate::ledger;
use crate::model::{API_VERSION, Allocated, Notice, PendingLine, Problem, Reason, ReconcileReport};
use crate::plan::Decision;
use crate::systems;

impl Ran {
    /// Every object that the chain has changed.
    pub(super) fn changed(self) -> impl Iterator<Item = Changed> {
        self.written.into_iter().filter_map(|w| match w {
            Written::Done(changed) => Some(changed),
            _ => None,
        })
    }
}

impl Outcome {
    /// With what another turn of the same pass did after it.
    pub(super) fn then(mut self, later: Self) -> Self {
        let more = later.granted.into_iter().filter(|line| !self.granted.contains(line)).collect::<Vec<_>>();
        self.granted.extend(more);
        self.changed.extend(later.changed);
        let earlier = std::mem::replace(&mut self.report, later.report);
        self.report.kept = earlier.kept;
        self.report.allocated.extend(earlier.allocated);
        self.report.released.splice(0..0, earlier.released);
        self.report.claims.splice(0..0, earlier.claims);
        self.report.problems.extend(earlier.problems);
        self.report.allocated.sort();
        self.report.problems.sort();
        self.report.problems.dedup();
        self.warnings.extend(later.warnings);
        self.notices.extend(later.notices);
        once(&mut self.warnings);
        Self { failures: later.failures, notes: later.notes, sight: later.sight, ..self }
    }
}

/// Everything that is said about a pass.
pub(super) struct Said {
    report: ReconcileReport,
    granted: Vec<Allocated>,
    changed: Vec<Changed>,
    failures: Vec<(String, ClusterError)>,
    warnings: Vec<String>,
    notes: Vec<String>,
    notices: Vec<Notice>,
}

impl Said {
    /// With the world that it is said about.
    pub(super) fn with(self, sight: Sight) -> Outcome {
        let Self { report, granted, changed, failures, warnings, notes, notices } = self;
        Outcome { report, granted, changed, failures, warnings, notes, notices, sight }
    }
}

/// Everything that is said about a pass.
pub(super) fn finish(
    pass: &Pass<'_>,
    sight: &Sight,
    decision: &Decision,
    recorded: Option<&Recorded>,
    answers: Vec<Answer<'_>>,
    mut changed: Vec<Changed>,
) -> Said {
    let claims = &sight.survey.claims;
    let freed = decision.released.iter().filter(|a| recorded.is_none_or(|r| r.holds(&a.slot)));
    let mut report = ReconcileReport {
        api_version: API_VERSION,
        kind: "ReconcileReport",
        dry_run: pass.dry_run,
        allocated: Vec::new(),
        kept: sight.survey.settled.iter().filter(|o| pass.scope.serves(o)).count(),
        released: freed.clone().flat_map(|a| lines(a, sight)).collect(),
        claims: Vec::new(),
        pending: sight.survey.pending.iter().filter(|p| in_scope(pass, p)).cloned().collect(),
        problems: sight.survey.problems.iter().chain(&sight.seen.problems).cloned().collect(),
        reads: 0,
        writes: 0,
    };
    report.pending.extend(decision.pending.iter().cloned());
    report.problems.extend(decision.problems.iter().cloned());
    let asked = decision.served.iter().filter(|_| pass.scope.only.is_some());
    let granted = asked.filter(|s| is_recorded(s, recorded));
    let granted = granted.flat_map(|s| given(s, &claims[s.claim], &sight.pools)).collect();
    if pass.dry_run {
        changed.extend(ledger_preview(sight, decision));
    }
    let mut failures = Vec::new();
    let mut notices: Vec<Notice> = freed.flat_map(notices::released).collect();
    for Answer { served, ran } in answers {
        let claim = served.map(|s| &claims[s.claim]);
        let any = ran.written.iter().any(|w| matches!(w, Written::Done(_)));
        match ran.written.last() {
            Some(Written::Failed(target, error)) => {
                if let Some(claim) = claim {
                    let why = format!("its addresses are recorded, but it could not be written: {error}");
                    report.pending.push(PendingLine::of(claim.whose(), "", "", Reason::WriteFailed, why));
                }
                failures.push((target.to_string(), error.clone()));
            }
            Some(Written::Moot) => {
                if let Some(claim) = claim {
                    let why = "it changed in the meantime; the next reconcile looks at it again".to_owned();
                    report.pending.push(PendingLine::of(claim.whose(), "", "", Reason::Unreconciled, why));
                }
            }
            _ => {
                if let (Some(served), Some(claim), true) = (served, claim, any) {
                    let lines = given(served, claim, &sight.pools);
                    notices.extend(notices::allocated(claim, &lines));
                    report.allocated.extend(lines);
                }
                report.kept += usize::from(served.is_some_and(|s| !any || s.given.is_empty()));
            }
        }
        let done = ran.changed().collect::<Vec<_>>();
        // What is folded stands for itself, and for no claim.
        let open = done.iter().filter(|c| !c.is_folded());
        let told = open.filter_map(|c| {
            systems::ALL.iter().find_map(|s| s.changed(c.before.as_deref(), c.after.as_deref()))
        });
        report.claims.extend(told);
        changed.extend(done);
    }
    report.claims.sort();
    report.claims.dedup();
    // Those are as they should be only by now.
    let by_now = report.claims.iter().filter(|c| c.change != "released").count();
    report.kept = report.kept.saturating_sub(by_now);
    for served in decision.served.iter().filter(|s| !is_recorded(s, recorded)) {
        let why = "its addresses could not be recorded".to_owned();
        let owner = claims[served.claim].whose();
        report.pending.push(PendingLine::of(owner, "", "", Reason::WriteFailed, why));
    }
    if let Some(Recorded::Done { failed, .. }) = recorded {
        for (page, error) in failed {
            let object = format!("ConfigMap/{}/{}", ledger::NAMESPACE, page.name());
            report.problems.push(Problem::new("WriteFailed", &object, error.to_string()));
            failures.push((object, error.clone()));
        }
    }
    let waits = decision.unmet.iter().zip(&decision.pending);
    notices.extend(waits.filter_map(|(at, line)| notices::waiting(&claims[*at], line)));
    notices.extend(report.problems.iter().map(notices::problem));
    report.allocated.sort();
    report.pending.sort();
    report.problems.sort();
    report.problems.dedup();
    (report.reads, report.writes) = pass.cluster.traffic().counts();
    let (warnings, notes) = (sight.survey.warnings.clone(), sight.seen.notes.clone());
    Said { report, granted, changed, failures, warnings, notes, notices }
}

fn in_scope(pass: &Pass<'_>, line: &PendingLine) -> bool {
    pass.scope.only.is_none()
        && pass.scope.namespace.as_ref().is_none_or(|n| *n == line.namespace)
        && pass.scope.serves_system(&line.system)
}

fn ledger_preview(sight: &Sight, decision: &Decision) -> Vec<Changed> {
    let ledger = &sight.seen.ledger;
    let mut changes = decision.changes.clone();
    changes.extend(decision.binds.iter().map(|(s, a)| (s.clone(), ledger::Change::Put(a.clone()))));
    let epoch = ledger.head.as_ref().map_or("", |h| &h.epoch);
    let pages = ledger::by_page(&changes).into_iter().map(|(page, changes)| {
        let name = page.name();
        let before = ledger.listed(&name).cloned();
        Changed { before, after: Some(ledger.changed(&name, epoch, &changes).into()) }
    });
    pages.filter(|c| c.before.as_deref() != c.after.as_deref()).collect()
}
