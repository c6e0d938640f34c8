//! The README is true: its commands are run, on the examples as files and on a real API server, and print what
//! it says.

use crate::bed::accounts::ADMIN;
use crate::bed::{self, Profile};
use std::path::Path;
use std::process::Command;

struct Typed {
    line: usize,
    command: String,
    output: String,
}

/// The commands of all `console` blocks with what they print.
fn commands(readme: &str) -> Vec<Typed> {
    let mut found: Vec<Typed> = Vec::new();
    let mut inside = false;
    for (at, line) in readme.lines().enumerate() {
        if line.starts_with("```") {
            inside = line == "```console";
        } else if let (true, Some(command)) = (inside, line.strip_prefix("$ ")) {
            found.push(Typed { line: at + 1, command: command.to_owned(), output: String::new() });
        } else if let (true, Some(last)) = (inside, found.last_mut()) {
            last.output.push_str(line);
            last.output.push('\n');
        }
    }
    found
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), to).unwrap();
        }
    }
}

#[test]
fn the_commands_of_the_readme_print_what_it_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let lab = root.join("examples/lab");
    let scratch = tempfile::tempdir().unwrap();
    copy(&root.join("examples"), &scratch.path().join("examples"));
    std::fs::copy(lab.join("ipam-config.yaml"), scratch.path().join("ipam-config.yaml")).unwrap();
    let bed = bed::shared(Profile::Own).lock();
    bed.namespace("mipam-system");
    for file in ["machineset.yaml", "machines.yaml", "nodes.yaml"] {
        bed.create(&std::fs::read_to_string(lab.join(file)).unwrap());
    }
    let program = Path::new(env!("CARGO_BIN_EXE_mipam"));
    let path = std::env::join_paths(
        std::iter::once(program.parent().unwrap().to_owned())
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    );
    let typed = commands(&readme);
    assert!(typed.len() > 8, "only {} commands were found", typed.len());
    for Typed { line, command, output } in typed {
        let command = command.replace("cargo run --release --", "mipam");
        let ran = Command::new("sh")
            .args(["-c", &command])
            .current_dir(scratch.path())
            .env("PATH", path.as_ref().unwrap())
            .env("KUBECONFIG", bed.kubeconfig(ADMIN))
            .output()
            .unwrap();
        let printed = String::from_utf8_lossy(&ran.stdout);
        assert_eq!(printed, output, "README.md:{line}: {command}\n{}", String::from_utf8_lossy(&ran.stderr));
    }
}

#[test]
fn the_configuration_of_the_readme_is_that_of_the_lab() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let block = readme.split("```yaml\n").nth(1).and_then(|b| b.split("```").next()).unwrap();
    let lab = std::fs::read_to_string(root.join("examples/lab/ipam-config.yaml")).unwrap();
    let parsed = |text: &str| format!("{:?}", mipam::config::parse("x", text).unwrap().pools);
    assert_eq!(parsed(block), parsed(&lab));
}

#[test]
fn every_file_that_the_readme_links_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let links = readme.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let headings =
        readme.lines().filter_map(|l| l.strip_prefix('#')).map(|l| l.trim_start_matches('#').trim());
    let kept = |c: &char| c.is_alphanumeric() || *c == '-';
    let anchors: Vec<String> =
        headings.map(|h| h.to_lowercase().replace(' ', "-").chars().filter(kept).collect()).collect();
    for link in links.filter(|l| !l.starts_with("http")) {
        match link.strip_prefix('#') {
            Some(anchor) => assert!(anchors.iter().any(|a| a == anchor), "{link}"),
            None => assert!(root.join(link).exists(), "{link}"),
        }
    }
}
