//! The pass under faults, on the simulation: exhaustively over every scenario and every request, and at random
//! with several runs at once.

pub(crate) mod bent;
mod check;
mod conformance;
mod detached;

mod exhaustive;
pub(crate) mod fault;
mod hours;
mod lagging;
mod moved;
mod protections;
mod published;
mod random;
pub(crate) mod stage;
mod stories;
