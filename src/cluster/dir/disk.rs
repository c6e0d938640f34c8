//! Replaces files whole or not at all, and only if they are still what was read.

use crate::cluster::ClusterError;
use crate::model::hash;
use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::thread;

/// Each flush to the disk waits for it; this many wait together.
const FLUSHES: usize = 16;

/// A file to be made, replaced or removed.
#[derive(Debug)]
pub(super) struct Job<'a> {
    /// Below the folder.
    pub(super) path: &'a Path,
    /// What it must still be; `None`: absent.
    pub(super) old: Option<&'a str>,
    /// What it becomes; `None`: absent.
    pub(super) new: Option<&'a str>,
}

/// A job with its new text on the disk, next to where it belongs.
struct Staged {
    place: PathBuf,
    draft: Option<PathBuf>,
}

/// Carries out all jobs, in order: nothing is written if any file is no longer what was read. Tells how many are
/// done, which is all of them unless the disk fails in the middle.
pub(super) fn write(root: &Path, jobs: &[Job<'_>]) -> (usize, Result<(), ClusterError>) {
    if let Err(e) = check(root, jobs) {
        return (0, Err(e));
    }
    let staged = match stage(root, jobs) {
        Ok(staged) => staged,
        Err(e) => return (0, Err(e)),
    };
    // To flush many drafts takes a while: look again before the first file is touched.
    let mut outcome = check(root, jobs);
    let mut done = 0;
    while outcome.is_ok() && done < staged.len() {
        let Staged { place, draft } = &staged[done];
        outcome = match draft {
            Some(draft) => fs::rename(draft, place),
            None => fs::remove_file(place),
        }
        .map_err(|e| cannot(place, &e));
        if outcome.is_ok() {
            done += 1;
        }
    }
    staged[done..].iter().filter_map(|s| s.draft.as_ref()).for_each(|draft| drop(fs::remove_file(draft)));
    let folders: BTreeSet<&Path> = staged[..done].iter().filter_map(|s| s.place.parent()).collect();
    let flushed = folders.into_iter().try_for_each(|folder| flush(folder).map_err(|e| cannot(folder, &e)));
    (done, outcome.and(flushed))
}

/// Are all files what they were when they were read?
pub(super) fn check(root: &Path, jobs: &[Job<'_>]) -> Result<(), ClusterError> {
    jobs.iter().try_for_each(|job| {
        let place = root.join(job.path);
        let same = if let Some(old) = job.old {
            match fs::read(&place) {
                Ok(now) => now == old.as_bytes(),
                Err(e) if e.kind() == ErrorKind::NotFound => false,
                Err(e) => return Err(cannot(&place, &e)),
            }
        } else {
            folders(root, job.path)?;
            is_absent(&place).map_err(|e| cannot(&place, &e))?
        };
        if same { Ok(()) } else { Err(ClusterError::Conflict(place.display().to_string())) }
    })
}

fn is_absent(path: &Path) -> io::Result<bool> {
    match fs::symlink_metadata(path) {
        Ok(_) => Ok(false),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(true),
        Err(e) => Err(e),
    }
}

/// The folders between the root and a new file that are still to be made. One that is a link or a file is an
/// error: the next run would not find there what this one wrote.
fn folders(root: &Path, path: &Path) -> Result<Vec<PathBuf>, ClusterError> {
    let mut missing = Vec::new();
    let mut at = root.to_owned();
    for step in path.parent().into_iter().flat_map(Path::components) {
        at.push(step);
        match fs::symlink_metadata(&at) {
            Ok(found) if found.is_dir() => {}
            Ok(_) => {
                let why = "is not a folder of its own, so new objects cannot go there; move it away";
                return Err(ClusterError::Other(format!("{}: {why}", at.display())));
            }
            Err(e) if e.kind() == ErrorKind::NotFound => missing.push(at.clone()),
            Err(e) => return Err(cannot(&at, &e)),
        }
    }
    Ok(missing)
}

/// Writes and flushes all new texts next to their places, so that a full disk shows before anything is replaced.
fn stage(root: &Path, jobs: &[Job<'_>]) -> Result<Vec<Staged>, ClusterError> {
    let mut staged = Vec::with_capacity(jobs.len());
    for job in jobs {
        let mut place = root.join(job.path);
        if job.old.is_some() {
            // Where a link leads is replaced, not the link.
            place = fs::canonicalize(&place).map_err(|e| cannot(&place, &e))?;
        } else {
            make(root, job.path)?;
        }
        let draft = job.new.map(|_| draft_of(&place));
        staged.push(Staged { place, draft });
    }
    let work: Vec<(&Staged, &Job<'_>)> = staged.iter().zip(jobs).collect();
    let outcome = together(&work, |(staged, job)| {
        let (Some(draft), Some(text)) = (&staged.draft, job.new) else { return Ok(()) };
        remove_if_there(draft).map_err(|e| cannot(draft, &e))?;
        write_new(draft, text, job.old.map(|_| staged.place.as_path())).map_err(|e| cannot(&staged.place, &e))
    });
    if outcome.is_err() {
        staged.iter().filter_map(|s| s.draft.as_ref()).for_each(|draft| drop(fs::remove_file(draft)));
    }
    outcome.map(|()| staged)
}

/// Makes the folders of a new file.
pub(super) fn make(root: &Path, path: &Path) -> Result<(), ClusterError> {
    for folder in folders(root, path)? {
        fs::create_dir(&folder).map_err(|e| cannot(&folder, &e))?;
        if let Some(parent) = folder.parent() {
            flush(parent).map_err(|e| cannot(parent, &e))?;
        }
    }
    Ok(())
}

/// Always the same for a file, so that the next run replaces what a killed one left; hidden, so that it is
/// never read.
fn draft_of(place: &Path) -> PathBuf {
    let name = place.file_name().unwrap_or_default();
    place.with_file_name(format!(".mipam-{:016x}.tmp", hash(name.as_encoded_bytes().iter().copied())))
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

/// Writes a file that is not there yet and flushes it; who may read it is taken from the file it is like.
pub(super) fn write_new(path: &Path, text: &str, like: Option<&Path>) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    if let Some(like) = like {
        let found = fs::metadata(like)?;
        keep_owner(&file, &found);
        file.set_permissions(found.permissions())?;
    }
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Only root may give files away; for everyone else the owner is right already.
#[cfg(unix)]
fn keep_owner(file: &File, like: &fs::Metadata) {
    use std::os::unix::fs::{MetadataExt, fchown};
    let _ = fchown(file, Some(like.uid()), Some(like.gid()));
}

#[cfg(not(unix))]
fn keep_owner(_: &File, _: &fs::Metadata) {}

/// Makes the names in a folder durable.
#[cfg(unix)]
pub(super) fn flush(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
pub(super) fn flush(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Does something with every item, several at a time; the first failure, in order, is the answer.
pub(super) fn together<T: Sync>(
    items: &[T],
    work: impl Fn(&T) -> Result<(), ClusterError> + Sync,
) -> Result<(), ClusterError> {
    let share = items.len().div_ceil(FLUSHES).max(1);
    thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> =
            items.chunks(share).map(|items| scope.spawn(move || items.iter().try_for_each(work))).collect();
        let broken = |_| Err(ClusterError::Other("a file could not be written".to_owned()));
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(broken)).fold(Ok(()), Result::and)
    })
}

pub(super) fn cannot(path: &Path, error: &io::Error) -> ClusterError {
    ClusterError::Other(format!("{}: cannot be written: {error}", path.display()))
}
