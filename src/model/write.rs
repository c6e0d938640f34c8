//! A write to the cluster, described: what decides makes them, what talks to the world carries them out.

use super::{Object, ObjectRef};
use std::fmt;
use std::sync::Arc;

/// One write, or several to one object that must happen in order.
#[derive(Clone, Debug)]
pub struct Write {
    /// Which object.
    pub target: ObjectRef,
    /// The uid the object must have; empty: not known (files).
    pub uid: String,
    /// What is done to it.
    pub action: Action,
}

/// What is done to an object.
#[derive(Clone, Debug)]
pub enum Action {
    /// Replace it by its edited self, guarded by resourceVersion.
    Update(Edit),
}

/// What an edit makes of the object as it is now.
#[derive(Clone, Debug, PartialEq)]
pub enum Edited {
    /// It should become this.
    To(Box<Object>),
    /// It is already as it should be.
    Already,
    /// It no longer wants this; the next pass looks at it afresh.
    Moot,
}

/// A pure function from the object as it is to the object as it should be. It can be applied again to a
/// newer version of the object after a conflict.
#[derive(Clone)]
pub struct Edit(Arc<dyn Fn(&Object) -> Edited + Send + Sync>);

impl Edit {
    /// Wraps the function.
    pub fn new(edit: impl Fn(&Object) -> Edited + Send + Sync + 'static) -> Self {
        Self(Arc::new(edit))
    }

    /// What the object should become.
    pub fn apply(&self, object: &Object) -> Edited {
        (self.0)(object)
    }
}

impl fmt::Debug for Edit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Edit")
    }
}
