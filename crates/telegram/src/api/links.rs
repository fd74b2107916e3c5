//! Links in what people write: an engine sees no looks, so the address has to be among the words.

use super::{Entity, EntityKind, Message};

impl Message {
    /// Puts the address behind every link whose words do not say it.
    pub fn spell_out_links(&mut self) {
        for (text, entities) in [(&mut self.text, &mut self.entities), (&mut self.caption, &mut self.caption_entities)]
        {
            if let Some(text) = text {
                *text = spelled_out(text, entities);
                // They tell about the text as it was.
                entities.clear();
            }
        }
    }
}

fn spelled_out(text: &str, entities: &[Entity]) -> String {
    let link =
        |entity: &Entity| Some((entity.end(), entity.url.clone().filter(|_| entity.kind == EntityKind::TextLink)?));
    let mut links: Vec<(usize, String)> = entities.iter().filter_map(link).collect();
    links.sort_by_key(|(end, _)| *end);
    let (mut links, mut spelled, mut at) = (links.into_iter().peekable(), String::new(), 0);
    // Telegram counts in UTF-16 units.
    for c in text.chars() {
        spelled.push(c);
        at += c.len_utf16();
        while let Some((_, url)) = links.next_if(|(end, _)| *end <= at) {
            if !spelled.ends_with(&url) {
                spelled.push_str(&format!(" ({url})"));
            }
        }
    }
    spelled
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_link_brings_its_address_along() {
        let entities = json!([
            {"type": "text_link", "offset": 3, "length": 4, "url": "https://x.org/a"},
            {"type": "text_link", "offset": 8, "length": 15, "url": "https://x.org/b"},
            {"type": "bold", "offset": 0, "length": 2},
        ]);
        let text = "🦀 this https://x.org/b end";
        let mut message: Message =
            serde_json::from_value(json!({"message_id": 5, "chat": {"id": 1}, "text": text, "entities": entities}))
                .unwrap();
        message.spell_out_links();
        assert_eq!(message.text.unwrap(), "🦀 this (https://x.org/a) https://x.org/b end");
    }
}
