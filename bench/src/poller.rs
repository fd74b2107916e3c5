//! A thin wrapper of epoll: register by number, wait for numbers.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};

const EVENTS_AT_ONCE: usize = 1_024;

pub struct Poller {
    epoll: OwnedFd,
    events: Vec<epoll::Event>,
}

/// One source that is ready; an error or a hang-up shows as readable, so that the read finds it.
#[derive(Clone, Copy)]
pub struct Ready {
    pub key: u64,
    pub readable: bool,
    pub writable: bool,
}

impl Poller {
    pub fn new() -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        Ok(Self { epoll, events: Vec::with_capacity(EVENTS_AT_ONCE) })
    }

    pub fn add(&self, source: impl AsFd, key: u64) -> io::Result<()> {
        Ok(epoll::add(&self.epoll, source, epoll::EventData::new_u64(key), epoll::EventFlags::IN)?)
    }

    /// Also wait for room to write, or stop waiting for it.
    pub fn want_write(&self, source: impl AsFd, key: u64, wanted: bool) -> io::Result<()> {
        let mut flags = epoll::EventFlags::IN;
        flags.set(epoll::EventFlags::OUT, wanted);
        Ok(epoll::modify(&self.epoll, source, epoll::EventData::new_u64(key), flags)?)
    }

    pub fn remove(&self, source: impl AsFd) {
        // Failing means that it was not registered.
        let _ = epoll::delete(&self.epoll, source);
    }

    /// Waits at most `timeout` (forever when none is given) and appends what is ready.
    pub fn wait(&mut self, timeout: Option<Duration>, ready: &mut Vec<Ready>) -> io::Result<()> {
        let timeout =
            timeout.map(|t| Timespec { tv_sec: t.as_secs().cast_signed(), tv_nsec: i64::from(t.subsec_nanos()) });
        self.events.clear();
        match epoll::wait(&self.epoll, spare_capacity(&mut self.events), timeout.as_ref()) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        ready.extend(self.events.iter().map(|event| {
            let (flags, data) = (event.flags, event.data);
            Ready {
                key: data.u64(),
                readable: flags.intersects(epoll::EventFlags::IN | epoll::EventFlags::HUP | epoll::EventFlags::ERR),
                writable: flags.contains(epoll::EventFlags::OUT),
            }
        }));
        Ok(())
    }
}
