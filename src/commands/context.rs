//! What every command needs: the cluster, the scope, a pass.

use super::Failure;
use crate::cli::{ClusterOptions, Reference};
use crate::cluster::Cluster;
use crate::cluster::dir::{DirCluster, DirError, Mode};
use crate::cluster::kube::{Access, KubeCluster};
use crate::config::{self, Config};
use crate::ledger;
use crate::model::{CRON_JOB, JOB, Kind, ObjectRef, Pool, Seconds};
use crate::output::{Printer, Progress};
use crate::pass::{self, Pass, Sight};
use crate::plan::Scope;
use crate::systems;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Requests at once, unless told otherwise.
pub(super) const IN_FLIGHT: usize = 64;

/// Options and printer.
pub(super) struct Context<'a> {
    pub(super) options: &'a ClusterOptions,
    pub(super) printer: &'a Printer,
    /// The cluster and the time of whoever calls, instead of those that the options say and the clock shows.
    pub(super) lent: Option<(&'a dyn Cluster, Seconds)>,
}

/// A cluster that a command opened, or that was lent to it.
pub(super) enum Opened<'a> {
    Own(Box<dyn Cluster>),
    Lent(&'a dyn Cluster),
}

impl<'a> std::ops::Deref for Opened<'a> {
    type Target = dyn Cluster + 'a;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::Own(cluster) => &**cluster,
            Self::Lent(cluster) => *cluster,
        }
    }
}

impl<'a> Context<'a> {
    /// Opens the cluster. `mode` is how a directory is written.
    pub(super) async fn cluster(&self, mode: Mode) -> Result<Opened<'a>, Failure> {
        self.cluster_after(mode, Duration::ZERO).await
    }

    /// Like [`Context::cluster`], and waits so long for another run to leave the directory.
    pub(super) async fn cluster_after(&self, mode: Mode, wait: Duration) -> Result<Opened<'a>, Failure> {
        if let Some((cluster, _)) = self.lent {
            return Ok(Opened::Lent(cluster));
        }
        let Some(dir) = self.dir()? else {
            let access = Access {
                kubeconfig: self.options.kubeconfig.clone(),
                context: self.options.context.clone(),
                server: self.options.apiserver.clone(),
                timeout: self.options.request_timeout,
            };
            return Ok(Opened::Own(Box::new(KubeCluster::connect(&access).await?)));
        };
        Ok(Opened::Own(Box::new(self.directory(dir, mode, wait).await?)))
    }

    /// The directory that is the cluster, if one is; an error where it is none.
    pub(super) fn dir(&self) -> Result<Option<&'a Path>, Failure> {
        let Some(dir) = &self.options.dir else { return Ok(None) };
        if dir.is_dir() {
            return Ok(Some(dir));
        }
        let what = if dir.exists() { "this is no directory" } else { "there is no such directory" };
        Err(Failure::error(format!("--dir {}: {what}", dir.display()))
            .hint("it holds the manifests, for example what `kubectl get machines -A -o yaml` wrote"))
    }

    async fn directory(&self, dir: &Path, mode: Mode, wait: Duration) -> Result<DirCluster, Failure> {
        const PAUSE: Duration = Duration::from_millis(50);
        let mut kinds = systems::kinds();
        kinds.extend([ledger::CONFIG_MAP, ledger::NAMESPACE_KIND, JOB, CRON_JOB]);
        let until = Instant::now() + wait;
        let cluster = loop {
            match DirCluster::open(dir, &kinds, mode.clone()) {
                Err(DirError::Locked(_)) if Instant::now() < until => tokio::time::sleep(PAUSE).await,
                opened => break opened?,
            }
        };
        for note in cluster.notes() {
            self.printer.warn(note);
        }
        Ok(cluster)
    }

    /// Who is served: what flags and configuration leave.
    pub(super) fn scope(&self, config: &Config) -> Result<Scope, Failure> {
        let known: Vec<&str> = config::SYSTEMS.to_vec();
        if let Some(wrong) = self.options.systems.iter().find(|s| !known.contains(&s.as_str())) {
            return Err(Failure::error(format!("--systems: there is no system {wrong:?}"))
                .hint(format!("known are: {}", known.join(", "))));
        }
        self.unserved(&self.options.systems);
        let asked = (!self.options.systems.is_empty()).then(|| self.options.systems.clone());
        let systems = match (asked, config.systems.clone()) {
            (Some(asked), Some(configured)) => {
                Some(asked.into_iter().filter(|s| configured.contains(s)).collect())
            }
            (asked, configured) => asked.or(configured),
        };
        Ok(Scope { namespace: self.options.namespace.clone(), systems, only: None })
    }

    /// Says which of these systems this version does not serve yet.
    pub(super) fn unserved<'s>(&self, systems: impl IntoIterator<Item = &'s String>) {
        let served = |name: &str| systems::ALL.iter().any(|s| s.serves() && s.name() == name);
        for system in systems.into_iter().filter(|s| !served(s)) {
            self.printer.warn(&format!("system {system} is not served by this version"));
        }
    }

    /// A pass on this cluster.
    pub(super) fn pass<'p>(
        &self,
        cluster: &'p dyn Cluster,
        config: &'p Config,
        progress: &'p Bar<'_>,
    ) -> Result<Pass<'p>, Failure> {
        Ok(Pass {
            cluster,
            config,
            scope: self.scope(config)?,
            now: self.lent.map_or_else(now, |(_, now)| now),
            in_flight: IN_FLIGHT,
            dry_run: false,
            progress,
            memory: None,
        })
    }

    /// The progress line.
    pub(super) fn bar(&self) -> Bar<'_> {
        Bar(Progress::start(self.printer, "reading the cluster"))
    }

    /// Prints warnings, and with `-v` notes.
    pub(super) fn say(&self, warnings: &[String], notes: &[String]) {
        warnings.iter().for_each(|w| self.printer.warn(w));
        notes.iter().for_each(|n| self.printer.note(n));
    }

    /// The objects that a reference can mean: one for each of these kinds that it fits, in the namespace that it
    /// or `-n` says; at least one.
    pub(super) fn targets(&self, reference: &Reference, among: &[Kind]) -> Result<Vec<ObjectRef>, Failure> {
        let namespace = reference.namespace.as_deref().or(self.options.namespace.as_deref());
        let kinds = kinds(reference, among)?;
        Ok(kinds.into_iter().map(|k| k.at(namespace.unwrap_or("default"), &reference.name)).collect())
    }
}

/// The progress line as a pass sees it.
pub(super) struct Bar<'a>(Progress<'a>);

impl pass::Progress for Bar<'_> {
    fn stage(&self, what: &str, steps: usize) {
        self.0.message(what.to_owned());
        self.0.set(steps as u64);
    }

    fn step(&self) {
        self.0.inc();
    }
}

/// The time, read once per command.
pub(super) fn now() -> Seconds {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Seconds::try_from(since.as_secs()).unwrap_or(Seconds::MAX)
}

/// The pool of that name, or an error that lists the pools there are.
pub(super) fn pool<'p>(pools: &'p [Pool], name: &str) -> Result<&'p Pool, Failure> {
    pools.iter().find(|p| *p.name == *name).ok_or_else(|| no_pool(pools.iter().map(|p| &*p.name), name))
}

/// An error unless there is a pool of that name, of addresses or of blocks.
pub(super) fn any_pool(sight: &Sight, name: &str) -> Result<(), Failure> {
    let blocks = sight.survey.block_pools.iter().map(|p| &*p.name);
    let names: Vec<&str> = sight.pools.iter().map(|p| &*p.name).chain(blocks).collect();
    if names.contains(&name) { Ok(()) } else { Err(no_pool(names.into_iter(), name)) }
}

fn no_pool<'p>(names: impl Iterator<Item = &'p str>, name: &str) -> Failure {
    let names: Vec<&str> = names.collect();
    let hint = if names.is_empty() {
        "the configuration has no pools, and no object is one that can be used; `mipam status` says what is wrong"
            .to_owned()
    } else {
        format!("the pools are: {}", names.join(", "))
    };
    Failure::error(format!("there is no pool {name:?}")).hint(hint)
}

/// The kinds among these that a reference can mean; at least one.
pub(super) fn kinds(reference: &Reference, among: &[Kind]) -> Result<Vec<Kind>, Failure> {
    let hits: Vec<Kind> = among.iter().copied().filter(|k| reference.is_kind(k)).collect();
    if hits.is_empty() {
        return Err(Failure::error(format!("mipam knows no kind {:?} here", reference.kind))
            .hint(format!("known are: {}", list(among.iter()))));
    }
    Ok(hits)
}

/// The one object that is meant: where several kinds fit, the one that is there.
pub(super) fn only(
    targets: Vec<ObjectRef>,
    is_there: impl Fn(&ObjectRef) -> bool,
) -> Result<ObjectRef, Failure> {
    let several = targets.len() > 1;
    let (mut found, missing): (Vec<_>, Vec<_>) = targets.into_iter().partition(|t| !several || is_there(t));
    match (found.pop(), found.is_empty()) {
        (Some(one), true) => Ok(one),
        (Some(last), false) => {
            let kinds = list(found.iter().chain([&last]).map(|t| &t.kind));
            let failure = Failure::error(format!("{last} can mean objects of several kinds"));
            Err(failure.hint(format!("say which one: {kinds}")))
        }
        (None, _) => {
            let name = missing.first().map(ToString::to_string).unwrap_or_default();
            let failure = Failure::error(format!("{name} does not exist"));
            Err(failure.hint(format!("it was looked for among: {}", list(missing.iter().map(|t| &t.kind)))))
        }
    }
}

fn list<'k>(kinds: impl Iterator<Item = &'k Kind>) -> String {
    let name = |k: &Kind| {
        let kind = k.kind.to_lowercase();
        if k.group.is_empty() { kind } else { format!("{kind}.{}", k.group) }
    };
    kinds.map(name).collect::<Vec<_>>().join(", ")
}
