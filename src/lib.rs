//! mipam gives machines, nodes and virtual machines their addresses from Kubernetes objects, in one
//! idempotent pass:
//!
//! ```text
//! observe ──► claims ──► plan ──► record ──► write ──► report
//! (I/O)       (pure)     (pure)   (I/O, CAS) (I/O)     (pure text)
//! ```
//!
//! | room | what is in it |
//! |---|---|
//! | [`cli`] | clap types: what can be typed |
//! | [`commands`] | one file per verb: settings in, report out |
//! | [`config`] | `ipam-config.yaml` and flags to a checked `Config` |
//! | [`addr`] | ranges, sets, lowest free; pure |
//! | [`model`] | the words: pool, owner, claim, allocation, report; pure |
//! | [`systems`] | one file per machine API: objects to claims, allocations to writes; pure |
//! | [`plan`] | the decision; pure |
//! | [`ledger`] | how allocations are kept in ConfigMaps; pure |
//! | [`cluster`] | where objects live: a Kubernetes API, a directory, or the simulation |
//! | [`observe`] | reads the world in two waves |
//! | [`apply`] | records and writes what the plan says, with retries |
//! | [`publish`] | free addresses for an admission policy |
//! | [`pass`] | one pass from observation to report, for all commands |
//! | [`watch`] | one pass after the other, whenever something changes: Lease, probes, metrics |
//! | [`webhook`] | admission of launcher pods over TLS |
//! | [`output`] | the printer: tables, diffs, progress |
//! | [`yaml`] | strict reading of YAML and JSON, with positions |
//!
//! A new machine system is a new file in [`systems`] with its scenarios, and touches no other room.

pub mod addr;
pub mod apply;
pub mod cli;
pub mod cluster;
pub mod commands;
pub mod config;
pub mod ledger;
pub mod model;
pub mod observe;
pub mod output;
pub mod pass;
pub mod plan;
pub mod publish;
pub mod systems;
pub mod watch;
pub mod webhook;
pub mod yaml;
