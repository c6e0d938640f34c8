//! `tests/bad/config`: each file has one defect, and its first line says where and which.

use crate::config::parse_bytes;
use std::path::Path;

#[test]
fn every_broken_file_is_refused_with_its_name_and_line() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad/config");
    let mut files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|f| f.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 30, "{} files", files.len());
    let mut wrong = Vec::new();
    for path in files {
        let name = path.file_name().unwrap().to_str().unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let first = String::from_utf8_lossy(bytes.split(|b| *b == b'\n').next().unwrap()).into_owned();
        let (line, _) = first.strip_prefix("# line ").and_then(|l| l.split_once(": ")).expect(name);
        match parse_bytes(name, &bytes) {
            Ok(_) => wrong.push(format!("{name}: accepted")),
            Err(errors) => {
                let text = errors.to_string();
                if !text.starts_with(&format!("{name}:{line}: ")) || errors.errors.len() != 1 {
                    wrong.push(format!("{first}\n{text}"));
                }
                let jargon = ["serde", "invalid type", "deserializ", "EOF", "scalar", "mapping", "enum"];
                if let Some(word) = jargon.iter().find(|j| text.contains(**j)) {
                    wrong.push(format!("{name}: {word:?} is jargon: {text}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
