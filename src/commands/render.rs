//! `mipam render-nmstate`: the network configuration of a machine, checked by nmstate itself. Nothing is written.

use super::context::{self, Context};
use super::{ExitStatus, Failure};
use crate::apply::{self, Dry};
use crate::cli::{MachineRef, NmstateFormat, RenderNmstate};
use crate::cluster::dir::Mode;
use crate::config::Config;
use crate::model::{Chain, Kind, Object, Pool};
use crate::pass::Sight;
use crate::plan;
use crate::systems;
use crate::systems::nmstate::{self, Interface};
use crate::yaml;
use ::nmstate::NetworkState;
use serde_json::Value;
use std::net::IpAddr;

/// What the kinds are called whose network mipam configures.
const MACHINE: &str = "Machine";

pub(super) async fn run(context: &Context<'_>, command: &RenderNmstate) -> Result<ExitStatus, Failure> {
    let config = context.config_alone().await?;
    let document = match (&command.machine, command.address, &command.pool) {
        (_, Some(address), Some(pool)) => of_address(address, context::pool(&config.pools, pool)?)?,
        (Some(machine), ..) => of_machine(context, &config, machine).await?,
        _ => return Err(Failure::error("name a machine, or give --address and --pool")),
    };
    let text = yaml::to_yaml(&document);
    let state = checked(&text)?;
    let printed = match command.format {
        NmstateFormat::Nmstate | NmstateFormat::Yaml => text,
        NmstateFormat::Json => crate::output::json(&document),
        NmstateFormat::NetworkManager => files(&state)?,
    };
    context.printer.data(&printed)?;
    Ok(ExitStatus::Fine)
}

fn of_address(address: IpAddr, pool: &Pool) -> Result<Value, Failure> {
    if !pool.contains(address) {
        let ranges: Vec<String> = pool.ranges.iter().map(ToString::to_string).collect();
        return Err(Failure::error(format!(
            "{address} is not in pool {} ({})",
            pool.name,
            ranges.join(", ")
        )));
    }
    let interface = Interface {
        name: pool.interface(0).unwrap_or(crate::model::DEFAULT_INTERFACES[0]).to_owned(),
        addresses: vec![(address, pool.prefix)],
        gateways: pool.gateway.into_iter().collect(),
        nameservers: pool.nameservers.clone(),
        search_domains: pool.search_domains.clone(),
    };
    Ok(nmstate::document(&[interface]))
}

async fn of_machine(context: &Context<'_>, config: &Config, machine: &MachineRef) -> Result<Value, Failure> {
    let cluster = context.cluster(Mode::ReadOnly).await?;
    let bar = context.bar();
    let pass = context.pass(&*cluster, config, &bar)?;
    let sight = pass.look().await?;
    let (kind, object) = find(&sight, machine)?;
    let decision = plan::decide(sight.world(&pass.scope, pass.now));
    let is = |name: &str, namespace: &str| name == object.name() && namespace == object.namespace();
    let served = decision.served.iter().find(|s| {
        let owner = &sight.survey.claims[s.claim].owner;
        is(&owner.name, &owner.namespace) && owner.is(object)
    });
    let target = kind.at(object.namespace(), object.name());
    let chains: Vec<Chain> = served
        .iter()
        .filter_map(|s| {
            let claim = &sight.survey.claims[s.claim];
            let system = systems::ALL.iter().find(|x| x.name() == claim.owner.system)?;
            Some(system.write(claim, &s.given, &sight.scene(config, pass.now)))
        })
        .collect();
    let ran = apply::write(&Dry::new(pass.cluster), &sight.seen.observed, &chains, 1, &|| ()).await;
    let will_be = ran.into_iter().flat_map(|r| r.left).rev().find_map(|(t, now)| now.filter(|_| t == target));
    let shown = will_be.as_deref().unwrap_or(object);
    let document = systems::ALL.iter().find_map(|s| s.nmstate(kind, shown, &sight.pools));
    document.ok_or_else(|| {
        let target = kind.at(object.namespace(), object.name());
        if kind.kind != MACHINE {
            let why = "only Machines of OpenShift and Kubermatic have a network configuration from mipam";
            return Failure::finding(format!("{target} has nothing to show: {why}"));
        }
        let waits = decision.pending.iter().chain(&sight.survey.pending).find(|p| is(&p.name, &p.namespace));
        let why = waits.map_or("it has no address and does not wait for one", |p| &p.message);
        Failure::finding(format!("{target} has nothing to show: {why}"))
    })
}

fn find<'s>(sight: &'s Sight, machine: &MachineRef) -> Result<(Kind, &'s Object), Failure> {
    let (namespace, name, kinds) = match machine {
        MachineRef::Name { namespace, name } => (namespace, name, systems::owners()),
        MachineRef::Full(reference) => {
            (&reference.namespace, &reference.name, context::kinds(reference, &systems::owners())?)
        }
    };
    let fits = |o: &&Object| o.name() == name && namespace.as_deref().is_none_or(|n| n == o.namespace());
    let of = |kind: Kind| sight.seen.observed.all(kind).filter(fits).map(move |o| (kind, o));
    let hits: Vec<(Kind, &Object)> = kinds.into_iter().flat_map(of).collect();
    match hits.as_slice() {
        [one] => Ok(*one),
        [] => {
            let place = namespace.as_ref().map(|n| format!(" in namespace {n}")).unwrap_or_default();
            let failure = Failure::error(format!("there is no machine {name:?}{place}"));
            Err(failure.hint("a machine is named as NAME or NAMESPACE/NAME"))
        }
        several => {
            let full = |k: &Kind, o: &Object| {
                format!("{}.{}/{}/{}", k.kind.to_lowercase(), k.group, o.namespace(), o.name())
            };
            let names: Vec<String> = several.iter().map(|(k, o)| full(k, o)).collect();
            let failure = Failure::error(format!("several machines are called {name:?}"));
            Err(failure.hint(format!("say which one: {}", names.join(", "))))
        }
    }
}

/// nmstate must read the document, and read back the same from what it has read.
fn checked(text: &str) -> Result<NetworkState, Failure> {
    let bug = |why: String| {
        Failure::error(format!("nmstate does not accept this document: {why}\n{text}"))
            .hint("this is a bug of mipam: please report it")
    };
    let state = NetworkState::new_from_yaml(text).map_err(|e| bug(e.to_string()))?;
    let again = serde_json::to_string(&state).map_err(|e| bug(e.to_string()))?;
    let again = NetworkState::new_from_json(&again).map_err(|e| bug(e.to_string()))?;
    if again == state { Ok(state) } else { Err(bug("it reads it in two ways".to_owned())) }
}

/// The connection files, one after the other under their names.
fn files(state: &NetworkState) -> Result<String, Failure> {
    let made = state
        .gen_conf()
        .map_err(|e| Failure::error(format!("nmstate cannot make NetworkManager files: {e}")))?;
    let mut files = made.get("NetworkManager").cloned().unwrap_or_default();
    files.sort();
    let shown = files.iter().map(|(name, text)| format!("# {name}\n{}\n", text.trim_end()));
    Ok(shown.collect::<Vec<_>>().join("\n"))
}
