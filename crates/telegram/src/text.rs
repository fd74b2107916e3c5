//! Markdown as Telegram takes it: text with entities, within the limits, the footer always whole.
