//! All objects of a folder in memory, with an API server's rules; which documents changed, but no I/O.

use super::rules::{self, Identity};
use super::scan::Format;
use super::{Change, names};
use crate::cluster::ClusterError;
use crate::model::{Kind, Object, ObjectRef};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::PathBuf;

/// One object of a known kind; sorts by the place of its kind in the list of kinds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) kind: usize,
    pub(super) namespace: String,
    pub(super) name: String,
}

/// Where an object stands: which file, which document in it, which item if that is a list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Site {
    pub(super) file: usize,
    pub(super) part: usize,
    pub(super) item: Option<usize>,
}

/// An object, as its file has it.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) value: Value,
    pub(super) site: Site,
    /// From the list around it, where it does not say it itself.
    pub(super) api_version: Option<String>,
    /// 0: as read.
    pub(super) edit: u64,
}

/// A manifest.
#[derive(Debug)]
pub(super) struct File {
    /// Below the folder.
    pub(super) path: PathBuf,
    pub(super) format: Format,
    /// What is on the disk, as far as this run knows; `None`: no such file.
    pub(super) on_disk: Option<String>,
    pub(super) parts: Vec<Part>,
}

/// A document of a manifest.
#[derive(Debug)]
pub(super) struct Part {
    /// Its text in what is on the disk.
    pub(super) range: Range<usize>,
    pub(super) body: Body,
    /// Has to be written anew.
    pub(super) touched: bool,
}

/// What a document is to mipam.
#[derive(Debug)]
pub(super) enum Body {
    /// Nothing that mipam knows: kept as it is.
    Other,
    /// One object.
    Object(Key),
    /// A list with at least one object that mipam knows.
    List {
        /// The list without its items.
        shell: Value,
        items: Vec<Item>,
    },
    /// Removed.
    Gone,
}

/// An item of a list.
#[derive(Debug)]
pub(super) enum Item {
    Known(Key),
    Other(Value),
    Gone,
}

/// The whole folder.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) kinds: Vec<Kind>,
    pub(super) files: Vec<File>,
    paths: BTreeMap<PathBuf, usize>,
    pub(super) entries: BTreeMap<Key, Entry>,
    /// What the objects were that have changed since the folder was opened; `None`: not there.
    before: BTreeMap<Key, Option<Value>>,
    /// Files with a document that has to be written anew.
    pub(super) dirty: BTreeSet<usize>,
    /// Groups and kinds of which there is a document or a definition.
    pub(super) seen: BTreeSet<(String, String)>,
    edits: u64,
}

impl State {
    pub(super) fn new(kinds: &[Kind]) -> Self {
        Self { kinds: kinds.to_vec(), ..Self::default() }
    }

    /// The place of a kind in the list of kinds that mipam knows.
    pub(super) fn kind(&self, group: &str, kind: &str) -> Option<usize> {
        self.kinds.iter().position(|k| k.group == group && k.kind == kind)
    }

    pub(super) fn add_file(&mut self, file: File) -> usize {
        let at = self.files.len();
        self.paths.insert(file.path.clone(), at);
        self.files.push(file);
        at
    }

    pub(super) fn serves(&self, kind: Kind) -> bool {
        self.kind(kind.group, kind.kind).is_some()
            && (rules::is_built_in(kind.group)
                || self.seen.contains(&(kind.group.to_owned(), kind.kind.to_owned())))
    }

    fn known(&self, kind: Kind) -> Result<usize, ClusterError> {
        // To answer "not found" for a kind whose documents were not read could free addresses in use.
        self.kind(kind.group, kind.kind).ok_or_else(|| ClusterError::NotServed(kind.resource()))
    }

    fn key(&self, kind: Kind, namespace: &str, name: &str) -> Result<Key, ClusterError> {
        let namespace = match namespace {
            _ if !kind.namespaced => "",
            "" => rules::DEFAULT,
            some => some,
        };
        Ok(Key { kind: self.known(kind)?, namespace: namespace.to_owned(), name: name.to_owned() })
    }

    /// The key of an object that is handed in.
    fn key_of(&self, kind: Kind, object: &Object) -> Result<Key, ClusterError> {
        let refused = |why: &str| {
            let what = kind.at(object.namespace(), object.name()).to_string();
            ClusterError::Refused { what, why: why.to_owned() }
        };
        if object.name().is_empty() {
            return Err(refused("it has no metadata.name"));
        }
        if object.kind() != kind.kind || object.group() != kind.group {
            return Err(refused(&format!("its kind is not {} of {:?}", kind.kind, kind.group)));
        }
        self.key(kind, object.namespace(), object.name())
    }

    fn target(&self, key: &Key) -> ObjectRef {
        self.kinds[key.kind].at(&key.namespace, &key.name)
    }

    fn shown(&self, key: &Key, entry: &Entry) -> Object {
        let kind = self.kinds[key.kind];
        let api_version = entry.api_version.as_deref();
        rules::shown(
            &entry.value,
            Identity { kind, api_version, namespace: &key.namespace, edit: entry.edit },
        )
    }

    /// The objects of a kind, in one namespace or in all, by namespace and name.
    pub(super) fn list(&self, kind: Kind, namespace: Option<&str>) -> Result<Vec<Object>, ClusterError> {
        let first = |kind| Key { kind, namespace: String::new(), name: String::new() };
        let at = self.known(kind)?;
        let all = self.entries.range(first(at)..first(at + 1));
        let wanted = all.filter(|(key, _)| namespace.is_none_or(|namespace| key.namespace == namespace));
        Ok(wanted.map(|(key, entry)| self.shown(key, entry)).collect())
    }

    /// One object.
    pub(super) fn get(&self, target: &ObjectRef) -> Result<Object, ClusterError> {
        let key = self.key(target.kind, &target.namespace, &target.name)?;
        match self.entries.get(&key) {
            Some(entry) => Ok(self.shown(&key, entry)),
            None if self.serves(target.kind) => Err(ClusterError::NotFound(target.to_string())),
            None => Err(ClusterError::NotServed(target.kind.resource())),
        }
    }

    /// Makes an object, in a file of its own.
    pub(super) fn create(&mut self, kind: Kind, object: &Object) -> Result<Object, ClusterError> {
        let key = self.key_of(kind, object)?;
        if self.entries.contains_key(&key) {
            return Err(ClusterError::Exists(self.target(&key).to_string()));
        }
        let file = self.room_for(kind, &key);
        self.files[file].parts.push(Part { range: 0..0, body: Body::Object(key.clone()), touched: true });
        let site = Site { file, part: self.files[file].parts.len() - 1, item: None };
        self.dirty.insert(file);
        self.seen.insert((kind.group.to_owned(), kind.kind.to_owned()));
        self.before.entry(key.clone()).or_insert(None);
        self.edits += 1;
        let entry = Entry { value: rules::made(object), site, api_version: None, edit: self.edits };
        let shown = self.shown(&key, &entry);
        self.entries.insert(key, entry);
        Ok(shown)
    }

    /// The file for a new object: its own, or one that this run has emptied.
    fn room_for(&mut self, kind: Kind, key: &Key) -> usize {
        let mut again = 0;
        loop {
            let path = names::path(kind, &key.namespace, &key.name, again);
            match self.paths.get(&path) {
                None => {
                    return self.add_file(File {
                        path,
                        format: Format::Yaml,
                        on_disk: None,
                        parts: Vec::new(),
                    });
                }
                Some(&at) if self.files[at].parts.iter().all(|p| matches!(p.body, Body::Gone)) => return at,
                Some(_) => again += 1,
            }
        }
    }

    /// Replaces an object, or a part of it, if its resourceVersion is still the one that was read.
    pub(super) fn replace(
        &mut self,
        kind: Kind,
        object: &Object,
        new_value: fn(&Value, &Object) -> Value,
    ) -> Result<Object, ClusterError> {
        let key = self.key_of(kind, object)?;
        let target = self.target(&key).to_string();
        let Some(entry) = self.entries.get_mut(&key) else { return Err(ClusterError::NotFound(target)) };
        if object.resource_version() != rules::version(&entry.value, entry.edit) {
            return Err(ClusterError::Conflict(target));
        }
        let new = new_value(&entry.value, object);
        if let Some(late) = rules::late_finalizer(&entry.value, &new) {
            let why = format!("finalizer {late} cannot be added to an object that is being deleted");
            return Err(ClusterError::Refused { what: target, why });
        }
        if new != entry.value {
            self.edits += 1;
            entry.edit = self.edits;
            let site = entry.site;
            let goes = rules::lets_go(&entry.value, &new);
            let old = std::mem::replace(&mut entry.value, new);
            self.before.entry(key.clone()).or_insert(Some(old));
            self.touch(site, goes);
            if goes {
                return match self.entries.remove(&key) {
                    Some(entry) => Ok(self.shown(&key, &entry)),
                    None => Err(ClusterError::NotFound(target)),
                };
            }
        }
        let entry = self.entries.get(&key).ok_or(ClusterError::NotFound(target))?;
        Ok(self.shown(&key, entry))
    }

    /// Deletes an object; finalizers keep it, marked as deleted.
    pub(super) fn delete(
        &mut self,
        target: &ObjectRef,
        uid: &str,
        now: &str,
    ) -> Result<Option<Object>, ClusterError> {
        let key = self.key(target.kind, &target.namespace, &target.name)?;
        let missing = || ClusterError::NotFound(target.to_string());
        let entry = self.entries.get_mut(&key).ok_or_else(missing)?;
        let own = entry.value.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default();
        if !uid.is_empty() && uid != own {
            return Err(ClusterError::Conflict(target.to_string()));
        }
        let marked = rules::deleted(&entry.value, now);
        if marked.as_ref() == Some(&entry.value) {
            return self.get(target).map(Some);
        }
        self.edits += 1;
        entry.edit = self.edits;
        let (site, goes) = (entry.site, marked.is_none());
        let old = match marked {
            Some(marked) => std::mem::replace(&mut entry.value, marked),
            None => entry.value.clone(),
        };
        self.before.entry(key.clone()).or_insert(Some(old));
        self.touch(site, goes);
        if goes {
            self.entries.remove(&key);
            return Ok(None);
        }
        self.get(target).map(Some)
    }

    fn touch(&mut self, site: Site, goes: bool) {
        let part = &mut self.files[site.file].parts[site.part];
        part.touched = true;
        self.dirty.insert(site.file);
        if goes {
            match (&mut part.body, site.item) {
                (Body::List { items, .. }, Some(item)) => items[item] = Item::Gone,
                (body, _) => *body = Body::Gone,
            }
        }
    }

    /// Everything that changed since the folder was opened, as files have it.
    pub(super) fn changes(&self) -> Vec<Change> {
        let mut changes: Vec<Change> = self
            .before
            .iter()
            .map(|(key, before)| (key, before.as_ref(), self.entries.get(key).map(|entry| &entry.value)))
            .filter(|(_, before, after)| before != after)
            .map(|(key, before, after)| Change {
                target: self.target(key),
                before: before.cloned().map(Object),
                after: after.cloned().map(Object),
            })
            .collect();
        changes.sort_by(|a, b| order(&a.target).cmp(&order(&b.target)));
        changes
    }
}

fn order(target: &ObjectRef) -> (&str, &str, &str, &str) {
    (target.kind.kind, target.kind.group, &target.namespace, &target.name)
}
