//! What the webhook counts and measures, for Prometheus.

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;
use serde_json::Value;
use std::time::Duration;

/// Upper ends of the buckets of durations, in seconds.
const BUCKETS: [f64; 11] = [0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0];

/// Everything that is told at `/metrics`.
pub(super) struct Figures {
    registry: Registry,
    reviews: Family<Vec<(&'static str, &'static str)>, Counter>,
    duration: Histogram,
    own: Histogram,
}

impl Figures {
    /// With nothing counted yet.
    pub(super) fn new() -> Self {
        let mut registry = Registry::with_prefix("mipam");
        let (reviews, duration, own) = (Family::default(), Histogram::new(BUCKETS), Histogram::new(BUCKETS));
        registry.register("reviews", "Reviews of pods, by how they ended", reviews.clone());
        registry.register("review_duration_seconds", "How long a review took", duration.clone());
        let help = "What the webhook itself took of it, without the API server";
        registry.register("review_own_seconds", help, own.clone());
        let version = vec![("version", env!("CARGO_PKG_VERSION"))];
        registry.register("build", "What runs here", Info::new(version));
        Self { registry, reviews, duration, own }
    }

    /// Takes note of an answer.
    pub(super) fn answered(&self, answer: &Value, took: Duration, own: Duration) {
        let response = &answer["response"];
        let changed = if response["patch"].is_string() { "changed" } else { "unchanged" };
        self.count(if response["allowed"] == true { changed } else { "denied" });
        self.duration.observe(took.as_secs_f64());
        self.own.observe(own.as_secs_f64());
    }

    /// Takes note of what was no review.
    pub(super) fn invalid(&self) {
        self.count("invalid");
    }

    fn count(&self, result: &'static str) {
        self.reviews.get_or_create(&vec![("result", result)]).inc();
    }

    /// The text that Prometheus reads.
    pub(super) fn text(&self) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn reviews_are_counted_by_how_they_ended() {
        let figures = Figures::new();
        let took = Duration::from_millis(30);
        for response in [
            json!({ "allowed": true }),
            json!({ "allowed": true, "patch": "W10=" }),
            json!({ "allowed": false }),
        ] {
            figures.answered(&json!({ "response": response }), took, took / 10);
        }
        figures.invalid();
        let text = figures.text().unwrap();
        for line in [
            "mipam_reviews_total{result=\"unchanged\"} 1\n",
            "mipam_reviews_total{result=\"changed\"} 1\n",
            "mipam_reviews_total{result=\"denied\"} 1\n",
            "mipam_reviews_total{result=\"invalid\"} 1\n",
            "mipam_review_duration_seconds_count 3\n",
            "mipam_review_own_seconds_bucket{le=\"0.005\"} 3\n",
        ] {
            assert!(text.contains(line), "{line}{text}");
        }
    }
}
