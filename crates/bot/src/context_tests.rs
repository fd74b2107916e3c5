//! What is remembered and what fits.

use folkmoot_clients::llm::{FunctionCall, ImageUrl, ToolCall};
use proptest::prelude::*;

use super::*;

/// One token per word: easy to count by eye.
fn words(text: &str) -> usize {
    text.split_whitespace().count()
}

fn call(id: usize) -> Message {
    let function = FunctionCall { name: "f".into(), arguments: "{}".into() };
    Message::Assistant {
        content: None,
        tool_calls: vec![ToolCall { id: id.to_string(), kind: "function".into(), function }],
    }
}

fn result(id: usize, text: &str) -> Message {
    Message::Tool { tool_call_id: id.to_string(), content: text.into() }
}

fn talk(count: usize) -> Vec<Message> {
    let mut messages = vec![Message::system("who you are")];
    messages.extend((0..count).map(|number| Message::user(format!("message {number}"))));
    messages
}

#[test]
fn the_last_50_messages_of_a_channel_are_kept() {
    let mut history = History::default();
    for number in 0..60 {
        history.push(50, false, "ann", &number.to_string());
    }
    let kept = history.up_to(59);
    assert_eq!((kept.len(), kept[0].text.as_str(), kept[49].text.as_str()), (50, "10", "59"));
}

#[test]
fn a_question_comes_last_after_what_the_bot_answered_since() {
    let mut history = History::default();
    history.push(50, false, "ann", "first?");
    let second = history.push(50, false, "ann", "second?");
    history.push(50, true, "bot", "answer to the first");
    history.push(50, false, "bob", "third?");
    let texts: Vec<_> = history.up_to(second).into_iter().map(|said| said.text).collect();
    assert_eq!(texts, ["first?", "answer to the first", "second?"]);
}

#[test]
fn an_own_message_that_comes_back_is_remembered_once() {
    let mut history = History::default();
    history.push(50, true, "bot", "hello");
    history.push_own(50, "bot", "hello");
    history.push_own(50, "bot", "said by another program of the bot");
    assert_eq!(history.said.len(), 2);
}

#[test]
fn at_most_200_messages_go_to_the_model() {
    let fitting = fit(talk(250), Budget { messages: 200, tokens: 120_000 }, tokens::at_most);
    assert_eq!(fitting.len(), 200);
    assert_eq!(fitting[0], Message::system("who you are"));
    assert_eq!(fitting[199], Message::user("message 249"));
    assert_eq!(fitting[1], Message::user("message 51"));
}

#[test]
fn the_token_budget_drops_the_oldest_first() {
    let mut messages = vec![Message::system("one two")];
    messages.extend((0..4).map(|_| Message::user("a ".repeat(20_000))));
    let fitting = fit(messages, Budget { messages: 200, tokens: 45_000 }, words);
    assert_eq!(fitting.len(), 3);
}

#[test]
fn the_real_tokenizer_decides_where_bytes_do_not() {
    // 130,000 bytes, but far fewer tokens: everything stays.
    let mut messages = vec![Message::system("you")];
    messages.extend((0..13).map(|_| Message::user("hello ".repeat(1666))));
    let fitting = fit(messages.clone(), Budget { messages: 200, tokens: 120_000 }, tokens::count);
    assert_eq!(fitting, messages);
    let fitting = fit(messages, Budget { messages: 200, tokens: 10_000 }, tokens::count);
    assert_eq!(fitting.len(), 6, "about 1,670 tokens each");
}

#[test]
fn calls_and_their_results_stay_or_go_together() {
    let mut messages = talk(1);
    for id in 0..5 {
        messages.push(call(id));
        messages.push(result(id, "r"));
    }
    let fitting = fit(messages, Budget { messages: 7, tokens: 120_000 }, words);
    let expected = vec![
        Message::system("who you are"),
        Message::user("message 0"),
        call(3),
        result(3, "r"),
        call(4),
        result(4, "r"),
    ];
    assert_eq!(fitting, expected);
}

#[test]
fn a_question_that_is_too_long_alone_is_shortened() {
    let messages = vec![Message::system("you"), Message::user("word ".repeat(1000))];
    let fitting = fit(messages, Budget { messages: 200, tokens: 100 }, words);
    assert_eq!(fitting.len(), 2);
    assert!(fitting.iter().map(|message| cost(message, &words)).sum::<usize>() <= 100);
}

#[test]
fn an_image_has_its_price() {
    let image_url = ImageUrl { url: "data:image/png;base64,AAAA".into(), detail: None };
    let parts = vec![Part::Text { text: "look".into() }, Part::ImageUrl { image_url }];
    let message = Message::User { content: Content::Parts(parts), name: None };
    assert_eq!(cost(&message, &words), 1 + tokens::IMAGE_TOKENS + MESSAGE_TOKENS);
}

proptest! {
    /// Whatever the conversation: the bounds hold, the beginning and the question stay, no result stands without its call.
    #[test]
    fn what_fits_is_a_conversation(kinds in prop::collection::vec((0u8..3, 1usize..400), 1..40), most in 5usize..30, budget in 150usize..800) {
        let mut messages = vec![Message::system("who you are")];
        for (index, (kind, length)) in kinds.iter().enumerate() {
            let text = "w ".repeat(*length);
            match kind {
                0 => messages.push(Message::user(text)),
                1 => messages.push(Message::Assistant { content: Some(text), tool_calls: Vec::new() }),
                _ => messages.extend([call(index), result(index, &text)]),
            }
        }
        messages.push(Message::user("the question"));
        let fitting = fit(messages, Budget { messages: most, tokens: budget }, words);
        prop_assert!(fitting.len() <= most);
        prop_assert!(fitting.iter().map(|message| cost(message, &words)).sum::<usize>() <= budget);
        prop_assert_eq!(&fitting[0], &Message::system("who you are"));
        prop_assert_eq!(fitting.last().unwrap(), &Message::user("the question"));
        for pair in fitting.windows(2) {
            if let Message::Tool { tool_call_id, .. } = &pair[1] {
                let called = matches!(&pair[0], Message::Assistant { tool_calls, .. } if tool_calls[0].id == *tool_call_id);
                prop_assert!(called);
            }
        }
    }
}
