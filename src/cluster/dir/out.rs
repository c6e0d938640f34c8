//! The folder of `--out`: a full copy with the changes, put in place at once, the source untouched.

use super::disk;
use super::fault::DirError;
use super::lock::{LOCK, Lock};
use crate::cluster::ClusterError;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};

/// Marks a folder as the work of an earlier run, so that it may be replaced.
pub(super) const MARKER: &str = ".mipam-out";

const MARKER_TEXT: &str =
    "This folder was written by mipam --out; the next run with --out replaces these files:\n";

/// Where a copy goes.
#[derive(Debug)]
pub(super) struct Out {
    /// The folder, links resolved.
    pub(super) folder: PathBuf,
    as_given: PathBuf,
    /// Next to the folder, since the folder itself is replaced.
    _lock: Lock,
}

impl Out {
    /// Checks that the folder may be written, and keeps other runs away from it; writes nothing into it.
    pub(super) fn prepare(source: &Path, out: &Path) -> Result<Self, DirError> {
        let bad = |why: String| DirError::Out { path: out.to_owned(), why };
        let folder = resolve(out).map_err(|e| bad(e.to_string()))?;
        let source = fs::canonicalize(source).map_err(|e| DirError::io(source, "cannot be read", e))?;
        if folder == source {
            return Err(bad("is the folder that is read; leave --out away to write there".to_owned()));
        }
        if folder.starts_with(&source) || source.starts_with(&folder) {
            let why = format!("must lie beside {}, not inside it or around it", source.display());
            return Err(bad(why));
        }
        may_be_replaced(&folder).map_err(bad)?;
        let Some(parent) = folder.parent() else { return Err(bad("is not a folder of its own".to_owned())) };
        fs::create_dir_all(parent).map_err(|e| DirError::io(parent, "cannot be made", e))?;
        let lock = Lock::take(&beside(&folder, "lock"), out)?;
        Ok(Self { folder, as_given: out.to_owned(), _lock: lock })
    }

    /// Writes all files (path below the folder, text, the file it is like) to a folder beside and puts that in
    /// place.
    pub(super) fn publish(&self, files: &[(&Path, &str, Option<PathBuf>)]) -> Result<(), ClusterError> {
        let named = |why: String| ClusterError::Other(format!("--out {}: {why}", self.as_given.display()));
        let exists = may_be_replaced(&self.folder).map_err(named)?;
        // A run that works in the old copy would lose it under its hands.
        let _theirs = match exists.then(|| Lock::folder(&self.folder)) {
            Some(lock) => Some(lock.map_err(|e| ClusterError::Other(e.to_string()))?),
            None => None,
        };
        // Under the lock these names are nobody else's: what is there is what a killed run left.
        let (new, old) = (beside(&self.folder, "new"), beside(&self.folder, "old"));
        let failed = |e: io::Error| disk::cannot(&self.folder, &e);
        clear(&new).and_then(|()| fs::create_dir(&new)).map_err(failed)?;
        let written = fill(&new, files);
        if let Err(e) = written {
            let _ = clear(&new);
            return Err(e);
        }
        clear(&old).map_err(failed)?;
        if exists {
            fs::rename(&self.folder, &old).map_err(failed)?;
        }
        if let Err(e) = fs::rename(&new, &self.folder) {
            if exists {
                let _ = fs::rename(&old, &self.folder);
            }
            return Err(failed(e));
        }
        if let Some(parent) = self.folder.parent() {
            disk::flush(parent).map_err(failed)?;
        }
        clear(&old).map_err(failed)
    }
}

fn fill(root: &Path, files: &[(&Path, &str, Option<PathBuf>)]) -> Result<(), ClusterError> {
    for (path, ..) in files {
        disk::make(root, path)?;
    }
    disk::together(files, |(path, text, like)| {
        let place = root.join(path);
        disk::write_new(&place, text, like.as_deref()).map_err(|e| disk::cannot(&place, &e))
    })?;
    let marker = root.join(MARKER);
    let listed: String = files.iter().map(|(path, ..)| format!("{}\n", path.display())).collect();
    disk::write_new(&marker, &format!("{MARKER_TEXT}{listed}"), None)
        .map_err(|e| disk::cannot(&marker, &e))?;
    let folders = files.iter().filter_map(|(path, ..)| path.parent()).map(|folder| root.join(folder));
    let folders: BTreeSet<PathBuf> = folders.chain([root.to_owned()]).collect();
    folders.iter().try_for_each(|folder| disk::flush(folder).map_err(|e| disk::cannot(folder, &e)))
}

/// Whether the folder exists; an error if it holds anything that no earlier `--out` wrote.
fn may_be_replaced(folder: &Path) -> Result<bool, String> {
    let refused = |e: io::Error| format!("cannot be read: {e}");
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(false),
        Err(e) if e.kind() == ErrorKind::NotADirectory => return Err("is a file; name a folder".to_owned()),
        Err(e) => return Err(refused(e)),
    };
    let mut empty = true;
    for entry in entries {
        empty &= entry.map_err(refused)?.file_name() == LOCK;
    }
    if empty {
        return Ok(true);
    }
    let Ok(marker) = fs::read_to_string(folder.join(MARKER)) else {
        return Err("holds files that mipam did not write; name a new or an empty folder".to_owned());
    };
    let ours: BTreeSet<&str> = marker.lines().skip(1).chain([MARKER, LOCK]).collect();
    match stranger(folder, Path::new(""), &ours).map_err(refused)? {
        None => Ok(true),
        Some(path) => {
            Err(format!("holds {}, which no --out wrote; move it away or name a new folder", path.display()))
        }
    }
}

/// A file below the folder that is not one of ours.
fn stranger(root: &Path, below: &Path, ours: &BTreeSet<&str>) -> io::Result<Option<PathBuf>> {
    for entry in fs::read_dir(root.join(below))? {
        let entry = entry?;
        let path = below.join(entry.file_name());
        let found = if entry.file_type()?.is_dir() {
            stranger(root, &path, ours)?
        } else {
            Some(path).filter(|p| !ours.contains(p.to_string_lossy().as_ref()))
        };
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// A hidden name beside the folder.
fn beside(folder: &Path, what: &str) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(folder.file_name().unwrap_or_default());
    name.push(format!(".mipam-{what}"));
    folder.with_file_name(name)
}

fn clear(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

/// The path without links and `..`, of which the end may not exist yet.
fn resolve(path: &Path) -> io::Result<PathBuf> {
    let mut resolved = PathBuf::new();
    for step in std::path::absolute(path)?.components() {
        match step {
            // What is before it has no links left, so the step back is the plain one.
            Component::ParentDir => drop(resolved.pop()),
            step => {
                resolved.push(step);
                if fs::symlink_metadata(&resolved).is_ok() {
                    resolved = fs::canonicalize(&resolved)?;
                }
            }
        }
    }
    Ok(resolved)
}
