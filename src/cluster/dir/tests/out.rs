//! The copy of `--out`.

use super::*;
use serde_json::json;

fn world() -> World {
    World::with(&[
        ("a.yaml", &machine("a")),
        ("deep/b.json", "{ \"b\":  1 }"),
        ("ipam-config.yaml", "ipam-config: {}\n"),
        ("README.md", "not a manifest"),
    ])
}

fn open(world: &World) -> DirCluster {
    world.try_open(Mode::Out(world.out())).unwrap()
}

fn refusal(world: &World, out: PathBuf) -> String {
    world.try_open(Mode::Out(out)).unwrap_err().to_string()
}

#[test]
fn the_copy_has_every_manifest_and_the_source_stays() {
    let world = world();
    let before = tree(&world.dir());
    let cluster = open(&world);
    annotate(&cluster, MACHINE, "ns", "a");
    assert!(!world.out().exists(), "written only when it settles");
    now(cluster.settle()).unwrap();
    assert_eq!(tree(&world.dir()), before);
    let mut copy = tree(&world.out());
    assert!(copy.remove(".mipam-out").is_some());
    assert_eq!(copy.keys().collect::<Vec<_>>(), ["a.yaml", "deep/b.json", "ipam-config.yaml"]);
    assert_eq!(copy["deep/b.json"], before["deep/b.json"]);
    assert!(copy["a.yaml"].contains("by the test"));

    let node = object(json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}));
    now(cluster.create(NODE, &node)).unwrap();
    now(cluster.settle()).unwrap();
    assert!(world.out().join("mipam/nodes/n.yaml").exists());
    assert_eq!(tree(&world.dir()), before);
    drop(cluster);
    #[cfg(unix)]
    assert_eq!(fs::read_dir(world.dir().parent().unwrap()).unwrap().count(), 2, "nothing is left beside");
    DirCluster::open(&world.out(), &KINDS, Mode::InPlace).unwrap();
}

#[test]
fn an_earlier_copy_is_replaced_whole() {
    let world = world();
    now(open(&world).settle()).unwrap();
    fs::write(world.out().join("stray.yaml"), "").unwrap();
    assert!(
        refusal(&world, world.out()).contains("stray.yaml"),
        "a file of somebody else is not thrown away"
    );
    fs::remove_file(world.out().join("stray.yaml")).unwrap();
    fs::remove_file(world.dir().join("deep/b.json")).unwrap();
    let cluster = open(&world);
    now(cluster.settle()).unwrap();
    assert_eq!(tree(&world.out()).keys().collect::<Vec<_>>(), [".mipam-out", "a.yaml", "ipam-config.yaml"]);
}

#[test]
fn what_a_killed_run_left_beside_is_cleared() {
    let world = world();
    let beside = |what| world.out().with_file_name(format!(".out.mipam-{what}"));
    for what in ["new", "old"] {
        fs::create_dir(beside(what)).unwrap();
        fs::write(beside(what).join("x.yaml"), "").unwrap();
    }
    now(open(&world).settle()).unwrap();
    assert!(!beside("new").exists() && !beside("old").exists());
    assert!(!world.out().join("x.yaml").exists());
}

#[test]
fn an_empty_folder_is_taken_and_a_full_one_is_not() {
    let world = world();
    fs::create_dir(world.out()).unwrap();
    now(open(&world).settle()).unwrap();
    fs::remove_file(world.out().join(".mipam-out")).unwrap();
    let error = refusal(&world, world.out());
    assert!(error.contains("holds files that mipam did not write; name a new or an empty folder"), "{error}");
    let file = world.dir().parent().unwrap().join("file");
    fs::write(&file, "").unwrap();
    assert!(refusal(&world, file.clone()).contains("is a file; name a folder"), "{}", refusal(&world, file));
}

#[test]
fn a_folder_that_filled_up_meanwhile_is_left_alone() {
    let world = world();
    let cluster = open(&world);
    fs::create_dir(world.out()).unwrap();
    fs::write(world.out().join("mine"), "").unwrap();
    assert!(now(cluster.settle()).is_err());
    assert_eq!(tree(&world.out()).len(), 1);
}

#[test]
fn source_and_copy_must_lie_apart() {
    let world = world();
    let parent = world.dir().parent().unwrap().to_owned();
    assert!(refusal(&world, world.dir()).contains("is the folder that is read"));
    for out in [world.dir().join("copy"), world.out().join("../dir/new/copy"), parent] {
        let error = refusal(&world, out);
        assert!(error.contains("must lie beside"), "{error}");
    }
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(world.dir(), world.out()).unwrap();
        assert!(refusal(&world, world.out()).contains("is the folder that is read"));
        assert!(refusal(&world, world.out().join("x")).contains("must lie beside"));
    }
    assert_eq!(tree(&world.dir()).len(), 4);
}

#[test]
fn a_source_that_changed_meanwhile_is_a_conflict() {
    let world = world();
    let cluster = open(&world);
    world.put("a.yaml", &machine("z"));
    let conflict = now(cluster.settle()).unwrap_err();
    assert!(matches!(&conflict, ClusterError::Conflict(what) if what.ends_with("a.yaml")), "{conflict}");
    assert!(!world.out().exists());
}

#[test]
fn two_runs_never_write_one_copy() {
    let world = world();
    let first = open(&world);
    assert!(matches!(world.try_open(Mode::Out(world.out())), Err(DirError::Locked(_))));
    now(first.settle()).unwrap();
    drop(first);
    let second = open(&world);
    let inside = DirCluster::open(&world.out(), &KINDS, Mode::InPlace).unwrap();
    let error = now(second.settle()).unwrap_err().to_string();
    assert!(error.contains("another mipam is working on this folder"), "{error}");
    drop(inside);
    now(second.settle()).unwrap();
}
