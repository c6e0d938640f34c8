//! Random worlds: users who create, delete, recreate, relabel, pause and edit, configurations that change and that
//! differ, up to three runs at once in any interleaving, each step one request, faults at any of them. The
//! guarantees are checked after every write, and at the end what must be so once faults stop.
//!
//! `MIPAM_SIM_SEED` replays one world, `MIPAM_SIM_STEPS` makes so many steps in worlds that were never seen. A world that
//! fails is cut down to the actions that it needs, and those are printed.

pub(super) mod act;
mod ending;
mod fleet;
mod people;
pub(super) mod runs;
mod setup;
pub mod tale;

use super::check::Checker;
use super::stage::{NOW, kinds, runtime};
use act::Act;
pub use act::Random;
use ending::End;
use fleet::Fleet;
use mipam::cluster::sim::SimCluster;
use mipam::config::Config;
use mipam::model::Kind;
use mipam::pass::{Memory, Outcome, Pass, Silent};
use mipam::plan::Scope;
use people::Touched;
use runs::{Run, Stepping, World};
use setup::Setup;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

const STEPS: usize = 100_000;
const SEED: u64 = 1;
const WORLD: usize = 250;
const PATIENCE: Duration = Duration::from_secs(20);

/// Without faults, a whole pass stands for so many requests.
const PASS: usize = 12;

/// Most worlds have only kinds of which there are objects, so that a pass is not all reading.
fn served(seed: u64) -> Vec<Kind> {
    let mut kinds = kinds();
    if seed % 8 != 7 {
        kinds.retain(|k| {
            matches!(k.kind, "ConfigMap" | "Namespace" | "Node") || Fleet::of(seed).kinds().contains(k)
        });
    }
    kinds
}

/// Plays a story; without faults, runs do not meet and every request of them succeeds.
async fn live(seed: u64, acts: &[Act], faults: bool) -> End {
    let world =
        Rc::new(World { sim: SimCluster::new(&served(seed)), checker: RefCell::new(Checker::default()) });
    let mut setups = vec![Setup::of(seed)];
    let laptop = faults && seed % 5 == 4;
    let mut touched = Touched::new();
    let mut now = NOW;
    let mut runs: [Option<Run>; 3] = [None, None, None];
    let mut requests = 0;
    // The first one is a process that goes on and remembers; the others know nothing when they begin.
    let mut remembers: Option<(Setup, Rc<RefCell<Memory>>)> = None;
    for act in acts {
        let setup = setups.last().expect("a setup").clone();
        tale::tell(|| format!("  {act:?}"));
        match *act {
            Act::Request { .. } if !faults => {
                requests += 1;
                if requests % PASS == 0 {
                    // Whatever it ends with: the world is what is checked.
                    let _ = Run::whole(&world, &setup.config(), now).await;
                }
            }
            Act::Request { run, trouble } => {
                let slot = &mut runs[run as usize];
                let running = slot.get_or_insert_with(|| {
                    let setup = if laptop && run == 2 { setup.laptop() } else { setup };
                    let memory = (run == 0).then(|| {
                        let same = remembers.take().filter(|(before, _)| *before == setup);
                        remembers.insert(same.unwrap_or_else(|| (setup.clone(), Rc::default()))).1.clone()
                    });
                    Run::begin(&world, &setup.config(), now, memory)
                });
                match running.step(trouble).await {
                    Stepping::On => {}
                    Stepping::Dead => *slot = None,
                    Stepping::Over(outcome) => {
                        tale::tell(|| match &*outcome {
                            Ok(_) => "      the run is over".to_owned(),
                            Err(error) => format!("      the run fails: {error}"),
                        });
                        if let (Ok(outcome), Some((_, memory)), 0) = (*outcome, &remembers, run) {
                            memory.replace(Memory::of(outcome.sight));
                        }
                        *slot = None;
                    }
                }
            }
            Act::Kill { run } => runs[run as usize] = None,
            Act::Clock { seconds } => now += i64::from(seconds),
            Act::Edit { pool, how } => setups.extend(setup.edited(pool, how)),
            user => {
                people::act(&world.sim, Fleet::of(seed), &setup, user, &mut touched);
                world.checker.borrow_mut().accept(&world.sim);
            }
        }
    }
    drop(runs);
    ending::settle(&world, &setups, now, &touched).await
}

fn attempt(seed: u64, acts: &[Act]) -> Result<(), String> {
    let runtime = runtime();
    let both = || {
        let faulty = runtime.block_on(live(seed, acts, true));
        let clean = runtime.block_on(live(seed, acts, false));
        ending::compare(&faulty, &clean);
    };
    catch_unwind(AssertUnwindSafe(both)).map_err(|cause| {
        let text = cause.downcast_ref::<String>().cloned();
        text.or_else(|| cause.downcast_ref::<&str>().map(ToString::to_string)).unwrap_or_default()
    })
}

/// Leaves out whatever the failure does not need, as far as that can be told in a minute.
fn shrink(seed: u64, mut acts: Vec<Act>, why: &str) -> Vec<Act> {
    // The same failure, whoever it befalls.
    let kind = |why: &str| why.chars().filter(|c| !c.is_ascii_digit()).take(60).collect::<String>();
    let begun = Instant::now();
    let mut chunk = acts.len() / 2;
    while chunk > 0 {
        let mut at = 0;
        while at < acts.len() && begun.elapsed() < PATIENCE {
            let mut fewer = acts.clone();
            fewer.drain(at..(at + chunk).min(acts.len()));
            if attempt(seed, &fewer).is_err_and(|other| kind(&other) == kind(why)) {
                acts = fewer;
            } else {
                at += chunk;
            }
        }
        chunk /= 2;
    }
    acts
}

fn story(seed: u64) -> Vec<Act> {
    let mut random = Random(seed);
    (0..WORLD).map(|_| random.act()).collect()
}

#[test]
fn no_world_breaks_a_guarantee() {
    let number = |name: &str| std::env::var(name).ok().map(|v| v.parse::<u64>().expect("a number"));
    let asked = number("MIPAM_SIM_STEPS").map(|s| s as usize);
    let steps = asked.unwrap_or(STEPS);
    let one = number("MIPAM_SIM_SEED");
    // The same worlds in every plain `cargo test`, so that a change is what makes it fail; a run that is asked for
    // looks for new ones.
    let first = one.unwrap_or_else(|| asked.map_or(SEED, |_| mipam::cluster::random() >> 1));
    let worlds = if one.is_some() { 1 } else { steps.div_ceil(WORLD) as u64 };
    eprintln!("simulation: {worlds} worlds of {WORLD} steps from seed {first}");
    let (next, failed) = (AtomicU64::new(first), Mutex::new(None));
    std::thread::scope(|threads| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            threads.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= first + worlds {
                        return;
                    }
                    if let Err(why) = attempt(seed, &story(seed)) {
                        // The others stop where they are.
                        next.store(u64::MAX / 2, Ordering::Relaxed);
                        failed.lock().unwrap().get_or_insert((seed, why));
                    }
                }
            });
        }
    });
    let Some((seed, why)) = failed.into_inner().unwrap() else { return };
    std::panic::set_hook(Box::new(|_| ()));
    let story = shrink(seed, story(seed), &why);
    tale::begin();
    let again = attempt(seed, &story).err();
    let told = tale::end();
    let _ = std::panic::take_hook();
    panic!(
        "MIPAM_SIM_SEED={seed}: {why}\nIn short ({} steps): {}\n{told}",
        story.len(),
        again.unwrap_or_default(),
    );
}

/// What a pass would do, down to every byte that it would write.
fn said(outcome: &Outcome) -> String {
    let report = mipam::model::ReconcileReport { reads: 0, writes: 0, ..outcome.report.clone() };
    let changed: Vec<_> = outcome.changed.iter().map(|c| (&c.before, &c.after)).collect();
    format!("{report:#?}\n{:#?}\n{changed:#?}", outcome.warnings)
}

#[test]
fn a_pass_that_remembers_decides_what_one_does_that_reads_everything() {
    const WORLDS: u64 = 40;
    let mut compared = 0;
    for seed in 1..=WORLDS {
        let sim = SimCluster::new(&served(seed));
        let (mut setup, mut touched, mut now) = (Setup::of(seed), Touched::new(), NOW);
        let mut config = setup.config();
        let memory = RefCell::new(Memory::default());
        let runtime = runtime();
        let pass = |config: &Config, now, dry_run, memory| {
            let scope = Scope::default();
            let progress = &Silent;
            let pass = Pass { cluster: &sim, config, scope, now, in_flight: 3, dry_run, progress, memory };
            runtime.block_on(pass.run(&|_| ()))
        };
        for act in story(seed) {
            match act {
                Act::Request { .. } => {
                    let afresh = pass(&config, now, true, None);
                    let remembering = pass(&config, now, true, Some(&memory));
                    match (afresh, remembering) {
                        (Ok(afresh), Ok(remembering)) => {
                            assert_eq!(said(&remembering), said(&afresh), "seed {seed}");
                            memory.replace(Memory::of(remembering.sight));
                            compared += 1;
                        }
                        (Err(afresh), Err(remembering)) => {
                            assert_eq!(remembering.to_string(), afresh.to_string(), "seed {seed}");
                        }
                        (afresh, remembering) => panic!("seed {seed}: {afresh:?} and {remembering:?}"),
                    }
                    // What is remembered was written by this process, or by another one since.
                    if compared % 2 == 0 {
                        let _ = pass(&config, now, false, None);
                    } else if let Ok(outcome) = pass(&config, now, false, Some(&memory)) {
                        memory.replace(Memory::of(outcome.sight));
                    }
                }
                Act::Kill { .. } => {}
                Act::Clock { seconds } => now += i64::from(seconds),
                Act::Edit { pool, how } => {
                    if let Some(edited) = setup.edited(pool, how) {
                        (setup, config) = (edited.clone(), edited.config());
                        memory.take();
                    }
                }
                user => people::act(&sim, Fleet::of(seed), &setup, user, &mut touched),
            }
        }
    }
    assert!(compared > 1_000, "only {compared} passes were compared");
}
