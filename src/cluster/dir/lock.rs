//! Keeps two runs out of one folder: an advisory lock on a hidden file, gone with its process.

use super::fault::DirError;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};

/// The hidden file that is locked.
pub(super) const LOCK: &str = ".mipam.lock";

/// How often a lock file may vanish between opening and locking it before that is an error.
const TRIES: usize = 100;

/// Held until dropped.
#[derive(Debug)]
pub(super) struct Lock {
    path: PathBuf,
    file: File,
}

impl Lock {
    /// Locks a folder by the hidden file in it, or says at once that another run has it.
    pub(super) fn folder(folder: &Path) -> Result<Self, DirError> {
        Self::take(&folder.join(LOCK), folder)
    }

    /// Locks by this file on behalf of a folder.
    pub(super) fn take(path: &Path, folder: &Path) -> Result<Self, DirError> {
        for _ in 0..TRIES {
            let opened = OpenOptions::new().write(true).create(true).truncate(false).open(path);
            let file = opened.map_err(|e| {
                DirError::io(
                    folder,
                    "cannot be written to; use --out FOLDER or --dry-run, or check who may write",
                    e,
                )
            })?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Err(DirError::Locked(folder.to_owned())),
                Err(TryLockError::Error(e)) => {
                    return Err(DirError::io(
                        folder,
                        "cannot be locked; use --out with a folder on a local disk",
                        e,
                    ));
                }
            }
            if is_at(&file, path) {
                return Ok(Self { path: path.to_owned(), file });
            }
        }
        Err(DirError::Locked(folder.to_owned()))
    }
}

/// Is the locked file still the one that others find? The run before may have removed it after this one had
/// opened it: a lock on such a file keeps nobody out.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let (Ok(held), Ok(found)) = (file.metadata(), fs::symlink_metadata(path)) else { return false };
    (held.dev(), held.ino()) == (found.dev(), found.ino())
}

#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> bool {
    true
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Removed while still locked, and whoever locks it later checks that it is still there: so there is
        // no moment in which two runs hold the lock. Elsewhere than on Unix the hidden file stays.
        if cfg!(unix) && is_at(&self.file, &self.path) {
            let _ = fs::remove_file(&self.path);
        }
        let _ = self.file.unlock();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_run_is_refused_until_the_first_has_ended() {
        let dir = tempfile::tempdir().unwrap();
        let first = Lock::folder(dir.path()).unwrap();
        let error = Lock::folder(dir.path()).unwrap_err().to_string();
        assert!(error.contains("another mipam is working on this folder"), "{error}");
        drop(first);
        drop(Lock::folder(dir.path()).unwrap());
        #[cfg(unix)]
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "no file is left behind");
    }

    #[cfg(unix)]
    #[test]
    fn a_lock_on_a_removed_file_does_not_count() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(LOCK);
        let stale = File::create(&path).unwrap();
        fs::remove_file(&path).unwrap();
        stale.try_lock().unwrap();
        assert!(!is_at(&stale, &path));
        let held = Lock::folder(dir.path()).unwrap();
        assert!(!is_at(&stale, &path));
        assert!(is_at(&held.file, &path));
    }

    #[test]
    fn many_threads_never_hold_it_together() {
        let dir = tempfile::tempdir().unwrap();
        let inside = std::sync::atomic::AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        if let Ok(_lock) = Lock::folder(dir.path()) {
                            use std::sync::atomic::Ordering::SeqCst;
                            assert_eq!(inside.fetch_add(1, SeqCst), 0);
                            inside.fetch_sub(1, SeqCst);
                        }
                    }
                });
            }
        });
    }
}
