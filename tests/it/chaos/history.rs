//! Every change of machines and ledger as the API server tells it, in the order in which it made them.
//!
//! All objects of one etcd count the same revisions, so two watches can be put in one order. Where a watch
//! breaks, because its server was killed, both kinds are listed at one revision and the watches begin there.

use super::checker::{Machine, Slot, Step, entries};
use crate::bed::Bed;
use crate::bed::accounts::ADMIN;
use crate::bed::rest;
use futures_util::{StreamExt as _, stream};
use kube::Client;
use kube::core::WatchEvent;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

const MACHINES: &str = "/apis/machine.openshift.io/v1beta1/machines";
const LEDGER: &str = "/api/v1/namespaces/mipam-system/configmaps";

/// Writes down what happens until it is told to stop.
pub struct Recorder {
    over: Arc<AtomicBool>,
    thread: JoinHandle<History>,
}

/// What happened.
pub struct History {
    /// In the order of their revisions.
    pub steps: Vec<Step>,
    /// How often the watches had to begin again.
    pub gaps: usize,
}

impl Recorder {
    pub fn start(bed: &Bed) -> Self {
        let config = bed.config(ADMIN);
        let over = Arc::new(AtomicBool::new(false));
        let told = over.clone();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime").block_on(async {
                let client = Client::try_from(config).expect("a client");
                Scribe::default().write(&client, &told).await
            })
        });
        Self { over, thread }
    }

    /// The history up to now. The server has to be there.
    pub fn finish(self) -> History {
        self.over.store(true, Ordering::Relaxed);
        self.thread.join().expect("the history")
    }
}

/// The world as the watches have shown it so far.
#[derive(Default)]
struct Scribe {
    machines: BTreeMap<String, Machine>,
    pages: BTreeMap<String, BTreeMap<Slot, Value>>,
    steps: Vec<Step>,
}

impl Scribe {
    async fn write(mut self, client: &Client, over: &AtomicBool) -> History {
        let mut gaps = 0;
        loop {
            let revision = self.list(client).await;
            if over.load(Ordering::Relaxed) {
                break;
            }
            gaps += usize::from(!self.follow(client, revision, over).await.unwrap_or(false));
        }
        self.steps.sort_by_key(|step| step.revision);
        History { steps: self.steps, gaps }
    }

    /// Lists both kinds as they were at one moment.
    async fn list(&mut self, client: &Client) -> u64 {
        loop {
            if let Ok((revision, machines, maps)) = both(client).await {
                let mut step = Step { revision, ..Step::default() };
                let now: BTreeMap<String, Machine> = machines.iter().map(Machine::read).collect();
                let gone = self.machines.keys().filter(|uid| !now.contains_key(*uid));
                step.machines.extend(gone.map(|uid| (uid.clone(), None)));
                let new = now.iter().filter(|(uid, m)| self.machines.get(*uid) != Some(m));
                step.machines.extend(new.map(|(uid, m)| (uid.clone(), Some(m.clone()))));
                self.machines = now;
                let mut pages: BTreeMap<String, BTreeMap<Slot, Value>> =
                    maps.iter().map(|map| (name(map), entries(map))).collect();
                // One that was deleted has no entries any more.
                for name in self.pages.keys() {
                    pages.entry(name.clone()).or_default();
                }
                for (name, page) in pages {
                    self.turn(&name, page, &mut step);
                }
                self.steps.push(step);
                return revision;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Watches both kinds until told to stop; anything but true: a watch broke.
    async fn follow(&mut self, client: &Client, from: u64, over: &AtomicBool) -> kube::Result<bool> {
        let watch = async |path: &str| {
            let path = format!("{path}?watch=true&resourceVersion={from}");
            let request = http::Request::get(path).body(Vec::new()).expect("a request");
            let events = client.request_events::<Value>(request).await?;
            // The end of a watch is news, too.
            Ok::<_, kube::Error>(events.map(Some).chain(stream::once(async { None })).boxed_local())
        };
        let mut events = stream::select(watch(MACHINES).await?, watch(LEDGER).await?);
        while !over.load(Ordering::Relaxed) {
            let Ok(event) = tokio::time::timeout(Duration::from_millis(100), events.next()).await else {
                continue;
            };
            match event.flatten().transpose()? {
                Some(WatchEvent::Added(object) | WatchEvent::Modified(object)) => self.see(&object, true),
                Some(WatchEvent::Deleted(object)) => self.see(&object, false),
                Some(WatchEvent::Bookmark(_)) => {}
                Some(WatchEvent::Error(_)) | None => return Ok(false),
            }
        }
        Ok(true)
    }

    fn see(&mut self, object: &Value, there: bool) {
        let mut step = Step { revision: revision(object), ..Step::default() };
        if object["kind"] == "Machine" {
            let (uid, machine) = Machine::read(object);
            let machine = there.then_some(machine);
            match &machine {
                Some(machine) => drop(self.machines.insert(uid.clone(), machine.clone())),
                None => drop(self.machines.remove(&uid)),
            }
            step.machines.push((uid, machine));
        } else {
            let page = if there { entries(object) } else { BTreeMap::new() };
            self.turn(&name(object), page, &mut step);
        }
        self.steps.push(step);
    }

    /// Notes what changed on a page.
    fn turn(&mut self, name: &str, page: BTreeMap<Slot, Value>, step: &mut Step) {
        let before = self.pages.remove(name).unwrap_or_default();
        let gone = before.keys().filter(|slot| !page.contains_key(*slot));
        step.entries.extend(gone.map(|slot| (slot.clone(), name.to_owned(), None)));
        let new = page.iter().filter(|(slot, entry)| before.get(*slot) != Some(entry));
        step.entries.extend(new.map(|(slot, entry)| (slot.clone(), name.to_owned(), Some(entry.clone()))));
        self.pages.insert(name.to_owned(), page);
    }
}

/// Both kinds at one revision.
async fn both(client: &Client) -> kube::Result<(u64, Vec<Value>, Vec<Value>)> {
    let mut machines = rest::get(client, MACHINES).await?;
    let revision = revision(&machines);
    let exact = format!("{LEDGER}?resourceVersion={revision}&resourceVersionMatch=Exact");
    let maps = rest::list(client, &exact).await?;
    let Value::Array(machines) = machines["items"].take() else { panic!("a list without items") };
    Ok((revision, machines, maps))
}

fn revision(object: &Value) -> u64 {
    let text = object["metadata"]["resourceVersion"].as_str();
    text.and_then(|t| t.parse().ok()).unwrap_or_else(|| panic!("no revision in {object}"))
}

fn name(object: &Value) -> String {
    object["metadata"]["name"].as_str().unwrap_or_default().to_owned()
}
