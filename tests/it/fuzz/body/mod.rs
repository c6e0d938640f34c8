//! What is done with arbitrary input, and what must hold of it. Each body runs on what `cargo fuzz` makes
//! (`fuzz/targets`) and on what proptest makes (`cargo test`).

// Each of the programs that include this module runs one body.
#![allow(dead_code, clippy::unwrap_used, clippy::pedantic, missing_docs, unreachable_pub)]

pub mod address;
pub mod config;
pub mod ledger;
mod make;
pub mod manifest;
pub mod nad;
pub mod objects;
pub mod planner;
pub mod review;
