//! Routed sentences and clients as JSON, for the REST surface and for the frames that tell of them.

use folkmoot_core::Millis;
use folkmoot_core::ids::RouteId;
use folkmoot_core::route::{Attempt, AttemptStatus, InputMethod, Route, RouteAnswer, RouteState};
use serde::Serialize;
use utoipa::ToSchema;

/// What became of a sentence so far.
#[derive(Serialize, ToSchema)]
#[schema(as = RouteOutcome)]
pub struct OutcomeObject<'a> {
    #[schema(value_type = Outcome)]
    pub outcome: &'static str,
    #[schema(value_type = String, example = "msg-550e8400-e29b-41d4-a716-446655440000")]
    pub message_id: RouteId,
    pub deliveries: Vec<DeliveryObject<'a>>,
    /// Whom to name when nobody took it (`failed`): say it again as `name: …`. Those who refused it are left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<String>,
}

// How the core's words stand in the description; it knows nothing of descriptions itself.

#[derive(ToSchema)]
#[schema(as = InputMethod, rename_all = "snake_case")]
pub enum InputWord {
    Text,
    Voice,
}

#[derive(ToSchema)]
#[schema(as = RouteState, rename_all = "snake_case")]
pub enum StateWord {
    Choosing,
    Waiting,
    Taken,
    Asked,
    NoClients,
    Failed,
}

#[derive(ToSchema)]
#[schema(as = AttemptStatus, rename_all = "snake_case")]
pub enum AttemptWord {
    Delivered,
    Acked,
    Rejected,
    Timeout,
}

/// How it went so far.
#[derive(ToSchema)]
#[schema(as = RouteResult, rename_all = "snake_case")]
#[expect(dead_code, reason = "the words that `outcome` can be")]
enum Outcome {
    Routed,
    NoClients,
    Failed,
}

/// One client that was given the sentence.
#[derive(Serialize, ToSchema)]
#[schema(as = RouteDelivery)]
pub struct DeliveryObject<'a> {
    pub client: &'a str,
    /// The speaker named the client.
    pub direct: bool,
    /// Why this client was chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false)]
    pub reason: Option<&'a str>,
    /// `delivered`, `acked`, `rejected` or `timeout`.
    #[schema(value_type = AttemptWord)]
    pub status: AttemptStatus,
}

/// A sentence with everything that happened to it.
#[derive(Serialize, ToSchema)]
#[schema(as = Route)]
pub struct RouteObject<'a> {
    #[serde(flatten)]
    pub outcome: OutcomeObject<'a>,
    /// As delivered: the speaker's words, less the name in front of a direct address.
    pub text: &'a str,
    #[schema(value_type = InputWord)]
    pub input_method: InputMethod,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = f64, required = false)]
    pub confidence: Option<f64>,
    /// `choosing`, `waiting`, `taken`, `asked`, `no_clients` or `failed`.
    #[schema(value_type = StateWord)]
    pub state: RouteState,
    pub attempts: Vec<AttemptObject<'a>>,
    pub created_at: Millis,
    pub updated_at: Millis,
}

/// One attempt in full.
#[derive(Serialize, ToSchema)]
#[schema(as = Attempt)]
pub struct AttemptObject<'a> {
    pub client: &'a str,
    pub direct: bool,
    #[schema(value_type = AttemptWord)]
    pub status: AttemptStatus,
    /// Why it did not take the sentence; as long as it did not refuse, why it was chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false)]
    pub reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false)]
    pub routing_reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false)]
    pub reject_reason: Option<&'a str>,
    pub delivered_at: Millis,
    /// Everything the client said to it: `type` is `ack`, `reject` or `notification`, or for an agent of the hub `reply`.
    #[schema(value_type = Vec<Object>)]
    pub responses: &'a [RouteAnswer],
}

/// A client that can be handed sentences now.
#[derive(Serialize, ToSchema)]
#[schema(as = RouterClient)]
pub struct ClientObject {
    pub name: String,
    pub description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false)]
    pub version: Option<String>,
    pub capabilities: Vec<String>,
    /// `client` for a local program, `agent` for an agent of the hub.
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub member_id: String,
}

impl<'a> From<&'a Route> for OutcomeObject<'a> {
    fn from(route: &'a Route) -> Self {
        let outcome = match route.state {
            RouteState::NoClients => "no_clients",
            RouteState::Failed | RouteState::Asked => "failed",
            RouteState::Choosing | RouteState::Waiting | RouteState::Taken => "routed",
        };
        let deliveries = route.attempts.iter().map(|attempt| DeliveryObject::new(route, attempt)).collect();
        Self { outcome, message_id: route.id, deliveries, candidates: Vec::new() }
    }
}

impl<'a> DeliveryObject<'a> {
    fn new(route: &Route, attempt: &'a Attempt) -> Self {
        let reason = attempt.reason.as_deref();
        Self { client: &attempt.name, direct: route.direct, reason, status: attempt.status }
    }
}

impl<'a> From<&'a Route> for RouteObject<'a> {
    fn from(route: &'a Route) -> Self {
        let attempt = |attempt: &'a Attempt| AttemptObject {
            client: &attempt.name,
            direct: route.direct,
            status: attempt.status,
            reason: attempt.refusal.as_deref().or(attempt.reason.as_deref()),
            routing_reason: attempt.reason.as_deref(),
            reject_reason: attempt.refusal.as_deref(),
            delivered_at: attempt.at,
            responses: &attempt.answers,
        };
        Self {
            outcome: route.into(),
            text: &route.text,
            input_method: route.input,
            confidence: route.confidence,
            state: route.state,
            attempts: route.attempts.iter().map(attempt).collect(),
            created_at: route.created_at,
            updated_at: route.updated_at,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use utoipa::PartialSchema;

    use super::*;

    fn words<T: PartialSchema>() -> Value {
        serde_json::to_value(T::schema()).unwrap()["enum"].clone()
    }

    #[test]
    fn the_words_of_the_description_are_those_that_are_written() {
        assert_eq!(words::<InputWord>(), json!([InputMethod::Text, InputMethod::Voice]));
        let states = [RouteState::Choosing, RouteState::Waiting, RouteState::Taken, RouteState::Asked];
        assert_eq!(words::<StateWord>().as_array().unwrap()[..4], json!(states).as_array().unwrap()[..]);
        let attempts =
            [AttemptStatus::Delivered, AttemptStatus::Acked, AttemptStatus::Rejected, AttemptStatus::Timeout];
        assert_eq!(words::<AttemptWord>(), json!(attempts));
    }
}
