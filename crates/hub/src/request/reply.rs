//! Answers that went well: JSON with a status, and the small objects several areas share.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use serde::Serialize;
use utoipa::ToSchema;

use super::error::ApiError;

pub type Answer = Result<Response, ApiError>;

/// JSON that no cache keeps and no browser takes for anything else.
pub fn json(status: StatusCode, body: &impl Serialize) -> Response {
    match serde_json::to_vec(body) {
        Ok(bytes) => encoded(status, bytes),
        Err(error) => {
            tracing::error!(%error, "an answer could not be written as JSON");
            let text = r#"{"error":"internal error","code":"INTERNAL_ERROR","message":"internal error"}"#;
            encoded(StatusCode::INTERNAL_SERVER_ERROR, text)
        }
    }
}

/// JSON that was written elsewhere.
pub fn encoded(status: StatusCode, json: impl Into<Body>) -> Response {
    let mut response = Response::new(json.into());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

pub fn ok(body: &impl Serialize) -> Answer {
    Ok(json(StatusCode::OK, body))
}

pub fn created(body: &impl Serialize) -> Answer {
    Ok(json(StatusCode::CREATED, body))
}

/// It is done, and there is nothing else to say.
pub fn done() -> Answer {
    ok(&Done { status: "ok", id: None })
}

/// It is gone.
pub fn deleted(id: impl std::fmt::Display) -> Answer {
    ok(&Done { status: "deleted", id: Some(id.to_string()) })
}

#[derive(Serialize, ToSchema)]
pub struct Done {
    #[schema(example = "ok")]
    pub status: &'static str,
    /// What it happened to.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false)]
    pub id: Option<String>,
}

#[derive(Serialize, ToSchema)]
pub struct Count {
    pub count: u64,
}
