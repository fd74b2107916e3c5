//! A refusal as HTTP: a status, and JSON with all of `error`, `code` and `message`.
//!
//! The code is for programs and never changes; the sentence is for people. Both `error` and `message` carry it, since
//! existing clients read one or the other.

use std::borrow::Cow;
use std::time::Duration;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use folkmoot_core::{Code, Refusal};
use serde::Serialize;
use utoipa::ToSchema;

use super::reply;
use crate::auth::hashing::NotHashed;
use crate::auth::limits::RetryAfter;
use crate::login::Denied;

/// What a handler answers instead of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiError {
    pub status: StatusCode,
    pub code: &'static str,
    pub sentence: Cow<'static, str>,
    /// What people want to know beyond the sentence.
    pub detail: Option<String>,
    pub retry_after: Option<RetryAfter>,
}

/// The body of every refusal.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Error)]
pub struct ErrorBody<'a> {
    /// The sentence for people.
    pub error: &'a str,
    /// The stable code for programs.
    #[schema(example = "NOT_FOUND")]
    pub code: &'a str,
    /// The same sentence again, with what else is known.
    pub message: &'a str,
}

impl ApiError {
    pub fn new(status: StatusCode, code: Code, sentence: impl Into<Cow<'static, str>>) -> Self {
        Self { status, code: code.as_str(), sentence: sentence.into(), detail: None, retry_after: None }
    }

    pub fn bad_request(sentence: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, Code::BadRequest, sentence)
    }

    pub fn not_found(sentence: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::NOT_FOUND, Code::NotFound, sentence)
    }

    pub fn unavailable(sentence: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, Code::Unavailable, sentence)
    }

    /// A body over the limit.
    pub fn too_large(sentence: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, Code::TooLarge, sentence)
    }

    pub fn invalid_token() -> Self {
        Self::new(
            StatusCode::UNAUTHORIZED,
            Code::InvalidToken,
            "the token is not valid (unknown, expired or signed out)",
        )
    }

    pub fn method_not_allowed() -> Self {
        Self::new(StatusCode::METHOD_NOT_ALLOWED, Code::BadRequest, "this address does not take this method")
    }
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        let (status, code) = match refusal.code {
            Code::AuthRequired | Code::InvalidToken | Code::InvalidCredentials => {
                (StatusCode::UNAUTHORIZED, refusal.code)
            }
            Code::Forbidden => (StatusCode::FORBIDDEN, refusal.code),
            Code::NotFound => (StatusCode::NOT_FOUND, refusal.code),
            Code::Conflict | Code::EmailExists | Code::Held | Code::AlreadyAnswered => {
                (StatusCode::CONFLICT, refusal.code)
            }
            // A text over the rules' limit is a wrong value in a body that was read; 413 is for bodies that were not.
            Code::BadRequest | Code::TooLarge => (StatusCode::BAD_REQUEST, Code::BadRequest),
            Code::RateLimited => (StatusCode::TOO_MANY_REQUESTS, refusal.code),
            Code::Quota => (StatusCode::INSUFFICIENT_STORAGE, refusal.code),
            Code::Unavailable => (StatusCode::SERVICE_UNAVAILABLE, refusal.code),
        };
        let retry_after = refusal.retry_in.map(|wait| RetryAfter(Duration::from_millis(wait.unsigned_abs())));
        Self { detail: refusal.detail, retry_after, ..Self::new(status, code, refusal.text) }
    }
}

impl From<Denied> for ApiError {
    fn from(denied: Denied) -> Self {
        match denied {
            Denied::TooOften(wait) => wait.into(),
            Denied::TooLong | Denied::Wrong => Refusal::from(denied).into(),
        }
    }
}

impl From<NotHashed> for ApiError {
    fn from(reason: NotHashed) -> Self {
        match reason {
            NotHashed::TooOften(wait) => wait.into(),
            NotHashed::Failed => Refusal::from(reason).into(),
        }
    }
}

impl From<RetryAfter> for ApiError {
    fn from(wait: RetryAfter) -> Self {
        let sentence = format!("too many requests; try again in {} s", wait.whole_seconds());
        Self { retry_after: Some(wait), ..Self::new(StatusCode::TOO_MANY_REQUESTS, Code::RateLimited, sentence) }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let message = match &self.detail {
            Some(detail) => Cow::Owned(format!("{}: {detail}", self.sentence)),
            None => Cow::Borrowed(&*self.sentence),
        };
        let body = ErrorBody { error: &self.sentence, code: self.code, message: &message };
        let mut response = reply::json(self.status, &body);
        let headers = response.headers_mut();
        if let Some(wait) = self.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(wait.whole_seconds()));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use folkmoot_core::refusal;

    use super::*;

    fn status_and_code(refusal: Refusal) -> (u16, &'static str) {
        let error = ApiError::from(refusal);
        (error.status.as_u16(), error.code)
    }

    #[test]
    fn every_code_has_its_status() {
        let cases = [
            (Code::AuthRequired, 401, "AUTH_REQUIRED"),
            (Code::InvalidToken, 401, "AUTH_INVALID_TOKEN"),
            (Code::InvalidCredentials, 401, "AUTH_INVALID_CREDENTIALS"),
            (Code::EmailExists, 409, "AUTH_EMAIL_EXISTS"),
            (Code::Forbidden, 403, "FORBIDDEN"),
            (Code::NotFound, 404, "NOT_FOUND"),
            (Code::BadRequest, 400, "BAD_REQUEST"),
            (Code::Conflict, 409, "CONFLICT"),
            (Code::RateLimited, 429, "RATE_LIMITED"),
            (Code::Quota, 507, "QUOTA"),
            (Code::Unavailable, 503, "INTERNAL_ERROR"),
        ];
        for (code, status, text) in cases {
            assert_eq!(status_and_code(Refusal::new(code, "no")), (status, text));
        }
    }

    #[test]
    fn a_text_that_is_too_long_is_a_bad_request_and_a_body_that_is_too_long_is_413() {
        assert_eq!(status_and_code(refusal::CONTENT_TOO_LONG), (400, "BAD_REQUEST"));
        let error = ApiError::too_large("too much");
        assert_eq!((error.status.as_u16(), error.code), (413, "PAYLOAD_TOO_LARGE"));
    }

    #[test]
    fn an_approval_is_decided_once_and_the_second_time_is_a_bad_request() {
        let error = ApiError::from(refusal::ALREADY_REVIEWED);
        assert_eq!((error.status.as_u16(), &*error.sentence), (400, "already reviewed"));
    }

    #[test]
    fn a_limit_says_when_to_come_back_in_whole_seconds() {
        for (wait, seconds) in [(0, "1"), (1, "1"), (1000, "1"), (1001, "2"), (59_500, "60")] {
            let response = ApiError::from(RetryAfter(Duration::from_millis(wait))).into_response();
            assert_eq!(response.status(), 429);
            assert_eq!(response.headers()[header::RETRY_AFTER], seconds);
        }
    }

    #[tokio::test]
    async fn a_refusal_carries_error_code_and_message() {
        let response = ApiError::from(refusal::CHANNEL_NOT_FOUND).into_response();
        assert_eq!(response.headers()[header::CONTENT_TYPE], "application/json");
        let bytes = axum::body::to_bytes(response.into_body(), 1024).await.unwrap();
        let body: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        let expected = serde_json::json!({
            "error": "channel not found", "code": "NOT_FOUND", "message": "channel not found",
        });
        assert_eq!(body, expected);
    }
}
