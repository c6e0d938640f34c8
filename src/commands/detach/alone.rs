//! Whether a mipam is at work, or will be: it would put back what is taken off.

use crate::cluster::{Cluster, ClusterError};
use crate::commands::Failure;
use crate::ledger::NAMESPACE;
use crate::model::{CRON_JOB, DEPLOYMENT, Feed, JOB, Kind, LEASE, Listed, Object, Seconds, parse_timestamp};
use crate::systems::runs;
use serde_json::Value;
use std::time::Duration;

/// The label of mipam's pods, by which the network policy of the manifests knows them, too.
const NAME: (&str, &str) = ("app.kubernetes.io/name", "mipam");

/// By how many seconds two clocks may differ.
const WRONG: Seconds = 15 * 60;

/// The longest that a Lease is looked at, in seconds.
const LONGEST: u64 = 60;

/// An error where one is; `say` is told what takes time.
pub(super) async fn alone(cluster: &dyn Cluster, now: Seconds, say: &dyn Fn(&str)) -> Result<(), Failure> {
    let refuse = |who: String, hint: &str| {
        Err(Failure::error(format!("{who}, and would put back what is taken off")).hint(hint))
    };
    // All Leases of the namespace are those of mipams, whatever they were told to call them.
    for lease in there(cluster, LEASE).await? {
        let Some(holder) = lease.text("/spec/holderIdentity").filter(|holder| !holder.is_empty()) else {
            continue;
        };
        let at_work = match standing(&lease, now) {
            Standing::Fresh => true,
            Standing::Old => false,
            Standing::Unclear(lasts) => {
                say(&format!("looking for {}s whether {holder} is still at work", lasts.as_secs()));
                tokio::time::sleep(lasts).await;
                match cluster.get(&LEASE.at(NAMESPACE, lease.name())).await {
                    Ok(later) => later.resource_version() != lease.resource_version(),
                    Err(ClusterError::NotFound(_)) => false,
                    Err(error) => return Err(error.into()),
                }
            }
        };
        if at_work {
            return refuse(
                format!("{holder} is at work (Lease {NAMESPACE}/{})", lease.name()),
                "stop it first: scale its Deployment to 0",
            );
        }
    }
    for deployment in there(cluster, DEPLOYMENT).await? {
        if runs(&deployment) && is_ours(&deployment, "/spec/template") {
            return refuse(
                format!("Deployment {NAMESPACE}/{} runs mipam", deployment.name()),
                "scale it to 0 first",
            );
        }
    }
    for job in there(cluster, CRON_JOB).await? {
        let sleeps = job.at("/spec/suspend") == Some(&Value::Bool(true));
        if !sleeps && is_ours(&job, "/spec/jobTemplate/spec/template") {
            return refuse(
                format!("CronJob {NAMESPACE}/{} starts mipam again and again", job.name()),
                "suspend it first, and wait until its last job has ended",
            );
        }
    }
    for job in there(cluster, JOB).await? {
        if !has_ended(&job) && is_ours(&job, "/spec/template") {
            return refuse(
                format!("Job {NAMESPACE}/{} is at work", job.name()),
                "wait until it has ended, or delete it",
            );
        }
    }
    Ok(())
}

/// The objects of a kind beside the ledger; none where the server does not have the kind at all.
async fn there(cluster: &dyn Cluster, kind: Kind) -> Result<Vec<Listed>, ClusterError> {
    match cluster.list(Feed::within(kind, NAMESPACE)).await {
        Err(ClusterError::NotServed(_)) => Ok(Vec::new()),
        other => other,
    }
}

/// What the time in a Lease says. The clock that wrote it may be another one than this one's.
#[derive(Debug, PartialEq, Eq)]
enum Standing {
    /// It was renewed in time.
    Fresh,
    /// It has run out, unless one of the clocks is wrong: in this time it would be renewed.
    Unclear(Duration),
    /// It ran out so long ago that no clock is as wrong.
    Old,
}

fn standing(lease: &Object, now: Seconds) -> Standing {
    let lasts = lease.at("/spec/leaseDurationSeconds").and_then(Value::as_u64).unwrap_or(0).min(LONGEST);
    let renewed = lease.text("/spec/renewTime").and_then(parse_timestamp);
    let Some(past) = renewed.map(|renewed| now.saturating_sub(renewed).saturating_sub_unsigned(lasts)) else {
        return Standing::Old;
    };
    match past {
        ..=0 => Standing::Fresh,
        1..=WRONG => Standing::Unclear(Duration::from_secs(lasts)),
        _ => Standing::Old,
    }
}

/// Are the pods of this template mipam's?
fn is_ours(object: &Object, template: &str) -> bool {
    let labels = object.at(&format!("{template}/metadata/labels"));
    labels.and_then(|labels| labels.get(NAME.0)).is_some_and(|name| name == NAME.1)
}

fn has_ended(job: &Object) -> bool {
    let ended = |c: &Value| c["status"] == "True" && (c["type"] == "Complete" || c["type"] == "Failed");
    job.array("/status/conditions").iter().any(ended)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_lease_that_ran_out_a_moment_ago_may_be_that_of_a_clock_that_is_late() {
        let lease =
            |renewed: &str| Object(json!({ "spec": { "renewTime": renewed, "leaseDurationSeconds": 15 } }));
        let now = parse_timestamp("2026-01-01T12:00:00Z").unwrap();
        let at = |time: &str| standing(&lease(&format!("2026-01-01T{time}.000000Z")), now);
        assert_eq!((at("11:59:45"), at("12:30:00")), (Standing::Fresh, Standing::Fresh));
        assert_eq!(at("11:59:44"), Standing::Unclear(Duration::from_secs(15)));
        assert_eq!(at("11:45:00"), Standing::Unclear(Duration::from_secs(15)));
        assert_eq!((at("11:44:44"), standing(&lease(""), now)), (Standing::Old, Standing::Old));
    }

    #[test]
    fn a_job_has_ended_when_it_is_complete_or_has_failed_and_not_before() {
        let job =
            |conditions: Value| Object(json!({ "kind": "Job", "status": { "conditions": conditions } }));
        let of = |kind: &str, status: &str| job(json!([{ "type": kind, "status": status }]));
        assert!(has_ended(&of("Complete", "True")) && has_ended(&of("Failed", "True")));
        assert!(!has_ended(&of("Complete", "False")));
        // Its pods are still being ended.
        assert!(!has_ended(&of("FailureTarget", "True")) && !has_ended(&of("Suspended", "True")));
        assert!(!has_ended(&Object(json!({ "kind": "Job" }))));
    }
}
