//! What has arrived so far, over all connections.

use std::collections::BTreeMap;
use std::time::Instant;

use crate::dialect::{Dialect, Meaning, lark_type};
use crate::frame::{self, Frame};
use crate::load::connection::{Connection, State};
use crate::load::room::Room;

#[derive(Default)]
pub struct Books {
    pub rooms: Vec<Room>,
    /// Rooms that may send again.
    pub touched: Vec<usize>,
    pub frames: u64,
    pub ready: usize,
    pub delivery_bytes: u64,
    pub ack_nanos: Vec<u64>,
    pub delivery_nanos: Vec<u64>,
    pub others: BTreeMap<String, u64>,
    pub refusal: Option<String>,
}

impl Books {
    /// Forgets the last drive; connections and rooms stay.
    pub fn start(&mut self) {
        self.rooms.iter_mut().for_each(Room::start);
        self.touched.clear();
        self.delivery_bytes = 0;
        self.ack_nanos.clear();
        self.delivery_nanos.clear();
        self.others.clear();
    }

    pub fn on_frame(
        &mut self,
        dialect: Dialect,
        connection: &mut Connection,
        index: usize,
        now: Instant,
        frame: &Frame<'_>,
    ) {
        self.frames += 1;
        match frame.opcode {
            frame::PING => connection.queue(frame::PONG, frame.payload),
            frame::CLOSE => {
                let reason = frame.payload.get(2..).unwrap_or_default();
                self.refuse(format!("closed by the server: {}", String::from_utf8_lossy(reason)));
            }
            frame::TEXT => self.on_text(dialect, connection, index, now, frame.payload),
            _ => {}
        }
    }

    fn on_text(&mut self, dialect: Dialect, connection: &mut Connection, index: usize, now: Instant, payload: &[u8]) {
        let seat = connection.seat;
        let room = &mut self.rooms[seat.room];
        match dialect.meaning(payload) {
            Meaning::Delivery => {
                self.delivery_bytes += payload.len() as u64;
                if let Some(nanos) = room.on_delivery(now) {
                    self.delivery_nanos.push(nanos);
                    self.touched.push(seat.room);
                }
            }
            Meaning::Ack if room.sender == index => {
                self.ack_nanos.extend(room.on_ack(now));
                self.touched.push(seat.room);
            }
            Meaning::Ready if connection.state != State::Ready => {
                connection.state = State::Ready;
                self.ready += 1;
            }
            Meaning::Greeting(step) => {
                connection.queue(frame::TEXT, dialect.step(step, &room.id).as_bytes());
            }
            Meaning::Heartbeat => connection.queue(frame::TEXT, dialect.heartbeat()),
            Meaning::Refusal => self.refuse(String::from_utf8_lossy(payload).into_owned()),
            Meaning::Ack | Meaning::Ready | Meaning::Other => self.count_other(payload),
        }
    }

    fn count_other(&mut self, payload: &[u8]) {
        let name = lark_type(payload);
        // Looked up by borrowed text: a login storm brings presence by the million.
        match std::str::from_utf8(name).ok().and_then(|name| self.others.get_mut(name)) {
            Some(count) => *count += 1,
            None => drop(self.others.insert(String::from_utf8_lossy(name).into_owned(), 1)),
        }
    }

    /// Keeps the first refusal: later ones are mostly its consequences.
    pub fn refuse(&mut self, reason: String) {
        self.refusal.get_or_insert(reason);
    }
}
