//! How a connection shows that it is alive: pings at a steady pace, and an end when nothing comes back.

use folkmoot_core::Millis;

use crate::door::Step;

const GOING_AWAY: u16 = 1001;

pub struct Heartbeat {
    last_sign_of_life: Millis,
    next_ping: Millis,
    interval: Millis,
    timeout: Millis,
}

impl Heartbeat {
    pub fn new(now: Millis, interval: Millis, timeout: Millis) -> Self {
        Self { last_sign_of_life: now, next_ping: now + interval, interval, timeout }
    }

    /// Something arrived.
    pub fn alive(&mut self, now: Millis) {
        self.last_sign_of_life = now;
    }

    pub fn on_deadline(&mut self, now: Millis) -> Vec<Step> {
        if now - self.last_sign_of_life >= self.timeout {
            return vec![Step::Close { code: GOING_AWAY, reason: "no pong" }];
        }
        if now >= self.next_ping {
            self.next_ping = now + self.interval;
            return vec![Step::Ping];
        }
        Vec::new()
    }

    pub fn deadline(&self) -> Millis {
        self.next_ping.min(self.last_sign_of_life + self.timeout)
    }
}
