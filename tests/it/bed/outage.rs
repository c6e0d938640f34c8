//! Servers that die and come back: on the same data, the same port and with the same certificate.

use super::{Bed, accounts::ADMIN, eventually, rest, server};
use std::time::Duration;

/// A server that can be killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Server {
    /// Comes back first: the other one needs it.
    Etcd,
    Apiserver,
}

impl Server {
    fn name(self) -> &'static str {
        match self {
            Self::Etcd => server::ETCD,
            Self::Apiserver => server::APISERVER,
        }
    }
}

/// Some servers are dead for as long as this is held.
pub struct Outage<'b> {
    bed: &'b Bed,
    dead: Vec<Server>,
}

impl Bed {
    /// Kills servers as `kill -9` would, and returns when they are gone.
    pub fn kill(&self, servers: &[Server]) -> Outage<'_> {
        let mut dead = servers.to_vec();
        dead.sort();
        let outage = Outage { bed: self, dead };
        for server in servers {
            let found = {
                let mut processes = self.processes.lock().expect("processes");
                let at = processes.iter().position(|p| p.name() == server.name());
                processes.remove(at.unwrap_or_else(|| panic!("{server:?} is not running")))
            };
            found.crash();
        }
        outage
    }

    /// Waits until requests are answered again, those for custom kinds too.
    fn await_answers(&self) {
        let customs = self.customs.lock().expect("customs");
        let paths: Vec<String> = customs.values().map(|kind| kind.path("", "")).collect();
        drop(customs);
        let client = self.client(ADMIN);
        self.block_on(async {
            for path in paths.iter().map(String::as_str).chain(["/api/v1/configmaps"]) {
                let path = format!("{path}?limit=1");
                eventually(&path, Duration::from_secs(90), async || {
                    let answer = tokio::time::timeout(Duration::from_secs(5), rest::get(&client, &path));
                    answer.await.is_ok_and(|answer| answer.is_ok()).then_some(())
                })
                .await;
            }
        });
    }
}

impl Drop for Outage<'_> {
    /// Starts the servers on what they left, and waits until they answer.
    fn drop(&mut self) {
        for server in &self.dead {
            let again = match server {
                Server::Etcd => server::etcd(&self.bed.dir),
                Server::Apiserver => self.bed.block_on(server::apiserver_again(&self.bed.dir, &self.bed.url)),
            };
            self.bed.processes.lock().expect("processes").push(again);
        }
        self.bed.await_answers();
    }
}
