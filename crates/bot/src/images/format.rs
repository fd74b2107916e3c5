//! A message with its images, as the two kinds of models want it.

use data_encoding::BASE64;
use folkmoot_clients::llm::{Content, ImageUrl, Part};

use super::seen::Image;
use crate::settings::ImageFormat;

/// One image of a message, by the address it has in the text.
pub struct Shown<'a> {
    pub url: &'a str,
    pub image: &'a Image,
}

/// The content of a message for the model. An address whose image is not shown stays in the text.
pub fn content(text: &str, shown: &[Shown<'_>], format: ImageFormat) -> Content {
    if shown.is_empty() {
        return Content::Text(text.to_owned());
    }
    match format {
        ImageFormat::Openai => Content::Parts(blocks(text, shown)),
        ImageFormat::Deepseek => Content::Parts(vec![Part::Text { text: inlined(text, shown) }]),
    }
}

fn blocks(text: &str, shown: &[Shown<'_>]) -> Vec<Part> {
    let removed = longest_first(shown).iter().fold(text.to_owned(), |text, one| text.replace(one.url, ""));
    let mut parts = vec![Part::Text { text: removed.trim().to_owned() }];
    parts.extend(shown.iter().map(|one| {
        let image_url = ImageUrl { url: data_url(one.image), detail: None };
        Part::ImageUrl { image_url }
    }));
    parts
}

fn inlined(text: &str, shown: &[Shown<'_>]) -> String {
    longest_first(shown)
        .iter()
        .fold(text.to_owned(), |text, one| text.replace(one.url, &format!("[image: {}]", data_url(one.image))))
}

/// An address can be the beginning of another, so the longer one is replaced first.
fn longest_first<'a, 'b>(shown: &'a [Shown<'b>]) -> Vec<&'a Shown<'b>> {
    let mut sorted: Vec<_> = shown.iter().collect();
    sorted.sort_by_key(|one| std::cmp::Reverse(one.url.len()));
    sorted
}

fn data_url(image: &Image) -> String {
    format!("data:{};base64,{}", image.mime, BASE64.encode(&image.bytes))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn png(bytes: &[u8]) -> Image {
        Image { mime: "image/png".into(), bytes: bytes.to_vec() }
    }

    fn shown(text: &str, format: ImageFormat) -> serde_json::Value {
        let image = png(b"hi");
        let shown = [Shown { url: "http://h/a.png", image: &image }];
        serde_json::to_value(content(text, &shown, format)).unwrap()
    }

    #[test]
    fn openai_gets_the_text_without_the_address_and_a_block_per_image() {
        assert_eq!(
            shown("what is http://h/a.png", ImageFormat::Openai),
            json!([
                {"type": "text", "text": "what is"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
            ])
        );
    }

    #[test]
    fn deepseek_gets_the_image_inside_the_text() {
        assert_eq!(
            shown("what is http://h/a.png there", ImageFormat::Deepseek),
            json!([{"type": "text", "text": "what is [image: data:image/png;base64,aGk=] there"}])
        );
    }

    #[test]
    fn a_message_without_images_is_plain_text() {
        assert_eq!(
            content("hello http://h/b.png", &[], ImageFormat::Openai),
            Content::Text("hello http://h/b.png".into())
        );
    }

    #[test]
    fn an_address_that_begins_another_does_not_spoil_it() {
        let (one, two) = (png(b"1"), png(b"2"));
        let shown = [Shown { url: "http://h/a.png", image: &one }, Shown { url: "http://h/a.png?x", image: &two }];
        let Content::Parts(parts) = content("http://h/a.png http://h/a.png?x", &shown, ImageFormat::Deepseek) else {
            panic!("parts")
        };
        let text = "[image: data:image/png;base64,MQ==] [image: data:image/png;base64,Mg==]".to_owned();
        assert_eq!(parts, [Part::Text { text }]);
    }
}
