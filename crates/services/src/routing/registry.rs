//! The client registry of the router: which programs are connected, and which answers are awaited until when.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use folkmoot_core::Millis;
use folkmoot_core::ids::{ConnectionId, MemberId, RouteId};
use folkmoot_core::route::{AttemptStatus, Route};
use folkmoot_core::state::fold_name;
use folkmoot_doors::smarthole::Enlistment;

use folkmoot_hub::connection::Connection;

/// A program that registered, and the member it is; none as long as nobody has an account here.
pub struct Client {
    pub connection: Arc<Connection>,
    pub enlistment: Enlistment,
    pub member: Option<MemberId>,
}

#[derive(Default)]
pub struct ClientRegistry {
    clients: BTreeMap<ConnectionId, Client>,
    names: HashMap<String, ConnectionId>,
    deadlines: BTreeSet<(Millis, RouteId, MemberId)>,
    awaited: HashMap<MemberId, BTreeMap<RouteId, Millis>>,
}

impl ClientRegistry {
    // Programs.

    /// Takes the name for this connection; false when another has it.
    pub fn enter(&mut self, connection: &Arc<Connection>, enlistment: Enlistment) -> bool {
        let name = fold_name(&enlistment.name);
        if self.names.contains_key(&name) {
            return false;
        }
        self.names.insert(name, connection.id);
        self.clients.insert(connection.id, Client { connection: Arc::clone(connection), enlistment, member: None });
        true
    }

    pub fn is_member(&mut self, connection: ConnectionId, member: MemberId) {
        if let Some(client) = self.clients.get_mut(&connection) {
            client.member = Some(member);
        }
    }

    pub fn leave(&mut self, connection: ConnectionId) -> Option<Client> {
        let client = self.clients.remove(&connection)?;
        self.names.remove(&fold_name(&client.enlistment.name));
        Some(client)
    }

    pub fn client(&self, connection: ConnectionId) -> Option<&Client> {
        self.clients.get(&connection)
    }

    pub fn clients(&self) -> impl Iterator<Item = &Client> {
        self.clients.values()
    }

    // Answers that are awaited.

    /// Notes where a sentence stands; returns the clients whose answer is awaited from now on.
    pub fn follow(&mut self, route: &Route) -> Vec<MemberId> {
        let mut fresh = Vec::new();
        for attempt in &route.attempts {
            if attempt.status != AttemptStatus::Delivered {
                self.forget(route.id, attempt.client);
            } else if self.awaits(route.id, attempt.client).is_none() {
                self.wait(route.id, attempt.client, attempt.due);
                fresh.push(attempt.client);
            }
        }
        fresh
    }

    /// A sentence from before the last stop: its clients may be on their way back.
    pub fn take_up(&mut self, route: &Route, until: Millis) {
        for attempt in route.pending() {
            self.wait(route.id, attempt.client, until.max(attempt.due));
        }
    }

    fn awaits(&self, route: RouteId, client: MemberId) -> Option<Millis> {
        self.awaited.get(&client)?.get(&route).copied()
    }

    fn wait(&mut self, route: RouteId, client: MemberId, until: Millis) {
        self.forget(route, client);
        self.deadlines.insert((until, route, client));
        self.awaited.entry(client).or_default().insert(route, until);
    }

    pub fn forget(&mut self, route: RouteId, client: MemberId) {
        let Some(routes) = self.awaited.get_mut(&client) else { return };
        if let Some(until) = routes.remove(&route) {
            self.deadlines.remove(&(until, route, client));
        }
        if routes.is_empty() {
            self.awaited.remove(&client);
        }
    }

    /// The sentences this client has not answered.
    pub fn awaited_from(&self, client: MemberId) -> Vec<RouteId> {
        self.awaited.get(&client).map(|routes| routes.keys().copied().collect()).unwrap_or_default()
    }

    pub fn is_awaited(&self, client: MemberId) -> bool {
        self.awaited.contains_key(&client)
    }

    /// The attempts whose time is over, which are forgotten, and when the next one is.
    pub fn due(&mut self, now: Millis) -> (Vec<(RouteId, MemberId)>, Option<Millis>) {
        let mut due = Vec::new();
        while let Some(&(until, route, client)) = self.deadlines.first() {
            if until > now {
                return (due, Some(until));
            }
            self.forget(route, client);
            due.push((route, client));
        }
        (due, None)
    }
}

#[cfg(test)]
mod tests {
    use folkmoot_core::ids::WorkspaceId;
    use folkmoot_core::route::{Attempt, InputMethod, RouteState};

    use super::*;

    fn route(number: u128, clients: &[(u128, AttemptStatus, Millis)]) -> Route {
        let attempt = |&(client, status, due): &(u128, AttemptStatus, Millis)| Attempt {
            client: MemberId(client),
            name: String::new(),
            reason: None,
            status,
            refusal: None,
            at: 0,
            due,
            answers: Vec::new(),
        };
        Route {
            id: RouteId(number),
            workspace: WorkspaceId(1),
            speaker: MemberId(1),
            text: String::new(),
            input: InputMethod::Text,
            confidence: None,
            direct: false,
            source: None,
            state: RouteState::Waiting,
            attempts: clients.iter().map(attempt).collect(),
            created_at: 0,
            updated_at: 0,
        }
    }

    use AttemptStatus::{Acked, Delivered};

    #[test]
    fn an_attempt_is_due_at_its_time_and_only_once() {
        let mut registry = ClientRegistry::default();
        registry.follow(&route(1, &[(5, Delivered, 100)]));
        assert_eq!(registry.due(99), (vec![], Some(100)));
        assert_eq!(registry.due(100), (vec![(RouteId(1), MemberId(5))], None));
        assert_eq!(registry.due(200), (vec![], None));
    }

    #[test]
    fn an_answer_ends_the_wait() {
        let mut registry = ClientRegistry::default();
        registry.follow(&route(1, &[(5, Delivered, 100), (6, Delivered, 90)]));
        registry.follow(&route(1, &[(5, Acked, 100), (6, Delivered, 90)]));
        assert_eq!(registry.awaited_from(MemberId(5)), []);
        assert!(registry.is_awaited(MemberId(6)) && !registry.is_awaited(MemberId(5)));
        assert_eq!(registry.due(100), (vec![(RouteId(1), MemberId(6))], None));
    }

    #[test]
    fn who_was_given_the_sentence_is_reported_once() {
        let mut registry = ClientRegistry::default();
        let waiting = route(1, &[(5, Delivered, 100), (6, Acked, 90)]);
        assert_eq!(registry.follow(&waiting), [MemberId(5)]);
        assert_eq!(registry.follow(&waiting), []);
    }

    #[test]
    fn after_a_restart_the_time_begins_again() {
        let mut registry = ClientRegistry::default();
        registry.take_up(&route(1, &[(5, Delivered, 100), (6, Acked, 100)]), 500);
        assert_eq!(registry.due(499), (vec![], Some(500)));
        assert_eq!(registry.awaited_from(MemberId(5)), [RouteId(1)]);
        assert_eq!(registry.due(500).0, [(RouteId(1), MemberId(5))]);
    }
}
