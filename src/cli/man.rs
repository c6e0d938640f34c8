//! Manual pages in troff, from the same definition as the help.

use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use std::io;

/// The manual page of mipam and, after it, one of each command.
pub fn man_pages() -> String {
    let mut root = super::command().disable_help_subcommand(true);
    root.build();
    let verbs: Vec<_> = root.get_subcommands().cloned().collect();
    let mut text = Vec::new();
    for command in std::iter::once(root).chain(verbs) {
        // Writing to memory does not fail.
        let _ = page(command, &mut text);
    }
    String::from_utf8_lossy(&text).into_owned()
}

fn page(command: clap::Command, to: &mut Vec<u8>) -> io::Result<()> {
    let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let source = concat!("mipam ", env!("CARGO_PKG_VERSION"));
    let has_verbs = command.has_subcommands();
    let page = Man::new(command).source(source).manual("mipam manual");
    page.render_title(to)?;
    page.render_name_section(to)?;
    page.render_synopsis_section(to)?;
    page.render_description_section(to)?;
    page.render_options_section(to)?;
    if has_verbs {
        page.render_subcommands_section(to)?;
    }
    blocks(&after).to_writer(to)
}

/// The text after the help, which is laid out by hand: clap's own section would run its lines together.
fn blocks(text: &str) -> Roff {
    let mut roff = Roff::new();
    for line in text.lines() {
        match line.strip_suffix(':') {
            Some(title) if !line.starts_with(' ') => {
                roff.control("SH", [title.to_uppercase().as_str()]);
            }
            _ if line.is_empty() => {
                roff.control("PP", []);
            }
            _ => {
                let line = line.trim_start();
                let inline = if line.starts_with("mipam ") || line.starts_with("source ") {
                    bold(line)
                } else {
                    roman(line.strip_prefix("# ").unwrap_or(line))
                };
                roff.text([inline]);
                roff.control("br", []);
            }
        }
    }
    roff
}
