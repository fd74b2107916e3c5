//! A TCP proxy on loopback that can do to a connection what networks do: cut it, swallow what is sent, or take its time.
//!
//! Nothing is lost on a connection that lives: what a black hole holds back arrives once it is [healed](Proxy::heal), as TCP sends
//! again what was not acknowledged. What has to be lost is lost with its connection, by [`Proxy::cut`].

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Pieces on their way in one direction before the sender has to wait.
const PIECES: usize = 64;
const PIECE_BYTES: usize = 16 * 1024;

/// Which way something goes: to the server, or back from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    ToServer,
    ToClient,
}

pub struct Proxy {
    shared: Arc<Shared>,
    port: u16,
}

struct Shared {
    network: Mutex<Network>,
    changed: Condvar,
}

struct Network {
    server: SocketAddr,
    is_cut: bool,
    is_over: bool,
    /// By [`Direction`].
    is_stalled: [bool; 2],
    delay: Duration,
    open: Vec<TcpStream>,
}

impl Proxy {
    /// A proxy to a port of this machine.
    pub fn to(port: u16) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let own = listener.local_addr().expect("an address").port();
        let server = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let network = Network {
            server,
            is_cut: false,
            is_over: false,
            is_stalled: [false; 2],
            delay: Duration::ZERO,
            open: Vec::new(),
        };
        let shared = Arc::new(Shared { network: Mutex::new(network), changed: Condvar::new() });
        let accepting = Arc::clone(&shared);
        thread::spawn(move || accept(&listener, &accepting));
        Self { shared, port: own }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Ends all connections, and every new one at once.
    pub fn cut(&self) {
        self.shared.change(|network| {
            network.is_cut = true;
            network.end_connections();
        });
    }

    /// Ends all connections; new ones are fine.
    pub fn cut_once(&self) {
        self.shared.change(Network::end_connections);
    }

    /// Lets nothing through, and says nothing.
    pub fn black_hole(&self) {
        self.shared.change(|network| network.is_stalled = [true; 2]);
    }

    /// Lets nothing through in one direction, and says nothing.
    pub fn stall(&self, direction: Direction) {
        self.shared.change(|network| network.is_stalled[direction as usize] = true);
    }

    /// Everything takes so much longer, each way.
    pub fn delay(&self, by: Duration) {
        self.shared.change(|network| network.delay = by);
    }

    /// The network is well again: what was held back arrives, new connections are made.
    pub fn heal(&self) {
        self.shared.change(|network| {
            network.is_cut = false;
            network.is_stalled = [false; 2];
            network.delay = Duration::ZERO;
        });
    }

    /// From now on new connections lead to another port: what a server has that came back elsewhere.
    pub fn lead_to(&self, port: u16) {
        self.shared.change(|network| network.server.set_port(port));
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.change(|network| {
            network.is_over = true;
            network.end_connections();
        });
        // The thread that accepts wakes up, sees that it is over, and goes.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
    }
}

impl Network {
    fn end_connections(&mut self) {
        for stream in self.open.drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

impl Shared {
    fn network(&self) -> MutexGuard<'_, Network> {
        self.network.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, how: impl FnOnce(&mut Network)) {
        how(&mut self.network());
        self.changed.notify_all();
    }

    /// Waits while the direction is stalled; false when the proxy is over.
    fn may_pass(&self, direction: Direction) -> bool {
        let stalled = |network: &mut Network| network.is_stalled[direction as usize] && !network.is_over;
        let network = self.changed.wait_while(self.network(), stalled).unwrap_or_else(PoisonError::into_inner);
        !network.is_over
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for client in listener.incoming().flatten() {
        let (server, is_cut, is_over) = {
            let network = shared.network();
            (network.server, network.is_cut, network.is_over)
        };
        if is_over {
            return;
        }
        if !is_cut && let Ok(server) = TcpStream::connect(server) {
            join(client, server, shared);
        }
    }
}

fn join(client: TcpStream, server: TcpStream, shared: &Arc<Shared>) {
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let mut network = shared.network();
    if network.is_cut {
        return;
    }
    for (from, to, direction) in [(&client, &server, Direction::ToServer), (&server, &client, Direction::ToClient)] {
        let (Ok(from), Ok(to)) = (from.try_clone(), to.try_clone()) else { return };
        let (sender, receiver) = sync_channel(PIECES);
        thread::spawn(move || take(from, &sender));
        let shared = Arc::clone(shared);
        thread::spawn(move || pass(to, &receiver, direction, &shared));
    }
    network.open.extend([client, server]);
}

type Piece = (Instant, Vec<u8>);

fn take(mut from: TcpStream, sender: &SyncSender<Piece>) {
    let mut bytes = vec![0; PIECE_BYTES];
    while let Ok(read @ 1..) = from.read(&mut bytes) {
        if sender.send((Instant::now(), bytes[..read].to_vec())).is_err() {
            break;
        }
    }
}

fn pass(mut to: TcpStream, receiver: &Receiver<Piece>, direction: Direction, shared: &Shared) {
    for (taken_at, piece) in receiver {
        let delay = shared.network().delay;
        thread::sleep((taken_at + delay).saturating_duration_since(Instant::now()));
        if !shared.may_pass(direction) || to.write_all(&piece).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}
