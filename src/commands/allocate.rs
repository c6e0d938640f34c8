//! `mipam allocate`: an address for a named object, or held under a name.

mod blocks;

use super::context::{self, Context};
use super::{ExitStatus, Failure};
use crate::cli::{Allocate, Reference};
use crate::cluster::dir::Mode;
use crate::model::{
    API_VERSION, Allocated, Allocation, AllocationReport, Claim, Gate, Holder, ObjectRef, Owner, Pool,
    PoolChoice, PoolOrigin, Site, Standing, Survey, Wish,
};
use crate::output;
use crate::pass::{self, Outcome, Sight};
use crate::systems::{self, Scene};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

pub(super) async fn run(context: &Context<'_>, command: &Allocate) -> Result<ExitStatus, Failure> {
    let targets = command.owner.as_ref().map(|r| owner(context, r)).transpose()?;
    let mode = if command.dry_run { Mode::ReadOnly } else { Mode::InPlace };
    let cluster = context.cluster(mode).await?;
    let config = context.config_with(&*cluster, &command.ranges).await?;
    let bar = context.bar();
    let mut pass = context.pass(&*cluster, &config, &bar)?;
    pass.dry_run = command.dry_run;
    pass.scope = crate::plan::Scope::default();

    // A hold in a configured pool needs no look of its own: the pass has one.
    let configured = targets.is_none() && config.pools.iter().any(|p| *p.name == *command.pool);
    let sight = if configured { None } else { Some(pass.look().await?) };
    let pools = sight.as_ref().map_or(&config.pools[..], |s| &s.pools);
    let parts: Vec<Pool> = pools.iter().filter(|p| p.is_of(&command.pool)).cloned().collect();
    match &sight {
        Some(sight) => {
            context::any_pool(sight, &command.pool)?;
            if let Some(had) = targets.as_ref().and_then(|t| blocks::shown(sight, t, &command.pool)) {
                return match other(command, &had) {
                    Some(failure) => Err(failure),
                    None => print(context, command, had),
                };
            }
        }
        None => drop(context::pool(pools, &command.pool)?),
    }
    if let Some(pool) = parts.iter().find(|p| p.foreign) {
        return Err(foreign(pool));
    }
    let (claim, by_claims) = match (targets, &sight) {
        (Some(targets), Some(sight)) => for_object(sight, targets, &sight.scene(&config, pass.now))?,
        _ => (hold(command), false),
    };
    pass.scope.only = Some(claim.whose().clone());
    let blocks = sight.iter().flat_map(|s| &s.survey.block_pools);
    if claim.wants_blocks() && !blocks.into_iter().any(|p| *p.name == *command.pool) {
        let why = format!("pool {} has addresses, and {} takes blocks", command.pool, claim.owner);
        return Err(Failure::finding(why).hint("name a ClusterCIDR with --pool"));
    }
    // Of a pool of that name the blocks, where it is blocks that are wanted.
    let parts = if claim.wants_blocks() { Vec::new() } else { parts };
    let has = sight.as_ref().is_some_and(|s| !held(s, &claim.owner, &parts).is_empty());
    let narrowed = if parts.is_empty() {
        blocks::narrowed(claim.clone(), command)
    } else {
        narrowed(claim.clone(), &parts, pools, command)
    };
    let claim = match narrowed {
        // The device that uses this pool has its address already; others wait for other pools.
        Err(_) if by_claims && has => Claim { wishes: Vec::new(), ..claim },
        narrowed => narrowed?,
    };
    drop(sight);
    let had = RefCell::new(Vec::new());
    let outcome = pass
        .run(&|sight: &mut Sight| {
            if by_claims {
                narrow(&mut sight.survey, &claim);
            } else {
                sight.survey.claims.retain(|c| !c.owner.same(&claim.owner));
                sight.survey.claims.push(claim.clone());
            }
            *had.borrow_mut() = held(sight, &claim.owner, &parts);
        })
        .await;
    drop(pass);
    drop(bar);
    finish(context, command, claim.whose(), &outcome?, had.into_inner())
}

fn finish(
    context: &Context<'_>,
    command: &Allocate,
    owner: &Owner,
    outcome: &Outcome,
    had: Vec<Allocated>,
) -> Result<ExitStatus, Failure> {
    if let Some(line) = outcome.report.pending.first() {
        return Err(Failure::finding(format!("{owner}: {}", line.message)));
    }
    if let Some((object, error)) = outcome.failures.first() {
        let failure = Failure::from(error.clone());
        return Err(Failure { message: format!("{object}: {}", failure.message), ..failure });
    }
    if command.diff {
        super::reconcile::diff(context.printer, &outcome.changed)?;
    }
    let mut allocated = outcome.granted.clone();
    if allocated.is_empty() {
        // Every device has its address already; the answer is the same as the first time.
        allocated = had;
    }
    if let Some(failure) = other(command, &allocated) {
        return Err(failure);
    }
    if allocated.is_empty() {
        return Err(Failure::finding(format!(
            "{owner}: its devices have addresses already, and the ledger has none of this pool for it; reconcile records those of machines that it serves",
        )));
    }
    print(context, command, allocated)
}

/// Why it does not get the address that was asked for: it has another one.
fn other(command: &Allocate, allocated: &[Allocated]) -> Option<Failure> {
    let asked = command.address?;
    let first = allocated.first()?;
    let is_asked = |l: &Allocated| l.address.split('/').next() == Some(&asked.to_string());
    let owner = [&*first.kind, &first.namespace, &first.name].into_iter().filter(|part| !part.is_empty());
    let owner = owner.collect::<Vec<_>>().join("/");
    let why = || format!("{owner}: it holds {} already, so it cannot get {asked}", first.address);
    (!allocated.iter().any(is_asked)).then(|| Failure::finding(why()))
}

fn print(
    context: &Context<'_>,
    command: &Allocate,
    mut allocated: Vec<Allocated>,
) -> Result<ExitStatus, Failure> {
    allocated.sort_by(|a, b| (a.device.len(), a).cmp(&(b.device.len(), b)));
    let report = AllocationReport {
        api_version: API_VERSION,
        kind: "AllocationReport",
        allocated,
        released: Vec::new(),
    };
    context.printer.data(&output::allocation::render(&report, context.printer.look(), command.dry_run))?;
    Ok(ExitStatus::Fine)
}

/// Why nothing is given from a pool that another controller serves.
fn foreign(pool: &Pool) -> Failure {
    let failure =
        Failure::finding(format!("another controller gives out the addresses of pool {}", pool.name));
    failure.hint(match pool.origin {
        PoolOrigin::Object(systems::capi::NAME) => {
            "`serve-pools` in the configuration says which kinds of pools mipam serves; it serves none beside another controller"
        }
        _ => "`metal3: serve` in the configuration takes its pools over",
    })
}

/// What the ledger has for the owner from this pool; without one, which blocks.
fn held(sight: &Sight, owner: &Owner, parts: &[Pool]) -> Vec<Allocated> {
    let entries = sight.seen.ledger.allocations().values();
    let firm = entries.filter(|a| !matches!(a.standing, Standing::Cooling { .. } | Standing::Surplus));
    let within = |a: &Allocation, p: &Pool| a.slot.network == p.network && p.contains(a.slot.address);
    let of_pool = firm.filter(|a| match a.slot.block {
        Some(_) => parts.is_empty(),
        None => parts.iter().any(|p| within(a, p)),
    });
    let known = |h: &Holder| sight.survey.known.get(&h.owner).unwrap_or(h).owner.same(owner);
    let of_owner = of_pool.filter(|a| a.holders.iter().any(known));
    of_owner.flat_map(|a| pass::lines(a, sight)).collect()
}

fn owner(context: &Context<'_>, reference: &Reference) -> Result<Vec<ObjectRef>, Failure> {
    if reference.is_hold() {
        return Err(Failure::error("--for names an object of the cluster").hint("for a hold use --name"));
    }
    context.targets(reference, &systems::owners())
}

/// The claim of an object, and whether it gets its addresses by way of others.
fn for_object(sight: &Sight, targets: Vec<ObjectRef>, scene: &Scene<'_>) -> Result<(Claim, bool), Failure> {
    let target = context::only(targets, |t| sight.seen.observed.find(t).is_some())?;
    let object = sight.seen.observed.find(&target);
    let object = object.ok_or_else(|| Failure::error(format!("{target} does not exist")))?;
    let mut asked = systems::ALL.iter().filter_map(|s| s.ask(target.kind, object, scene));
    match asked.next() {
        Some(Ok(claim)) => Ok((claim, systems::ALL.iter().any(|s| s.by_claims(target.kind)))),
        Some(Err(why)) => Err(Failure::finding(format!("{target} cannot be given an address: {why}"))),
        None => Err(Failure::error(format!("mipam gives no addresses to {}", target.kind.resource()))),
    }
}

fn hold(command: &Allocate) -> Claim {
    let unnamed = || command.address.map(|a| a.to_string()).unwrap_or_default();
    let owner = Owner::hold(&command.name.clone().unwrap_or_else(unnamed));
    let device = |i: u32| Wish {
        device: i.to_string().into(),
        pools: PoolChoice::Named(Vec::new()),
        asks: None,
        one: false,
    };
    Claim {
        owner,
        wishes: (0..command.count.unwrap_or(1)).map(device).collect(),
        presets: Vec::new(),
        gate: Gate::Asked,
        stands_for: None,
    }
}

/// The claim with the pool that was named in place of the others of its family, on the devices that the pool
/// serves.
fn narrowed(mut claim: Claim, parts: &[Pool], pools: &[Pool], command: &Allocate) -> Result<Claim, Failure> {
    let mut asks = command.address;
    let mut contrary = None;
    let mut served = claim.wishes.is_empty();
    let mut elsewhere: BTreeSet<Arc<str>> = BTreeSet::new();
    let names: Vec<Arc<str>> = parts.iter().map(|p| p.name.clone()).collect();
    claim.wishes.retain_mut(|wish| {
        let mut names = names.clone();
        match &wish.pools {
            PoolChoice::Matching(subject) => {
                let fits = |p: &&Pool| subject.fits(p);
                if !parts.iter().any(|p| fits(&p)) {
                    return true;
                }
                let others = pools.iter().filter(|p| parts.iter().all(|own| own.family != p.family));
                names.extend(others.filter(fits).map(|p| p.name.clone()));
            }
            PoolChoice::Named(own) if own.is_empty() => {}
            // It names its pools itself.
            PoolChoice::Named(own) => {
                names.retain(|name| own.contains(name));
                if names.is_empty() {
                    elsewhere.extend(own.iter().cloned());
                    return false;
                }
            }
            PoolChoice::Blocks(_) => {}
        }
        served = true;
        wish.pools = PoolChoice::Named(names);
        let other = asks.and_then(|asked| wish.asks.filter(|own| *own != asked));
        contrary = contrary.or(other);
        wish.asks = asks.take().or(wish.asks);
        true
    });
    if let (Some(own), Some(asked)) = (contrary, command.address) {
        return Err(Failure::finding(format!("{} is to have {own}, so it cannot get {asked}", claim.owner)));
    }
    if served {
        return Ok(claim);
    }
    let pool = &command.pool;
    Err(Failure::finding(if elsewhere.is_empty() {
        format!("pool {pool} serves no device of {} (see its `match`)", claim.owner)
    } else {
        let elsewhere = elsewhere.into_iter().collect::<Vec<_>>().join(" or ");
        format!("{} takes its address from pool {elsewhere}", claim.owner)
    }))
}

/// Leaves to an object that gets its addresses by way of claims only those that were asked for.
fn narrow(survey: &mut Survey, asked: &Claim) {
    let wish = |owner: &Owner, device: &str| {
        let own = owner.same(&asked.owner).then_some(&asked.wishes);
        own.into_iter().flatten().find(|w| *w.device == *device).cloned()
    };
    survey.claims.retain_mut(|claim| {
        if !claim.whose().same(&asked.owner) {
            return true;
        }
        let wished = wish(claim.whose(), claim.device("")).map(|w| Wish { device: "".into(), ..w });
        claim.wishes = wished.into_iter().collect();
        claim.gate = Gate::Asked;
        !claim.wishes.is_empty()
    });
    survey.openings.retain_mut(|opening| {
        let pools = wish(&opening.owner, &opening.device).map(|w| w.pools);
        let serves = |site: &Site| {
            let mut own = site.claim.wishes.iter().flat_map(|w| w.pools.names());
            pools.as_ref().is_some_and(|p| own.any(|name| p.names().contains(name)))
        };
        opening.sites.retain(serves);
        !opening.sites.is_empty()
    });
}
