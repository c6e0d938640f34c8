//! Writes to the cluster, described: what decides makes them, what talks to the world carries them out.

use super::{Kind, Object, ObjectRef};
use serde_json::json;
use std::fmt;
use std::sync::Arc;

/// Writes that happen one after the other; the first that cannot be done ends them.
pub type Chain = Vec<Write>;

/// One write.
#[derive(Clone, Debug)]
pub struct Write {
    /// Which object.
    pub target: ObjectRef,
    /// The uid the object must have; empty: not known (files, and what is made in the same chain).
    pub uid: String,
    /// What is done to it.
    pub action: Action,
}

impl Write {
    /// Takes an object away that this finalizer holds.
    pub fn removal(kind: Kind, object: &Object, finalizer: &'static str) -> [Self; 2] {
        let (target, uid) = (kind.at(object.namespace(), object.name()), object.uid().to_owned());
        [
            Self { target: target.clone(), uid: uid.clone(), action: Action::Free(finalizer) },
            Self { target, uid, action: Action::Delete },
        ]
    }
}

/// What is done to an object.
#[derive(Clone, Debug)]
pub enum Action {
    /// Replace it by its edited self, guarded by resourceVersion.
    Update(Edit),
    /// Replace its status by that of its edited self, guarded by resourceVersion.
    UpdateStatus(Edit),
    /// Make it, guarded by its name.
    Create(Make),
    /// Delete it, guarded by its uid.
    Delete,
    /// Take this finalizer off it; what is gone has none.
    Free(&'static str),
    /// Write nothing: look at it as it is now, and go on only if it is as expected.
    Expect(Expect),
}

/// What an object, or that there is none, is asked.
type Ask = dyn Fn(Option<&Object>) -> bool + Send + Sync;

/// What an object, or its absence, must be like for a chain to go on. Whatever a list has shown: it is asked about
/// the object that is there at that moment.
#[derive(Clone)]
pub struct Expect(Arc<Ask>);

impl Expect {
    /// Wraps the function.
    pub fn new(expect: impl Fn(Option<&Object>) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(expect))
    }

    /// Is this object, or that there is none, as expected?
    pub fn holds(&self, object: Option<&Object>) -> bool {
        (self.0)(object)
    }
}

impl fmt::Debug for Expect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Expect")
    }
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

    /// Puts a finalizer on an object that is not being deleted, nor barred in another way.
    pub fn hold(finalizer: &'static str, barred: impl Fn(&Object) -> bool + Send + Sync + 'static) -> Self {
        Self::new(move |object| {
            if object.held_by(finalizer) {
                return Edited::Already;
            }
            if object.deleting() || barred(object) {
                return Edited::Moot;
            }
            let mut edited = object.clone();
            let list = edited.ensure_object(&["metadata"]).entry("finalizers").or_insert_with(|| json!([]));
            if let Some(list) = list.as_array_mut() {
                list.push(finalizer.into());
            }
            Edited::To(Box::new(edited))
        })
    }

    /// Takes a finalizer off.
    pub fn free(finalizer: &'static str) -> Self {
        Self::new(move |object| {
            if !object.held_by(finalizer) {
                return Edited::Already;
            }
            let mut edited = object.clone();
            let metadata = edited.ensure_object(&["metadata"]);
            if let Some(list) = metadata.get_mut("finalizers").and_then(|f| f.as_array_mut()) {
                list.retain(|f| f != finalizer);
            }
            Edited::To(Box::new(edited))
        })
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

/// Builds an object from what the chain has written before it, in order.
type Build = dyn Fn(&[Object]) -> Object + Send + Sync;

/// A new object, and how to tell it from another one that has its name.
#[derive(Clone)]
pub struct Make {
    build: Arc<Build>,
    same: Arc<dyn Fn(&Object) -> bool + Send + Sync>,
}

impl Make {
    /// Wraps the two functions: `same` tells whether an object of that name is the one that would be made.
    pub fn new(
        build: impl Fn(&[Object]) -> Object + Send + Sync + 'static,
        same: impl Fn(&Object) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self { build: Arc::new(build), same: Arc::new(same) }
    }

    /// The object to be made.
    pub fn build(&self, before: &[Object]) -> Object {
        (self.build)(before)
    }

    /// Is this what would be made?
    pub fn is_same(&self, object: &Object) -> bool {
        (self.same)(object)
    }
}

impl fmt::Debug for Make {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Make")
    }
}
