//! Kinds of objects, as constants: what mipam reads and writes is known at compile time.

use super::{Listed, Object};

/// A kind that mipam knows, with the versions it can read, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kind {
    /// API group, empty for core.
    pub group: &'static str,
    /// Versions that mipam understands, preferred first; discovery picks the first that is served.
    pub versions: &'static [&'static str],
    /// `Machine`
    pub kind: &'static str,
    /// `machines`
    pub plural: &'static str,
    /// False for Nodes and the like.
    pub namespaced: bool,
}

impl Kind {
    /// A kind whose objects are in namespaces.
    pub const fn namespaced(
        group: &'static str,
        versions: &'static [&'static str],
        kind: &'static str,
        plural: &'static str,
    ) -> Self {
        Self { group, versions, kind, plural, namespaced: true }
    }

    /// `machines.machine.openshift.io`, or `nodes` for the core group.
    pub fn resource(&self) -> String {
        if self.group.is_empty() { self.plural.to_owned() } else { format!("{}.{}", self.plural, self.group) }
    }

    /// The reference to one object of this kind.
    pub fn at(self, namespace: &str, name: &str) -> ObjectRef {
        let namespace = if self.namespaced { namespace.to_owned() } else { String::new() };
        ObjectRef { kind: self, namespace, name: name.to_owned() }
    }
}

/// Nodes.
pub const NODE: Kind =
    Kind { group: "", versions: &["v1"], kind: "Node", plural: "nodes", namespaced: false };

/// Leases: how processes agree on who is at work.
pub const LEASE: Kind = Kind::namespaced("coordination.k8s.io", &["v1"], "Lease", "leases");

/// Deployments: what runs, mipam or another controller.
pub const DEPLOYMENT: Kind = Kind::namespaced("apps", &["v1"], "Deployment", "deployments");

/// Jobs: a pass each, where mipam runs on a schedule.
pub const JOB: Kind = Kind::namespaced("batch", &["v1"], "Job", "jobs");

/// What makes Jobs on a schedule.
pub const CRON_JOB: Kind = Kind::namespaced("batch", &["v1"], "CronJob", "cronjobs");

/// One object by kind, namespace and name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectRef {
    /// Its kind.
    pub kind: Kind,
    /// Empty for cluster-scoped kinds.
    pub namespace: String,
    /// `metadata.name`
    pub name: String,
}

impl std::fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.namespace.is_empty() {
            write!(f, "{}/{}", self.kind.kind, self.name)
        } else {
            write!(f, "{}/{}/{}", self.kind.kind, self.namespace, self.name)
        }
    }
}

/// When a kind is read: records before owners, so that an owner made in between is never taken for gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Native records of addresses: read with the ledger, in the first wave.
    Record,
    /// Owners of addresses, and what shows addresses in use: read in the second wave.
    Owner,
    /// Owners of which every object speaks for itself: what it says hangs on nothing else but the configuration. It is
    /// asked by [`crate::systems::System::survey_one`], once for as long as it stays as it is, and folded meanwhile.
    Alone,
    /// One named object that informs a decision (a CRD, say), read in the second wave; not being
    /// allowed to see it is a note, never a stop.
    Hint(&'static str),
    /// Objects that show whether somebody else is at work, read in the second wave; not being allowed to see
    /// them is a note, and [`super::Observed::serves`] says that they were not seen.
    Peer(Sign),
}

/// What a few objects of a kind are known by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sign {
    /// A label with this value.
    Label(&'static str, &'static str),
    /// This name, in whatever namespace.
    Name(&'static str),
}

impl Sign {
    /// Does the object bear it?
    pub fn is_on(self, object: &Object) -> bool {
        match self {
            Self::Label(key, value) => object.label(key) == Some(value),
            Self::Name(name) => object.name() == name,
        }
    }
}

/// Which objects a list or a watch is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Feed {
    /// Their kind.
    pub kind: Kind,
    /// Only those in this namespace; empty: in all.
    pub namespace: &'static str,
    /// Only the few that bear this sign.
    pub sign: Option<Sign>,
    /// They are looked at one by one: lists have them folded.
    pub folded: bool,
}

impl Feed {
    /// All objects of a kind.
    pub const fn all(kind: Kind) -> Self {
        Self { kind, namespace: "", sign: None, folded: false }
    }

    /// The objects of a kind in one namespace.
    pub const fn within(kind: Kind, namespace: &'static str) -> Self {
        Self { kind, namespace, sign: None, folded: false }
    }

    /// The objects of a kind that bear a sign.
    pub const fn signed(kind: Kind, sign: Sign) -> Self {
        Self { kind, namespace: "", sign: Some(sign), folded: false }
    }

    /// An object as lists of it have it.
    pub fn listed(&self, object: impl Into<Listed>) -> Listed {
        let listed = object.into();
        if self.folded { listed.fold() } else { listed }
    }

    /// Is it about this object of its kind?
    pub fn has(&self, object: &Object) -> bool {
        (self.namespace.is_empty() || self.namespace == object.namespace())
            && self.sign.is_none_or(|sign| sign.is_on(object))
    }
}

/// A kind that a system reads, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Source {
    /// What is read.
    pub kind: Kind,
    /// In which wave.
    pub role: Role,
}

impl Source {
    /// Is all of it read, as there may be addresses in it?
    pub fn is_whole(&self) -> bool {
        matches!(self.role, Role::Record | Role::Owner | Role::Alone)
    }

    /// What is listed of it; `None` where one object is asked for by name.
    pub fn feed(&self) -> Option<Feed> {
        match self.role {
            Role::Record | Role::Owner => Some(Feed::all(self.kind)),
            Role::Alone => Some(Feed { folded: true, ..Feed::all(self.kind) }),
            Role::Peer(sign) => Some(Feed::signed(self.kind, sign)),
            Role::Hint(_) => None,
        }
    }
}
