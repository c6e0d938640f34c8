//! A cluster that fails on purpose at one request.

use mipam::cluster::{Answer, Cluster, ClusterError, Traffic};
use mipam::model::{Feed, Kind, Listed, Object, ObjectRef};
use std::cell::Cell;

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The process dies before the request is sent.
    CrashBefore,
    /// The process dies after the server has done it.
    CrashAfter,
    /// The server does it, and the answer is lost.
    LostAnswer,
    /// The request is lost.
    LostRequest,
    /// 409, though nothing was wrong.
    Conflict,
    /// 429.
    TooMany,
    /// 500.
    Broken,
    /// Another mipam does a whole pass first.
    SecondRun,
}

impl Fault {
    pub const ALL: [Self; 8] = [
        Self::CrashBefore,
        Self::CrashAfter,
        Self::LostAnswer,
        Self::LostRequest,
        Self::Conflict,
        Self::TooMany,
        Self::Broken,
        Self::SecondRun,
    ];
}

/// Fails at request `at`, counted from 0, and passes all others on.
pub struct Faulty<'a> {
    pub inner: &'a dyn Cluster,
    pub at: usize,
    pub fault: Option<Fault>,
    /// Does a whole pass of another process.
    pub other: &'a dyn Fn() -> Answer<'a, ()>,
    /// Called after every write.
    pub wrote: &'a dyn Fn(),
    pub requests: Cell<usize>,
    pub crashed: Cell<bool>,
}

impl<'a> Faulty<'a> {
    pub fn new(
        inner: &'a dyn Cluster,
        at: usize,
        fault: Option<Fault>,
        other: &'a dyn Fn() -> Answer<'a, ()>,
        wrote: &'a dyn Fn(),
    ) -> Self {
        Self { inner, at, fault, other, wrote, requests: Cell::new(0), crashed: Cell::new(false) }
    }

    async fn die<T>(&self) -> T {
        self.crashed.set(true);
        std::future::pending().await
    }

    async fn request<T>(&self, writes: bool, call: impl Fn() -> Answer<'a, T>) -> Result<T, ClusterError> {
        let number = self.requests.get();
        self.requests.set(number + 1);
        let lost =
            |why: &str| ClusterError::Transient { what: "request".into(), why: why.into(), after: None };
        let done = async || {
            let answer = call().await;
            if writes {
                (self.wrote)();
            }
            answer
        };
        match self.fault.filter(|_| number == self.at) {
            None => done().await,
            Some(Fault::CrashBefore) => self.die().await,
            Some(Fault::CrashAfter) => {
                let _ = done().await;
                self.die().await
            }
            Some(Fault::LostAnswer) => {
                let _ = done().await;
                Err(lost("no answer"))
            }
            Some(Fault::LostRequest) => Err(lost("no connection")),
            Some(Fault::Conflict) if writes => Err(ClusterError::Conflict("it".into())),
            Some(Fault::Conflict) => done().await,
            Some(Fault::TooMany) => Err(lost("429")),
            Some(Fault::Broken) => Err(lost("500")),
            Some(Fault::SecondRun) => {
                (self.other)().await?;
                done().await
            }
        }
    }
}

impl<'a> Cluster for Faulty<'a> {
    fn served<'b>(&'b self, kinds: &'b [Kind]) -> Answer<'b, Vec<Kind>> {
        let kinds = kinds.to_vec();
        Box::pin(self.request(false, move || {
            let kinds = kinds.clone();
            let inner = self.inner;
            Box::pin(async move { inner.served(&kinds).await })
        }))
    }

    fn list(&self, feed: Feed) -> Answer<'_, Vec<Listed>> {
        Box::pin(self.request(false, move || self.inner.list(feed)))
    }

    fn get<'b>(&'b self, target: &'b ObjectRef) -> Answer<'b, Object> {
        let target = target.clone();
        Box::pin(self.request(false, move || {
            let (inner, target) = (self.inner, target.clone());
            Box::pin(async move { inner.get(&target).await })
        }))
    }

    fn create<'b>(&'b self, kind: Kind, object: &'b Object) -> Answer<'b, Object> {
        let object = object.clone();
        Box::pin(self.request(true, move || {
            let (inner, object) = (self.inner, object.clone());
            Box::pin(async move { inner.create(kind, &object).await })
        }))
    }

    fn replace<'b>(&'b self, kind: Kind, object: &'b Object) -> Answer<'b, Object> {
        let object = object.clone();
        Box::pin(self.request(true, move || {
            let (inner, object) = (self.inner, object.clone());
            Box::pin(async move { inner.replace(kind, &object).await })
        }))
    }

    fn replace_status<'b>(&'b self, kind: Kind, object: &'b Object) -> Answer<'b, Object> {
        let object = object.clone();
        Box::pin(self.request(true, move || {
            let (inner, object) = (self.inner, object.clone());
            Box::pin(async move { Cluster::replace_status(inner, kind, &object).await })
        }))
    }

    fn delete<'b>(&'b self, target: &'b ObjectRef, uid: &'b str) -> Answer<'b, Option<Object>> {
        let (target, uid) = (target.clone(), uid.to_owned());
        Box::pin(self.request(true, move || {
            let (inner, target, uid) = (self.inner, target.clone(), uid.clone());
            Box::pin(async move { Cluster::delete(inner, &target, &uid).await })
        }))
    }

    fn settle(&self) -> Answer<'_, ()> {
        self.inner.settle()
    }

    fn traffic(&self) -> &Traffic {
        self.inner.traffic()
    }
}
