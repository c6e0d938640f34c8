//! Any file, any changes: what is written reads back as what was meant, and the rest is the same bytes.

use super::*;
use crate::cluster::dir::compose::compose;
use crate::cluster::dir::load::Loader;
use crate::cluster::dir::scan::Format;
use crate::cluster::dir::state::State;
use proptest::prelude::*;
use serde_json::json;

/// What a test file is made of.
#[derive(Clone, Debug)]
enum Piece {
    /// A machine, and what is done to it.
    Machine { header: String, deleting: bool, deed: Deed },
    /// Something else, as text.
    Other(&'static str),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Deed {
    Nothing,
    Annotate,
    /// Goes away if it is being deleted.
    LetGo,
}

fn piece() -> impl Strategy<Value = Piece> {
    let deed = prop_oneof![Just(Deed::Nothing), Just(Deed::Annotate), Just(Deed::LetGo)];
    let header = prop_oneof![
        Just("---\n".to_owned()),
        Just("--- # note\n# more\n\n".to_owned()),
        Just("...\n".to_owned()),
        Just("...\n%YAML 1.1\n---\n".to_owned()),
    ];
    prop_oneof![
        4 => (header, any::<bool>(), deed).prop_map(|(header, deleting, deed)| Piece::Machine { header, deleting, deed }),
        1 => prop_oneof![
            Just("---\nfree: text\n"),
            Just("---\n"),
            Just("# between\n\n"),
            Just("---\ntext: |+\n  a\n\n"),
            Just("--- {a: [1,   2]}\n"),
        ]
        .prop_map(Piece::Other),
    ]
}

fn text_of(pieces: &[Piece]) -> String {
    let mut text = machine("first");
    for (at, piece) in pieces.iter().enumerate() {
        match piece {
            Piece::Machine { header, deleting, .. } => {
                text.push_str(header);
                text.push_str(&machine(&format!("m{at}")));
                text.push_str("  finalizers:   [x] # odd\n");
                if *deleting {
                    text.push_str("  deletionTimestamp: \"2026-01-01T00:00:00Z\"\n");
                }
            }
            Piece::Other(other) => text.push_str(other),
        }
    }
    text
}

fn load(text: &str) -> State {
    let mut loader = Loader::new(Path::new("."), &KINDS);
    loader.file(PathBuf::from("x.yaml"), Format::Yaml, text.to_owned());
    let (state, faults, _) = loader.finish();
    assert!(faults.is_empty(), "{faults}\n{text}");
    state
}

fn machines(state: &State) -> Vec<Object> {
    let mut machines = state.list(MACHINE, None).unwrap();
    for machine in &mut machines {
        machine.ensure_object(&["metadata"]).shift_remove("resourceVersion");
    }
    machines
}

fn act(state: &mut State, name: &str, deed: Deed) {
    let mut object = state.get(&MACHINE.at("ns", name)).unwrap();
    match deed {
        Deed::Nothing => return,
        Deed::Annotate => object.annotate("changed", "yes"),
        Deed::LetGo => drop(object.ensure_object(&["metadata"]).insert("finalizers".to_owned(), json!([]))),
    }
    state.replace(MACHINE, &object, crate::cluster::dir::rules::replaced).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    #[test]
    fn what_is_written_reads_back_and_the_rest_stays(
        pieces in prop::collection::vec(piece(), 0..8),
        windows in any::<bool>(),
    ) {
        let mut text = text_of(&pieces);
        if windows {
            text = text.replace('\n', "\r\n");
        }
        let mut state = load(&text);
        for (at, piece) in pieces.iter().enumerate() {
            if let Piece::Machine { deed, .. } = piece {
                act(&mut state, &format!("m{at}"), *deed);
            }
        }
        let composed = compose(&state, &state.files[0]).unwrap();
        let new = composed.text.clone().unwrap();
        prop_assert_eq!(machines(&load(&new)), machines(&state), "{}", new);

        let mut rest = new.as_str();
        for part in state.files[0].parts.iter().filter(|part| !part.touched) {
            let old = &text[part.range.clone()];
            let at = rest.find(old);
            prop_assert!(at.is_some(), "{:?} is not in {:?}", old, rest);
            rest = &rest[at.unwrap() + old.len()..];
        }

        composed.settle(&mut state, 0);
        prop_assert!(state.dirty.is_empty());
        prop_assert_eq!(compose(&state, &state.files[0]).unwrap().text, Some(new));
    }
}
