//! Ranges of one network that share an address: found by one sort and one sweep.

use super::findings::{Finding, Findings, Path};
use crate::addr::{Family, Span};
use crate::model::Network;

/// A range of a pool, in the order of the file.
pub(super) struct Piece {
    pub(super) network: Network,
    pub(super) pool: String,
    pub(super) span: Span,
    pub(super) at: Path,
}

/// Reports every range that overlaps one which begins before it.
pub(super) fn check(found: &mut Findings, pieces: &[Piece]) {
    let key = |i: usize| -> (&str, Family, u128, u128) {
        let (first, last) = pieces[i].span.bounds();
        (&pieces[i].network, pieces[i].span.family(), first, last)
    };
    let mut order: Vec<usize> = (0..pieces.len()).collect();
    order.sort_by(|a, b| key(*a).cmp(&key(*b)));
    // The range that reaches furthest so far: if it does not touch the next one, none does.
    let mut furthest: Option<usize> = None;
    for i in order {
        let Some(f) = furthest.filter(|f| pieces[*f].network == pieces[i].network) else {
            furthest = Some(i);
            continue;
        };
        if pieces[f].span.overlaps(&pieces[i].span) {
            found.error(overlap(&pieces[f.min(i)], &pieces[f.max(i)]));
        }
        if key(f).1 != key(i).1 || key(i).3 > key(f).3 {
            furthest = Some(i);
        }
    }
}

/// The error stands at the later of the two places and names the earlier one.
fn overlap(earlier: &Piece, later: &Piece) -> Finding {
    let message = format!("{} overlaps {}, which is {}", later.span, earlier.at.short(), earlier.span);
    let hint = if earlier.pool == later.pool {
        "an address may be in one range only: shorten or remove one of the two".to_owned()
    } else {
        format!(
            "an address may be in one pool only: change {:?} or {:?}; if they are separate networks that use \
             the same addresses, give each pool its own `network`",
            earlier.pool, later.pool
        )
    };
    Finding::new(&later.at, message).hint(hint).see(&earlier.at)
}
