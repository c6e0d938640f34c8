//! A real Kubernetes API for tests and benchmarks: etcd, kube-apiserver, the garbage collector and the
//! namespace controller, on this machine alone, gone with the process that started them.
//!
//! Tests take a server with the CRDs they need from [`shared`] and have it to themselves, wiped, while they
//! hold [`Bed::lock`]. Those that break the server start their own with [`Bed::start`] or [`Bed::with`].

// Each of the programs that include this module uses a part of it.
#![allow(dead_code, unused_imports, missing_docs, unreachable_pub, clippy::pedantic, clippy::unwrap_used)]

pub mod accounts;
pub mod audit;
pub mod binaries;
pub mod crds;
mod objects;
pub mod outage;
mod process;
pub mod rest;
mod server;
#[cfg(test)]
mod tests;
mod wipe;

pub use crds::Profile;
pub use objects::documents;
pub use server::free_port;
pub use wipe::Locked;

use accounts::Grant;
use process::Guarded;
use rest::{Kind, Verdict as _};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

/// A running API server; dropped, it is gone.
pub struct Bed {
    dir: PathBuf,
    url: String,
    runtime: Runtime,
    clients: BTreeMap<&'static str, kube::Client>,
    /// How kinds are served, as far as anyone asked.
    kinds: Mutex<BTreeMap<(String, String), Kind>>,
    /// The kinds that CRDs brought.
    customs: Mutex<BTreeMap<String, Kind>>,
    grants: Mutex<Vec<Grant>>,
    turn: Mutex<()>,
    processes: Mutex<Vec<Guarded>>,
}

/// The server that all tests of this process share for a profile. It is started by whoever needs it first
/// and dies with the process.
pub fn shared(profile: Profile) -> &'static Bed {
    // What a start said when it failed is kept, so that the other tests fail at once and alike.
    static BEDS: [OnceLock<Result<Bed, String>>; Profile::ALL.len()] =
        [const { OnceLock::new() }; Profile::ALL.len()];
    let bed = BEDS[profile as usize].get_or_init(|| {
        catch_unwind(AssertUnwindSafe(|| Bed::with(profile))).map_err(|cause| {
            let text = cause.downcast_ref::<String>().cloned();
            text.or_else(|| cause.downcast_ref::<&str>().map(ToString::to_string)).unwrap_or_default()
        })
    });
    bed.as_ref().unwrap_or_else(|why| panic!("the test bed for {profile:?} did not start: {why}"))
}

impl Bed {
    /// A server of one's own without CRDs.
    pub fn start() -> Self {
        let bed = Self::boot();
        bed.run_controllers();
        bed
    }

    /// A server of one's own with the CRDs of a profile. The controllers are up a few seconds later.
    pub fn with(profile: Profile) -> Self {
        let bed = Self::boot();
        profile.apply(&bed);
        bed.run_controllers();
        bed
    }

    fn boot() -> Self {
        let dir = tempfile::Builder::new().prefix("mipam-bed-").tempdir().expect("a folder");
        let etcd = server::etcd(dir.path());
        // From here on the folder goes with the processes.
        let dir = dir.keep();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let (apiserver, url) = runtime.block_on(server::apiserver(&dir, server::free_port));
        let clients = runtime.block_on(async {
            let mut clients: BTreeMap<_, kube::Client> = BTreeMap::new();
            for account in accounts::all() {
                let client = kube::Client::try_from(server::config(&dir, account).await);
                clients.insert(account, client.expect("a client"));
            }
            // The server is ready a moment before it has made the namespace that most tests use.
            eventually("namespace default", Duration::from_secs(30), async || {
                let path = "/api/v1/namespaces/default";
                rest::get(&clients[accounts::ADMIN], path).await.must_or_gone(path)
            })
            .await;
            clients
        });
        Self {
            dir,
            url,
            runtime,
            clients,
            kinds: Mutex::default(),
            customs: Mutex::default(),
            grants: Mutex::default(),
            turn: Mutex::default(),
            processes: Mutex::new(vec![apiserver, etcd]),
        }
    }

    fn run_controllers(&self) {
        self.processes.lock().expect("processes").insert(0, server::controllers(&self.dir));
    }

    /// The bed's folder: logs, certificates, kubeconfig files.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// `https://127.0.0.1:<port>`
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Runs a future on the bed's runtime. Any number of threads may, but not from within a future.
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.runtime.block_on(future)
    }

    /// The client of an account, for futures that [`Bed::block_on`] runs.
    pub fn client(&self, account: &str) -> kube::Client {
        let client = self.clients.get(account);
        client.unwrap_or_else(|| panic!("no account {account}: add it to accounts::RESTRICTED")).clone()
    }

    /// How an account reaches the server, for a client on another runtime.
    pub fn config(&self, account: &str) -> kube::Config {
        self.block_on(server::config(&self.dir, account))
    }
}

/// Probes until there is something, in growing steps; panics when that takes too long.
pub async fn eventually<T>(what: &str, bound: Duration, mut probe: impl AsyncFnMut() -> Option<T>) -> T {
    let start = Instant::now();
    let mut pause = Duration::from_millis(2);
    loop {
        if let Some(found) = probe().await {
            return found;
        }
        assert!(start.elapsed() < bound, "waited {bound:?} in vain for {what}");
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(Duration::from_millis(200));
    }
}
