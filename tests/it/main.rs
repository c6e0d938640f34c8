//! The integration tests: one binary, so that they share servers.

#![allow(clippy::unwrap_used, clippy::pedantic, clippy::print_stderr, missing_docs, unreachable_pub)]

mod admission;
mod bed;
mod capi;
mod chaos;
mod cli;
mod config_map;
mod deploy;
mod fuzz;
mod growth;
mod kubevirt;
mod ledger;
mod metal3;
mod mutants;
mod nodes;
mod peer_bugs;
mod purity;
mod race;
mod readme;
mod scale;
mod scenario;
mod sim;
mod watch;
mod webhook;
