//! What every story of this folder has: a server, a fleet, two configurations, a history, and the same end.

use super::checker::Checker;
use super::dice::Dice;
use super::fleet::{self, CRON, Fleet, LAPTOP};
use super::history::Recorder;
use super::proxy::{Proxy, Tactic};
use super::run::Run;
use crate::bed::{Bed, Locked, Profile};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

/// The account that mipam uses: its requests can be told from those of the users.
pub const ACCOUNT: &str = "mipam";

const ROLE: &str = "
kind: ClusterRole
rules:
  - {apiGroups: ['*'], resources: ['*'], verbs: [get, list, create, update]}
  - {nonResourceURLs: ['*'], verbs: [get]}
";

pub struct Stage {
    pub bed: &'static Bed,
    pub dice: Dice,
    pub fleet: Fleet,
    pub dir: tempfile::TempDir,
    recorder: Option<Recorder>,
    _turn: Locked<'static>,
}

/// A run and the proxy it goes through.
pub struct Proxied {
    pub run: Arc<Run>,
    pub proxy: Proxy,
}

impl Stage {
    pub fn set() -> Self {
        // The stories have a server of their own, as they kill it, and take turns on it.
        static BED: OnceLock<Bed> = OnceLock::new();
        let bed = BED.get_or_init(|| Bed::with(Profile::Own));
        let turn = bed.lock();
        bed.grant(ACCOUNT, ROLE);
        let mut dice = Dice::new(Dice::seed());
        let dir = tempfile::tempdir().expect("a folder");
        std::fs::write(dir.path().join("cron.yaml"), CRON).expect("a file");
        std::fs::write(dir.path().join("laptop.yaml"), LAPTOP).expect("a file");
        let fleet = Fleet::new(bed, dice.split());
        Self { bed, dice, fleet, dir, recorder: Some(Recorder::start(bed)), _turn: turn }
    }

    /// The CronJob's configuration, or the laptop's.
    pub fn config(&self, cron: bool) -> PathBuf {
        self.dir.path().join(if cron { "cron.yaml" } else { "laptop.yaml" })
    }

    /// Starts a run that talks to the server itself.
    pub fn start(&self, cron: bool, more: &[&str]) -> Run {
        Run::start(self.dir.path(), &self.bed.kubeconfig(ACCOUNT), &self.config(cron), more)
    }

    /// Starts a run behind a proxy.
    pub fn start_behind(&self, tactic: Tactic, cron: bool, more: &[&str]) -> Proxied {
        let proxy = Proxy::start(self.bed, ACCOUNT, tactic);
        let file = proxy.kubeconfig(self.dir.path());
        let run = Arc::new(Run::start(self.dir.path(), &file, &self.config(cron), more));
        proxy.aim(run.clone());
        Proxied { run, proxy }
    }

    /// The faults are over: two passes finish the work, further ones find nothing to do, and the world and
    /// its history are as they should be.
    pub fn end(mut self) {
        self.fleet.bury(0);
        let mut complaints = Vec::new();
        // An address that one configuration has recorded and the other one does not know is the first one's to
        // write, so each makes one of the two passes.
        for cron in [true, false] {
            let ended = self.start(cron, &[]).finish();
            if !matches!(ended.code, Some(0 | 1)) {
                complaints.push(format!("{ended:?}"));
            }
        }
        let mark = self.bed.mark();
        for cron in [true, false] {
            let ended = self.start(cron, &[]).finish();
            let writes = self.bed.writes_since(mark, ACCOUNT);
            if ended.code != Some(0) || !writes.is_empty() {
                complaints.push(format!("not idle: {ended:?} wrote {writes:?}"));
            }
        }
        let history = self.recorder.take().expect("a recorder").finish();
        let (steps, gaps) = (history.steps.len(), history.gaps);
        let mut checker = Checker::default();
        history.steps.into_iter().for_each(|step| checker.apply(step));
        checker.finish(fleet::served, fleet::usable);
        if checker.machines.len() != self.fleet.size() {
            complaints.push(format!("{} machines, not {}", checker.machines.len(), self.fleet.size()));
        }
        let entries = checker.ledger.values().filter(|places| !places.is_empty()).count();
        eprintln!("{} machines, {entries} entries, {steps} changes, {gaps} gaps", checker.machines.len());
        complaints.splice(0..0, checker.findings);
        let some: Vec<&String> = complaints.iter().take(20).collect();
        assert!(complaints.is_empty(), "{} findings, among them {some:#?}", complaints.len());
    }
}
