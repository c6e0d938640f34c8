//! What is to be done for virtual machines: claims that are missing, that have to be mended, and that may go.

use super::clean::{self, Fate};
use super::machine::{Machine, Place, Want, Whose, assign, is_ours, may_go};
use super::nad::Nads;
use super::network::{Entry, of_vmi};
use super::{CLAIM, FINALIZER, NAD, NAME, VM, VM_LABEL, VMI, claim, name};
use crate::model::{
    Chain, Chore, Kind, Object, ObjectRef, Observed, Owner, PendingLine, Problem, Reason, Survey, When,
};
use crate::systems::paused;
use std::collections::{BTreeMap, BTreeSet};

/// What the objects say.
pub(super) fn survey(observed: &Observed) -> Survey {
    let mut all = All {
        observed,
        nads: Nads::read(observed.all(NAD)),
        fates: BTreeMap::new(),
        by_owner: BTreeMap::new(),
        promised: BTreeSet::new(),
        wrong: BTreeMap::new(),
        survey: Survey::default(),
    };
    all.sort_claims();
    for vm in observed.all(VM) {
        all.machine(Machine::of_vm(vm, observed));
    }
    for machine in observed.all(VMI).filter_map(|vmi| Machine::of_vmi(vmi, observed)) {
        all.machine(machine);
    }
    all.list();
    all.survey
}

/// Where a claim is: its namespace and its name.
type At<'a> = (&'a str, &'a str);

struct All<'a> {
    observed: &'a Observed,
    nads: Nads,
    /// What becomes of claims because of their machines.
    fates: BTreeMap<At<'a>, Fate>,
    /// Claims by the uid of whom they belong to; by namespace and name where they say no uid.
    by_owner: BTreeMap<(String, String), Vec<&'a Object>>,
    /// Names that claims get which are yet to be made.
    promised: BTreeSet<(String, String)>,
    /// What is wrong with claims.
    wrong: BTreeMap<At<'a>, Vec<String>>,
    survey: Survey,
}

fn at(claim: &Object) -> At<'_> {
    (claim.namespace(), claim.name())
}

fn reference(claim: &Object) -> ObjectRef {
    CLAIM.at(claim.namespace(), claim.name())
}

impl<'a> All<'a> {
    fn sort_claims(&mut self) {
        for claim in self.observed.all(CLAIM) {
            let Some(whose) = Whose::of(claim) else {
                self.nameless(claim);
                continue;
            };
            let key = if whose.kind.is_some() {
                (String::new(), whose.uid.clone())
            } else {
                (claim.namespace().to_owned(), whose.name.clone())
            };
            self.by_owner.entry(key).or_default().push(claim);
            if !is_ours(claim) {
                continue;
            }
            let fate = clean::fate(claim, &whose, self.observed);
            match &fate {
                Fate::Stays => {}
                Fate::Lingers(why) => self.wrong.entry(at(claim)).or_default().push(why.clone()),
                Fate::Goes(chain) => {
                    let why = "nothing of its VM is left that could use it, so it goes";
                    self.wrong.entry(at(claim)).or_default().push(why.to_owned());
                    self.chore(Owner::of(NAME, CLAIM, claim), chain.clone());
                }
            }
            self.fates.insert(at(claim), fate);
        }
    }

    /// Nothing says which machine a claim is for.
    fn nameless(&mut self, claim: &'a Object) {
        if !claim.held_by(FINALIZER) {
            return;
        }
        let why = format!(
            "neither an owner nor its label {VM_LABEL} says which VM it is for, so it is never let go: set the label, or take finalizer {FINALIZER} off"
        );
        self.survey.problems.push(Problem::new("Orphaned", &reference(claim), why.clone()));
        self.wrong.entry(at(claim)).or_default().push(why);
    }

    fn chore(&mut self, owner: std::sync::Arc<Owner>, writes: Chain) {
        if !writes.is_empty() {
            self.survey.chores.push(Chore { owner, writes, when: When::Before });
        }
    }

    /// All claims of a machine.
    fn claims_of(&self, machine: &Machine<'_>) -> Vec<&'a Object> {
        let parts = [machine.vm, machine.vmi].into_iter().flatten();
        let uids = parts.filter(|o| !o.uid().is_empty()).map(|o| (String::new(), o.uid().to_owned()));
        let named = machine.owner().map(|(_, o)| (o.namespace().to_owned(), o.name().to_owned()));
        let all = uids.chain(named).filter_map(|key| self.by_owner.get(&key)).flatten();
        all.copied().filter(|claim| machine.owns(claim)).collect()
    }

    fn machine(&mut self, machine: Machine<'a>) {
        let Some((kind, object)) = machine.owner().filter(|(_, o)| !o.deleting()) else { return };
        let owner = Owner::of(NAME, kind, object);
        let claims = self.claims_of(&machine);
        let (wants, unknown) = self.wants(&machine, &owner);
        if claims.is_empty() && wants.iter().all(|w| !w.make) {
            return;
        }
        if let Some(why) = paused(object) {
            self.survey.pending.push(PendingLine::of(&owner, "", "", Reason::Paused, why));
            return;
        }
        let (observed, namespace) = (self.observed, object.namespace());
        let places = assign(
            &machine,
            &wants,
            |name| observed.find(&CLAIM.at(namespace, name)),
            |name| self.promised.contains(&(namespace.to_owned(), name.to_owned())),
        );
        let goes = self.let_go(&machine, &claims, (&wants, &places), &unknown);
        for (want, place) in wants.iter().zip(&places) {
            match place {
                Place::Has(claim) => {
                    self.has(claim, &machine);
                    let plain = CLAIM.at(namespace, &name::plain(object.name(), &want.entry));
                    let by = observed.find(&plain).filter(|by| !machine.owns(by));
                    self.meets(by, (kind, object), &want.network);
                }
                Place::Gets { name, plain, taken } if want.make => {
                    let waits = |by: &Object| goes.contains(by.name()) || self.is_going(by);
                    let passes = plain.filter(|by| waits(by) || self.is_past(by, object));
                    self.gets(want, (name, passes, *plain, *taken), &owner, (kind, object));
                }
                Place::Gets { .. } => {}
            }
        }
    }

    /// The networks of a machine whose addresses are to persist, and those that cannot be told.
    fn wants(&mut self, machine: &Machine<'_>, owner: &Owner) -> (Vec<Want>, Vec<Entry>) {
        let (mut wants, mut unknown): (Vec<Want>, Vec<Entry>) = Default::default();
        let wanted = machine.wanted();
        let Some((kind, object)) = machine.owner() else { return (wants, unknown) };
        for entry in machine.named() {
            let now = wanted.contains(&entry);
            match self.nads.find(object.namespace(), &entry) {
                Ok(None) => {}
                Ok(Some(net)) => {
                    let make = net.persistent && now;
                    match wants.iter_mut().find(|w| w.entry == entry.name && w.network == net.name) {
                        Some(want) => want.make |= make,
                        None => wants.push(Want { entry: entry.name, network: net.name.clone(), make }),
                    }
                }
                Err(trouble) => {
                    if now {
                        self.survey.problems.push(trouble.problem());
                        let about = owner.reference(kind);
                        self.survey.notices.push(trouble.notice(about, object.uid()));
                    }
                    unknown.push(entry);
                }
            }
        }
        (wants, unknown)
    }

    /// Lets go of the claims that no network of a machine names any more; returns their names.
    fn let_go(
        &mut self,
        machine: &Machine<'_>,
        claims: &[&'a Object],
        (wants, places): (&[Want], &[Place<'_>]),
        unknown: &[Entry],
    ) -> BTreeSet<&'a str> {
        let has =
            |claim: &Object| places.iter().any(|p| matches!(p, Place::Has(c) if c.name() == claim.name()));
        let vm = machine.owner().map_or("", |(_, o)| o.name());
        let running = machine.vmi.map(of_vmi).unwrap_or_default();
        // What runs was started with the claim of that time, until the CNI has given another one's addresses to it.
        let moved = |entry: &Entry| {
            let mut of_entry = wants.iter().zip(places).filter(|(w, _)| w.entry == entry.name);
            of_entry.any(|(_, p)| matches!(p, Place::Has(c) if !c.array("/status/ips").is_empty()))
        };
        let mut goes = BTreeSet::new();
        for claim in claims.iter().copied().filter(|c| is_ours(c) && may_go(c) && !has(c)) {
            let network = claim.text("/spec/network").unwrap_or_default();
            let names = |e: &Entry| {
                claim.name() == name::plain(vm, &e.name) || claim.name() == name::hashed(vm, &e.name, network)
            };
            if unknown.iter().any(names) || running.iter().any(|e| names(e) && !moved(e)) {
                continue;
            }
            let why = "no network of its VM names it any more, so it goes";
            self.wrong.entry(at(claim)).or_default().push(why.to_owned());
            let chain = clean::unplugged(claim, machine);
            if !chain.is_empty() {
                goes.insert(claim.name());
            }
            self.chore(Owner::of(NAME, CLAIM, claim), chain);
        }
        goes
    }

    /// Is this claim let go because of its machine, as soon as this pass does it?
    fn is_going(&self, claim: &Object) -> bool {
        matches!(self.fates.get(&at(claim)), Some(Fate::Goes(chain)) if !chain.is_empty())
    }

    /// Is it of a machine that had the same name?
    fn is_past(&self, claim: &Object, machine: &Object) -> bool {
        let lingers = matches!(self.fates.get(&at(claim)), Some(Fate::Lingers(_)));
        lingers && Whose::of(claim).is_some_and(|w| w.name == machine.name())
    }

    /// A network that has its claim.
    fn has(&mut self, claim: &'a Object, machine: &Machine<'_>) {
        let about = reference(claim);
        let mut wrong = Vec::new();
        if claim.deleting() {
            let why = "somebody has deleted it while its VM lives: it is kept until the VM is gone";
            self.survey.problems.push(Problem::new(
                "Deleted",
                &about,
                format!("{why}; delete the VM if nobody needs it"),
            ));
            wrong.push(why.to_owned());
        }
        if let Some(why) = claim::refused(claim) {
            let message = format!("the CNI gives it no addresses: {why}");
            self.survey.problems.push(Problem::new("IPsNotAllocated", &about, message));
            wrong.push(why);
        }
        let owner = Owner::of(NAME, CLAIM, claim);
        match claim::mend(claim, machine) {
            Some(write) => self.chore(owner, vec![write]),
            None => self.survey.settled.push(owner),
        }
        if !wrong.is_empty() {
            self.wrong.entry(at(claim)).or_default().extend(wrong);
        }
    }

    /// A network that has none: its claim is made, unless it has to wait for the name, or somebody has that.
    fn gets(
        &mut self,
        want: &Want,
        (name, waits_for, plain, taken): (&str, Option<&Object>, Option<&Object>, Option<&Object>),
        owner: &std::sync::Arc<Owner>,
        machine: (Kind, &Object),
    ) {
        let target = CLAIM.at(&owner.namespace, name);
        let wait = |message| PendingLine::of(owner, &want.entry, "", Reason::Unreconciled, message);
        if let Some(by) = waits_for {
            let past = self.is_past(by, machine.1);
            // It runs with the claim of a VirtualMachine that is gone, and gets no other.
            if past && machine.0 == VMI {
                return;
            }
            if past {
                self.survey.problems.push(claim::taken(&reference(by), by, machine, &want.network));
            }
            let message = format!("{} is of a machine of before, and has to go first", reference(by));
            self.survey.pending.push(wait(message));
            return;
        }
        self.meets(plain, machine, &want.network);
        if let Some(by) = taken {
            self.survey.problems.push(claim::taken(&reference(by), by, machine, &want.network));
            self.survey.pending.push(wait(format!("{} is in the way", reference(by))));
            return;
        }
        self.survey.pending.push(wait(format!("the next reconcile makes {target} for it")));
        self.promised.insert((target.namespace.clone(), target.name.clone()));
        self.chore(owner.clone(), vec![claim::make(machine, name, &want.network)]);
    }

    /// Says who has the name that a claim should have had. Where both machines live and only the names meet, each has
    /// its own, and nobody need know.
    fn meets(&mut self, by: Option<&Object>, machine: (Kind, &Object), network: &str) {
        let by = by.filter(|by| !matches!(self.fates.get(&at(by)), Some(Fate::Stays | Fate::Goes(_))));
        self.survey.problems.extend(by.map(|by| claim::taken(&reference(by), by, machine, network)));
    }

    /// Lists all claims of virtual machines.
    fn list(&mut self) {
        let ours = self.observed.all(CLAIM).filter(|c| is_ours(c));
        let nothing = Vec::new();
        let line = |claim| claim::line(claim, self.wrong.get(&at(claim)).unwrap_or(&nothing));
        self.survey.listed = ours.map(line).collect();
    }
}
