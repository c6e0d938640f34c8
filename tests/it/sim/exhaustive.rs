//! For every scenario, for every request of its passes, every fault: afterwards two passes lead to the very
//! state that a run without faults reaches, and the next has nothing to do.

use super::fault::Fault;
use super::stage::{World, kinds};
use crate::scenario::{self, Scenario, Step, Target, normal};
use mipam::model::{Object, ObjectRef};
use mipam::plan::Scope;
use serde_json::Value;
use std::path::Path;

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
                world.config = scenario::config(file.as_deref(), run);
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

#[test]
fn every_fault_at_every_request_of_every_scenario() {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let (mut stories, mut scenarios) = (0, 0);
    let only = std::env::var("MIPAM_SCENARIO").unwrap_or_default();
    for folder in scenario::folders().into_iter().filter(|f| f.to_string_lossy().contains(&only)) {
        let scenario = scenario::load(&folder);
        if other_writes(&scenario) || !scenario.profiles.iter().any(|p| p == "own") {
            continue;
        }
        scenarios += 1;
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        let expected = scenario::expected(&folder)["after"].clone();
        let (after, requests) = runtime.block_on(play(&folder, &scenario, None));
        assert_eq!(after, expected, "{name} on the simulation, without faults");
        for (pass, made) in requests.iter().enumerate() {
            for request in 0..*made {
                for fault in Fault::ALL {
                    stories += 1;
                    let story = Story { pass, request, fault };
                    let played = std::panic::AssertUnwindSafe(|| {
                        runtime.block_on(play(&folder, &scenario, Some(story))).0
                    });
                    let after = std::panic::catch_unwind(played).unwrap_or_else(|cause| {
                        let text = cause.downcast_ref::<String>().cloned().unwrap_or_default();
                        panic!("{name}, {story:?}: {text}")
                    });
                    assert_eq!(
                        after, expected,
                        "{name}, {story:?}: not the state that a run without faults reaches"
                    );
                }
            }
        }
    }
    let enough = scenarios > 30 && stories > 3_000;
    assert!(enough || !only.is_empty(), "only {stories} stories of {scenarios} scenarios were played");
}
