//! For every scenario, for every request of its commands, every fault: afterwards the same command, typed again,
//! leads to the very state that a run without faults reaches, and the next pass has nothing to do.

use super::fault::Fault;
use super::stage::{World, kinds, runtime};
use crate::scenario::{self, Scenario, Step, Target, normal};
use mipam::cli::{Cli, Format};
use mipam::cluster::Cluster;
use mipam::commands::{ExitStatus, run_on};
use mipam::model::{Object, ObjectRef};
use mipam::output::Printer;
use mipam::plan::Scope;
use serde_json::Value;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// A fault in a command.
#[derive(Clone, Copy, Debug)]
struct Story {
    /// Which request of the command.
    request: usize,
    fault: Fault,
}

fn reference(target: &Target) -> ObjectRef {
    let group = target.api_version().split_once('/').map_or("", |(group, _)| group);
    let kind = kinds().into_iter().find(|k| k.kind == target.kind && k.group == group).unwrap();
    kind.at(&target.namespace, &target.name)
}

/// Does it write?
fn writes(run: &str) -> bool {
    let verb = run.split_whitespace().next().unwrap_or_default();
    ["reconcile", "allocate", "release", "detach"].contains(&verb) && !run.contains("--dry-run")
}

/// What a command prints, for the next one to read.
#[derive(Clone, Default)]
struct Page(Arc<Mutex<Vec<u8>>>);

impl Write for Page {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Where a person types: the world, the configuration in use, what the last command has printed, and what the last
/// step did, for the next one to read.
struct Desk {
    world: World,
    config: Option<String>,
    printed: Vec<u8>,
    last: Vec<u8>,
}

impl Desk {
    /// The same desk once more, on which something else can happen.
    fn copy(&self) -> Self {
        let (config, printed, last) = (self.config.clone(), self.printed.clone(), self.last.clone());
        Self { world: self.world.copy(), config, printed, last }
    }

    /// What was printed last is what the next step can read.
    fn keep(&mut self) {
        self.last = std::mem::take(&mut self.printed);
    }

    /// All that what happens next can depend on. Epochs are drawn at random and only compared with each other.
    fn state(&self) -> String {
        let all = self.world.sim.all();
        let epoch = all.iter().find_map(|(_, object)| object.text("/data/epoch"));
        let state: String = all.iter().map(|(_, object)| object.0.to_string()).collect();
        let state = epoch.map_or(state.clone(), |epoch| state.replace(epoch, "<epoch>"));
        format!("{} {state}", self.world.sim.version())
    }
}

/// A scenario that is played again and again.
struct Stage<'a> {
    folder: &'a Path,
    scenario: &'a Scenario,
    scratch: tempfile::TempDir,
    /// Command lines that were read before: reading them takes longer than a pass.
    typed: RefCell<BTreeMap<Line, Arc<Cli>>>,
}

/// What is typed, and the configuration that it is typed with.
type Line = (String, Option<String>);

/// A command that writes: the step, the desk before it, and how many requests it makes.
type Cue = (usize, Desk, usize);

impl Stage<'_> {
    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.join(name)).unwrap()
    }

    /// The command line of a step, with its configuration in a file.
    fn cli(&self, run: &str, config: Option<&String>) -> Arc<Cli> {
        let mut typed = self.typed.borrow_mut();
        let files = typed.len();
        let cli = typed.entry((run.to_owned(), config.cloned())).or_insert_with(|| {
            let last = self.scratch.path().join("last.json");
            let run = run.replace("{last}", &last.display().to_string());
            let mut words: Vec<String> =
                ["mipam"].into_iter().chain(run.split_whitespace()).map(str::to_owned).collect();
            if let Some(text) = config {
                let file = self.scratch.path().join(format!("config-{files}.yaml"));
                std::fs::write(&file, text).unwrap();
                words.extend(["--config".to_owned(), file.display().to_string()]);
            }
            Arc::new(Cli::from_args(words).unwrap())
        });
        cli.clone()
    }

    /// Types a command. `None`: it died on the way.
    async fn run(
        &self,
        desk: &mut Desk,
        run: &str,
        fault: Option<(usize, Fault)>,
    ) -> (Option<ExitStatus>, usize) {
        if run.contains("{last}") {
            std::fs::write(self.scratch.path().join("last.json"), &desk.last).unwrap();
        }
        let cli = self.cli(run, desk.config.as_ref());
        let page = Page::default();
        let mut printer = Printer::to(cli.output, Box::new(page.clone()), Box::new(std::io::sink()));
        printer.format = Format::Json;
        let typed = async |cluster: &dyn Cluster| run_on(&cli, cluster, desk.world.now, &printer).await;
        let answer = desk.world.under(fault, typed).await;
        desk.printed = page.0.lock().unwrap().clone();
        answer
    }

    /// The desk before the first step.
    fn desk(&self) -> Desk {
        let world = World::with(mipam::config::empty());
        world.create(&self.read("before.yaml"));
        let config = self.folder.join("config.yaml").exists().then(|| self.read("config.yaml"));
        Desk { world, config, printed: Vec::new(), last: Vec::new() }
    }

    /// Plays a scenario from a step to its end; returns the state then, and the commands that write.
    async fn play(&self, desk: &mut Desk, from: usize) -> (Value, Vec<Cue>) {
        let mut cues = Vec::new();
        for (at, step) in self.scenario.steps.iter().enumerate().skip(from) {
            match step {
                Step::Create { create } => desk.world.create(create),
                Step::Delete { delete, hold } => desk.world.delete(&reference(delete), *hold),
                Step::Patch { patch, merge } => {
                    desk.world.edit(&reference(patch), |o: &mut Object| scenario::merge(&mut o.0, merge));
                }
                Step::Config { config } => desk.config = Some(config.clone()),
                Step::Run { run, .. } if writes(run) => {
                    desk.world.config = Arc::new(scenario::config(desk.config.as_deref(), run));
                    desk.world.forced = run.contains("--force");
                    desk.world.leaving = run.starts_with("detach");
                    let before = desk.copy();
                    let (_, made) = self.run(desk, run, None).await;
                    desk.keep();
                    cues.push((at, before, made));
                }
                Step::Run { run, .. } if run.starts_with("status") => {
                    self.run(desk, run, None).await;
                    desk.keep();
                }
                Step::Run { .. } => (),
            }
        }
        let world = &desk.world;
        let after = normal::objects(world.objects());
        // What a person would do next changes nothing any more, where the scenario ended in a whole pass.
        if matches!(self.scenario.steps.last(), Some(Step::Run { run, .. }) if run.split(" --network ").next() == Some("reconcile"))
        {
            let idle = world.clean(&Scope::default()).await.unwrap();
            assert_eq!(normal::objects(world.objects()), after);
            assert!(idle.changed.is_empty(), "an idle pass writes: {:?}", idle.changed);
        }
        (after, cues)
    }

    /// Plays a fault in one of the commands, and all that comes after it; returns the state at the end. `None`:
    /// what the fault has left behind is what another one of the same command has left, and was played from there.
    async fn play_with(&self, cue: &Cue, story: Story, seen: &mut BTreeSet<String>) -> Option<Value> {
        let (at, before, _) = cue;
        let Step::Run { run, exit, .. } = &self.scenario.steps[*at] else { unreachable!("a command") };
        let mut desk = before.copy();
        self.run(&mut desk, run, Some((story.request, story.fault))).await;
        if !seen.insert(desk.state()) {
            return None;
        }
        // A person who is not sure whether it worked types it again.
        self.run(&mut desk, run, None).await;
        let (again, _) = self.run(&mut desk, run, None).await;
        assert_eq!(again.map(|status| i32::from(status.code()) == 2), Some(*exit == 2), "{run}");
        desk.keep();
        Some(self.play(&mut desk, at + 1).await.0)
    }
}

/// Every fault at every request of one scenario; returns how many stories that were.
fn every_fault_of(folder: &Path, scenario: &Scenario) -> usize {
    let runtime = runtime();
    let name = folder.file_name().unwrap().to_string_lossy().into_owned();
    let expected = scenario::expected(folder)["after"].clone();
    let stage = Stage { folder, scenario, scratch: tempfile::tempdir().unwrap(), typed: RefCell::default() };
    let (after, cues) = runtime.block_on(stage.play(&mut stage.desk(), 0));
    assert_eq!(after, expected, "{name} on the simulation, without faults");
    let mut stories = 0;
    for (command, cue) in cues.iter().enumerate() {
        let mut seen = BTreeSet::new();
        for (request, fault) in (0..cue.2).flat_map(|r| Fault::ALL.map(|f| (r, f))) {
            stories += 1;
            let story = Story { request, fault };
            let played =
                std::panic::AssertUnwindSafe(|| runtime.block_on(stage.play_with(cue, story, &mut seen)));
            let after = std::panic::catch_unwind(played).unwrap_or_else(|cause| {
                let text = cause.downcast_ref::<String>().cloned().unwrap_or_default();
                panic!("{name}, command {command}, {story:?}: {text}")
            });
            if let Some(after) = after {
                let why = "not the state that a run without faults reaches";
                assert_eq!(after, expected, "{name}, command {command}, {story:?}: {why}");
            }
        }
    }
    stories
}

/// One failure is enough: the others need not go on.
struct StopOthers<'a>(&'a AtomicUsize);

impl Drop for StopOthers<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(usize::MAX / 2, Ordering::Relaxed);
        }
    }
}

#[test]
fn every_fault_at_every_request_of_every_scenario() {
    // Only these, where a person says so; else all.
    let only = std::env::var("MIPAM_SCENARIO").unwrap_or_default();
    let folders = scenario::folders().into_iter().filter(|f| f.to_string_lossy().contains(&only));
    let all = folders.map(|folder| (scenario::load(&folder), folder));
    let all: Vec<_> = all.filter(|(s, _)| s.profiles.iter().any(|p| p == "own")).collect();
    let (next, stories) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|threads| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            threads.spawn(|| {
                let _stop = StopOthers(&next);
                while let Some((scenario, folder)) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
                    stories.fetch_add(every_fault_of(folder, scenario), Ordering::Relaxed);
                }
            });
        }
    });
    let (scenarios, stories) = (all.len(), stories.into_inner());
    assert!(
        !only.is_empty() || (scenarios > 30 && stories > 3_000),
        "only {stories} stories of {scenarios} scenarios were played"
    );
}
