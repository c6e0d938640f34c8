//! Who holds an address.

use super::{Kind, Object, ObjectRef};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::Arc;

/// The object that an address belongs to. Where objects have a uid it is part of the identity: a machine
/// recreated under the same name is another owner.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Owner {
    /// API group of the owner, empty for core.
    #[serde(default)]
    pub group: Cow<'static, str>,
    /// `Machine`
    pub kind: Cow<'static, str>,
    /// Empty for cluster-scoped owners.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub namespace: Box<str>,
    /// `metadata.name`
    pub name: Box<str>,
    /// `metadata.uid`, empty in files.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub uid: Box<str>,
    /// The system that serves it (`openshift`).
    pub system: Cow<'static, str>,
}

impl Owner {
    /// The kind of a person's own holds (`allocate --name`): no object stands behind it.
    pub const HOLD: &'static str = "Hold";

    /// The owner that an object is.
    pub fn of(system: &'static str, kind: Kind, object: &Object) -> Arc<Self> {
        Arc::new(Self {
            group: kind.group.into(),
            kind: kind.kind.into(),
            namespace: object.namespace().into(),
            name: object.name().into(),
            uid: object.uid().into(),
            system: system.into(),
        })
    }

    /// A person's hold of that name.
    pub fn hold(name: &str) -> Arc<Self> {
        Arc::new(Self {
            group: "mipam.io".into(),
            kind: Self::HOLD.into(),
            namespace: "".into(),
            name: name.into(),
            uid: "".into(),
            system: "hold".into(),
        })
    }

    /// True for a person's hold.
    pub fn is_hold(&self) -> bool {
        self.kind == Self::HOLD && self.group == "mipam.io"
    }

    /// Same group, kind, namespace and name: itself or a predecessor.
    pub fn same_name(&self, other: &Self) -> bool {
        self.group == other.group
            && self.kind == other.kind
            && self.namespace == other.namespace
            && self.name == other.name
    }

    /// The very same object; a missing uid (files) is no difference.
    pub fn same(&self, other: &Self) -> bool {
        self.same_name(other) && (self.uid == other.uid || self.uid.is_empty() || other.uid.is_empty())
    }

    /// Is this object the owner?
    pub fn is(&self, object: &Object) -> bool {
        *self.kind == *object.kind()
            && *self.group == *object.group()
            && *self.namespace == *object.namespace()
            && *self.name == *object.name()
            && (self.uid.is_empty() || object.uid().is_empty() || *self.uid == *object.uid())
    }

    /// Its reference, if it is of this kind.
    pub fn reference(&self, kind: Kind) -> ObjectRef {
        kind.at(&self.namespace, &self.name)
    }
}

impl std::fmt::Display for Owner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.kind)?;
        if !self.namespace.is_empty() {
            write!(f, "/{}", self.namespace)?;
        }
        write!(f, "/{}", self.name)
    }
}

/// An owner and which of its devices.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Holder {
    /// Whose address it is.
    #[serde(flatten)]
    pub owner: Arc<Owner>,
    /// Which device of the owner: an index or a name, as the system has it.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub device: Arc<str>,
}
