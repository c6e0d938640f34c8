//! `mipam allocate` for a pool of blocks: for a Node, or held under a name.

use super::Failure;
use crate::cli::Allocate;
use crate::model::{Allocated, Claim, ObjectRef, Owner, PoolChoice};
use crate::pass::Sight;
use std::sync::Arc;

/// The blocks that an object shows already, if they are of this pool: the answer is the same as the first time.
pub(super) fn shown(sight: &Sight, targets: &[ObjectRef], pool: &str) -> Option<Vec<Allocated>> {
    let pool = sight.survey.block_pools.iter().find(|p| *p.name == *pool)?;
    let named = |owner: &Owner| {
        let mut targets = targets.iter();
        targets
            .any(|t| *owner.kind == *t.kind.kind && *owner.group == *t.kind.group && *owner.name == *t.name)
    };
    let own = sight.survey.taken.iter().filter_map(|t| Some((t, t.owner().filter(|o| named(o))?)));
    let lines = own.map(|(taken, owner)| {
        let of_pool = pool.parts.iter().any(|part| part.range.covers(&taken.span));
        let (address, prefix) = taken.block();
        of_pool.then(|| Allocated::of(owner, "", &pool.name, address, Some(prefix), ""))
    });
    lines.collect::<Option<Vec<_>>>().filter(|lines| !lines.is_empty())
}

/// The claim with the pool that was named as its only one.
pub(super) fn narrowed(mut claim: Claim, command: &Allocate) -> Result<Claim, Failure> {
    let name: Arc<str> = command.pool.as_str().into();
    if !claim.owner.is_hold() && !claim.wants_blocks() {
        let failure = format!("ClusterCIDR {name} gives blocks to Nodes, not addresses to {}", claim.owner);
        return Err(Failure::finding(failure));
    }
    for wish in &mut claim.wishes {
        if let PoolChoice::Blocks(names) = &wish.pools
            && !names.contains(&name)
        {
            let failure = format!("ClusterCIDR {name} is not for {}: its labels do not match", claim.owner);
            return Err(Failure::finding(failure));
        }
        wish.pools = PoolChoice::Blocks([name.clone()].into());
        wish.asks = command.address;
    }
    Ok(claim)
}
