//! Random worlds: users who create, delete, recreate, edit and pause, up to three runs at once in any
//! interleaving, each step one request, faults at any of them. The guarantees are checked after every write.
//!
//! `MIPAM_SIM_SEED` replays one world, `MIPAM_SIM_STEPS` sets how many steps are made in all. A world that
//! fails is cut down to the actions that it needs, and those are printed.

use super::check::Checker;
use super::stage::{NOW, World};
use mipam::cluster::{Answer, Cluster, ClusterError, Traffic};
use mipam::config::{self, Config};
use mipam::model::{Kind, Object, ObjectRef, Reason, Sign};
use mipam::pass::{Pass, Silent};
use mipam::plan::Scope;
use mipam::systems::openshift::MACHINE;
use serde_json::json;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Poll, Waker};
use std::time::Duration;

const STEPS: usize = 100_000;
const WORLD: usize = 250;

/// One step of a story; numbers choose among what is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Create { name: u8, devices: u8, preset: Option<u8> },
    Delete { name: u8, held: bool },
    Finish { name: u8 },
    Preset { name: u8, address: u8 },
    Wipe { name: u8 },
    Unhook { name: u8 },
    Pause { name: u8 },
    Wait { seconds: u16 },
    Grow,
    Request { run: u8, trouble: Trouble },
    Kill { run: u8 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trouble {
    None,
    LostAnswer,
    LostRequest,
    Conflict,
    CrashAfter,
}

/// splitmix64
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u64) -> u8 {
        (self.next() % n) as u8
    }

    fn act(&mut self) -> Act {
        let name = self.below(7);
        match self.below(100) {
            0..=7 => {
                let preset = (self.below(6) == 0).then(|| self.below(16));
                Act::Create { name, devices: 1 + self.below(2), preset }
            }
            8..=11 => Act::Delete { name, held: self.below(2) == 0 },
            12..=13 => Act::Finish { name },
            14 => Act::Preset { name, address: self.below(16) },
            15 => Act::Wipe { name },
            16 => Act::Unhook { name },
            17 => Act::Pause { name },
            18 => Act::Wait { seconds: u16::from(self.below(200)) },
            19 if self.below(4) == 0 => Act::Grow,
            19..=21 => Act::Kill { run: self.below(3) },
            _ => {
                let trouble = match self.below(24) {
                    0 => Trouble::LostAnswer,
                    1 => Trouble::LostRequest,
                    2 => Trouble::Conflict,
                    3 => Trouble::CrashAfter,
                    _ => Trouble::None,
                };
                Act::Request { run: self.below(3), trouble }
            }
        }
    }
}

/// Small pools, so that they fill up, meet page boundaries and run out of one family first.
const CONFIGS: [(&str, &str); 5] = [
    ("{name: a, ranges: [10.0.0.8-10.0.0.13], prefix: 24, gateway: 10.0.0.9}", ""),
    (
        "{name: a, ranges: [10.0.0.253-10.0.1.3], prefix: 23, gateway: 10.0.0.1}",
        "{name: b, ranges: ['fd00::fe-fd00::102'], prefix: 64, gateway: 'fd00::ff'}",
    ),
    (
        "{name: a, ranges: [10.0.0.8/29], prefix: 24, gateway: 10.0.0.1, reuse-after: 2m}",
        "{name: b, ranges: ['fd00::/64'], prefix: 64, gateway: 'fd00::1'}",
    ),
    (
        "{name: a, ranges: ['fd00::10-fd00::14'], prefix: 64, gateway: 'fd00::1', reserved: {m1: 'fd00::12'}}",
        "",
    ),
    (
        "{name: a, ranges: [10.0.0.8/31], prefix: 24, gateway: 10.0.0.1}",
        "{name: b, ranges: [10.0.1.254-10.0.2.1], prefix: 22, gateway: 10.0.1.1}",
    ),
];

fn config(which: u64, grown: bool) -> Config {
    let (first, second) = CONFIGS[(which % CONFIGS.len() as u64) as usize];
    let more = if first.contains("fd00") { "'fd00::40-fd00::41'" } else { "10.0.9.1-10.0.9.2" };
    let mut text =
        "ipam-config:\n  lifecycle-hook: {name: ipamController, owner: network-admin}\n  pools:\n".to_owned();
    for pool in [first, second].iter().filter(|p| !p.is_empty()) {
        text.push_str(&format!("    - {pool}\n"));
    }
    if grown {
        text.push_str(
            &format!("    - {{name: more, ranges: [{more}], prefix: 64, gateway: 'fd00::1'}}\n").replace(
                if first.contains("fd00") { "\u{0}" } else { "prefix: 64, gateway: 'fd00::1'" },
                "prefix: 24, gateway: 10.0.9.254",
            ),
        );
    }
    config::parse("sim", &text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// Every address that may be given, where that can be listed: the ranges without the gateways. None of the
/// ranges touches an edge of its subnet.
fn usable(config: &Config) -> Option<BTreeSet<IpAddr>> {
    let mut all = BTreeSet::new();
    for range in config.pools.iter().flat_map(|p| &p.ranges) {
        let (first, last) = range.bounds();
        if last - first > 1_000 {
            return None;
        }
        all.extend((first..=last).map(|n| range.family().address(n)));
    }
    all.retain(|a| !config.pools.iter().any(|p| p.gateway == Some(*a)));
    Some(all)
}

/// What the driver tells a run, and the other way round.
#[derive(Default)]
struct Ticket {
    granted: Cell<Option<Trouble>>,
    used: Cell<bool>,
    dead: Cell<bool>,
    wakers: RefCell<Vec<Waker>>,
}

/// A cluster whose every request waits until the driver lets it go.
struct Stepped {
    world: Rc<World>,
    ticket: Rc<Ticket>,
}

impl Stepped {
    async fn request<T>(&self, writes: bool, call: Answer<'_, T>) -> Result<T, ClusterError> {
        let ticket = &self.ticket;
        let trouble = std::future::poll_fn(|context| match ticket.granted.take() {
            Some(trouble) => Poll::Ready(trouble),
            None => {
                ticket.wakers.borrow_mut().push(context.waker().clone());
                Poll::Pending
            }
        })
        .await;
        ticket.used.set(true);
        let lost = || ClusterError::Transient { what: "request".into(), why: "lost".into(), after: None };
        if trouble == Trouble::LostRequest {
            return Err(lost());
        }
        if trouble == Trouble::Conflict && writes {
            return Err(ClusterError::Conflict("it".into()));
        }
        let answer = call.await;
        if writes {
            self.world.checker.borrow_mut().check(&self.world.sim);
        }
        match trouble {
            Trouble::LostAnswer => Err(lost()),
            Trouble::CrashAfter => {
                ticket.dead.set(true);
                std::future::pending().await
            }
            _ => answer,
        }
    }
}

impl Cluster for Stepped {
    fn served<'a>(&'a self, kinds: &'a [Kind]) -> Answer<'a, Vec<Kind>> {
        Box::pin(self.request(false, self.world.sim.served(kinds)))
    }

    fn list(&self, kind: Kind) -> Answer<'_, Vec<Object>> {
        Box::pin(self.request(false, self.world.sim.list(kind)))
    }

    fn list_in<'a>(&'a self, kind: Kind, namespace: &'a str) -> Answer<'a, Vec<Object>> {
        Box::pin(self.request(false, self.world.sim.list_in(kind, namespace)))
    }

    fn get<'a>(&'a self, target: &'a ObjectRef) -> Answer<'a, Object> {
        Box::pin(self.request(false, self.world.sim.get(target)))
    }

    fn create<'a>(&'a self, kind: Kind, object: &'a Object) -> Answer<'a, Object> {
        Box::pin(self.request(true, self.world.sim.create(kind, object)))
    }

    fn replace<'a>(&'a self, kind: Kind, object: &'a Object) -> Answer<'a, Object> {
        Box::pin(self.request(true, self.world.sim.replace(kind, object)))
    }

    fn list_signed(&self, kind: Kind, sign: Sign) -> Answer<'_, Vec<Object>> {
        Box::pin(self.request(false, self.world.sim.list_signed(kind, sign)))
    }

    fn replace_status<'a>(&'a self, kind: Kind, object: &'a Object) -> Answer<'a, Object> {
        Box::pin(self.request(true, Cluster::replace_status(&self.world.sim, kind, object)))
    }

    fn delete<'a>(&'a self, target: &'a ObjectRef, uid: &'a str) -> Answer<'a, Option<Object>> {
        Box::pin(self.request(true, Cluster::delete(&self.world.sim, target, uid)))
    }

    fn settle(&self) -> Answer<'_, ()> {
        Box::pin(async { Ok(()) })
    }

    fn traffic(&self) -> &Traffic {
        self.world.sim.traffic()
    }
}

struct Run {
    ticket: Rc<Ticket>,
    future: Pin<Box<dyn Future<Output = ()>>>,
}

fn begin(world: &Rc<World>, config: &Rc<Config>, now: i64) -> Run {
    let ticket = Rc::new(Ticket::default());
    let cluster = Stepped { world: world.clone(), ticket: ticket.clone() };
    let config = config.clone();
    let future = Box::pin(async move {
        let pass = Pass {
            cluster: &cluster,
            config: &config,
            scope: Scope::default(),
            now,
            in_flight: 3,
            dry_run: false,
            progress: &Silent,
        };
        // Whatever it ends with: the world is what is checked.
        let _ = pass.run(&|_| ()).await;
    });
    Run { ticket, future }
}

fn target(name: u8) -> ObjectRef {
    MACHINE.at("ns", &format!("m{name}"))
}

/// Lets one request of a run go; false when the run is over.
async fn step(run: &mut Run, trouble: Trouble) -> bool {
    run.ticket.granted.set(Some(trouble));
    run.ticket.used.set(false);
    run.ticket.wakers.borrow_mut().drain(..).for_each(Waker::wake);
    let over =
        std::future::poll_fn(|context| Poll::Ready(run.future.as_mut().poll(context).is_ready())).await;
    run.ticket.granted.set(None);
    if !run.ticket.used.get() && !over {
        // It sleeps before it tries again.
        tokio::time::advance(Duration::from_secs(25)).await;
    }
    !(over || run.ticket.dead.get())
}

async fn live(seed: u64, acts: &[Act]) {
    let mut config_now = Rc::new(config(seed, false));
    let world = Rc::new(World {
        sim: mipam::cluster::sim::SimCluster::new(&super::stage::kinds()),
        config: config(seed, false),
        // Growing is all that happens to pools, so what the larger configuration has covers both.
        checker: RefCell::new(Checker::new(usable(&config(seed, true)))),
        now: NOW,
    });
    let mut now = NOW;
    let mut runs: [Option<Run>; 3] = [None, None, None];
    for act in acts {
        match *act {
            Act::Request { run, trouble } => {
                let slot = &mut runs[run as usize];
                let running = slot.get_or_insert_with(|| begin(&world, &config_now, now));
                if !step(running, trouble).await {
                    *slot = None;
                }
            }
            Act::Kill { run } => runs[run as usize] = None,
            Act::Wait { seconds } => now += i64::from(seconds),
            Act::Grow => config_now = Rc::new(config(seed, true)),
            user => {
                person(&world, seed, user);
                world.checker.borrow_mut().accept(&world.sim);
            }
        }
    }
    drop(runs);
    settle(&world, &config_now, now).await;
}

/// What a person does.
fn person(world: &World, seed: u64, act: Act) {
    let base = if CONFIGS[(seed % CONFIGS.len() as u64) as usize].0.contains("fd00") {
        "fd00::1"
    } else {
        "10.0.0.1"
    };
    let address = |n: u8| {
        if base.contains(':') { format!("{base}{:x}/64", n % 16) } else { format!("{base}{}/24", n % 10) }
    };
    match act {
        Act::Create { name, devices, preset } => {
            let mut list: Vec<_> = (0..devices).map(|_| json!({ "networkName": "lab" })).collect();
            if let Some(n) = preset {
                list[0]["ipAddrs"] = json!([address(n)]);
            }
            let object = Object(json!({
                "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
                "metadata": { "name": format!("m{name}"), "namespace": "ns" },
                "spec": {
                    "lifecycleHooks": { "preCreate": [
                        { "name": "other", "owner": "somebody" }, { "name": "ipamController", "owner": "network-admin" },
                    ] },
                    "providerSpec": { "value": { "network": { "devices": list } } },
                },
            }));
            if world.sim.put(MACHINE, &object).is_ok() {
                remember(world, &object);
            }
        }
        Act::Delete { name, held } => {
            if held {
                let hold = |o: &mut Object| {
                    drop(o.ensure_object(&["metadata"]).insert("finalizers".into(), json!(["hold"])))
                };
                let _ = world.sim.edit(&target(name), hold);
            }
            let _ = world.sim.delete(&target(name));
        }
        Act::Finish { name } => {
            let finish = |o: &mut Object| drop(o.ensure_object(&["metadata"]).shift_remove("finalizers"));
            let _ = world.sim.edit(&target(name), finish);
        }
        Act::Preset { name, address: n } => {
            let set = |o: &mut Object| {
                let device = o.0.pointer_mut("/spec/providerSpec/value/network/devices/0").unwrap();
                if device.get("ipAddrs").is_none() {
                    device["ipAddrs"] = json!([address(n)]);
                }
            };
            if let Ok(after) = world.sim.edit(&target(name), set) {
                remember(world, &after);
            }
        }
        Act::Wipe { name } => {
            let wipe = |o: &mut Object| {
                let device = o.0.pointer_mut("/spec/providerSpec/value/network/devices/0").unwrap();
                device.as_object_mut().unwrap().shift_remove("ipAddrs");
            };
            let _ = world.sim.edit(&target(name), wipe);
        }
        Act::Unhook { name } => {
            let unhook = |o: &mut Object| drop(o.ensure_object(&["spec"]).shift_remove("lifecycleHooks"));
            let _ = world.sim.edit(&target(name), unhook);
        }
        Act::Pause { name } => {
            let pause = |o: &mut Object| {
                let notes = o.ensure_object(&["metadata", "annotations"]);
                if notes.shift_remove("cluster.x-k8s.io/paused").is_none() {
                    notes.insert("cluster.x-k8s.io/paused".into(), json!(""));
                }
            };
            let _ = world.sim.edit(&target(name), pause);
        }
        _ => unreachable!("no person does this"),
    }
}

/// An address that a machine carries right after a person's act may be the person's.
fn remember(world: &World, object: &Object) {
    let first =
        object.0.pointer("/spec/providerSpec/value/network/devices/0/ipAddrs/0").and_then(|a| a.as_str());
    let address: Option<std::net::IpAddr> = first.and_then(|a| a.split('/').next()?.parse().ok());
    world.checker.borrow_mut().by_hand.extend(address);
}

/// Once faults stop, two passes reach the final state, and the next makes no write. Nobody waits who could be
/// served, and nothing is held by those who are gone.
async fn settle(world: &Rc<World>, config: &Rc<Config>, now: i64) {
    let mut last = None;
    for round in 0..3 {
        let ticket = Rc::new(Ticket::default());
        let cluster = Stepped { world: world.clone(), ticket };
        let pass = Pass {
            cluster: &cluster,
            config,
            scope: Scope::default(),
            now,
            in_flight: 3,
            dry_run: false,
            progress: &Silent,
        };
        let mut run = std::pin::pin!(pass.run(&|_| ()));
        let outcome = loop {
            cluster.ticket.granted.set(Some(Trouble::None));
            cluster.ticket.wakers.borrow_mut().drain(..).for_each(Waker::wake);
            match std::future::poll_fn(|context| Poll::Ready(run.as_mut().poll(context))).await {
                Poll::Ready(outcome) => break outcome.expect("a pass without faults"),
                Poll::Pending => tokio::time::advance(Duration::from_millis(1)).await,
            }
        };
        let changed: Vec<String> = outcome.changed.iter().map(|c| format!("{:?}", c.after)).collect();
        assert!(round < 2 || changed.is_empty(), "L1: the third pass writes {changed:?}");
        last = Some(outcome);
    }
    let report = last.expect("three passes").report;
    let machines: BTreeSet<String> =
        world.sim.all().iter().filter(|(k, _)| *k == MACHINE).map(|(_, o)| o.uid().to_owned()).collect();
    let mut held = 0;
    for (_, page) in world.sim.all().iter().filter(|(_, o)| o.name().starts_with("mipam-v")) {
        for (key, value) in page.0["data"].as_object().into_iter().flatten() {
            let entry: serde_json::Value = serde_json::from_str(value.as_str().unwrap()).unwrap();
            held += 1;
            let living = |h: &serde_json::Value| machines.contains(h["uid"].as_str().unwrap_or_default());
            let live = entry["holders"].as_array().unwrap().iter().all(living);
            assert!(
                live || !entry["cooling"].is_null(),
                "leak: {key} is held by somebody who is gone: {entry}"
            );
        }
    }
    let exhausted = report.pending.iter().any(|p| p.reason == Reason::PoolExhausted);
    assert!(!exhausted || held > 0, "L3: somebody waits although nobody holds anything");
}

fn attempt(seed: u64, acts: &[Act]) -> Result<(), String> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    catch_unwind(AssertUnwindSafe(|| runtime.block_on(live(seed, acts)))).map_err(|cause| {
        let text = cause.downcast_ref::<String>().cloned();
        text.or_else(|| cause.downcast_ref::<&str>().map(ToString::to_string)).unwrap_or_default()
    })
}

/// Leaves out whatever the failure does not need.
fn shrink(seed: u64, mut acts: Vec<Act>, why: &str) -> Vec<Act> {
    let kind = why.split(':').next();
    let mut chunk = acts.len() / 2;
    while chunk > 0 {
        let mut at = 0;
        while at < acts.len() {
            let mut fewer = acts.clone();
            fewer.drain(at..(at + chunk).min(acts.len()));
            if attempt(seed, &fewer).is_err_and(|other| other.split(':').next() == kind) {
                acts = fewer;
            } else {
                at += chunk;
            }
        }
        chunk /= 2;
    }
    acts
}

#[test]
fn no_world_breaks_a_guarantee() {
    let number = |name: &str| std::env::var(name).ok().map(|v| v.parse::<u64>().expect("a number"));
    let steps = number("MIPAM_SIM_STEPS").map_or(STEPS, |s| s as usize);
    let one = number("MIPAM_SIM_SEED");
    let first = one.unwrap_or_else(|| mipam::cluster::random() >> 1);
    let worlds = if one.is_some() { 1 } else { steps.div_ceil(WORLD) };
    eprintln!("simulation: {worlds} worlds of {WORLD} steps from seed {first}");
    for seed in first..first + worlds as u64 {
        let mut random = Random(seed);
        let acts: Vec<Act> = (0..WORLD).map(|_| random.act()).collect();
        if let Err(why) = attempt(seed, &acts) {
            std::panic::set_hook(Box::new(|_| ()));
            let story = shrink(seed, acts, &why);
            let again = attempt(seed, &story).err();
            let _ = std::panic::take_hook();
            let lines: Vec<String> = story.iter().map(|a| format!("  {a:?}")).collect();
            panic!(
                "MIPAM_SIM_SEED={seed}: {why}\nIn short ({} steps): {}\n{}",
                story.len(),
                again.unwrap_or_default(),
                lines.join("\n")
            );
        }
    }
}
