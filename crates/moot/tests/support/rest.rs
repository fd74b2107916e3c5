//! A REST client that shows the request and the answer whenever an expectation fails.

use reqwest::header::HeaderMap;
use reqwest::{Client, Method, RequestBuilder};
use serde_json::Value;

#[derive(Clone)]
pub struct Rest {
    client: Client,
    pub base: String,
    authorization: Option<String>,
}

impl Rest {
    pub fn new(base: String, authorization: Option<String>) -> Rest {
        let client =
            Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).build().expect("an HTTP client");
        Rest { client, base, authorization }
    }

    /// The same client with another `Authorization` header.
    pub fn with(&self, authorization: &str) -> Rest {
        Rest { authorization: Some(authorization.to_owned()), ..self.clone() }
    }

    /// The same client without an `Authorization` header.
    pub fn anonymous(&self) -> Rest {
        Rest { authorization: None, ..self.clone() }
    }

    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.client.request(method, format!("{}{path}", self.base));
        match &self.authorization {
            Some(value) => request.header("authorization", value),
            None => request,
        }
    }

    pub async fn get(&self, path: &str) -> Answer {
        Answer::of(format!("GET {path}"), self.request(Method::GET, path)).await
    }

    pub async fn post(&self, path: &str, body: Value) -> Answer {
        self.body(Method::POST, path, &body).await
    }

    pub async fn put(&self, path: &str, body: Value) -> Answer {
        self.body(Method::PUT, path, &body).await
    }

    pub async fn patch(&self, path: &str, body: Value) -> Answer {
        self.body(Method::PATCH, path, &body).await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        Answer::of(format!("DELETE {path}"), self.request(Method::DELETE, path)).await
    }

    /// A body that need not be JSON.
    pub async fn post_text(&self, path: &str, body: String) -> Answer {
        let request = self.request(Method::POST, path).header("content-type", "application/json");
        let shown = body.chars().take(200).collect::<String>();
        Answer::of(format!("POST {path} {shown}"), request.body(body)).await
    }

    /// A multipart upload of one part `file`.
    pub async fn upload(&self, path: &str, name: &str, kind: &str, bytes: Vec<u8>) -> Answer {
        let form = reqwest::multipart::Form::new();
        self.upload_with(form, path, name, kind, bytes).await
    }

    /// A multipart upload with other parts before the file.
    pub async fn upload_with(
        &self,
        form: reqwest::multipart::Form,
        path: &str,
        name: &str,
        kind: &str,
        bytes: Vec<u8>,
    ) -> Answer {
        let shown = format!("POST {path} (file {name}, {} bytes)", bytes.len());
        let part =
            reqwest::multipart::Part::bytes(bytes).file_name(name.to_owned()).mime_str(kind).expect("a media type");
        let form = form.part("file", part);
        Answer::of(shown, self.request(Method::POST, path).multipart(form)).await
    }

    async fn body(&self, method: Method, path: &str, body: &Value) -> Answer {
        let shown = body.to_string().chars().take(300).collect::<String>();
        let shown = format!("{method} {path} {shown}");
        Answer::of(shown, self.request(method, path).json(body)).await
    }
}

#[derive(Debug)]
pub struct Answer {
    request: String,
    pub status: u16,
    pub headers: HeaderMap,
    pub bytes: Vec<u8>,
}

impl Answer {
    pub async fn of(request: String, builder: RequestBuilder) -> Answer {
        let response = builder.send().await.unwrap_or_else(|error| panic!("{request}: no answer: {error:?}"));
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        let bytes = response.bytes().await.expect("a whole body").to_vec();
        let answer = Answer { request, status, headers, bytes };
        super::contract::check(&answer.request, status, answer.header("content-type"), &answer.bytes);
        answer
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map(|value| value.to_str().expect("a readable header")).unwrap_or_default()
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes)
            .unwrap_or_else(|error| panic!("{} → {}: not JSON ({error}): {}", self.request, self.status, self.text()))
    }

    #[track_caller]
    pub fn ok(self) -> Value {
        self.with_status(200)
    }

    #[track_caller]
    pub fn created(self) -> Value {
        self.with_status(201)
    }

    /// Success of either kind, where no document says which.
    #[track_caller]
    pub fn done(self) -> Value {
        assert!((200..300).contains(&self.status), "{} → {}: {}", self.request, self.status, self.text());
        self.json()
    }

    #[track_caller]
    pub fn with_status(self, expected: u16) -> Value {
        assert_eq!(self.status, expected, "{} → {}: {}", self.request, self.status, self.text());
        self.json()
    }

    /// An error with the status, the code, and all of `error`, `code`, `message`.
    #[track_caller]
    pub fn refused(self, status: u16, code: &str) -> Value {
        let body = self.refused_as(&[status]);
        assert_eq!(body["code"], code, "{body}");
        body
    }

    /// An error with one of the statuses, and all of `error`, `code`, `message`.
    #[track_caller]
    pub fn refused_as(self, statuses: &[u16]) -> Value {
        assert!(
            statuses.contains(&self.status),
            "{} → {}, expected one of {statuses:?}: {}",
            self.request,
            self.status,
            self.text()
        );
        let body = self.json();
        for key in ["error", "code", "message"] {
            assert!(
                body[key].as_str().is_some_and(|text| !text.is_empty()),
                "{} → {}: no `{key}` in {body}",
                self.request,
                self.status
            );
        }
        body
    }

    /// What a stranger gets for a thing that is not theirs to see.
    #[track_caller]
    pub fn hidden(self) -> Value {
        self.refused_as(&[403, 404])
    }
}
