//! For every scenario, for every request of its commands, every fault: afterwards the same command, typed again,
//! leads to the very state that a run without faults reaches, and the next pass has nothing to do.

use super::fault::Fault;
use super::stage::{World, kinds};
use crate::scenario::{self, Scenario, Step, Target, normal};
use mipam::cli::{Cli, Format};
use mipam::cluster::Cluster;
use mipam::commands::{ExitStatus, run_on};
use mipam::model::{Object, ObjectRef};
use mipam::output::Printer;
use mipam::plan::Scope;
use serde_json::Value;
use std::cell::RefCell;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// A fault in one of the commands of a scenario.
#[derive(Clone, Copy, Debug)]
struct Story {
    /// Which command of the scenario that writes.
    pass: usize,
    /// Which request of it.
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
    ["reconcile", "allocate", "release"].contains(&verb) && !run.contains("--dry-run")
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

/// Where a person types: with a configuration, and what the last command has printed.
struct Desk {
    scratch: tempfile::TempDir,
    world: World,
    printed: RefCell<Vec<u8>>,
}

impl Desk {
    /// Types a command. `None`: it died on the way.
    async fn run(&self, run: &str, fault: Option<(usize, Fault)>) -> (Option<ExitStatus>, usize) {
        let (config, last) = (self.scratch.path().join("config.yaml"), self.scratch.path().join("last.json"));
        let run = run.replace("{last}", &last.display().to_string());
        let mut words: Vec<String> =
            ["mipam"].into_iter().chain(run.split_whitespace()).map(str::to_owned).collect();
        if config.exists() {
            words.extend(["--config".to_owned(), config.display().to_string()]);
        }
        let cli = Cli::from_args(words).unwrap();
        let page = Page::default();
        let mut printer = Printer::to(cli.output, Box::new(page.clone()), Box::new(std::io::sink()));
        printer.format = Format::Json;
        let typed = async |cluster: &dyn Cluster| run_on(&cli, cluster, self.world.now, &printer).await;
        let answer = self.world.under(fault, typed).await;
        *self.printed.borrow_mut() = page.0.lock().unwrap().clone();
        answer
    }

    /// What was printed last is what the next command can read.
    fn keep(&self) {
        std::fs::write(self.scratch.path().join("last.json"), &*self.printed.borrow()).unwrap();
    }
}

/// Plays a scenario; returns the state at its end and how many requests each command that writes has made.
async fn play(folder: &Path, scenario: &Scenario, story: Option<Story>) -> (Value, Vec<usize>) {
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let mut file = folder.join("config.yaml").exists().then(|| read("config.yaml"));
    let mut desk = Desk {
        scratch: tempfile::tempdir().unwrap(),
        world: World::with(mipam::config::empty()),
        printed: RefCell::default(),
    };
    desk.world.create(&read("before.yaml"));
    let mut requests = Vec::new();
    for step in &scenario.steps {
        match step {
            Step::Create { create } => desk.world.create(create),
            Step::Delete { delete, hold } => desk.world.delete(&reference(delete), *hold),
            Step::Patch { patch, merge } => {
                desk.world.edit(&reference(patch), |o: &mut Object| scenario::merge(&mut o.0, merge));
            }
            Step::Config { config } => file = Some(config.clone()),
            Step::Run { run, exit, .. } => {
                if let Some(text) = &file {
                    std::fs::write(desk.scratch.path().join("config.yaml"), text).unwrap();
                }
                if !writes(run) {
                    if run.starts_with("status") {
                        desk.run(run, None).await;
                        desk.keep();
                    }
                    continue;
                }
                desk.world.config = Arc::new(scenario::config(file.as_deref(), run));
                desk.world.forced = run.contains("--force");
                let fault = story.filter(|s| s.pass == requests.len()).map(|s| (s.request, s.fault));
                let (_, made) = desk.run(run, fault).await;
                requests.push(made);
                if fault.is_some() {
                    // A person who is not sure whether it worked types it again.
                    desk.run(run, None).await;
                    let (again, _) = desk.run(run, None).await;
                    assert_eq!(again.map(|status| i32::from(status.code()) == 2), Some(*exit == 2), "{run}");
                }
                desk.keep();
            }
        }
    }
    let world = &desk.world;
    let after = normal::objects(world.objects());
    // What a person would do next changes nothing any more, where the scenario ended in a whole pass.
    if matches!(scenario.steps.last(), Some(Step::Run { run, .. }) if run.split(" --network ").next() == Some("reconcile"))
    {
        let idle = world.clean(&Scope::default()).await.unwrap();
        assert_eq!(normal::objects(world.objects()), after);
        assert!(idle.changed.is_empty(), "an idle pass writes: {:?}", idle.changed);
    }
    (after, requests)
}

/// Every fault at every request of one scenario; returns how many stories that were.
fn every_fault_of(folder: &Path, scenario: &Scenario) -> usize {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let name = folder.file_name().unwrap().to_string_lossy().into_owned();
    let expected = scenario::expected(folder)["after"].clone();
    let (after, requests) = runtime.block_on(play(folder, scenario, None));
    assert_eq!(after, expected, "{name} on the simulation, without faults");
    let mut stories = 0;
    for (pass, made) in requests.iter().enumerate() {
        for (request, fault) in (0..*made).flat_map(|r| Fault::ALL.map(|f| (r, f))) {
            stories += 1;
            let story = Story { pass, request, fault };
            let played =
                std::panic::AssertUnwindSafe(|| runtime.block_on(play(folder, scenario, Some(story))).0);
            let after = std::panic::catch_unwind(played).unwrap_or_else(|cause| {
                let text = cause.downcast_ref::<String>().cloned().unwrap_or_default();
                panic!("{name}, {story:?}: {text}")
            });
            assert_eq!(after, expected, "{name}, {story:?}: not the state that a run without faults reaches");
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
