//! Finds and reads the manifests below a folder.

use super::fault::{DirError, Fault, Faults};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// At most this many manifests are read.
const MOST_FILES: usize = 100_000;
/// A manifest has at most this many bytes.
const MOST_BYTES: u64 = 64 << 20;

/// How a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Yaml,
    Json,
}

impl Format {
    /// By the ending of the name; `None` for files that are no manifests.
    pub(super) fn of(path: &Path) -> Option<Self> {
        match path.extension().and_then(OsStr::to_str)? {
            "yaml" | "yml" => Some(Self::Yaml),
            "json" => Some(Self::Json),
            _ => None,
        }
    }
}

/// Checks that a folder is there.
pub(super) fn folder(root: &Path) -> Result<(), DirError> {
    match fs::metadata(root) {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => Err(DirError::NotAFolder(root.to_owned())),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Err(DirError::Missing(root.to_owned())),
        Err(e) => Err(DirError::io(root, "cannot be read; check who may read it", e)),
    }
}

/// The manifests below a folder, relative to it, sorted. Hidden files and folders are skipped, linked folders
/// are not entered, as they could lead round in circles: one that leads elsewhere is a fault.
pub(super) fn manifests(root: &Path, faults: &mut Faults) -> Result<Vec<PathBuf>, DirError> {
    manifests_up_to(root, faults, MOST_FILES)
}

fn manifests_up_to(root: &Path, faults: &mut Faults, limit: usize) -> Result<Vec<PathBuf>, DirError> {
    let mut found = Vec::new();
    let mut folders = BTreeSet::from([PathBuf::new()]);
    while let Some(folder) = folders.pop_first() {
        if let Err(e) = look(root, &folder, &mut folders, &mut found, faults) {
            // A folder that cannot be seen may hold addresses in use: it is never passed over.
            let message = format!("cannot be listed: {e}; check who may read it");
            faults.add(Some(Fault { path: root.join(&folder), line: None, message }));
        }
        if found.len() > limit {
            return Err(DirError::TooMany { path: root.to_owned(), limit });
        }
    }
    found.sort();
    Ok(found)
}

fn look(
    root: &Path,
    folder: &Path,
    folders: &mut BTreeSet<PathBuf>,
    found: &mut Vec<PathBuf>,
    faults: &mut Faults,
) -> std::io::Result<()> {
    for entry in fs::read_dir(root.join(folder))? {
        let entry = entry?;
        let name = entry.file_name();
        if name.as_encoded_bytes().starts_with(b".") {
            continue;
        }
        let path = folder.join(&name);
        let kind = entry.file_type()?;
        let leads_to_folder =
            kind.is_symlink() && fs::metadata(entry.path()).is_ok_and(|target| target.is_dir());
        if kind.is_dir() {
            folders.insert(path);
        } else if leads_to_folder {
            if !fs::canonicalize(entry.path())?.starts_with(fs::canonicalize(root)?) {
                // It may hold addresses in use, too.
                let message = "leads to a folder elsewhere, which is not read; put that folder itself here";
                faults.add(Some(Fault { path: root.join(path), line: None, message: message.to_owned() }));
            }
        } else if Format::of(&path).is_some() {
            found.push(path);
        }
    }
    Ok(())
}

/// The text of a manifest, or what is wrong with it.
pub(super) fn read(path: &Path) -> Result<String, Fault> {
    read_up_to(path, MOST_BYTES)
}

fn read_up_to(path: &Path, limit: u64) -> Result<String, Fault> {
    let fault = |line, message| Fault { path: path.to_owned(), line, message };
    let refused = |e: std::io::Error| fault(None, format!("cannot be read: {e}"));
    // Asked first: to open a pipe would wait for its other end.
    if !fs::metadata(path).map_err(refused)?.is_file() {
        return Err(fault(None, "is no regular file".to_owned()));
    }
    let mut bytes = Vec::new();
    fs::File::open(path).map_err(refused)?.take(limit + 1).read_to_end(&mut bytes).map_err(refused)?;
    if bytes.len() as u64 > limit {
        return Err(fault(None, format!("is larger than {} MiB; split it", limit >> 20)));
    }
    String::from_utf8(bytes).map_err(|e| {
        let valid = &e.as_bytes()[..e.utf8_error().valid_up_to()];
        let line = valid.split(|&b| b == b'\n').count();
        fault(Some(line), "is not UTF-8; save it as UTF-8".to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, name: &str, bytes: &[u8]) {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    #[test]
    fn manifests_are_found_in_order_and_the_rest_is_left() {
        let dir = tempfile::tempdir().unwrap();
        let hidden = [".git/a.yaml", "b/.hidden.yaml"];
        for name in ["z.yaml", "b/c/d.yml", "b/a.json", "README.md", "b.yamlx"].iter().chain(&hidden) {
            write(dir.path(), name, b"");
        }
        let mut faults = Faults::default();
        let found = manifests(dir.path(), &mut faults).unwrap();
        assert_eq!(found, ["b/a.json", "b/c/d.yml", "z.yaml"].map(PathBuf::from));
        assert!(faults.is_empty());
    }

    #[cfg(unix)]
    #[test]
    fn linked_files_are_read_and_linked_folders_are_not_entered() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), "a/x.yaml", b"");
        std::os::unix::fs::symlink(dir.path(), dir.path().join("a/loop")).unwrap();
        std::os::unix::fs::symlink(dir.path(), dir.path().join("a/loop.yaml")).unwrap();
        std::os::unix::fs::symlink("a/x.yaml", dir.path().join("link.yaml")).unwrap();
        let mut faults = Faults::default();
        let found = manifests(dir.path(), &mut faults).unwrap();
        assert_eq!(found, ["a/x.yaml", "link.yaml"].map(PathBuf::from));
        assert!(faults.is_empty(), "what it leads to is read anyway");
        let elsewhere = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), dir.path().join("more")).unwrap();
        manifests(dir.path(), &mut faults).unwrap();
        assert!(!faults.is_empty(), "what is in use there would not be known");
    }

    #[test]
    fn the_folder_must_be_one() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), "f.yaml", b"");
        let ask = |name| folder(&dir.path().join(name)).unwrap_err().to_string();
        assert!(ask("nope").contains("no such folder; give --dir"), "{}", ask("nope"));
        assert!(ask("f.yaml").contains("not a folder; give --dir"), "{}", ask("f.yaml"));
    }

    #[test]
    fn bounds_are_kept() {
        let dir = tempfile::tempdir().unwrap();
        for n in 0..4 {
            write(dir.path(), &format!("{n}.yaml"), b"0123456789");
        }
        let error = manifests_up_to(dir.path(), &mut Faults::default(), 3).unwrap_err().to_string();
        assert!(error.contains("more than 3 manifests"), "{error}");
        assert_eq!(manifests_up_to(dir.path(), &mut Faults::default(), 4).unwrap().len(), 4);
        assert!(read_up_to(&dir.path().join("0.yaml"), 10).is_ok());
        let fault = read_up_to(&dir.path().join("0.yaml"), 9).unwrap_err().to_string();
        assert!(fault.contains("0.yaml: is larger than"), "{fault}");
    }

    #[test]
    fn text_that_is_not_utf8_is_named() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), "latin.yaml", b"a: 1\nb: \xe9\n");
        let fault = read(&dir.path().join("latin.yaml")).unwrap_err();
        assert_eq!(fault.line, Some(2), "{fault}");
        assert!(fault.message.contains("not UTF-8"), "{fault}");
    }
}
