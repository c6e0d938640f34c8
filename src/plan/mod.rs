//! The decision: who gets which address, what is freed, what waits and why.
