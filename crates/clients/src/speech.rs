//! Speech recognition: a recording in, its words out.

use bytes::Bytes;
use reqwest::multipart::{Form, Part};
use serde::Deserialize;

use crate::{Endpoint, PeerError};

/// What was said, and how sure the recogniser is of it (0 to 1) where it tells.
#[derive(Clone, Debug, PartialEq)]
pub struct Transcript {
    pub text: String,
    pub confidence: Option<f64>,
}

impl Endpoint {
    /// `name` is the recording's file name; recognisers tell the format by its ending.
    pub async fn transcribe(&self, name: &str, recording: Bytes) -> Result<Transcript, PeerError> {
        let length = recording.len() as u64;
        let file = Part::stream_with_length(recording, length).file_name(name.to_owned());
        let form = Form::new().part("file", file).text("model", self.model.clone());
        // Which form carries how sure it is depends on the family of the model.
        let form = if self.model.contains("whisper") {
            form.text("response_format", "verbose_json")
        } else {
            form.text("response_format", "json").text("include[]", "logprobs")
        };
        let answer = self.answer(self.post("/audio/transcriptions").multipart(form)).await?;
        let answer: Answer =
            serde_json::from_slice(&answer).map_err(|error| PeerError::Malformed(error.to_string()))?;
        let confidence = answer.confidence();
        Ok(Transcript { text: answer.text.trim().to_owned(), confidence })
    }
}

#[derive(Deserialize)]
struct Answer {
    text: String,
    #[serde(default)]
    logprobs: Option<Vec<TokenProbability>>,
    #[serde(default)]
    segments: Option<Vec<Segment>>,
    #[serde(default)]
    confidence: Option<f64>,
}

#[derive(Deserialize)]
struct TokenProbability {
    logprob: f64,
}

#[derive(Deserialize)]
struct Segment {
    #[serde(default)]
    avg_logprob: Option<f64>,
}

impl Answer {
    fn confidence(&self) -> Option<f64> {
        let tokens = self.logprobs.iter().flatten().map(|token| token.logprob);
        let segments = self.segments.iter().flatten().filter_map(|segment| segment.avg_logprob);
        let told = self.confidence.filter(|told| (0.0..=1.0).contains(told));
        told.or_else(|| mean(tokens).or_else(|| mean(segments)).map(|logarithm| logarithm.exp().clamp(0.0, 1.0)))
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0u32), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count)).filter(|mean| mean.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn confidence(answer: &str) -> Option<f64> {
        serde_json::from_str::<Answer>(answer).unwrap().confidence()
    }

    #[test]
    fn confidence_is_the_mean_over_tokens_or_segments_and_absent_when_not_told() {
        assert_eq!(confidence(r#"{"text":"a"}"#), None);
        assert_eq!(confidence(r#"{"text":"a","logprobs":[],"segments":null}"#), None);
        assert_eq!(confidence(r#"{"text":"a","confidence":0.5}"#), Some(0.5));
        let tokens = confidence(r#"{"text":"a","logprobs":[{"token":"a","logprob":-0.1},{"logprob":-0.3}]}"#).unwrap();
        assert!((tokens - (-0.2f64).exp()).abs() < 1e-9);
        let segments = confidence(r#"{"text":"a","segments":[{"avg_logprob":-0.4},{"id":1}]}"#).unwrap();
        assert!((segments - (-0.4f64).exp()).abs() < 1e-9);
    }
}
