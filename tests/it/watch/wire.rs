//! A wire between a process and the API server: it can be cut, and it can go silent, so that nothing fails and nothing
//! comes, on all connections or only on those that there are.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub struct Wire {
    port: u16,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    silent: AtomicBool,
    over: AtomicBool,
    /// How often all connections were forgotten.
    era: AtomicUsize,
    ends: Mutex<Vec<TcpStream>>,
}

impl Wire {
    /// Leads to a server on a port of this machine.
    pub fn to(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("its address").port();
        let shared = Arc::new(Shared::default());
        let of_wire = shared.clone();
        std::thread::spawn(move || {
            for near in listener.incoming().flatten() {
                if of_wire.over.load(Ordering::Relaxed) {
                    return;
                }
                let shared = of_wire.clone();
                std::thread::spawn(move || shared.join(near, server));
            }
        });
        Self { port, shared }
    }

    pub fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }

    /// Cuts all connections; how many there were.
    pub fn cut(&self) -> usize {
        let ends = std::mem::take(&mut *self.shared.ends.lock().expect("ends"));
        ends.iter().for_each(|end| drop(end.shutdown(Shutdown::Both)));
        ends.len() / 2
    }

    /// Never carries anything again on the connections that there are, and does not tell; new ones are well.
    pub fn forget(&self) {
        self.shared.era.fetch_add(1, Ordering::Relaxed);
    }

    /// Holds back all that is sent, or lets it go on.
    pub fn silence(&self, silent: bool) {
        self.shared.silent.store(silent, Ordering::Relaxed);
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
        self.silence(false);
        drop(TcpStream::connect(("127.0.0.1", self.port)));
        self.cut();
    }
}

impl Shared {
    fn wait(&self, era: usize) {
        let forgotten = || self.era.load(Ordering::Relaxed) != era && !self.over.load(Ordering::Relaxed);
        while self.silent.load(Ordering::Relaxed) || forgotten() {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn join(self: Arc<Self>, near: TcpStream, server: u16) {
        let era = self.era.load(Ordering::Relaxed);
        self.wait(era);
        let Ok(far) = TcpStream::connect(("127.0.0.1", server)) else { return };
        let copy = |end: &TcpStream| end.try_clone().expect("a socket");
        self.ends.lock().expect("ends").extend([copy(&near), copy(&far)]);
        let (back, there) = (self.clone(), (copy(&far), copy(&near)));
        std::thread::spawn(move || back.carry(there.0, there.1, era));
        self.carry(near, far, era);
    }

    fn carry(&self, mut from: TcpStream, mut to: TcpStream, era: usize) {
        let mut bytes = [0; 16 * 1024];
        while let Ok(count @ 1..) = from.read(&mut bytes) {
            self.wait(era);
            if to.write_all(&bytes[..count]).is_err() {
                break;
            }
        }
        let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
    }
}
