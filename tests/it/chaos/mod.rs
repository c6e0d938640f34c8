//! mipam on a real API server under everything that goes wrong there: several runs at once, `kill -9`, servers
//! that die in the middle of a pass, and a network that cuts, delays and garbles.
//!
//! `MIPAM_CHAOS_SEED` repeats the choices of a run; what the processes make of them is up to the machine.

mod checker;
mod checker_tests;
mod dice;
mod fleet;
mod history;
mod kills;
mod network;
mod outages;
mod proxy;
mod races;
mod run;
mod stage;
mod weather;
