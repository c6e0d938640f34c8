//! The integration tests: one binary, so that they share servers.

#![allow(clippy::unwrap_used, clippy::pedantic, clippy::print_stderr, missing_docs, unreachable_pub)]

mod bed;
mod chaos;
mod cli;
mod growth;
mod ledger;
mod purity;
mod race;
mod readme;
mod scenario;
mod sim;
