//! The integration tests: one binary, so that they share servers.

mod bed;
