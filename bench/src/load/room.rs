//! The books of one room: what was sent, acknowledged and delivered, and how long it took.

use std::collections::VecDeque;
use std::time::Instant;

pub struct Room {
    pub id: String,
    /// The connection that sends.
    pub sender: usize,
    /// Connections that get each message; the sender's is one of them.
    pub members: u64,
    pub sent: u64,
    pub acked: u64,
    pub delivered: u64,
    unacked: VecDeque<Instant>,
    undelivered: VecDeque<Instant>,
}

impl Room {
    pub fn new(id: String) -> Self {
        Self {
            id,
            sender: usize::MAX,
            members: 0,
            sent: 0,
            acked: 0,
            delivered: 0,
            unacked: VecDeque::new(),
            undelivered: VecDeque::new(),
        }
    }

    pub fn seat(&mut self, connection: usize) {
        if self.members == 0 {
            self.sender = connection;
        }
        self.members += 1;
    }

    /// Forgets the last drive.
    pub fn start(&mut self) {
        self.sent = 0;
        self.acked = 0;
        self.delivered = 0;
        self.unacked.clear();
        self.undelivered.clear();
    }

    pub fn on_sent(&mut self, now: Instant, with_ack: bool) {
        self.sent += 1;
        if with_ack {
            self.unacked.push_back(now);
        }
        self.undelivered.push_back(now);
    }

    /// Acknowledgements of one connection come in the order of its sends. Gives the nanoseconds it took.
    pub fn on_ack(&mut self, now: Instant) -> Option<u64> {
        self.acked += 1;
        self.unacked.pop_front().map(|sent| nanos(now, sent))
    }

    /// Gives the nanoseconds of a message when this was its last delivery: everybody in the room sees the
    /// same order, so the count of deliveries says which message is complete.
    pub fn on_delivery(&mut self, now: Instant) -> Option<u64> {
        self.delivered += 1;
        if !self.delivered.is_multiple_of(self.members) {
            return None;
        }
        self.undelivered.pop_front().map(|sent| nanos(now, sent))
    }

    /// Messages sent that are not yet acknowledged and delivered.
    pub fn in_flight(&self, with_ack: bool) -> u64 {
        let delivered = self.delivered / self.members.max(1);
        let done = if with_ack { delivered.min(self.acked) } else { delivered };
        self.sent.saturating_sub(done)
    }

    pub fn expected(&self) -> u64 {
        self.sent * self.members
    }
}

fn nanos(now: Instant, since: Instant) -> u64 {
    u64::try_from(now.saturating_duration_since(since).as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room_of(members: usize) -> Room {
        let mut room = Room::new("r".to_owned());
        (0..members).for_each(|connection| room.seat(connection));
        room
    }

    #[test]
    fn message_is_in_flight_until_acknowledged_and_delivered_to_all() {
        let (mut room, now) = (room_of(3), Instant::now());
        room.on_sent(now, true);
        assert_eq!(room.in_flight(true), 1);
        (0..3).for_each(|_| assert!(room.on_delivery(now).is_none_or(|nanos| nanos == 0)));
        assert_eq!(room.in_flight(true), 1, "not acknowledged");
        assert_eq!(room.in_flight(false), 0, "a bare server never acknowledges");
        room.on_ack(now);
        assert_eq!(room.in_flight(true), 0);
    }

    #[test]
    fn latency_of_a_delivery_is_that_of_the_last_connection() {
        let (mut room, now) = (room_of(2), Instant::now());
        room.on_sent(now, false);
        assert_eq!(room.on_delivery(now), None);
        let later = now + std::time::Duration::from_micros(5);
        assert_eq!(room.on_delivery(later), Some(5_000));
    }

    #[test]
    fn first_connection_of_a_room_sends() {
        let mut room = Room::new("r".to_owned());
        room.seat(7);
        room.seat(8);
        assert_eq!((room.sender, room.members), (7, 2));
    }
}
