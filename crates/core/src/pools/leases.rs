//! Which agent holds which place: one holder per place, one place per agent.

use std::collections::{BTreeMap, HashMap};

use super::{Fence, Lease, Place, PoolLink};
use crate::ids::ChannelId;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Leases {
    leases: BTreeMap<Place, Lease>,
    held: HashMap<String, Place>,
    fence: u64,
    links: BTreeMap<ChannelId, PoolLink>,
}

impl Leases {
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

    pub(crate) fn put_lease(&mut self, lease: &Lease) {
        self.forget(&lease.place);
        self.held.insert(lease.agent.clone(), lease.place.clone());
        self.leases.insert(lease.place.clone(), lease.clone());
    }

    pub(crate) fn put_fence(&mut self, fence: &Fence) {
        self.fence = self.fence.max(fence.last);
    }

    pub(crate) fn put_link(&mut self, link: &PoolLink) {
        self.links.insert(link.channel, link.clone());
    }

    pub(crate) fn remove_link(&mut self, channel: ChannelId) {
        self.links.remove(&channel);
    }

    pub(crate) fn forget(&mut self, place: &Place) {
        if let Some(old) = self.leases.remove(place) {
            self.held.remove(&old.agent);
        }
    }
}
