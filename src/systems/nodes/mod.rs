//! Pod CIDRs of Nodes, from ClusterCIDRs: a Node without `podCIDRs` gets a block of each family. What a Node has
//! is never changed, and taken as long as the Node exists.

mod cidr;
mod selector;
#[cfg(test)]
mod tests;

use super::peer::{deployed, leased};
use super::{Scene, System, paused};
use crate::addr::{SpanSet, parse_shown_cidr, subnet};
use crate::config::Config;
use crate::model::{
    Action, Chain, Chore, Claim, DEPLOYMENT, Departure, Edit, Edited, Gate, Given, Kind, LEASE, NODE, Notice,
    Object, Observed, Owner, PendingLine, PoolChoice, Problem, Reason, Role, Sign, Source, Survey, Taken,
    TakenBy, When, Wish, Write,
};
use cidr::Choices;
use serde_json::{Value, json};
use std::sync::Arc;

/// The system.
pub struct Nodes;

/// Its name.
pub const NAME: &str = "nodes";

/// Where blocks come from.
pub const CLUSTER_CIDR: Kind = Kind {
    group: "networking.x-k8s.io",
    versions: &["v1"],
    kind: "ClusterCIDR",
    plural: "clustercidrs",
    namespaced: false,
};

/// The addresses of Services, which no Pod may have.
const SERVICE_CIDR: Kind = Kind {
    group: "networking.k8s.io",
    versions: &["v1", "v1beta1"],
    kind: "ServiceCIDR",
    plural: "servicecidrs",
    namespaced: false,
};

/// What keeps a ClusterCIDR that is in use.
const FINALIZER: &str = "networking.x-k8s.io/cluster-cidr-finalizer";

/// What the controller that this replaces is known by.
const PEER_LABEL: Sign = Sign::Label("app.kubernetes.io/name", "node-ipam-controller");
const PEER_LEASE: Sign = Sign::Name("node-ipam-controller");

const SOURCES: &[Source] = &[
    Source { kind: NODE, role: Role::Owner },
    Source { kind: CLUSTER_CIDR, role: Role::Owner },
    Source { kind: SERVICE_CIDR, role: Role::Owner },
    Source { kind: DEPLOYMENT, role: Role::Peer(PEER_LABEL) },
    Source { kind: LEASE, role: Role::Peer(PEER_LEASE) },
];

impl System for Nodes {
    fn name(&self) -> &'static str {
        NAME
    }

    fn sources(&self) -> &'static [Source] {
        SOURCES
    }

    fn owners(&self) -> &'static [Kind] {
        &[NODE]
    }

    fn survey(&self, observed: &Observed, config: &Config) -> Survey {
        let mut survey = Survey::default();
        // Where nobody has ClusterCIDRs, somebody else gives Nodes their blocks.
        if !observed.any(CLUSTER_CIDR) {
            return survey;
        }
        let (cluster_cidrs, bad) = cidr::read_all(observed);
        for (object, why) in bad {
            refuse(object, &why, &mut survey);
        }
        keep_services(observed, config, &mut survey);
        survey.block_pools = cluster_cidrs.iter().map(|c| c.pool.clone()).collect();
        let peer = peer(observed, config);
        survey.warnings.extend(peer.clone());
        let mut choices = Choices::new(&cluster_cidrs);
        for node in observed.all(NODE) {
            survey_node(node, &mut choices, peer.is_none(), &mut survey);
        }
        survey.warnings.extend(lost_to_services(&survey));
        if peer.is_none() {
            keep_or_let_go(observed, &mut survey);
        }
        survey
    }

    /// A ClusterCIDR is kept before the first block of it is on a Node, whichever it was given from.
    fn beforehand(&self, given: &[&Given], scene: &Scene<'_>) -> Vec<Chain> {
        let blocks: SpanSet = given.iter().filter_map(|g| Some(subnet(g.address, g.block?))).collect();
        let free = scene.observed.all(CLUSTER_CIDR).filter(|o| !o.deleting() && !o.held_by(FINALIZER));
        let used = free.filter(|o| paused(o).is_none() && is_used(o, &blocks));
        used.map(|o| vec![hold(o)]).collect()
    }

    fn write(&self, claim: &Claim, given: &[Given], _: &Scene<'_>) -> Chain {
        let blocks: Vec<String> =
            given.iter().filter_map(|g| Some(format!("{}/{}", g.address, g.block?))).collect();
        vec![Write {
            target: claim.owner.reference(NODE),
            uid: claim.owner.uid.to_string(),
            action: Action::Update(Edit::new(move |node| edited(node, &blocks))),
        }]
    }

    fn notice(&self, claim: &Claim, line: &PendingLine) -> Option<Notice> {
        let lacks = matches!(line.reason, Reason::PoolExhausted | Reason::NoMatchingPool);
        lacks.then(|| Notice {
            system: NAME.into(),
            about: claim.owner.reference(NODE),
            uid: claim.owner.uid.to_string(),
            normal: false,
            reason: "CIDRNotAvailable".to_owned(),
            message: line.message.clone(),
        })
    }

    fn departures(&self, observed: &Observed, config: &Config) -> Vec<Departure> {
        let ours = observed.all(CLUSTER_CIDR).filter(|_| peer(observed, config).is_none());
        ours.filter_map(|o| Departure::finalizer(NAME, CLUSTER_CIDR, o, FINALIZER, paused(o))).collect()
    }

    fn ask(&self, kind: Kind, node: &Object, scene: &Scene<'_>) -> Option<Result<Claim, String>> {
        (kind == NODE).then(|| {
            if node.deleting() {
                return Err("it is being deleted".to_owned());
            }
            if let Some(why) = paused(node).or_else(|| peer(scene.observed, scene.config)) {
                return Err(why);
            }
            if let Some(block) = blocks(node).next() {
                return Err(format!("it has {block}, and the podCIDRs of a Node never change"));
            }
            let (cluster_cidrs, _) = cidr::read_all(scene.observed);
            let pools = Choices::new(&cluster_cidrs).of(node);
            Ok(claim(Owner::of(NAME, NODE, node), pools, Gate::Asked))
        })
    }
}

/// What a Node has: `podCIDRs`, and `podCIDR` where that is all there is.
fn blocks(node: &Object) -> impl Iterator<Item = &str> {
    let all = node.array("/spec/podCIDRs").iter().filter_map(Value::as_str);
    let first = node.text("/spec/podCIDR").filter(|first| !first.is_empty());
    let repeated = all.clone().any(|b| Some(b) == first);
    first.filter(|_| !repeated).into_iter().chain(all)
}

fn survey_node<'a>(node: &'a Object, choices: &mut Choices<'a>, served: bool, survey: &mut Survey) {
    let owner = Owner::of(NAME, NODE, node);
    let mut any = false;
    for text in blocks(node) {
        any = true;
        match parse_shown_cidr(text) {
            Ok(span) => survey.taken.push(Taken { span, by: TakenBy::Owner(owner.clone()) }),
            Err(error) => {
                let message = format!("its podCIDRs: {error}; which addresses it has cannot be told");
                survey.problems.push(Problem::new("Unreadable", &NODE.at("", node.name()), message));
            }
        }
    }
    if !served {
        return;
    }
    if any {
        survey.settled.push(owner);
    } else if let Some(why) = paused(node) {
        survey.pending.push(PendingLine::of(&owner, "", "", Reason::Paused, why));
    } else if !node.deleting() {
        survey.claims.push(claim(owner, choices.of(node), Gate::Closed));
    }
}

fn claim(owner: Arc<Owner>, pools: Arc<[Arc<str>]>, gate: Gate) -> Claim {
    let pools = PoolChoice::Blocks(pools);
    Claim {
        owner,
        wishes: vec![Wish { device: "".into(), pools, asks: None, one: false }],
        presets: Vec::new(),
        gate,
        stands_for: None,
    }
}

/// The Node with these blocks; one that has any keeps what it has.
fn edited(node: &Object, wanted: &[String]) -> Edited {
    let has: Vec<&str> = blocks(node).collect();
    if has == wanted {
        return Edited::Already;
    }
    if !has.is_empty() || node.deleting() || paused(node).is_some() {
        return Edited::Moot;
    }
    let mut edited = node.clone();
    let spec = edited.ensure_object(&["spec"]);
    spec.insert("podCIDR".to_owned(), json!(wanted.first()));
    spec.insert("podCIDRs".to_owned(), json!(wanted));
    Edited::To(Box::new(edited))
}

/// Says what is wrong with a ClusterCIDR; the others go on.
fn refuse(object: &Object, why: &str, survey: &mut Survey) {
    let about = CLUSTER_CIDR.at("", object.name());
    let message = format!("{why}; no Node gets a block of it until it is made anew");
    survey.problems.push(Problem::new("Unreadable", &about, message.clone()));
    survey.notices.push(Notice {
        system: NAME.into(),
        about,
        uid: object.uid().to_owned(),
        normal: false,
        reason: "InvalidClusterCIDR".to_owned(),
        message,
    });
}

/// The addresses of Services: those of the configuration, and those that the cluster says.
fn keep_services(observed: &Observed, config: &Config, survey: &mut Survey) {
    let configured = config
        .service_cidrs
        .iter()
        .map(|span| Taken { span: *span, by: TakenBy::Kept("a service CIDR of the configuration", None) });
    survey.taken.extend(configured);
    for object in observed.all(SERVICE_CIDR) {
        let about = SERVICE_CIDR.at("", object.name());
        for text in object.array("/spec/cidrs").iter().filter_map(Value::as_str) {
            match parse_shown_cidr(text) {
                Ok(span) => {
                    let by = TakenBy::Kept("the addresses of Services", Some(about.clone()));
                    survey.taken.push(Taken { span, by });
                }
                Err(error) => survey.problems.push(Problem::new("Unreadable", &about, error.to_string())),
            }
        }
    }
}

/// ClusterCIDRs of which a part can never be given out.
fn lost_to_services(survey: &Survey) -> Vec<String> {
    let kept = survey.taken.iter().filter(|t| t.owner().is_none());
    let overlaps = kept.flat_map(|taken| {
        let parts = survey.block_pools.iter().flat_map(|p| p.parts.iter().map(move |part| (p, part)));
        let hit = parts.filter(|(_, part)| part.range.overlaps(&taken.span));
        hit.map(|(pool, part)| {
            format!(
                "{} of ClusterCIDR {} overlaps {}, which is for Services: that part of it is not given out",
                part.range, pool.name, taken.span
            )
        })
    });
    let mut warnings: Vec<String> = overlaps.collect();
    warnings.sort();
    warnings.dedup();
    warnings
}

/// Keeps ClusterCIDRs that are in use, and lets go of those that are deleted and not in use.
fn keep_or_let_go(observed: &Observed, survey: &mut Survey) {
    let mut in_use: SpanSet = survey.taken.iter().filter(|t| t.owner().is_some()).map(|t| t.span).collect();
    // A block on record is on its way to a Node.
    observed.recorded().iter().for_each(|block| in_use.insert(*block));
    for object in observed.all(CLUSTER_CIDR).filter(|o| paused(o).is_none()) {
        let used = is_used(object, &in_use);
        let (write, when) = match (object.deleting(), object.held_by(FINALIZER)) {
            (false, false) if used => (hold(object), When::Before),
            (true, true) if !used => (Write { action: Action::Free(FINALIZER), ..hold(object) }, When::After),
            _ => continue,
        };
        survey.chores.push(Chore { owner: Owner::of(NAME, CLUSTER_CIDR, object), writes: vec![write], when });
    }
}

/// Has a ClusterCIDR one of these addresses?
fn is_used(cluster_cidr: &Object, in_use: &SpanSet) -> bool {
    let texts = ["/spec/ipv4", "/spec/ipv6"].into_iter().filter_map(|at| cluster_cidr.text(at));
    texts.filter_map(|text| parse_shown_cidr(text).ok()).any(|range| in_use.count_in(range) > 0)
}

/// Keeps a ClusterCIDR.
fn hold(object: &Object) -> Write {
    Write {
        target: CLUSTER_CIDR.at("", object.name()),
        uid: object.uid().to_owned(),
        action: Action::Update(Edit::hold(FINALIZER, |o| paused(o).is_some())),
    }
}

/// Why Nodes are left to another controller.
fn peer(observed: &Observed, config: &Config) -> Option<String> {
    if config.beside_peer.iter().any(|system| system == NAME) {
        return None;
    }
    let advice = format!("scale it to 0 to hand them over, or set `beside-peer: [{NAME}]`");
    if let Some(name) = deployed(observed, PEER_LABEL).or_else(|| leased(observed, PEER_LEASE)) {
        return Some(format!("{name} gives Nodes their podCIDRs, so mipam leaves them to it; {advice}"));
    }
    (!observed.serves(DEPLOYMENT)).then(|| {
        format!(
            "whether another controller gives Nodes their podCIDRs cannot be seen (list deployments.apps), so they are left to it; to serve them all the same, set `beside-peer: [{NAME}]`"
        )
    })
}
