//! Rights that no scenario alone can show: they are needed when somebody else writes at the same moment, for Events, or
//! where more is served than by the test bed. Behind each stands the scenario whose first pass shows it then.

use super::rights::{Rule, roles, rules};
use crate::bed::accounts::ADMIN;
use crate::bed::{self, Bed, Locked, Profile};
use crate::scenario;
use mipam::cluster::kube::{Access, KubeCluster};
use mipam::cluster::{Answer, Cluster, ClusterError, Traffic};
use mipam::model::{Feed, Kind, Listed, Object, ObjectRef};
use mipam::pass::{Outcome, Pass, Silent};
use mipam::plan::Scope;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::time::Duration;

const ACCOUNT: &str = "mipam";

/// The rules behind which this stands, each with its scenario and with all others.
fn shown(how: &str) -> Vec<(Rule, String, Vec<Rule>)> {
    let all = rules();
    let meant = all.iter().enumerate().filter_map(|(at, rule)| {
        let scenario = rule.why.strip_suffix(how)?.strip_suffix(", ")?.to_owned();
        let others = all.iter().enumerate().filter(|(i, _)| *i != at).map(|(_, r)| r.clone());
        Some((rule.clone(), scenario, others.collect()))
    });
    meant.collect()
}

fn connect(bed: &Bed, account: &str) -> KubeCluster {
    let access = Access {
        kubeconfig: Some(bed.kubeconfig(account)),
        timeout: Duration::from_secs(30),
        ..Access::default()
    };
    let cluster = bed.block_on(KubeCluster::connect(&access)).unwrap();
    bed.block_on(cluster.served(&mipam::systems::kinds())).unwrap();
    cluster
}

/// The first pass of a scenario, by an account with these rights.
fn first_pass(
    bed: &Locked<'_>,
    name: &str,
    rights: &[Rule],
    through: impl FnOnce(KubeCluster) -> Box<dyn Cluster>,
) -> Result<Outcome, mipam::observe::ObserveError> {
    let folder = scenario::root().join(name);
    bed.namespace("mipam-system");
    bed.grant(ACCOUNT, &roles(rights.iter()));
    bed.create(&std::fs::read_to_string(folder.join("before.yaml")).unwrap());
    let network = "ipam-config:\n  pools: [{name: k, ranges: [192.168.1.128/25], prefix: 24}]\n";
    let config = std::fs::read_to_string(folder.join("config.yaml")).unwrap_or_else(|_| network.to_owned());
    let config = mipam::config::parse(name, &config).unwrap();
    let cluster = through(connect(bed, ACCOUNT));
    let pass = Pass {
        cluster: &*cluster,
        config: &config,
        scope: Scope::default(),
        now: 1_800_000_000,
        in_flight: 8,
        dry_run: false,
        progress: &Silent,
        memory: None,
    };
    bed.block_on(pass.run(&|_| ()))
}

/// Somebody else is a moment faster to write every object of this resource.
struct Meddled {
    inner: KubeCluster,
    other: KubeCluster,
    resource: String,
    touched: RefCell<BTreeSet<ObjectRef>>,
}

impl Meddled {
    fn is_due(&self, kind: Kind, object: &Object) -> bool {
        let target = kind.at(object.namespace(), object.name());
        kind.resource() == self.resource && self.touched.borrow_mut().insert(target)
    }

    async fn touch(&self, kind: Kind, object: &Object) -> Result<(), ClusterError> {
        if self.is_due(kind, object) {
            let mut now = self.other.get(&kind.at(object.namespace(), object.name())).await?;
            now.annotate("test.mipam.io/touched", "yes");
            self.other.replace(kind, &now).await?;
        }
        Ok(())
    }
}

impl Cluster for Meddled {
    fn served<'a>(&'a self, kinds: &'a [Kind]) -> Answer<'a, Vec<Kind>> {
        self.inner.served(kinds)
    }

    fn list(&self, feed: Feed) -> Answer<'_, Vec<Listed>> {
        self.inner.list(feed)
    }

    fn get<'a>(&'a self, target: &'a ObjectRef) -> Answer<'a, Object> {
        self.inner.get(target)
    }

    fn create<'a>(&'a self, kind: Kind, object: &'a Object) -> Answer<'a, Object> {
        Box::pin(async move {
            if self.is_due(kind, object) {
                self.other.create(kind, object).await?;
            }
            self.inner.create(kind, object).await
        })
    }

    fn replace<'a>(&'a self, kind: Kind, object: &'a Object) -> Answer<'a, Object> {
        Box::pin(async move {
            self.touch(kind, object).await?;
            self.inner.replace(kind, object).await
        })
    }

    fn replace_status<'a>(&'a self, kind: Kind, object: &'a Object) -> Answer<'a, Object> {
        Box::pin(async move {
            self.touch(kind, object).await?;
            self.inner.replace_status(kind, object).await
        })
    }

    fn delete<'a>(&'a self, target: &'a ObjectRef, uid: &'a str) -> Answer<'a, Option<Object>> {
        self.inner.delete(target, uid)
    }

    fn settle(&self) -> Answer<'_, ()> {
        self.inner.settle()
    }

    fn traffic(&self) -> &Traffic {
        self.inner.traffic()
    }
}

#[test]
fn who_meets_somebody_elses_write_has_to_look_at_the_object() {
    let all = shown("after a conflict");
    assert!(all.len() > 8, "{all:?}");
    for (rule, name, others) in all {
        let resource = format!("{}.{}", text(&rule, "resources"), text(&rule, "apiGroups"));
        let failures = |rights: &[Rule]| {
            let bed = bed::shared(scenario::profile(&name)).lock();
            let other = connect(&bed, ADMIN);
            let touched = RefCell::default();
            let meddled =
                |inner| Box::new(Meddled { inner, other, resource: resource.clone(), touched }) as _;
            first_pass(&bed, &name, rights, meddled).unwrap().failures
        };
        assert!(failures(&rules()).is_empty(), "{name}, {resource}");
        let failed = failures(&others);
        let refused = |e: &ClusterError| matches!(e, ClusterError::Forbidden { verb: "get", resource: r, .. } if *r == resource);
        assert!(failed.iter().any(|(_, e)| refused(e)), "{name} without {}: {failed:?}", rule.rule);
    }
}

fn text<'r>(rule: &'r Rule, key: &str) -> &'r str {
    let list = rule.rule[key].as_array().unwrap();
    assert_eq!(list.len(), 1, "one at a time: {}", rule.rule);
    list[0].as_str().unwrap()
}

#[test]
fn who_says_something_on_objects_has_to_make_events() {
    let all = shown("in Events");
    assert_eq!(all.len(), 1, "{all:?}");
    for (rule, name, others) in all {
        let said = |rights: &[Rule]| {
            let bed = bed::shared(scenario::profile(&name)).lock();
            first_pass(&bed, &name, rights, |inner| Box::new(inner)).unwrap();
            bed.list("v1", "Event").len()
        };
        assert!(said(&rules()) > 0, "{name}");
        assert_eq!(said(&others), 0, "{name} without {}", rule.rule);
    }
}

/// As OpenShift has it, as far as mipam looks at it.
const INFRASTRUCTURES: &str = "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: infrastructures.config.openshift.io}
spec:
  group: config.openshift.io
  names: {kind: Infrastructure, plural: infrastructures, singular: infrastructure, listKind: InfrastructureList}
  scope: Cluster
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
";

#[test]
fn where_openshift_says_which_addresses_are_its_own_they_have_to_be_read() {
    let all = shown("where it is served");
    assert_eq!(all.len(), 1, "{all:?}");
    // A bed of its own: the others do not serve the kind.
    let own = Bed::with(Profile::Own);
    let crds = bed::documents(INFRASTRUCTURES).into_iter().map(|crd| ("infrastructures".to_owned(), crd));
    own.apply_crds(&crds.collect());
    for (rule, name, others) in all {
        let pass = |rights: &[Rule]| {
            let bed = own.lock();
            first_pass(&bed, &name, rights, |inner| Box::new(inner)).err()
        };
        assert!(pass(&rules()).is_none(), "{name}");
        let refused = pass(&others).map(|error| error.to_string()).unwrap_or_default();
        assert!(
            refused.contains("not allowed to list infrastructures"),
            "{name} without {}: {refused}",
            rule.rule
        );
    }
}
