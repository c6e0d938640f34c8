//! mipam where people deploy it: as a job, as kubectl's plugin, from the manifests and from the chart.

mod elsewhere;
mod figures;
mod helm;
mod job;
mod manifests;
mod plugin;
mod pods;
pub(crate) mod rights;
