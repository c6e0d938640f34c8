//! A folder with one manifest: it is read or it is refused with a line; what is written to it is read back, and
//! the objects that nobody changed are what they were.

use futures_util::FutureExt;
use mipam::cluster::dir::{DirCluster, DirError, Mode};
use mipam::cluster::{Answer, Cluster};
use mipam::ledger::CONFIG_MAP;
use mipam::model::{Feed, Kind, Object};
use std::path::Path;

/// The first byte says which format the rest is in.
pub fn run(bytes: &[u8]) {
    let Some((format, text)) = bytes.split_first() else { return };
    let name = if format.is_multiple_of(4) { "m.json" } else { "m.yaml" };
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join(name), text).unwrap();
    let before = match open(dir.path(), Mode::ReadOnly) {
        Ok(cluster) => objects(&cluster),
        Err(error) => return refused(error, text),
    };
    let Ok(cluster) = open(dir.path(), Mode::InPlace) else { panic!("it was read a moment ago") };
    let mut touched = Vec::new();
    for (at, (kind, object)) in before.iter().enumerate() {
        let mut wanted = object.clone();
        wanted.annotate("mipam.io/fuzz", "yes");
        let turn = at.is_multiple_of(2);
        let written = turn.then(|| now(cluster.replace(*kind, &wanted)));
        touched.push(matches!(written, Some(Ok(_))));
    }
    now(cluster.settle()).unwrap();
    drop(cluster);
    let after = open(dir.path(), Mode::ReadOnly).unwrap_or_else(|error| panic!("what was written: {error}"));
    let after = objects(&after);
    assert_eq!(after.len(), before.len());
    for (((kind, old), (_, new)), touched) in before.iter().zip(&after).zip(touched) {
        let mut wanted = old.clone();
        if touched {
            wanted.annotate("mipam.io/fuzz", "yes");
        }
        assert_eq!(plain(&wanted), plain(new), "{}", kind.resource());
    }
}

fn kinds() -> Vec<Kind> {
    let mut kinds = mipam::systems::kinds();
    kinds.push(CONFIG_MAP);
    kinds
}

fn open(dir: &Path, mode: Mode) -> Result<DirCluster, DirError> {
    DirCluster::open(dir, &kinds(), mode)
}

fn now<T>(answer: Answer<'_, T>) -> Result<T, mipam::cluster::ClusterError> {
    answer.now_or_never().expect("files answer at once")
}

fn objects(cluster: &DirCluster) -> Vec<(Kind, Object)> {
    let served = now(cluster.served(&kinds())).unwrap();
    let all = served.into_iter().map(|kind| (kind, now(cluster.list(Feed::all(kind))).unwrap()));
    all.flat_map(|(kind, list)| list.into_iter().map(move |o| (kind, (*o).clone()))).collect()
}

/// Without its version, which every write moves.
fn plain(object: &Object) -> Object {
    let mut object = object.clone();
    let metadata = object.ensure_object(&["metadata"]);
    metadata.shift_remove("resourceVersion");
    metadata.shift_remove("generation");
    object
}

fn refused(error: DirError, text: &[u8]) {
    let lines = text.split(|b| *b == b'\n').count().max(1);
    let said = error.to_string();
    assert!(!said.is_empty() && !said.contains('\u{1b}'), "{said:?}");
    if let DirError::Broken { faults, .. } = error {
        for line in faults.told().iter().filter_map(|f| f.line) {
            assert!((1..=lines).contains(&line), "{said}");
        }
    }
}
