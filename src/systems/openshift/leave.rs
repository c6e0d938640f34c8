//! How machines are let go when mipam leaves: without our hooks, with the addresses that they have.

use super::hooks::{self, Marks};
use super::{MACHINE, NAME, machine};
use crate::config::Config;
use crate::model::{Action, Departure, Edit, Edited, Observed, Stay, Write};

pub(super) fn departures(observed: &Observed, config: &Config) -> Vec<Departure> {
    let Some(hook) = &config.lifecycle_hook else { return Vec::new() };
    let ours = |m: &&_| Marks::of(m, Some(hook)).ours();
    let of = |machine: &crate::model::Object| {
        let marks = Marks::of(machine, Some(hook));
        let waiting = (marks.gate && !machine.deleting())
            .then(|| Stay::Waiting("without its hook it would be made without an address".to_owned()));
        let (target, hook) = (MACHINE.at(machine.namespace(), machine.name()), hook.clone());
        let mark = format!("hook {} of {}", hook.name, hook.owner);
        let edit = Edit::new(move |object| {
            if machine::paused(object).is_some() {
                return Edited::Moot;
            }
            if !Marks::of(object, Some(&hook)).ours() {
                return Edited::Already;
            }
            let mut edited = object.clone();
            hooks::clear(&mut edited, &hook);
            Edited::To(Box::new(edited))
        });
        Departure {
            system: NAME,
            mark,
            stays: machine::paused(machine).map(Stay::Paused).or(waiting),
            writes: vec![Write {
                target: target.clone(),
                uid: machine.uid().to_owned(),
                action: Action::Update(edit),
            }],
            target,
        }
    };
    observed.all(MACHINE).filter(ours).map(of).collect()
}
