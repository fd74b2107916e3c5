//! The deliveries that are open, found by what the rules ask for: the agent, the sender, the time.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::Delivery;
use crate::Millis;
use crate::ids::*;

#[derive(Clone, Debug, Default)]
pub struct OpenDeliveries {
    open: HashMap<DeliveryId, Arc<Delivery>>,
    of_agent: HashMap<MemberId, BTreeSet<DeliveryId>>,
    collecting: HashMap<(MemberId, ChannelId), BTreeSet<DeliveryId>>,
    deadlines: BTreeSet<(Millis, DeliveryId)>,
    /// Which connection a wake went to. Not stored: after a restart nobody has been told anything.
    sent_to: HashMap<DeliveryId, ConnectionId>,
}

impl OpenDeliveries {
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    pub fn len(&self) -> usize {
        self.open.len()
    }

    pub fn get(&self, id: DeliveryId) -> Option<&Arc<Delivery>> {
        self.open.get(&id)
    }

    pub fn all(&self) -> impl Iterator<Item = &Arc<Delivery>> {
        self.open.values()
    }

    /// Oldest first.
    pub fn of_agent(&self, agent: MemberId) -> impl DoubleEndedIterator<Item = &Arc<Delivery>> {
        self.of_agent.get(&agent).into_iter().flatten().filter_map(|id| self.open.get(id))
    }

    pub fn count_of(&self, agent: MemberId) -> usize {
        self.of_agent.get(&agent).map_or(0, BTreeSet::len)
    }

    /// What this sender may still add to in this channel, oldest first.
    pub fn collecting(&self, sender: MemberId, channel: ChannelId) -> impl Iterator<Item = &Arc<Delivery>> {
        self.collecting.get(&(sender, channel)).into_iter().flatten().filter_map(|id| self.open.get(id))
    }

    pub fn of_run(&self, agent: MemberId, run: RunId) -> impl Iterator<Item = &Arc<Delivery>> {
        self.of_agent(agent).filter(move |delivery| delivery.run == Some(run))
    }

    pub fn next_deadline(&self) -> Option<Millis> {
        self.deadlines.first().map(|(at, _)| *at)
    }

    pub fn due(&self, now: Millis) -> impl Iterator<Item = &Arc<Delivery>> {
        self.deadlines.iter().take_while(move |(at, _)| *at <= now).filter_map(|(_, id)| self.open.get(id))
    }

    pub fn sent_to(&self, id: DeliveryId) -> Option<ConnectionId> {
        self.sent_to.get(&id).copied()
    }

    pub(crate) fn note_sent(&mut self, id: DeliveryId, connection: ConnectionId) {
        self.sent_to.insert(id, connection);
    }

    pub(crate) fn put(&mut self, delivery: &Delivery) {
        self.forget(delivery.id);
        if !delivery.is_open() {
            self.sent_to.remove(&delivery.id);
            return;
        }
        self.of_agent.entry(delivery.agent).or_default().insert(delivery.id);
        self.deadlines.insert((delivery.deadline(), delivery.id));
        if let Some(channel) = delivery.channel.filter(|_| delivery.is_collecting()) {
            self.collecting.entry((delivery.sender, channel)).or_default().insert(delivery.id);
        }
        self.open.insert(delivery.id, Arc::new(delivery.clone()));
    }

    fn forget(&mut self, id: DeliveryId) {
        let Some(old) = self.open.remove(&id) else { return };
        self.deadlines.remove(&(old.deadline(), id));
        remove_from(&mut self.of_agent, &old.agent, id);
        if let Some(channel) = old.channel {
            remove_from(&mut self.collecting, &(old.sender, channel), id);
        }
    }

    /// What a hub that starts now would know as well.
    pub fn stored_part(&self) -> impl PartialEq + std::fmt::Debug + use<> {
        let mut open: Vec<_> = self.open.values().map(|delivery| (**delivery).clone()).collect();
        open.sort_by_key(|delivery| delivery.id);
        (open, self.deadlines.clone())
    }

    /// Takes over what only this process knows.
    pub(crate) fn keep_sent(&mut self, mut before: Self) {
        before.sent_to.retain(|id, _| self.open.contains_key(id));
        self.sent_to = before.sent_to;
    }
}

fn remove_from<K: std::hash::Hash + Eq>(map: &mut HashMap<K, BTreeSet<DeliveryId>>, key: &K, id: DeliveryId) {
    if let Some(ids) = map.get_mut(key) {
        ids.remove(&id);
        if ids.is_empty() {
            map.remove(key);
        }
    }
}
