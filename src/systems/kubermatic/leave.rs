//! How machines are let go when mipam leaves: only those that are being deleted, unless a person insists.

use super::{KINDS, NAME, fault, gate};
use crate::model::{Action, Departure, Edit, Edited, Observed, Stay, Write};
use crate::systems::paused;

pub(super) fn departures(observed: &Observed) -> Vec<Departure> {
    let machines = KINDS.into_iter().flat_map(|kind| observed.all(kind).map(move |m| (kind, m)));
    let of = |(kind, machine): (crate::model::Kind, &crate::model::Object)| {
        let target = kind.at(machine.namespace(), machine.name());
        let waiting = (!machine.deleting())
            .then(|| Stay::Waiting("without its initializer it would be made without an address".to_owned()));
        let edit = Edit::new(|object| {
            if paused(object).is_some() {
                return Edited::Moot;
            }
            let mut edited = object.clone();
            gate::open(&mut edited);
            fault::clear(&mut edited);
            Edited::To(Box::new(edited))
        });
        Departure {
            system: NAME,
            mark: format!("initializer {}", gate::OURS),
            stays: paused(machine).map(Stay::Paused).or(waiting),
            writes: vec![Write {
                target: target.clone(),
                uid: machine.uid().to_owned(),
                action: Action::Update(edit),
            }],
            target,
        }
    };
    machines.filter(|(_, machine)| gate::closed(machine)).map(of).collect()
}
