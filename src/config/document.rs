//! The whole document: its root, the keys that are not about one pool, and the pools put together.

use super::draft::Draft;
use super::findings::{Finding, Findings, Path, quote};
use super::schema::{CONFIG, CONFIGURED, HOOK, POOL, POOL_KINDS, ROOT};
use super::walk::{self, Table};
use super::{
    Config, Hook, Metal3, NmstateTarget, empty, flags, guard, names, overlap, pools, seed, suggest, trouble,
};
use crate::model::Pool;
use crate::yaml;
use serde_json::Value;

const EXAMPLE: &str =
    "begin with `ipam-config:`, then two spaces before each key, as in ipam-config.yaml.example";

/// Reads a config and the networks of the command line; what is wrong goes to `found`.
pub(super) fn read(found: &mut Findings, text: &str, networks: &[String]) -> Option<Config> {
    let root = Path::default();
    if let Some(finding) = guard::check(text) {
        found.error(finding);
        return None;
    }
    let value = match yaml::parse_yaml(text) {
        Ok(value) => value,
        Err(error) => {
            found.error(trouble::explain(text, &error));
            return None;
        }
    };
    let map = match &value {
        // Never taken for a config that asks for nothing: it may be a failed copy.
        Value::Null => {
            found.error(Finding::new(&root, "the file has no content").hint(EXAMPLE).on_line(1));
            return None;
        }
        Value::Object(map) => map,
        other => {
            let what = if other.is_array() { "is a list" } else { "has no keys" };
            found.error(Finding::new(&root, format!("the file {what}")).hint(EXAMPLE));
            return None;
        }
    };
    let Some(inner) = map.get(ROOT) else {
        found.error(without_root(&root, map));
        return None;
    };
    Table::read(found, &root, &value, &[ROOT]);
    let at = root.key(ROOT);
    if inner.is_null() || inner.as_object().is_some_and(serde_json::Map::is_empty) {
        found.error(Finding::new(&at, "has nothing below it").hint(EXAMPLE));
        return None;
    }
    let table = Table::read(found, &at, inner, &CONFIG)?;
    Some(config(found, &table, networks))
}

/// The config of a run that has no file, only these networks.
pub(super) fn without_file(found: &mut Findings, networks: &[String]) -> Config {
    let drafts = flags::read(found, networks);
    Config { pools: finish(found, drafts), ..empty() }
}

/// Drafts to pools that share no address.
fn finish(found: &mut Findings, drafts: Vec<Draft>) -> Vec<Pool> {
    let pieces: Vec<_> = drafts.iter().flat_map(Draft::pieces).collect();
    overlap::check(found, &pieces);
    drafts.into_iter().filter_map(|d| d.finish(found)).collect()
}

fn without_root(root: &Path, map: &serde_json::Map<String, Value>) -> Finding {
    let message = format!("the key {ROOT} is missing");
    let similar = map.keys().find(|k| suggest::nearest(k, &[ROOT]).is_some());
    let inner = map.keys().find(|k| CONFIG.contains(&k.as_str()) || POOL.contains(&k.as_str()));
    match (similar, inner) {
        (Some(key), _) => {
            Finding::new(&root.key(key), message).hint(format!("write {ROOT} for {}", quote(key)))
        }
        (_, Some(key)) => Finding::new(&root.key(key), message)
            .hint(format!("write `{ROOT}:` as the first line and indent all others by two spaces")),
        _ if map.contains_key("apiVersion") => Finding::new(root, message)
            .hint("this is a Kubernetes object: give the text of the config itself, as a file of its own"),
        _ => Finding::new(root, message).hint(EXAMPLE),
    }
}

fn config(found: &mut Findings, table: &Table<'_>, networks: &[String]) -> Config {
    let mut config = empty();
    config.lifecycle_hook = table.field(found, "lifecycle-hook", hook).get();
    let targets = [("annotation", NmstateTarget::Annotation), ("device-config", NmstateTarget::DeviceConfig)];
    let target = table.field(found, "nmstate-target", |f, at, v| walk::choice(f, at, v, &targets));
    config.nmstate_target = target.get().unwrap_or_default();
    let modes = [("serve", Metal3::Serve), ("defer", Metal3::Defer), ("auto", Metal3::Auto)];
    config.metal3 =
        table.field(found, "metal3", |f, at, v| walk::choice(f, at, v, &modes)).get().unwrap_or_default();
    let cidrs = |f: &mut _, at: &_, v| walk::list(f, at, v, walk::cidr);
    config.service_cidrs = table.field(found, "service-cidrs", cidrs).get().unwrap_or_default();
    config.beside_peer = table.field(found, "beside-peer", pools::systems).get().unwrap_or_default();
    config.serve_pools = table.field(found, "serve-pools", |f, at, v| walk::list(f, at, v, pool_kind)).get();
    config.systems = table.field(found, "systems", served).get();

    let mut drafts = seed::read(found, table);
    drafts.extend(table.field(found, "pools", pools::read).get().unwrap_or_default());
    drafts.extend(flags::read(found, networks));
    // Those that have pools of their own, as far as the file tells.
    let own = ["pools", "metal3", "serve-pools", "service-cidrs"].iter().any(|key| table.has(key));
    let need = |systems: &Vec<String>| systems.iter().any(|s| CONFIGURED.contains(&s.as_str()));
    let need = config.systems.as_ref().is_none_or(need);
    if drafts.is_empty() && need && !own && found.errors() == 0 {
        let message = "there are no pools: only systems that have pools of their own, such as metal3's IPPools, can be served";
        found.warning(Finding::new(&table.at, message));
    }
    config.pools = finish(found, drafts);
    config
}

fn hook(found: &mut Findings, at: &Path, value: &Value) -> Option<Hook> {
    let table = Table::read(found, at, value, &HOOK)?;
    let hint = "both must be as in the machines' hook, such as {name: ipamController, owner: network-admin}";
    for key in HOOK.iter().filter(|k| !table.has(k)) {
        found.error(Finding::new(at, format!("{key} is missing")).hint(hint));
    }
    let name = table.field(found, "name", walk::printable).get();
    let owner = table.field(found, "owner", walk::printable).get();
    Some(Hook { name: name?.to_owned(), owner: owner?.to_owned() })
}

fn served(found: &mut Findings, at: &Path, value: &Value) -> Option<Vec<String>> {
    if value.as_array().is_some_and(Vec::is_empty) {
        let hint = "name the systems to serve, or leave the key out to serve all";
        found.error(Finding::new(at, "is empty, so nothing would be served").hint(hint));
        return None;
    }
    pools::systems(found, at, value)
}

fn pool_kind(found: &mut Findings, at: &Path, value: &Value) -> Option<String> {
    let text = walk::text(found, at, value)?;
    if !names::is_kind(text) {
        let message = format!("{} is not a kind of pool", quote(text));
        let hint = format!("write Kind or Kind.group, such as InClusterIPPool or {}", POOL_KINDS[2]);
        found.error(Finding::new(at, message).hint(hint));
        return None;
    }
    if !POOL_KINDS.iter().any(|known| *known == text || known.split('.').next() == Some(text)) {
        let message = format!("{text} is not a kind of pool that mipam knows ({})", POOL_KINDS.join(", "));
        found.warning(Finding::new(at, message));
    }
    Some(text.to_owned())
}
