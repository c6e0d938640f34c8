//! The integration tests: one binary, so that they share servers.

#![allow(clippy::unwrap_used, clippy::pedantic, clippy::print_stderr, missing_docs, unreachable_pub)]

mod admission;
mod bed;
mod capi;
mod chaos;
mod cli;
mod fuzz;
mod growth;
mod ledger;
mod metal3;
mod nodes;
mod peer_bugs;
mod purity;
mod race;
mod readme;
mod scale;
mod scenario;
mod sim;
