//! The steps of a run: one record per action, and the newest event of it is what counts.

use serde_json::Value;
use serde_json::value::RawValue;

use super::{own_open_run, readable, shortened};
use crate::Actor;
use crate::command::Reply;
use crate::decide::{Context, Decision, Outcome, short_text};
use crate::ids::*;
use crate::lookup::LookupExt;
use crate::record::Filter;
use crate::refusal::Refusal;
use crate::run::*;

const MAX_TITLE_CHARS: usize = 1000;
const MAX_DETAIL_BYTES: usize = 16 * 1024;
/// What a text in a detail is cut to at first when the detail is too large, and the least it is cut to.
const LONG_TEXT: usize = 8 * 1024;
const SHORT_TEXT: usize = 64;

pub fn report(context: &mut Context<'_>, actor: Actor, report: ReportAction) -> Outcome {
    let run = own_open_run(context, actor, report.run)?;
    let action = short_text(&report.action, "id", 200)?;
    let kind = short_text(&report.kind, "kind", 64)?;
    if report.detail.as_ref().is_some_and(|detail| !matches!(detail.get().as_bytes()[0], b'{' | b'n')) {
        return Err(Refusal::bad_request("detail must be an object"));
    }
    let id = RunActionId::of(run.id, &action);
    let before = context.history.get::<RunAction>(id)?;
    let tally = tally(context, run.id)?;
    let seq = tally.seq.saturating_add(1);
    let action = RunAction {
        id,
        run: run.id,
        channel: run.channel,
        thread: run.thread,
        seq,
        first_seq: before.as_ref().map_or(seq, |before| before.first_seq),
        count: tally.count.saturating_add(u32::from(before.is_none())),
        action,
        kind,
        title: shortened(report.title, MAX_TITLE_CHARS),
        phase: report.phase,
        ok: report.ok,
        detail: readable(report.detail.map(fitting)),
        at: context.now,
    };
    Ok(Decision::saved(Reply::Done, action))
}

/// How far the actions of a run have come. After a start of the hub they are counted once; from then on each says so itself.
pub fn tally(context: &Context<'_>, run: RunId) -> Result<Tally, Refusal> {
    if let Some(tally) = context.state.runs().tally(run) {
        return Ok(tally);
    }
    let actions = context.history.list::<RunAction>(&Filter::scope(run.0).limit(usize::MAX))?;
    let newest = actions.iter().map(|action| action.seq).max().unwrap_or(0);
    Ok(Tally { seq: newest, count: u32::try_from(actions.len()).unwrap_or(u32::MAX) })
}

/// A detail that is too large loses the ends of its long texts; one that is too large even so says only that.
fn fitting(detail: Box<RawValue>) -> Box<RawValue> {
    if detail.get().len() <= MAX_DETAIL_BYTES {
        return detail;
    }
    let Ok(mut value) = serde_json::from_str::<Value>(detail.get()) else { return detail };
    let mut longest = LONG_TEXT;
    while longest >= SHORT_TEXT {
        cut(&mut value, longest);
        match serde_json::value::to_raw_value(&value) {
            Ok(raw) if raw.get().len() <= MAX_DETAIL_BYTES => return raw,
            _ => longest /= 2,
        }
    }
    serde_json::value::to_raw_value(&serde_json::json!({ "truncated": true })).unwrap_or(detail)
}

fn cut(value: &mut Value, max_chars: usize) {
    match value {
        Value::String(text) => *text = shortened(std::mem::take(text), max_chars),
        Value::Array(items) => items.iter_mut().for_each(|item| cut(item, max_chars)),
        Value::Object(fields) => fields.values_mut().for_each(|field| cut(field, max_chars)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(value: &Value) -> Box<RawValue> {
        serde_json::value::to_raw_value(value).unwrap()
    }

    #[test]
    fn a_detail_is_cut_to_16_kib_at_the_ends_of_its_texts() {
        let short = raw(&serde_json::json!({ "command": "ls", "n": 3 }));
        assert_eq!(fitting(short.clone()).get(), short.get());
        let long = serde_json::json!({ "command": "cat big", "output": "ü".repeat(40_000) });
        let fitted = fitting(raw(&long));
        assert!(fitted.get().len() <= MAX_DETAIL_BYTES);
        let fitted: Value = serde_json::from_str(fitted.get()).unwrap();
        assert_eq!(fitted["command"], "cat big");
        assert!(fitted["output"].as_str().unwrap().ends_with("ü…"));
    }

    #[test]
    fn a_detail_of_too_many_pieces_says_that_it_was_left_out() {
        let many = serde_json::json!({ "lines": vec!["x"; 30_000] });
        assert_eq!(fitting(raw(&many)).get(), r#"{"truncated":true}"#);
    }
}
