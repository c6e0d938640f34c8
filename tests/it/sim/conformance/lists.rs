//! Lists page by page: of one moment, whatever happens in between, until the server has forgotten it.

use super::servers::Server;
use super::{NAMESPACE, Random};
use mipam::cluster::sim::Deletion;
use mipam::model::Object;
use mipam::systems::openshift::MACHINE;
use serde_json::json;

fn change(server: &dyn Server, random: &mut Random) {
    let name = format!("c{}", random.below(20));
    if random.one_in(3) {
        let _ = server.delete(&MACHINE.at(NAMESPACE, &name), &Deletion::default());
    } else {
        let object = Object(json!({
            "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
            "metadata": { "name": name, "namespace": NAMESPACE },
        }));
        let _ = server.create(MACHINE, &object);
    }
}

pub fn story(server: &dyn Server, seed: u64) -> Vec<String> {
    let mut random = Random(seed);
    let mut said = Vec::new();
    for _ in 0..8 {
        (0..12).for_each(|_| change(server, &mut random));
        let limit = 1 + random.below(5);
        let mut token: Option<String> = None;
        let mut versions = Vec::new();
        loop {
            let (names, version, next) = server.page(MACHINE, limit, token.as_deref()).unwrap();
            versions.push(version);
            said.push(format!("{names:?}, more {}", next.is_some()));
            token = next;
            if token.is_none() {
                break;
            }
            change(server, &mut random);
        }
        assert!(versions.iter().all(|v| *v == versions[0]), "a list of several moments: {versions:?}");
    }
    server.compact();
    change(server, &mut random);
    said.push(format!("old token: {:?}", server.page(MACHINE, 2, Some(&server.ancient_token())).err()));
    said.push(format!("old watch: {:?}", server.watch(MACHINE, "1").err()));
    let (names, _, _) = server.page(MACHINE, 50, None).unwrap();
    said.push(format!("{names:?}"));
    said
}
