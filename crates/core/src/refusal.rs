//! The catalogue of refusals: one stable code for programs, one sentence for people, the same on every door.

use std::borrow::Cow;
use std::fmt;

/// What kind of refusal it is; doors map it to their status (HTTP) or leave it beside the sentence (Lark).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    AuthRequired,
    InvalidToken,
    InvalidCredentials,
    EmailExists,
    Forbidden,
    NotFound,
    BadRequest,
    Conflict,
    TooLarge,
    RateLimited,
    /// There is too much of it already, and waiting does not help.
    Quota,
    /// What was said waits for people to let it pass.
    Held,
    AlreadyAnswered,
    /// The hub cannot do it now (disk full, stopping); nothing was changed, trying again later is right.
    Unavailable,
}

impl Code {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AuthRequired => "AUTH_REQUIRED",
            Self::InvalidToken => "AUTH_INVALID_TOKEN",
            Self::InvalidCredentials => "AUTH_INVALID_CREDENTIALS",
            Self::EmailExists => "AUTH_EMAIL_EXISTS",
            Self::Forbidden => "FORBIDDEN",
            Self::NotFound => "NOT_FOUND",
            Self::BadRequest => "BAD_REQUEST",
            Self::Conflict => "CONFLICT",
            Self::TooLarge => "PAYLOAD_TOO_LARGE",
            Self::RateLimited => "RATE_LIMITED",
            Self::Quota => "QUOTA",
            Self::Held => "held",
            Self::AlreadyAnswered => "already_answered",
            Self::Unavailable => "INTERNAL_ERROR",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub code: Code,
    pub text: Cow<'static, str>,
    /// What people want to know beyond the sentence, which programs compare.
    pub detail: Option<String>,
    /// In how many milliseconds the same would not be refused.
    pub retry_in: Option<crate::Millis>,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.detail {
            Some(detail) => write!(f, "{}: {detail}", self.text),
            None => f.write_str(&self.text),
        }
    }
}

impl std::error::Error for Refusal {}

impl Refusal {
    pub const fn new(code: Code, text: &'static str) -> Self {
        Self { code, text: Cow::Borrowed(text), detail: None, retry_in: None }
    }

    pub fn with_text(code: Code, text: impl Into<Cow<'static, str>>) -> Self {
        Self { code, text: text.into(), detail: None, retry_in: None }
    }

    #[must_use]
    pub fn detail(self, detail: String) -> Self {
        Self { detail: Some(detail), ..self }
    }

    pub fn bad_request(text: impl Into<Cow<'static, str>>) -> Self {
        Self::with_text(Code::BadRequest, text)
    }

    pub fn conflict(text: impl Into<Cow<'static, str>>) -> Self {
        Self::with_text(Code::Conflict, text)
    }

    pub fn unavailable(text: impl Into<Cow<'static, str>>) -> Self {
        Self::with_text(Code::Unavailable, text)
    }
}

macro_rules! catalogue {
    ($($name:ident $code:ident $text:literal;)*) => {
        $(pub const $name: Refusal = Refusal::new(Code::$code, $text);)*
    };
}

catalogue! {
    NOT_AUTHENTICATED AuthRequired "not authenticated";
    MUST_AUTHENTICATE_BEFORE_HELLO AuthRequired "must authenticate before agent.hello";
    INVALID_CREDENTIALS InvalidCredentials "invalid credentials";
    MEMBER_GONE InvalidCredentials "member not found";
    NOT_AUTHORIZED Forbidden "not authorized";
    NOT_AN_AGENT Forbidden "not authenticated agent";
    REGISTRATION_CLOSED Forbidden "registration is closed; ask an admin of the workspace to add you";
    SETUP_CODE_NEEDED Forbidden "the first account from another machine needs the one-time code that `moot serve` printed when it started (`setup_code`)";
    FOREIGN_PAGE Forbidden "a page of another site may not do this";
    INVITE_OVER NotFound "this invitation was used, taken back, or has expired; ask for a new one";
    INVITE_NOT_FOUND NotFound "invitation not found";
    TELEGRAM_CODE_OVER NotFound "this code was used, has expired, or was never given; ask the hub for a new one";
    TELEGRAM_NOT_LINKED NotFound "no Telegram account is linked";
    MACHINES_ONLY_CARRY Forbidden "a machine's key only carries the agents of its owner";
    MACHINE_NOT_FOUND NotFound "machine not found";
    PEOPLE_ONLY Forbidden "only a person may do this";
    CREDENTIAL_NOT_FOUND NotFound "credential not found";
    KEY_OF_AN_AGENT BadRequest "an agent is its key: replace it, or remove the agent";
    KEY_OF_A_PERSON Forbidden "people replace their own keys; for somebody else only an agent's key can be replaced";
    ADMINS_ONLY Forbidden "only an owner or admin may do this";
    NOT_THE_OPERATOR Forbidden "only an owner or admin of the hub's first workspace may do this";
    INVALID_DATA BadRequest "invalid data";
    CONTENT_REQUIRED BadRequest "content is required";
    CONTENT_TOO_LONG TooLarge "content too long (max 10000 characters)";
    PARENT_AND_CONTENT BadRequest "parent_id and content required";
    CALLEE_AND_SDP BadRequest "callee_id and sdp required";
    CALL_ID_REQUIRED BadRequest "call_id required";
    NO_AGENTS BadRequest "no agents provided";
    TOO_MANY_STREAMS RateLimited "too many messages are being streamed at once; finish one first";
    NOT_CHANNEL_MEMBER Forbidden "not a channel member";
    CHANNEL_ARCHIVED Forbidden "channel is archived";
    SUBSCRIPTION_LIMIT BadRequest "subscription limit reached";
    CHANNEL_NOT_FOUND NotFound "channel not found";
    MESSAGE_NOT_FOUND NotFound "message not found";
    NOT_MESSAGE_AUTHOR Forbidden "not message author";
    WORKSPACE_NOT_FOUND NotFound "workspace not found";
    MEMBER_NOT_FOUND NotFound "member not found";
    AGENT_NOT_FOUND NotFound "agent not found";
    FILE_NOT_FOUND NotFound "file not found";
    PIN_NOT_FOUND NotFound "pin not found";
    TASK_NOT_FOUND NotFound "task not found";
    TASK_TAKEN Conflict "task is already claimed";
    NOTIFICATION_NOT_FOUND NotFound "notification not found";
    DRAFT_NOT_FOUND NotFound "draft not found";
    NOT_YOUR_DRAFT Forbidden "not your draft";
    DRAFT_NOT_HELD BadRequest "draft is not in held status";
    DRAFT_STALE Conflict "draft is stale, use force_version to override";
    REVIEW_NOT_FOUND NotFound "review not found";
    NOT_THE_REVIEWER Forbidden "not the reviewer";
    APPROVAL_NOT_FOUND NotFound "approval not found";
    ALREADY_REVIEWED BadRequest "already reviewed";
    DIRECT_STAYS Forbidden "a direct channel cannot be deleted; archive it instead";
    NOT_A_DECIDER Forbidden "only the agent's owner, whoever asked it, and admins may decide";
    PEOPLE_BRING_PEOPLE Forbidden "only people may add or invite people";
    OWN_APPROVAL Forbidden "the agent that asks may not decide";
    DELIVERY_NOT_FOUND NotFound "delivery not found";
    NOT_YOUR_DELIVERY Forbidden "this wake is another agent's";
    DELIVERY_ANSWERED AlreadyAnswered "this wake was answered already";
    NOT_IN_THE_CHANNEL Forbidden "only people in the channel may decide this";
    RUN_NOT_FOUND NotFound "run not found";
    NOT_YOUR_RUN Forbidden "this is another agent's run";
    RUN_OVER Conflict "the run has ended";
    NOT_A_STOPPER Forbidden "only people in the channel, whoever asked, the agent's owner, and admins may stop a run";
    DELIVERY_NOT_OPEN Conflict "there is no open delivery of this id for this agent";
    CALL_NOT_FOUND NotFound "call not found";
    NOT_THE_CALLEE Forbidden "not the callee";
    NOT_A_PARTICIPANT Forbidden "not a participant";
    CALL_OVER Conflict "call is over";
    CALL_ANSWERED Conflict "call was answered already";
    WEBHOOK_NOT_FOUND NotFound "webhook not found";
    ITEM_NOT_FOUND NotFound "item not found";
    MEMORY_NOT_FOUND NotFound "memory not found";
    POOLS_ELSEWHERE Forbidden "pools serve the members of the hub's first workspace";
    AGENT_BUSY Conflict "the agent holds another session";
    LEASE_HELD Conflict "another agent holds this session";
    LEASE_NOT_FOUND NotFound "there is no such session";
    POOL_LINK_NOT_FOUND NotFound "the channel is not linked to a pool";
    NOT_HOSTED NotFound "the hub hosts no such agent";
    ROUTE_NOT_FOUND NotFound "routed message not found";
    NOT_A_CANDIDATE Conflict "this client cannot take the sentence: it is not connected, or had it already";
    ROUTE_OVER Conflict "the sentence is not waiting to be handed on";
    NAME_TAKEN Conflict "this name is taken in the workspace (names do not differ by case)";
    EMAIL_EXISTS EmailExists "an account with this email exists";
    PASSWORD_TOO_SHORT BadRequest "password is too short (at least 8 characters)";
}
