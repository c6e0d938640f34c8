//! A folder of manifests as a cluster: what `kubectl get -o yaml` wrote, or what a `GitOps` repository holds.
//!
//! Everything is read once, changed in memory under an API server's rules, and written when the cluster settles:
//! only the documents that changed, each file whole or not at all, and nothing if a file changed meanwhile.
//!
//! | file | its job |
//! |---|---|
//! | `scan` | find and read the manifests |
//! | `split` | cut YAML into documents, byte for byte |
//! | `load`, `legacy` | text to objects |
//! | `state`, `rules`, `names` | objects in memory, with an API server's rules |
//! | `compose`, `render` | objects to text |
//! | `settle`, `disk`, `out`, `lock` | text to the disk |

mod compose;
mod disk;
mod fault;
mod legacy;
mod load;
mod lock;
mod names;
mod out;
mod render;
mod rules;
mod scan;
mod settle;
mod split;
mod state;
#[cfg(test)]
mod tests;

pub use fault::{DirError, Fault, Faults};

use super::{Answer, Cluster, Traffic};
use crate::model::{Feed, Kind, Listed, Object, ObjectRef, timestamp};
use load::Loader;
use lock::Lock;
use out::Out;
use scan::Format;
use state::State;
use std::cell::{Cell, RefCell};
use std::future::ready;
use std::path::{Path, PathBuf};

/// What may be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Nothing; changes stay in memory.
    ReadOnly,
    /// The manifests themselves.
    InPlace,
    /// A full copy in another folder.
    Out(PathBuf),
}

/// An object that changed since the folder was opened, as its file has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Which object.
    pub target: ObjectRef,
    /// What it was; `None`: it was not there.
    pub before: Option<Object>,
    /// What it is now; `None`: it is gone.
    pub after: Option<Object>,
}

/// Where changes go, and what keeps other runs away from there.
#[derive(Debug)]
enum Target {
    Nowhere,
    Here(#[expect(dead_code, reason = "held until dropped")] Lock),
    There { out: Out, written: Cell<bool> },
}

/// A folder of manifests.
#[derive(Debug)]
pub struct DirCluster {
    root: PathBuf,
    target: Target,
    state: RefCell<State>,
    notes: Vec<String>,
    traffic: Traffic,
}

impl DirCluster {
    /// Reads all manifests below a folder; objects of other than these kinds are kept as they are.
    pub fn open(dir: &Path, kinds: &[Kind], mode: Mode) -> Result<Self, DirError> {
        let mut loader = Loader::new(dir, kinds);
        // Looked at before it is locked: to lock what is no folder would say something else.
        scan::folder(dir)?;
        let target = match mode {
            Mode::ReadOnly => Target::Nowhere,
            Mode::InPlace => Target::Here(Lock::folder(dir)?),
            Mode::Out(out) => Target::There { out: Out::prepare(dir, &out)?, written: Cell::new(false) },
        };
        for path in scan::manifests(dir, &mut loader.faults)? {
            let Some(format) = Format::of(&path) else { continue };
            match scan::read(&dir.join(&path)) {
                Ok(text) => loader.file(path, format, text),
                Err(fault) => loader.faults.add(Some(fault)),
            }
        }
        let (state, faults, notes) = loader.finish();
        if !faults.is_empty() {
            return Err(DirError::Broken { path: dir.to_owned(), faults });
        }
        Ok(Self {
            root: dir.to_owned(),
            target,
            state: RefCell::new(state),
            notes,
            traffic: Traffic::default(),
        })
    }

    /// What is odd: documents that were ignored, and why; a folder without any.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Everything that changed since the folder was opened, by kind, namespace and name.
    pub fn changes(&self) -> Vec<Change> {
        self.state.borrow().changes()
    }
}

impl Cluster for DirCluster {
    fn served<'a>(&'a self, kinds: &'a [Kind]) -> Answer<'a, Vec<Kind>> {
        let state = self.state.borrow();
        let served = kinds.iter().copied().filter(|kind| state.serves(*kind)).collect();
        Box::pin(ready(Ok(served)))
    }

    fn list(&self, feed: Feed) -> Answer<'_, Vec<Listed>> {
        Box::pin(async move {
            self.traffic.read();
            let namespace = (!feed.namespace.is_empty()).then_some(feed.namespace);
            let all = self.state.borrow().list(feed.kind, namespace)?;
            Ok(all.into_iter().filter(|object| feed.has(object)).map(Listed::from).collect())
        })
    }

    fn get<'a>(&'a self, target: &'a ObjectRef) -> Answer<'a, Object> {
        Box::pin(async move {
            self.traffic.read();
            self.state.borrow().get(target)
        })
    }

    fn create<'a>(&'a self, kind: Kind, object: &'a Object) -> Answer<'a, Object> {
        Box::pin(async move {
            self.traffic.write();
            self.state.borrow_mut().create(kind, object)
        })
    }

    fn replace<'a>(&'a self, kind: Kind, object: &'a Object) -> Answer<'a, Object> {
        Box::pin(async move {
            self.traffic.write();
            self.state.borrow_mut().replace(kind, object, rules::replaced)
        })
    }

    fn replace_status<'a>(&'a self, kind: Kind, object: &'a Object) -> Answer<'a, Object> {
        Box::pin(async move {
            self.traffic.write();
            self.state.borrow_mut().replace(kind, object, rules::with_status)
        })
    }

    fn delete<'a>(&'a self, target: &'a ObjectRef, uid: &'a str) -> Answer<'a, Option<Object>> {
        Box::pin(async move {
            self.traffic.write();
            let now = jiff::Timestamp::now().as_second();
            self.state.borrow_mut().delete(target, uid, &timestamp(now))
        })
    }

    fn settle(&self) -> Answer<'_, ()> {
        Box::pin(async move {
            let mut state = self.state.borrow_mut();
            match &self.target {
                Target::Nowhere => Ok(()),
                Target::Here(_) => settle::changed(&mut state, &self.root),
                Target::There { out, written } if written.get() => settle::changed(&mut state, &out.folder),
                Target::There { out, written } => {
                    settle::everything(&mut state, &self.root, out)?;
                    written.set(true);
                    Ok(())
                }
            }
        })
    }

    fn traffic(&self) -> &Traffic {
        &self.traffic
    }
}
