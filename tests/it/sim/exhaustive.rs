//! For every scenario, for every request of its passes, every fault: afterwards two passes lead to the very
//! state that a run without faults reaches, and the next has nothing to do.

use super::fault::Fault;
use super::stage::{World, kinds};
use crate::scenario::{self, Scenario, Step, Target, normal};
use mipam::model::{Object, ObjectRef};
use mipam::plan::Scope;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A fault in one of the passes of a scenario.
#[derive(Clone, Copy, Debug)]
struct Story {
    /// Which pass of the scenario.
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

/// The scope of a `reconcile`; `None` for what is no pass.
fn scope(run: &str) -> Option<Scope> {
    let words: Vec<&str> = run.split_whitespace().collect();
    if words.first() != Some(&"reconcile") || words.contains(&"--dry-run") {
        return None;
    }
    let after = |flag: &str| words.iter().position(|w| *w == flag).map(|at| words[at + 1].to_owned());
    let systems = after("--systems").map(|s| s.split(',').map(str::to_owned).collect());
    Some(Scope { namespace: after("-n"), systems, only: None })
}

/// Commands that write and are no pass.
fn other_writes(scenario: &Scenario) -> bool {
    let writes = |run: &str| run.starts_with("allocate") || run.starts_with("release");
    scenario.steps.iter().any(|s| matches!(s, Step::Run { run, .. } if writes(run)))
}

/// Plays a scenario; returns the state at its end and how many requests each pass made.
async fn play(folder: &Path, scenario: &Scenario, story: Option<Story>) -> (Value, Vec<usize>) {
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let mut file = folder.join("config.yaml").exists().then(|| read("config.yaml"));
    let mut world = World::with(mipam::config::empty());
    world.create(&read("before.yaml"));
    let mut requests = Vec::new();
    for step in &scenario.steps {
        match step {
            Step::Create { create } => world.create(create),
            Step::Delete { delete, hold } => world.delete(&reference(delete), *hold),
            Step::Patch { patch, merge } => {
                world.edit(&reference(patch), |o: &mut Object| scenario::merge(&mut o.0, merge));
            }
            Step::Config { config } => file = Some(config.clone()),
            Step::Run { run, exit, .. } => {
                let Some(scope) = scope(run) else { continue };
                world.config = Arc::new(scenario::config(file.as_deref(), run));
                let fault = story.filter(|s| s.pass == requests.len()).map(|s| (s.request, s.fault));
                let (_, made) = world.pass(&scope, fault).await;
                requests.push(made);
                if fault.is_some() {
                    for _ in 0..2 {
                        let refused = world.clean(&scope).await.is_err();
                        assert_eq!(refused, *exit == 2, "{run}");
                    }
                }
            }
        }
    }
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

#[test]
fn every_fault_at_every_request_of_every_scenario() {
    // Only these, where a person says so; else all.
    let only = std::env::var("MIPAM_SCENARIO").unwrap_or_default();
    let folders = scenario::folders().into_iter().filter(|f| f.to_string_lossy().contains(&only));
    let all = folders.map(|folder| (scenario::load(&folder), folder));
    let all: Vec<_> =
        all.filter(|(s, _)| !other_writes(s) && s.profiles.iter().any(|p| p == "own")).collect();
    let (next, stories) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|threads| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            threads.spawn(|| {
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
