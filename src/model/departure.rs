//! What mipam has put on objects and they wait for, and how it is taken off when mipam goes for good.

use super::{Action, Chain, Kind, Object, ObjectRef, Write};
use serde::Serialize;

/// One object that would wait for mipam if mipam were gone.
#[derive(Clone, Debug)]
pub struct Departure {
    /// The system that put it there.
    pub system: &'static str,
    /// Which object.
    pub target: ObjectRef,
    /// What is taken off it, for people.
    pub mark: String,
    /// Why it should stay; `None`: it can go.
    pub stays: Option<Stay>,
    /// Takes it off.
    pub writes: Chain,
}

/// Why something is not taken off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stay {
    /// The object is paused: nobody may touch it.
    Paused(String),
    /// It waits for an address, and would go on without one: only a person can want that.
    Waiting(String),
}

impl Departure {
    /// A finalizer on an object, if it is there.
    pub fn finalizer(
        system: &'static str,
        kind: Kind,
        object: &Object,
        finalizer: &'static str,
        paused: Option<String>,
    ) -> Option<Self> {
        let target = kind.at(object.namespace(), object.name());
        let free =
            Write { target: target.clone(), uid: object.uid().to_owned(), action: Action::Free(finalizer) };
        object.held_by(finalizer).then(|| Self {
            system,
            target,
            mark: format!("finalizer {finalizer}"),
            stays: paused.map(Stay::Paused),
            writes: vec![free],
        })
    }
}

/// What `detach -o json` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DetachReport {
    /// `mipam.io/v1`
    pub api_version: &'static str,
    /// `DetachReport`
    pub kind: &'static str,
    /// Nothing was written: this is what would be done.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
    /// Objects that wait for mipam no more.
    pub detached: Vec<DetachLine>,
    /// Objects that still do, and why.
    pub left: Vec<DetachLine>,
    /// Requests that read.
    pub reads: u64,
    /// Requests that wrote.
    pub writes: u64,
}

/// One object of `detach`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct DetachLine {
    /// System.
    pub system: String,
    /// Its kind.
    pub kind: String,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// What was taken off, or is still there.
    pub mark: String,
    /// Why it is still there: `Paused`, `Waiting` or `Changed`.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub reason: &'static str,
    /// Why, for people.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
}

impl DetachLine {
    /// The line for what is taken off.
    pub fn of(departure: &Departure) -> Self {
        let ObjectRef { kind, namespace, name } = &departure.target;
        Self {
            system: departure.system.to_owned(),
            kind: kind.kind.to_owned(),
            namespace: namespace.clone(),
            name: name.clone(),
            mark: departure.mark.clone(),
            reason: "",
            message: String::new(),
        }
    }

    /// The line for what stays.
    #[must_use]
    pub fn stays(self, why: &Stay) -> Self {
        let (reason, message) = match why {
            Stay::Paused(why) => ("Paused", why),
            Stay::Waiting(why) => ("Waiting", why),
        };
        Self { reason, message: message.clone(), ..self }
    }

    /// The line for what somebody else has changed in the meantime.
    #[must_use]
    pub fn changed(self) -> Self {
        Self { reason: "Changed", message: "it changed in the meantime: run it again".to_owned(), ..self }
    }
}
