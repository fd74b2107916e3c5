//! What handlers take from a request: who calls, the ids in the path, the query, the body. Every failure is an [`ApiError`].
//!
//! [`Caller`] stands first in a handler's arguments, so that strangers are refused before anything else is looked at.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use axum::extract::{FromRef, FromRequest, FromRequestParts, OptionalFromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Uri, header};
use bytes::Bytes;
use folkmoot_core::ids::*;
use folkmoot_core::lookup::Found;
use folkmoot_core::model::Door;
use folkmoot_core::{Actor, Command, Refusal, Reply, State, access, refusal};
use folkmoot_store::Reader;
use http_body_util::BodyExt;
use serde::de::DeserializeOwned;

use super::error::ApiError;
use crate::auth::{Login, TokenInfo};
use crate::hub::Hub;
use crate::login;
use crate::peer::Peer;

/// The largest JSON body.
pub const MAX_BODY_BYTES: usize = 1024 * 1024;
/// The largest body of those whom nobody has proven yet: a name, a password, a code.
const MAX_SHORT_BYTES: usize = 16 * 1024;
/// How much of a body that is refused anyway is still read, so that the sender gets to see the answer.
const MAX_DRAINED_BYTES: u64 = 64 * 1024 * 1024;
/// A body that trickles in slower than this is given up.
const BODY_TIME: Duration = Duration::from_secs(30);

/// The member who calls, proven by its token or key, and the hub to ask.
pub struct Caller {
    pub hub: Hub,
    pub actor: Actor,
    login: Login,
}

impl Caller {
    pub fn id(&self) -> MemberId {
        self.actor.member
    }

    /// The session token that was used; none with an API key.
    pub fn token(&self) -> Option<&TokenInfo> {
        self.login.proof.token()
    }

    /// Refuses a call that has waited and would not be let in again: its key was replaced, its session ended, it was removed.
    pub fn still_proven(&self) -> Result<(), ApiError> {
        let has_ended = self.hub.with_state(|state| self.login.has_ended(state, self.id()));
        if has_ended { Err(ApiError::invalid_token()) } else { Ok(()) }
    }

    pub async fn execute(&self, command: Command) -> Result<Reply, ApiError> {
        Ok(self.hub.execute(self.actor, command).await?)
    }

    /// A query of the state as this member.
    pub fn query<R>(&self, query: impl FnOnce(&State, Actor) -> Result<R, Refusal>) -> Result<R, ApiError> {
        Ok(self.hub.with_state(|state| query(state, self.actor))?)
    }

    /// A query of the store; what comes back is still to be checked against the state.
    pub async fn read<R: Send + 'static>(
        &self,
        query: impl FnOnce(&dyn Reader) -> Found<R> + Send + 'static,
    ) -> Result<R, ApiError> {
        Ok(self.hub.read(query).await?)
    }

    /// Refuses whoever is not of this workspace.
    pub fn within(&self, workspace: WorkspaceId) -> Result<(), ApiError> {
        self.query(|state, actor| access::workspace_member(state, actor, workspace).map(drop))
    }

    /// The caller's own workspace.
    pub fn workspace(&self) -> Result<WorkspaceId, ApiError> {
        self.query(|state, actor| access::member(state, actor).map(|member| member.workspace))
    }

    /// A member named in a path: an id, or `me`.
    pub fn named(&self, text: &str) -> MemberId {
        if text == "me" { self.id() } else { MemberId::parse(text) }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Caller
where
    Hub: FromRef<S>,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let caller = Self::proven(parts, Hub::from_ref(state))?;
        // A machine is no member: what is for it asks for a `Carrier`.
        caller.query(|state, actor| access::member(state, actor).map(drop))?;
        Ok(caller)
    }
}

/// Who a daemon is to the hub: a member, or a machine, which may do nothing but what takes this.
pub struct Carrier(pub Caller);

impl<S: Send + Sync> FromRequestParts<S> for Carrier
where
    Hub: FromRef<S>,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let caller = Caller::proven(parts, Hub::from_ref(state))?;
        caller.query(|state, actor| access::carrier(state, actor.member).map(drop))?;
        Ok(Self(caller))
    }
}

impl Caller {
    fn proven(parts: &Parts, hub: Hub) -> Result<Self, ApiError> {
        let credential = credential(&parts.headers)?.ok_or(refusal::NOT_AUTHENTICATED)?;
        let now = hub.now();
        let identity = hub.with_state(|state| hub.auth().identify(state, credential, now)).map_err(unproven)?;
        hub.quotas().request(identity.member, now)?;
        if let Some(peer) = parts.extensions.get::<Peer>() {
            login::note_use(&hub, &identity, peer.0.ip());
        }
        let actor = Actor::new(identity.member, Door::Rest);
        let login = Login { prover: identity.prover, proof: identity.proof, at: now };
        Ok(Self { hub, actor, login })
    }
}

impl<S: Send + Sync> OptionalFromRequestParts<S> for Caller
where
    Hub: FromRef<S>,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Option<Self>, ApiError> {
        if !parts.headers.contains_key(header::AUTHORIZATION) {
            return Ok(None);
        }
        <Self as FromRequestParts<S>>::from_request_parts(parts, state).await.map(Some)
    }
}

/// On this surface every token that proves nobody is an invalid token, whatever is wrong with it.
fn unproven(refusal: Refusal) -> ApiError {
    let error = ApiError::from(refusal);
    if error.status.is_server_error() { error } else { ApiError::invalid_token() }
}

/// What stands behind `Bearer` or `ApiKey`; none when the header is missing or empty.
fn credential(headers: &HeaderMap) -> Result<Option<&str>, ApiError> {
    let Some(value) = headers.get(header::AUTHORIZATION) else { return Ok(None) };
    let text = value.to_str().map_err(|_| ApiError::invalid_token())?.trim();
    if text.is_empty() {
        return Ok(None);
    }
    let (scheme, credential) = text.split_once(' ').unwrap_or((text, ""));
    let known = ["bearer", "apikey"].iter().any(|known| scheme.eq_ignore_ascii_case(known));
    if known { Ok(Some(credential.trim())) } else { Err(ApiError::invalid_token()) }
}

/// The address a request came from.
pub struct Address(pub IpAddr);

impl<S: Send + Sync> FromRequestParts<S> for Address {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let unknown = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        Ok(Self(parts.extensions.get::<Peer>().map_or(unknown, |peer| peer.0.ip())))
    }
}

/// Where a log-in comes from.
pub struct Visit {
    pub address: IpAddr,
    /// What the client calls itself.
    pub client: String,
    /// What an earlier log-in gave it, from the cookie of the page or the header of other clients.
    pub device: Option<String>,
}

/// Where clients without cookies show what an earlier log-in gave them.
const DEVICE_HEADER: &str = "x-moot-device";
pub const DEVICE_COOKIE: &str = "moot_device";

impl<S: Send + Sync> FromRequestParts<S> for Visit {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let Address(address) = Address::from_request_parts(parts, state).await?;
        let text = |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok());
        let cookies = text(header::COOKIE.as_str()).unwrap_or_default();
        let mut pairs = cookies.split(';').filter_map(|pair| pair.trim().split_once('='));
        let cookie = pairs.find(|(name, _)| *name == DEVICE_COOKIE).map(|(_, value)| value);
        let device = text(DEVICE_HEADER).or(cookie).map(str::to_owned);
        Ok(Self { address, client: text(header::USER_AGENT.as_str()).unwrap_or_default().to_owned(), device })
    }
}

/// The variable parts of the path.
pub struct Path<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Path<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        match <axum::extract::Path<T> as FromRequestParts<S>>::from_request_parts(parts, state).await {
            Ok(axum::extract::Path(parts)) => Ok(Self(parts)),
            Err(_) => Err(ApiError::bad_request("the path cannot be read")),
        }
    }
}

/// The query of the address.
pub struct Query<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let wrong = match axum::extract::Query::<T>::try_from_uri(&parts.uri) {
            Ok(axum::extract::Query(query)) => return Ok(Self(query)),
            Err(rejection) => wrong_query(&innermost(&rejection)),
        };
        let filled = without_empty(&parts.uri).and_then(|uri| axum::extract::Query::try_from_uri(&uri).ok());
        filled.map(|axum::extract::Query(query)| Self(query)).ok_or(wrong)
    }
}

/// The same address without parameters that have no value: forms and some clients send all they know, and what is empty
/// counts as left out.
fn without_empty(uri: &Uri) -> Option<Uri> {
    let is_filled = |part: &&str| part.split_once('=').is_none_or(|(_, value)| !value.is_empty());
    let filled: Vec<&str> = uri.query()?.split('&').filter(is_filled).collect();
    format!("/?{}", filled.join("&")).parse().ok()
}

/// The types of a query say what a value must be; the name of the parameter stands before that.
fn wrong_query(reason: &str) -> ApiError {
    ApiError::bad_request(match reason.split_once(": ") {
        Some((name, rule)) if rule.starts_with("must ") => format!("`{name}` {rule}"),
        _ => format!("the query is wrong: {reason}"),
    })
}

/// A JSON body of at most 1 MB. No body at all counts as `{}`, and the content type is not insisted on.
pub struct Body<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        json_body(request).await.map(Self)
    }
}

pub async fn json_body<T: DeserializeOwned>(request: Request) -> Result<T, ApiError> {
    parse(&whole_body(request, MAX_BODY_BYTES).await?)
}

/// The bytes of such a body, for those who read it by rules of their own.
pub async fn json_bytes(request: Request) -> Result<Bytes, ApiError> {
    whole_body(request, MAX_BODY_BYTES).await
}

/// The same of at most 16 kB, for strangers.
pub struct ShortBody<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for ShortBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        parse(&whole_body(request, MAX_SHORT_BYTES).await?).map(Self)
    }
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ApiError> {
    let bytes = match bytes.trim_ascii() {
        [] => b"{}",
        object @ [b'{', ..] => object,
        _ => return Err(ApiError::bad_request("the body must be a JSON object")),
    };
    match axum::Json::<T>::from_bytes(bytes) {
        Ok(axum::Json(body)) => Ok(body),
        Err(axum::extract::rejection::JsonRejection::JsonDataError(error)) => {
            Err(ApiError::bad_request(format!("the body is not as expected: {}", innermost(&error))))
        }
        Err(error) => Err(ApiError::bad_request(format!("the body is not valid JSON: {}", innermost(&error)))),
    }
}

/// The sentence of the cause, without what each layer put before it.
fn innermost(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(next) = cause.source() {
        // The innermost error alone no longer names the field; the one that does ends with its text.
        if !cause.to_string().starts_with("Failed") {
            break;
        }
        cause = next;
    }
    cause.to_string()
}

async fn whole_body(request: Request, most: usize) -> Result<Bytes, ApiError> {
    let too_large = || ApiError::too_large(format!("the body is too large (max {most} bytes)"));
    if declared_length(request.headers()).is_some_and(|length| length > most as u64) {
        drain(request).await;
        return Err(too_large());
    }
    let mut body = request.into_body();
    let mut collected = Vec::new();
    let reading = async {
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|_| ApiError::bad_request("the body ended early"))?;
            let Some(chunk) = frame.data_ref() else { continue };
            if collected.len() + chunk.len() > most {
                return Ok(false);
            }
            collected.extend_from_slice(chunk);
        }
        Ok(true)
    };
    match tokio::time::timeout(BODY_TIME, reading).await {
        Ok(Ok(true)) => Ok(collected.into()),
        Ok(Ok(false)) => {
            drain(Request::new(body)).await;
            Err(too_large())
        }
        Ok(Err(error)) => Err(error),
        Err(_) => Err(slow_body()),
    }
}

pub fn slow_body() -> ApiError {
    ApiError::new(axum::http::StatusCode::REQUEST_TIMEOUT, folkmoot_core::Code::BadRequest, "the body came too slowly")
}

pub fn declared_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// Reads on for a while what nobody wants: a connection closed with unread bytes takes the answer down with it.
pub async fn drain(request: Request) {
    let waits_for_go_ahead = request.headers().contains_key(header::EXPECT);
    let hopeless = declared_length(request.headers()).is_some_and(|length| length > MAX_DRAINED_BYTES);
    if waits_for_go_ahead || hopeless {
        return;
    }
    drain_body(request.into_body()).await;
}

pub async fn drain_body(mut body: axum::body::Body) {
    let reading = async {
        let mut drained = 0;
        while let Some(Ok(frame)) = body.frame().await {
            drained += frame.data_ref().map_or(0, |chunk| chunk.len() as u64);
            if drained > MAX_DRAINED_BYTES {
                break;
            }
        }
    };
    // Too slow to be worth it: the answer goes out now, read or not.
    let _ = tokio::time::timeout(BODY_TIME / 3, reading).await;
}

/// An id that may be left out, be `null` or be empty.
pub fn given<T>(text: Option<String>, parse: fn(&str) -> T) -> Option<T> {
    text.filter(|text| !text.is_empty()).map(|text| parse(&text))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;
    use proptest::prelude::*;
    use serde::Deserialize;
    use serde_json::value::RawValue;

    use super::*;

    fn header_of(text: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(header::AUTHORIZATION, HeaderValue::from_str(text).unwrap());
        headers
    }

    #[test]
    fn a_token_is_taken_from_bearer_and_apikey_in_any_case() {
        for text in ["Bearer lr_1", "bearer lr_1", "ApiKey lr_1", "APIKEY   lr_1 "] {
            assert_eq!(credential(&header_of(text)).unwrap(), Some("lr_1"), "{text}");
        }
    }

    #[test]
    fn no_header_is_nobody_and_another_scheme_is_an_invalid_token() {
        assert_eq!(credential(&HeaderMap::new()).unwrap(), None);
        assert_eq!(credential(&header_of("")).unwrap(), None);
        for text in ["Basic YTpi", "lr_1"] {
            assert_eq!(credential(&header_of(text)).unwrap_err().code, "AUTH_INVALID_TOKEN", "{text}");
        }
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Colour {
        Red,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Asked {
        colour: Option<Colour>,
        words: String,
    }

    async fn asked(query: &str) -> Result<Asked, String> {
        let (mut parts, ()) = axum::http::Request::get(format!("/x?{query}")).body(()).unwrap().into_parts();
        Query::from_request_parts(&mut parts, &())
            .await
            .map(|Query(asked)| asked)
            .map_err(|no| no.sentence.into_owned())
    }

    #[tokio::test]
    async fn a_parameter_without_a_value_counts_as_left_out() {
        let words = || "a=b=".to_owned();
        assert_eq!(asked("colour=&words=a=b=").await, Ok(Asked { colour: None, words: words() }));
        assert_eq!(asked("colour=red&words=a=b=").await, Ok(Asked { colour: Some(Colour::Red), words: words() }));
        assert!(asked("colour=blue&words=x").await.unwrap_err().contains("blue"));
        assert_eq!(asked("words=").await, Ok(Asked { colour: None, words: String::new() }), "a text may be empty");
        assert!(asked("colour=").await.unwrap_err().contains("the query is wrong"));
    }

    #[derive(Debug, Deserialize)]
    struct Sample {
        name: String,
        metadata: Option<Box<RawValue>>,
    }

    fn sentence(body: &str) -> String {
        let error = parse::<Sample>(body.as_bytes()).unwrap_err();
        assert_eq!((error.status.as_u16(), error.code), (400, "BAD_REQUEST"));
        error.sentence.into_owned()
    }

    #[test]
    fn a_wrong_body_is_told_what_is_wrong_with_it() {
        assert_eq!(
            sentence(r#"{"name":7}"#),
            "the body is not as expected: name: invalid type: integer `7`, expected a string at line 1 column 9"
        );
        assert!(sentence("").contains("missing field `name`"));
        assert!(sentence("{").starts_with("the body is not valid JSON: "));
        for other in ["[]", "null", "7", "\"text\"", "hello"] {
            assert_eq!(sentence(other), "the body must be a JSON object");
        }
        assert!(sentence(r#"{"name":"a"} x"#).starts_with("the body is not valid JSON: "));
    }

    #[test]
    fn metadata_is_kept_as_it_was_written_and_unknown_fields_are_ignored() {
        let body = br#"{"name":"a","metadata":{ "b": [1,  2] },"sender_id":"mem_spoofed"}"#;
        let sample: Sample = parse(body).unwrap();
        assert_eq!(sample.metadata.unwrap().get(), r#"{ "b": [1,  2] }"#);
        assert_eq!(sample.name, "a");
        assert!(parse::<Sample>(br#"{"name":"a","metadata":null}"#).unwrap().metadata.is_none());
    }

    #[test]
    fn an_empty_id_is_no_id_and_a_malformed_one_is_nobodys() {
        assert_eq!(given(None, MessageId::parse), None);
        assert_eq!(given(Some(String::new()), MessageId::parse), None);
        assert_eq!(given(Some("garbage".into()), MessageId::parse), Some(MessageId::NONE));
    }

    #[test]
    fn a_wrong_query_names_the_parameter_and_says_what_it_must_be() {
        let sentence = |reason: &str| wrong_query(reason).sentence.into_owned();
        assert_eq!(sentence("limit: must be a whole number"), "`limit` must be a whole number");
        assert_eq!(sentence("missing field `q`"), "the query is wrong: missing field `q`");
    }

    proptest! {
        #[test]
        fn no_body_makes_the_parser_panic(bytes: Vec<u8>) {
            let _ = parse::<Sample>(&bytes);
        }

        #[test]
        fn no_authorization_header_makes_the_parser_panic(bytes: Vec<u8>) {
            if let Ok(value) = HeaderValue::from_bytes(&bytes) {
                let mut headers = HeaderMap::new();
                headers.insert(header::AUTHORIZATION, value);
                let _ = credential(&headers);
            }
        }
    }
}
