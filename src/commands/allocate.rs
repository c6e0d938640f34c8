//! `mipam allocate`: an address for a named object, or held under a name.

mod blocks;

use super::context::{self, Context};
use super::{ExitStatus, Failure};
use crate::cli::{Allocate, Reference};
use crate::cluster::dir::Mode;
use crate::model::{
    API_VERSION, Allocated, AllocationReport, Claim, Gate, ObjectRef, Owner, Pool, PoolChoice, PoolOrigin,
    Standing, Wish,
};
use crate::output;
use crate::pass::{self, Outcome, Sight};
use crate::systems::{self, Scene};
use std::cell::RefCell;
use std::sync::Arc;

pub(super) async fn run(context: &Context<'_>, command: &Allocate) -> Result<ExitStatus, Failure> {
    let config = context.config_with(&command.ranges)?;
    let targets = command.owner.as_ref().map(|r| owner(context, r)).transpose()?;
    let mode = if command.dry_run { Mode::ReadOnly } else { Mode::InPlace };
    let cluster = context.cluster(mode).await?;
    let bar = context.bar();
    let mut pass = context.pass(&*cluster, &config, &bar)?;
    pass.dry_run = command.dry_run;
    pass.scope = crate::plan::Scope::default();

    // A hold in a configured pool needs no look of its own: the pass has one.
    let configured = targets.is_none() && config.pools.iter().any(|p| *p.name == *command.pool);
    let sight = if configured { None } else { Some(pass.look().await?) };
    let pools = sight.as_ref().map_or(&config.pools[..], |s| &s.pools);
    let pool = pools.iter().find(|p| *p.name == *command.pool).cloned();
    if let Some(sight) = &sight {
        context::any_pool(sight, &command.pool)?;
        if let Some(had) = targets.as_ref().and_then(|t| blocks::shown(sight, t, &command.pool)) {
            return print(context, command, had);
        }
    }
    if let Some(pool) = pool.as_ref().filter(|p| p.foreign) {
        return Err(foreign(pool));
    }
    let claim = match (targets, &sight) {
        (Some(targets), Some(sight)) => for_object(sight, targets, &sight.scene(&config, pass.now))?,
        _ => hold(command),
    };
    pass.scope.only = Some(claim.whose().clone());
    let pool = pool.filter(|_| !claim.wants_blocks());
    let claim = match &pool {
        Some(pool) => narrowed(claim, pool, pools, command)?,
        None => blocks::narrowed(claim, command)?,
    };
    drop(sight);
    let had = RefCell::new(Vec::new());
    let outcome = pass
        .run(&|sight: &mut Sight| {
            sight.survey.claims.retain(|c| !c.owner.same(&claim.owner));
            sight.survey.claims.push(claim.clone());
            *had.borrow_mut() = held(sight, &claim.owner, pool.as_ref());
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
    let other = command
        .address
        .filter(|a| !allocated.iter().any(|l| l.address.split('/').next() == Some(&a.to_string())));
    if let (Some(asked), Some(first)) = (other, allocated.first()) {
        return Err(Failure::finding(format!(
            "it holds {} already, so it cannot get {asked}",
            first.address
        )));
    }
    if allocated.is_empty() {
        return Err(Failure::finding(
            "its devices have addresses already, and the ledger has none of this pool for it; reconcile records those of machines that it serves",
        ));
    }
    print(context, command, allocated)
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

/// What the ledger has for the owner from this pool; `None`: which blocks.
fn held(sight: &Sight, owner: &Owner, pool: Option<&Pool>) -> Vec<Allocated> {
    let entries = sight.seen.ledger.allocations().values();
    let firm = entries.filter(|a| !matches!(a.standing, Standing::Cooling { .. } | Standing::Surplus));
    let of_pool = firm.filter(|a| match pool {
        None => a.slot.block.is_some(),
        Some(pool) => {
            a.slot.block.is_none() && a.slot.network == pool.network && pool.contains(a.slot.address)
        }
    });
    let of_owner = of_pool.filter(|a| a.holders.iter().any(|h| h.owner.same(owner)));
    of_owner.flat_map(|a| pass::lines(a, sight)).collect()
}

fn owner(context: &Context<'_>, reference: &Reference) -> Result<Vec<ObjectRef>, Failure> {
    if reference.is_hold() {
        return Err(Failure::error("--for names an object of the cluster").hint("for a hold use --name"));
    }
    context.targets(reference, &systems::owners())
}

fn for_object(sight: &Sight, targets: Vec<ObjectRef>, scene: &Scene<'_>) -> Result<Claim, Failure> {
    let target = context::only(targets, |t| sight.seen.observed.find(t).is_some())?;
    let object = sight.seen.observed.find(&target);
    let object = object.ok_or_else(|| Failure::error(format!("{target} does not exist")))?;
    let mut asked = systems::ALL.iter().filter_map(|s| s.ask(target.kind, object, scene));
    match asked.next() {
        Some(Ok(claim)) => Ok(claim),
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
fn narrowed(mut claim: Claim, pool: &Pool, pools: &[Pool], command: &Allocate) -> Result<Claim, Failure> {
    let mut asks = command.address;
    let mut served = claim.wishes.is_empty();
    for wish in &mut claim.wishes {
        let mut names: Vec<Arc<str>> = vec![pool.name.clone()];
        match &wish.pools {
            PoolChoice::Matching(subject) => {
                if !subject.fits(pool) {
                    continue;
                }
                let others = pools.iter().filter(|p| p.family != pool.family && subject.fits(p));
                names.extend(others.map(|p| p.name.clone()));
            }
            // It names its pool itself.
            PoolChoice::Named(own) if !own.is_empty() && !own.contains(&pool.name) => {
                let failure = format!("{} takes its address from pool {}", claim.owner, own.join(" or "));
                return Err(Failure::finding(failure));
            }
            PoolChoice::Named(_) | PoolChoice::Blocks(_) => {}
        }
        served = true;
        wish.pools = PoolChoice::Named(names);
        wish.asks = asks.take().or(wish.asks);
    }
    if served {
        return Ok(claim);
    }
    Err(Failure::finding(format!("pool {} serves no device of {} (see its `match`)", pool.name, claim.owner)))
}
