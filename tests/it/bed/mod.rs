//! A real Kubernetes API for tests and benchmarks: so far, the programs that it consists of.

// Each of the programs that include this module uses a part of it.
#![allow(dead_code, unused_imports, missing_docs, unreachable_pub, clippy::pedantic, clippy::unwrap_used)]

mod binaries;
mod process;
#[cfg(test)]
mod tests;
