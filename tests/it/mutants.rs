//! The patches that take a protection out still fit the code, and each names a test that is there: one that does not
//! would show nothing on the day when somebody runs them.

use std::path::{Path, PathBuf};

fn files(dir: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, ending));
        } else if path.extension().is_some_and(|e| e == ending) {
            found.push(path);
        }
    }
    found
}

/// What a patch expects to find, hunk by hunk, each with the file that it is for.
fn hunks(patch: &str) -> Vec<(&str, String)> {
    let mut hunks: Vec<(&str, String)> = Vec::new();
    let mut file = "";
    for line in patch.lines().skip_while(|line| !line.starts_with("--- a/")) {
        if let Some(path) = line.strip_prefix("--- a/") {
            file = path;
        } else if line.starts_with("@@") {
            hunks.push((file, String::new()));
        } else if let (Some((_, text)), Some(there)) =
            (hunks.last_mut(), line.strip_prefix([' ', '-']).filter(|_| !line.starts_with("--- ")))
        {
            text.push_str(there);
            text.push('\n');
        }
    }
    hunks
}

#[test]
fn every_patch_fits_and_names_a_test() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let sources = files(&root.join("src"), "rs").into_iter().chain(files(&root.join("tests/it"), "rs"));
    let sources: Vec<String> = sources.map(|path| std::fs::read_to_string(path).unwrap()).collect();
    let names = sources.iter().flat_map(|text| text.lines());
    let names: Vec<&str> = names.filter(|line| line.contains("fn ") || line.contains("mod ")).collect();
    let patches = files(&root.join("tests/mutants"), "patch");
    assert!(patches.len() > 90, "{}", patches.len());
    for path in patches {
        let (patch, name) = (std::fs::read_to_string(&path).unwrap(), path.display());
        let filter = patch.lines().next().unwrap_or_default();
        let filter = filter.strip_prefix("lib ").unwrap_or(filter).strip_prefix("test: ").expect("a test");
        let steps = || filter.split("::").filter(|step| !step.is_empty());
        assert!(steps().count() > 0, "{name}");
        for step in steps() {
            assert!(names.iter().any(|line| line.contains(step)), "{name}: no test is called {filter}");
        }
        let hunks = hunks(&patch);
        assert!(!hunks.is_empty(), "{name} changes nothing");
        for (file, text) in hunks {
            let source = std::fs::read_to_string(root.join(file)).unwrap_or_default();
            assert!(source.contains(&text), "{name} does not fit {file}:\n{text}");
        }
    }
}
