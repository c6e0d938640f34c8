//! Reads what decides about a launcher pod, as it is now, within a time that the API server waits for.

use super::pod::{self, Facts, Launcher};
use super::review::{Denial, Review};
use crate::cluster::{Cluster, ClusterError, Patient};
use crate::model::{Object, ObjectRef};
use crate::systems::kubevirt::machine::{Machine, vm_of};
use crate::systems::kubevirt::nad::Nads;
use crate::systems::kubevirt::network::{At, of_vmi};
use crate::systems::kubevirt::{CLAIM, NAD, VM, VMI, name};
use futures_util::future::try_join_all;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// How often what a pod runs is looked for: the pod may be seen a moment before it.
const TRIES: u32 = 4;
const PAUSE: Duration = Duration::from_millis(150);

/// What decides about pods, but for the cluster.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The namespace of the definition that stands for the pods' own network.
    pub default_namespace: String,
    /// The longest that a decision may take.
    pub timeout: Duration,
}

/// The annotations that a pod gets, or why it is not let through.
pub(super) async fn decide(
    cluster: &dyn Cluster,
    settings: &Settings,
    review: &Review,
) -> Result<Vec<(String, String)>, Denial> {
    let decided = annotations(cluster, settings, review).await;
    if pod::keeps_networks(review) { Ok(decided.unwrap_or_default()) } else { decided }
}

async fn annotations(
    cluster: &dyn Cluster,
    settings: &Settings,
    review: &Review,
) -> Result<Vec<(String, String)>, Denial> {
    let Some(launcher) = pod::launcher(review)? else { return Ok(Vec::new()) };
    let decided = tokio::time::timeout(settings.timeout, facts(&Patient(cluster), settings, &launcher)).await;
    decided.unwrap_or_else(|_| {
        let seconds = settings.timeout.as_secs_f32();
        let message =
            format!("the API server did not say within {seconds} s what the pod needs; it is tried again");
        Err(Denial { code: 504, message })
    })
}

async fn facts(
    cluster: &dyn Cluster,
    settings: &Settings,
    launcher: &Launcher,
) -> Result<Vec<(String, String)>, Denial> {
    let namespace = &launcher.namespace;
    let vmi = instance(cluster, &VMI.at(namespace, &launcher.vmi)).await?;
    let primary = of_vmi(&vmi).iter().any(|entry| entry.at == At::Pod);
    let named: BTreeSet<(String, String)> = launcher.nads().collect();
    if named.is_empty() && !primary {
        return Ok(Vec::new());
    }
    let vm_at = VM.at(namespace, &launcher.vmi);
    let (vm, nads) = futures_util::future::try_join(
        find(cluster, &vm_at),
        definitions(cluster, namespace, &named, primary),
    )
    .await?;
    let vm = vm.filter(|vm| vm_of(&vmi).is_none_or(|uid| uid == vm.uid()));
    let nads = Nads::read(&nads);
    let machine = Machine { vm: vm.as_ref(), vmi: Some(&vmi) };
    let wants = pod::wants(launcher, &machine, &nads)?;
    let of = machine.owner().map_or("", |(_, o)| o.name());
    let doubtful = wants.doubtful.iter().map(|(entry, _)| name::plain(of, &entry.name));
    let persist = wants.persist.iter();
    let persist =
        persist.flat_map(|(_, w)| [name::plain(of, &w.entry), name::hashed(of, &w.entry, &w.network)]);
    let names: BTreeSet<String> = persist.chain(doubtful).collect();
    let targets: Vec<ObjectRef> = names.iter().map(|name| CLAIM.at(namespace, name)).collect();
    let claims = try_join_all(targets.iter().map(|target| find(cluster, target))).await?;
    let claims: BTreeMap<&str, &Object> = claims.iter().flatten().map(|c| (c.name(), c)).collect();
    let claim = |name: &str| claims.get(name).copied();
    let facts = Facts { machine, nads: &nads, claim: &claim, default_namespace: &settings.default_namespace };
    pod::decide(launcher, &facts)
}

async fn instance(cluster: &dyn Cluster, target: &ObjectRef) -> Result<Object, Denial> {
    for _ in 1..TRIES {
        if let Some(found) = find(cluster, target).await? {
            return Ok(found);
        }
        tokio::time::sleep(PAUSE).await;
    }
    let found = find(cluster, target).await?;
    found.ok_or_else(|| Denial::unknown(format!("{target}, which the pod is to run, does not exist")))
}

/// The definitions of its own namespace, and all others that a pod names.
async fn definitions(
    cluster: &dyn Cluster,
    namespace: &str,
    named: &BTreeSet<(String, String)>,
    primary: bool,
) -> Result<Vec<Object>, Denial> {
    let mut all = Vec::new();
    if primary {
        let own = cluster.list_within(NAD, namespace).await.map_err(|error| failed(&error))?;
        all.extend(own.into_iter().map(|listed| listed.glance().into_owned()));
    }
    let others = named.iter().filter(|(ns, _)| !(primary && ns == namespace));
    let targets: Vec<ObjectRef> = others.map(|(ns, name)| NAD.at(ns, name)).collect();
    let found = try_join_all(targets.iter().map(|target| find(cluster, target))).await?;
    all.extend(found.into_iter().flatten());
    Ok(all)
}

async fn find(cluster: &dyn Cluster, target: &ObjectRef) -> Result<Option<Object>, Denial> {
    match cluster.get(target).await {
        Ok(object) => Ok(Some(object)),
        Err(ClusterError::NotFound(_)) => Ok(None),
        Err(error) => Err(failed(&error)),
    }
}

fn failed(error: &ClusterError) -> Denial {
    Denial::unknown(format!("what the pod needs cannot be read: {error}"))
}
