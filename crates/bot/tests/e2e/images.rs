//! Section 11 and the media constants: images of messages, on the server's own drive and elsewhere.

use folkmoot_bot::settings::ImageFormat;
use serde_json::{Value, json};

use crate::support::openai::Reply;
use crate::support::snek::{FakeSnek, File};
use crate::support::{Setup, Stage, streams, with_role};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n-pixels";
const PNG_URL: &str = "data:image/png;base64,iVBORw0KGgotcGl4ZWxz";

/// Asks about an image in a direct message; returns the content that the model got last.
async fn content(stage: &Stage, text: &str) -> Value {
    let before = stage.snek.finals().len();
    stage.openai.will(streams(&["a picture"]));
    stage.snek.says("ch2", "alice", text);
    stage.snek.answer(before + 1).await;
    let asked = stage.asked();
    with_role(asked.last().unwrap(), "user").last().unwrap()["content"].clone()
}

async fn stage_with(path: &str, file: File) -> Stage {
    let stage = Stage::new().await;
    stage.snek.put(path, file);
    stage
}

#[tokio::test]
async fn a_relative_drive_link_is_rewritten_and_its_image_shown() {
    let stage = stage_with("/drive.bin/cat.png", File::Bytes("image/png", PNG.to_vec())).await;
    let content = content(&stage, "what is ![this](/drive.bin/cat.png)").await;
    assert_eq!(
        content,
        json!([{"type": "text", "text": "alice: what is ![this]()"},
               {"type": "image_url", "image_url": {"url": PNG_URL}}])
    );
    assert_eq!(stage.snek.fetched(), ["HEAD /drive.bin/cat.png", "GET /drive.bin/cat.png"]);
}

#[tokio::test]
async fn deepseek_gets_the_image_inside_the_text() {
    let mut setup = Setup::new().await;
    setup.settings.image_format = ImageFormat::Deepseek;
    let stage = setup.running().await;
    stage.snek.put("/a.png", File::Bytes("image/png", PNG.to_vec()));
    let content = content(&stage, &format!("look {} here", stage.snek.http("/a.png"))).await;
    assert_eq!(content, json!([{"type": "text", "text": format!("alice: look [image: {PNG_URL}] here")}]));
}

#[tokio::test]
async fn the_same_image_is_fetched_once() {
    let stage = stage_with("/a.png", File::Bytes("image/png", PNG.to_vec())).await;
    let url = stage.snek.http("/a.png");
    content(&stage, &format!("{url} and again {url}")).await;
    let second = content(&stage, &format!("and now? {url}")).await;
    assert_eq!(second[1]["image_url"]["url"], PNG_URL);
    assert_eq!(stage.snek.fetched(), ["HEAD /a.png", "GET /a.png"]);
}

#[tokio::test]
async fn an_image_of_20_mb_is_not_loaded() {
    let stage = stage_with("/big.png", File::Bytes("image/png", vec![0; 20_000_000])).await;
    let text = format!("look {}", stage.snek.http("/big.png"));
    assert_eq!(content(&stage, &text).await, json!(format!("alice: {text}")), "its address stays");
    assert_eq!(stage.snek.fetched(), ["HEAD /big.png"]);
}

#[tokio::test]
async fn an_image_that_does_not_say_how_long_it_is_is_left_at_the_limit() {
    let stage = Setup::new().await.limits(|limits| limits.media_max_bytes = 100_000).running().await;
    stage.snek.put("/endless.svg", File::Endless);
    let text = format!("look {}", stage.snek.http("/endless.svg"));
    assert_eq!(content(&stage, &text).await, json!(format!("alice: {text}")));
}

#[tokio::test]
async fn an_svg_is_shown_as_what_it_is_and_left_out_when_the_model_refuses() {
    let stage = stage_with("/a.svg", File::Bytes("image/svg+xml", b"<svg/>".to_vec())).await;
    stage.openai.will(Reply::Json(400, json!({"error": {"message": "unsupported image"}})));
    stage.openai.will(streams(&["I cannot see it"]));
    stage.snek.says("ch2", "alice", &format!("look {}", stage.snek.http("/a.svg")));
    assert_eq!(stage.snek.answer(1).await, "I cannot see it");
    let asked = stage.asked();
    let first = &with_role(&asked[0], "user")[0]["content"];
    assert_eq!(first[1]["image_url"]["url"], "data:image/svg+xml;base64,PHN2Zy8+");
    assert_eq!(with_role(&asked[1], "user")[0]["content"], "alice: look [an image that you cannot see]");
}

#[tokio::test]
async fn a_page_behind_the_address_of_an_image_is_no_image() {
    let stage = stage_with("/a.png", File::Bytes("text/html", b"<h1>not found</h1>".to_vec())).await;
    let text = format!("look {}", stage.snek.http("/a.png"));
    assert_eq!(content(&stage, &text).await, json!(format!("alice: {text}")));
}

#[tokio::test]
async fn private_addresses_other_than_the_bots_server_are_not_asked() {
    let stage = Stage::new().await;
    let other = FakeSnek::start().await;
    other.put("/a.png", File::Bytes("image/png", PNG.to_vec()));
    let text = format!("look {}", other.http("/a.png"));
    assert_eq!(content(&stage, &text).await, json!(format!("alice: {text}")));
    assert!(other.fetched().is_empty(), "nobody asked");
}

#[tokio::test]
async fn an_image_shortly_before_the_question_is_shown_too() {
    let stage = stage_with("/a.png", File::Bytes("image/png", PNG.to_vec())).await;
    stage.snek.says("ch1", "bob", &stage.snek.http("/a.png"));
    stage.openai.will(streams(&["a cat"]));
    stage.snek.says("ch1", "alice", "@mybot what is that?");
    stage.snek.answer(1).await;
    let asked = stage.asked();
    assert_eq!(with_role(&asked[0], "user")[0]["content"][1]["image_url"]["url"], PNG_URL);
}
