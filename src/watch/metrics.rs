//! What is counted and measured, for Prometheus.

use crate::model::{PendingLine, PoolLine, Problem};
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

type Labels = Vec<(&'static str, String)>;
type Figure = Family<Labels, Gauge<f64, AtomicU64>>;

/// Upper ends of the buckets of durations, in seconds.
const BUCKETS: [f64; 12] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0];

/// Everything that is told at `/metrics`.
pub struct Metrics {
    registry: Registry,
    total: Figure,
    used: Figure,
    free: Figure,
    cooling: Figure,
    pending: Figure,
    problems: Figure,
    passes: Family<Labels, Counter>,
    duration: Histogram,
    reads: Counter,
    writes: Counter,
    conflicts: Counter,
    leader: Gauge,
    configured: Gauge,
}

impl Metrics {
    /// With nothing counted yet.
    pub fn new() -> Self {
        let mut registry = Registry::with_prefix("mipam");
        let mut figure = |name: &str, help: &str| {
            let figure = Figure::default();
            registry.register(name, help, figure.clone());
            figure
        };
        let total = figure("pool_total", "Usable addresses of a pool, or its blocks");
        let used = figure("pool_used", "Addresses of a pool that are held or seen in use");
        let free = figure("pool_free", "Addresses of a pool that can be given out now");
        let cooling = figure("pool_cooling", "Addresses of a pool that were freed and rest");
        let pending = figure("pending", "Who waits for an address, by reason");
        let problems = figure("problems", "What a person should look at, by kind");
        let (passes, duration) = (Family::default(), Histogram::new(BUCKETS));
        let (reads, writes, conflicts) = (Counter::default(), Counter::default(), Counter::default());
        let (leader, configured) = (Gauge::default(), Gauge::default());
        configured.set(1);
        registry.register("passes", "Passes, by how they ended", passes.clone());
        registry.register("pass_duration_seconds", "How long a pass took", duration.clone());
        registry.register("reads", "Requests that read", reads.clone());
        registry.register("writes", "Requests that wrote", writes.clone());
        registry.register("conflicts", "Writes that met somebody else's", conflicts.clone());
        registry.register("leader", "1: this process is at work; 0: it stands by", leader.clone());
        let help = "1: the configuration can be used; 0: it cannot, and is used as it was before";
        registry.register("config_valid", help, configured.clone());
        let version = vec![("version", env!("CARGO_PKG_VERSION"))];
        registry.register("build", "What runs here", Info::new(version));
        Self {
            registry,
            total,
            used,
            free,
            cooling,
            pending,
            problems,
            passes,
            duration,
            reads,
            writes,
            conflicts,
            leader,
            configured,
        }
    }

    /// Could the configuration be used when it was last read?
    pub fn configured(&self, valid: bool) {
        self.configured.set(valid.into());
    }

    /// Takes note of a pass.
    pub fn pass(&self, result: &str, took: Duration) {
        self.passes.get_or_create(&vec![("result", result.to_owned())]).inc();
        self.duration.observe(took.as_secs_f64());
    }

    /// Takes note of requests.
    pub fn requests(&self, reads: u64, writes: u64, conflicts: u64) {
        self.reads.inc_by(reads);
        self.writes.inc_by(writes);
        self.conflicts.inc_by(conflicts);
    }

    /// Is this process at work? One that is not knows nothing of pools and of who waits: what it knew once would only
    /// contradict the one that is.
    pub fn leads(&self, leads: bool) {
        self.leader.set(leads.into());
        if !leads {
            self.pools(&[]);
            self.findings(&[], &[]);
        }
    }

    /// How full the pools are.
    pub fn pools(&self, pools: &[PoolLine]) {
        let figures = [&self.total, &self.used, &self.free, &self.cooling];
        figures.iter().for_each(|figure| figure.clear());
        for pool in pools {
            let family = pool.blocks.as_ref().map_or("", |b| &b.family);
            let mut labels = vec![("pool", pool.name.clone()), ("system", pool.system.clone())];
            if !family.is_empty() {
                labels.push(("family", family.to_owned()));
            }
            for (figure, value) in figures.iter().zip([pool.total, pool.used, pool.free, pool.cooling]) {
                // Beyond 2^53 the last digits are rounded, which no graph shows.
                #[allow(clippy::cast_precision_loss)]
                figure.get_or_create(&labels).set(value as f64);
            }
        }
    }

    /// Who waits and what is wrong.
    pub fn findings(&self, pending: &[PendingLine], problems: &[Problem]) {
        count(&self.pending, "reason", pending.iter().map(|p| format!("{:?}", p.reason)));
        count(&self.problems, "kind", problems.iter().map(|p| p.kind.to_owned()));
    }

    /// The text that Prometheus reads.
    pub fn text(&self) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

/// One gauge for each of these, with how often it is there.
fn count(figure: &Figure, label: &'static str, all: impl Iterator<Item = String>) {
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    all.for_each(|what| *counts.entry(what).or_default() += 1);
    figure.clear();
    for (what, many) in counts {
        figure.get_or_create(&vec![(label, what)]).set(many.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(name: &str, used: u128) -> PoolLine {
        PoolLine {
            name: name.to_owned(),
            system: "config".to_owned(),
            total: u128::MAX,
            used,
            free: 3,
            cooling: 1,
            reserved: 0,
            ranges: Vec::new(),
            network: String::new(),
            blocks: None,
        }
    }

    #[test]
    fn pools_that_are_gone_are_told_no_more() {
        let metrics = Metrics::new();
        metrics.pools(&[pool("old", 1), pool("lab", 2)]);
        metrics.pools(&[pool("lab", 4)]);
        metrics.leads(true);
        let text = metrics.text().unwrap();
        assert!(text.contains("mipam_pool_used{pool=\"lab\",system=\"config\"} 4.0\n"), "{text}");
        assert!(text.contains("mipam_leader 1\n"), "{text}");
        assert!(text.contains("mipam_build_info{version="), "{text}");
        assert!(!text.contains("old"), "{text}");
    }

    #[test]
    fn one_that_stands_by_tells_nothing_that_was_so_once() {
        let metrics = Metrics::new();
        metrics.leads(true);
        metrics.pools(&[pool("lab", 2)]);
        metrics.findings(&[], &[Problem::new("Duplicate", &"Node/a", "m")]);
        metrics.leads(false);
        let text = metrics.text().unwrap();
        assert!(text.contains("mipam_leader 0\n"), "{text}");
        assert!(!text.contains("lab") && !text.contains("Duplicate"), "{text}");
    }

    #[test]
    fn reasons_are_counted_and_zero_when_nobody_waits() {
        let metrics = Metrics::new();
        metrics.findings(
            &[],
            &[Problem::new("Duplicate", &"Node/a", "m"), Problem::new("Duplicate", &"Node/b", "m")],
        );
        assert!(metrics.text().unwrap().contains("mipam_problems{kind=\"Duplicate\"} 2.0\n"));
        metrics.findings(&[], &[]);
        assert!(!metrics.text().unwrap().contains("Duplicate"));
    }
}
