//! What `reconcile --watch` takes. The flags and variables are those of node-ipam-controller, so that nobody who has
//! run it has to learn new ones.

use super::options::{duration, listener};
use crate::watch::lease::Terms;
use clap::{ArgAction, Args, builder::BoolishValueParser};
use std::time::Duration;

/// How passes follow one another, and who makes them.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Watch options")]
pub struct WatchOptions {
    /// Do not end: make a pass whenever something changes
    #[arg(long, conflicts_with_all = ["dry_run", "diff", "out"])]
    pub watch: bool,

    /// Make a pass at least this often
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = duration, requires = "watch")]
    pub resync: Duration,

    /// Where /healthz, /readyz and /metrics are served, as :PORT or HOST:PORT
    #[arg(long, value_name = "ADDRESS", env = "IPAM_HEALTH_PROBE_ADDR", hide_env_values = true)]
    #[arg(default_value = ":8081", value_parser = listener)]
    pub health_probe_address: String,

    /// Whether one of several processes is at work while the others stand by
    #[arg(long, value_name = "BOOL", env = "IPAM_ENABLE_LEADER_ELECTION", hide_env_values = true)]
    #[arg(default_value_t = true, default_missing_value = "true", num_args = 0..=1, require_equals = true)]
    #[arg(action = ArgAction::Set, value_parser = BoolishValueParser::new())]
    pub enable_leader_election: bool,

    /// How long the others wait for one that was at work and is silent
    #[arg(long, value_name = "TIME", env = "IPAM_LEASE_DURATION", hide_env_values = true)]
    #[arg(default_value = "15s", value_parser = duration)]
    pub leader_elect_lease_duration: Duration,

    /// How long one that is at work goes on although it cannot renew the Lease
    #[arg(long, value_name = "TIME", env = "IPAM_RENEW_DEADLINE", hide_env_values = true)]
    #[arg(default_value = "10s", value_parser = duration)]
    pub leader_elect_renew_deadline: Duration,

    /// How often the Lease is renewed or tried for.
    #[arg(help = "How often the Lease is renewed or tried for; IPAM_RESOURCE_LOCK says it, too")]
    #[arg(long, value_name = "TIME", env = "IPAM_RETRY_PERIOD", hide_env_values = true)]
    #[arg(default_value = "2s", value_parser = duration)]
    pub leader_elect_retry_period: Duration,

    /// What the processes agree by; there is only one way
    #[arg(long, value_name = "KIND", env = "IPAM_RESOURCE_LOCK_NAME", hide_env_values = true)]
    #[arg(default_value = "leases", value_parser = lock)]
    pub leader_elect_resource_lock: String,

    /// The name of the Lease, in namespace mipam-system; the Role in manifests allows only `mipam`
    #[arg(long, value_name = "NAME", env = "IPAM_RESOURCE_NAME", hide_env_values = true)]
    #[arg(default_value = "mipam", value_parser = name)]
    pub leader_elect_resource_name: String,
}

impl WatchOptions {
    /// The terms of the Lease.
    pub fn terms(&self) -> Terms {
        Terms {
            lasts: self.leader_elect_lease_duration,
            renew_within: self.leader_elect_renew_deadline,
            every: self.leader_elect_retry_period,
        }
    }
}

fn lock(text: &str) -> Result<String, String> {
    match text {
        "leases" => Ok(text.to_owned()),
        "endpoints" | "configmaps" | "endpointsleases" | "configmapsleases" => {
            Err("Kubernetes no longer has it; write leases".to_owned())
        }
        _ => Err("write leases".to_owned()),
    }
}

fn name(text: &str) -> Result<String, String> {
    let good = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'.';
    let ends = |c: char| c.is_ascii_alphanumeric();
    let fits = !text.is_empty() && text.len() <= 253 && text.bytes().all(good);
    if fits && text.starts_with(ends) && text.ends_with(ends) {
        Ok(text.to_owned())
    } else {
        Err("write lower-case letters, digits, '-' and '.', as in mipam".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locks_that_are_gone_are_refused_with_a_reason() {
        assert_eq!(lock("leases").as_deref(), Ok("leases"));
        assert!(lock("endpoints").unwrap_err().contains("no longer"));
        assert!(lock("etcd").is_err());
    }

    #[test]
    fn names_are_those_of_objects() {
        for good in ["mipam", "node-ipam-controller", "a.b-1"] {
            assert_eq!(name(good).as_deref(), Ok(good));
        }
        for bad in ["", "-a", "A", "a b", "a."] {
            assert!(name(bad).is_err(), "{bad}");
        }
    }
}
