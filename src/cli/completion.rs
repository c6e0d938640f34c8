//! Completion scripts, from the same definition as the help.

use super::Shell;

/// The completion script for a shell.
pub fn completion(shell: Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut super::command(), "mipam", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum;
    use clap_complete::Generator;
    use std::path::Path;

    #[test]
    fn the_files_in_completions_are_current() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("completions");
        let update = std::env::var_os("MIPAM_UPDATE").is_some_and(|v| v == "1");
        for shell in Shell::value_variants() {
            let file = folder.join(shell.file_name("mipam"));
            let script = completion(*shell);
            if update {
                std::fs::create_dir_all(&folder).unwrap();
                std::fs::write(&file, &script).unwrap();
            }
            // Git on Windows may have changed the ends of lines.
            let kept = std::fs::read_to_string(&file).unwrap_or_default().replace("\r\n", "\n");
            assert!(
                kept == script,
                "{} is not what `mipam completions {shell}` prints: run MIPAM_UPDATE=1 cargo test completions",
                file.display()
            );
        }
    }
}
