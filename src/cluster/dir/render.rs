//! Writes a changed document so that what a person put around it stays, and reads back as what was meant.

use super::scan::Format;
use super::split::{Line, bom, frame};
use crate::yaml;
use serde_json::Value;

/// The new text of a document that was `old`; empty for a new one.
pub(super) fn document(format: Format, old: &str, value: &Value) -> Result<String, String> {
    let (mark, rest) = bom(old);
    let windows = rest.contains('\n') && rest.matches('\n').count() == rest.matches("\r\n").count();
    let ends = |text: String| if windows { text.replace('\n', "\r\n") } else { text };
    let drafts = match format {
        Format::Json => {
            let mut text = serde_json::to_string_pretty(value).map_err(|e| e.to_string())?;
            if rest.is_empty() || rest.ends_with('\n') {
                text.push('\n');
            }
            vec![ends(text)]
        }
        Format::Yaml => {
            let body = ends(yaml::to_yaml(value));
            let (head, foot) = frame(rest);
            // Blank lines behind a block of text would become part of it.
            let near = foot.trim_start_matches(['\r', '\n']);
            let end = if rest.lines().last().map(Line::of) == Some(Line::End) { "...\n" } else { "" };
            vec![format!("{head}{body}{foot}"), format!("{head}{body}{near}"), format!("---\n{body}{end}")]
        }
    };
    let kept = drafts.into_iter().find(|draft| read(format, draft).as_ref() == Some(value));
    kept.map(|text| format!("{mark}{text}"))
        .ok_or_else(|| "it would not read back as the same object".to_owned())
}

fn read(format: Format, text: &str) -> Option<Value> {
    match format {
        Format::Yaml => yaml::parse_yaml(text).ok(),
        Format::Json => yaml::parse_json(text).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn yaml_of(old: &str, value: &Value) -> String {
        document(Format::Yaml, old, value).unwrap()
    }

    #[test]
    fn what_surrounds_a_document_stays() {
        let old = "# licence\n%YAML 1.2\n---\n# about a\nb: 1 # lost\na: 1\n\n# next\n...\n";
        assert_eq!(
            yaml_of(old, &json!({"b": 2, "a": 1})),
            "# licence\n%YAML 1.2\n---\n# about a\nb: 2\na: 1\n\n# next\n...\n"
        );
        assert_eq!(yaml_of("--- {a: 1}\n", &json!({"a": 2})), "---\na: 2\n");
        assert_eq!(yaml_of("", &json!({"a": 2})), "a: 2\n");
    }

    #[test]
    fn line_ends_and_byte_order_marks_stay() {
        let old = "\u{feff}# c\r\n---\r\na: 1\r\nb: x\r\n";
        let value = json!({"a": 2, "b": "one\ntwo\n", "c": "tail\r\n"});
        let new = yaml_of(old, &value);
        assert!(new.starts_with("\u{feff}# c\r\n---\r\na: 2\r\n"), "{new:?}");
        assert!(!new.replace("\r\n", "").contains('\n'), "{new:?}");
        assert_eq!(yaml::parse_yaml(&new).unwrap(), value);
        let json = document(Format::Json, "\u{feff}{\r\n \"a\": 1\r\n}\r\n", &json!({"a": 2})).unwrap();
        assert_eq!(json, "\u{feff}{\r\n  \"a\": 2\r\n}\r\n");
        assert_eq!(document(Format::Json, "{}", &json!({"a": 2})).unwrap(), "{\n  \"a\": 2\n}");
    }

    #[test]
    fn blank_lines_behind_a_block_of_text_do_not_join_it() {
        let value = json!({"a": "text\n\n"});
        let new = yaml_of("a: |+\n  text\n\n\n# end\n", &value);
        assert_eq!(yaml::parse_yaml(&new).unwrap(), value);
        assert!(new.ends_with("# end\n"), "{new:?}");
    }

    #[test]
    fn a_head_that_hides_content_is_dropped() {
        let new = yaml_of("# c\ra: 1\nb: 1\n", &json!({"a": 2, "b": 1}));
        assert_eq!(new, "---\na: 2\nb: 1\n");
    }

    proptest! {
        #[test]
        fn any_text_in_any_frame_reads_back(text in any::<String>(), old in any::<String>()) {
            let value = json!({"metadata": {"annotations": {"k": text}}, "list": [text, {"x": 1.5}]});
            for format in [Format::Yaml, Format::Json] {
                let new = document(format, &old, &value).unwrap();
                prop_assert_eq!(read(format, bom(&new).1), Some(value.clone()));
            }
        }
    }
}
