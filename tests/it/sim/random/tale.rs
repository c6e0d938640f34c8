//! A failing world, told so that a person can follow it: what people did, and what each request of a run changed.

use crate::sim::check::{Machine, Mirror};
use mipam::cluster::sim::{Event, Verb};
use std::cell::RefCell;
use std::collections::BTreeSet;

thread_local! {
    static TALE: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
}

/// Begins to listen.
pub fn begin() {
    TALE.set(Some(Vec::new()));
}

/// What was told since.
pub fn end() -> String {
    TALE.take().unwrap_or_default().join("\n")
}

/// Costs nothing where nobody listens.
pub fn tell(line: impl FnOnce() -> String) {
    TALE.with_borrow_mut(|tale| {
        if let Some(lines) = tale {
            lines.push(line());
        }
    });
}

/// Tells what a change makes of the world.
pub fn tell_change(before: &Mirror, event: &Event) {
    if TALE.with_borrow(Option::is_none) {
        return;
    }
    let (object, kind) = (&event.object, event.kind.kind);
    let mut after = before.clone();
    after.apply(event);
    if object.name().starts_with("mipam-v") {
        let page = |world: &Mirror| world.pages.get(object.name()).cloned().unwrap_or_default();
        let (old, new) = (page(before), page(&after));
        let keys: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
        for key in keys {
            let text = |e: Option<&std::sync::Arc<crate::sim::check::Entry>>| {
                e.map_or("nothing".to_owned(), |e| {
                    let whose: Vec<String> =
                        e.holders.iter().map(|h| format!("{} ({})", h.name, h.uid)).collect();
                    let set = if e.set.is_empty() { String::new() } else { format!(" with {:?}", e.set) };
                    format!("{:?}{set} for {}", e.standing, whose.join(", "))
                })
            };
            let (was, is) = (text(old.get(key)), text(new.get(key)));
            if was != is {
                tell(|| format!("      {key}: {was} -> {is}"));
            }
        }
    } else if kind == "Machine" && event.verb != Verb::Deleted {
        let Machine { devices, gated, deleting, paused, .. } = &after.machines[object.uid()];
        tell(|| {
            let flag = |on: bool, what: &'static str| if on { what } else { "" };
            format!(
                "      {} ({}): {devices:?}{}{}{}",
                object.name(),
                object.uid(),
                flag(*gated, ", waits"),
                flag(*deleting, ", deleting"),
                flag(*paused, ", paused")
            )
        });
    } else {
        tell(|| format!("      {kind} {} ({}) {:?}", object.name(), object.uid(), event.verb));
    }
}
