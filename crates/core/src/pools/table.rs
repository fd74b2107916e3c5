//! Which agent holds which place: one holder per place, one place per agent.

use std::collections::{BTreeMap, HashMap};

use super::{Lease, Place, PoolLink};
use crate::ids::ChannelId;
use crate::record::Record;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    leases: BTreeMap<Place, Lease>,
    held: HashMap<String, Place>,
    fence: u64,
    links: BTreeMap<ChannelId, PoolLink>,
}

impl Table {
    pub fn lease(&self, place: &Place) -> Option<&Lease> {
        self.leases.get(place)
    }

    /// What this agent holds; it holds one place at most.
    pub fn held_by(&self, agent: &str) -> Option<&Lease> {
        self.held.get(agent).and_then(|place| self.leases.get(place))
    }

    pub fn is_busy(&self, agent: &str) -> bool {
        self.held.contains_key(agent)
    }

    pub fn leases(&self) -> impl Iterator<Item = &Lease> {
        self.leases.values()
    }

    /// The number the next holder gets.
    pub fn next_fence(&self) -> u64 {
        self.fence + 1
    }

    pub fn link(&self, channel: ChannelId) -> Option<&PoolLink> {
        self.links.get(&channel)
    }

    /// The channels that command this voice channel.
    pub fn linked_to<'a>(&'a self, guild: &'a str, voice_channel: &'a str) -> impl Iterator<Item = &'a PoolLink> {
        self.links.values().filter(move |link| link.guild == guild && link.voice_channel == voice_channel)
    }

    /// Follows a stored record; what is no business of pools is left alone.
    pub(crate) fn put(&mut self, record: &Record) {
        match record {
            Record::Lease(lease) => {
                self.forget(&lease.place);
                self.held.insert(lease.agent.clone(), lease.place.clone());
                self.leases.insert(lease.place.clone(), lease.clone());
            }
            Record::Fence(fence) => self.fence = self.fence.max(fence.last),
            Record::PoolLink(link) => {
                self.links.insert(link.channel, link.clone());
            }
            _ => {}
        }
    }

    pub(crate) fn remove(&mut self, record: &Record) {
        match record {
            Record::Lease(lease) => self.forget(&lease.place),
            Record::PoolLink(link) => {
                self.links.remove(&link.channel);
            }
            _ => {}
        }
    }

    fn forget(&mut self, place: &Place) {
        if let Some(old) = self.leases.remove(place) {
            self.held.remove(&old.agent);
        }
    }
}
