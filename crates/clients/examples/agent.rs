//! Counts words: `MOOT_URL=ws://127.0.0.1:8484/ws MOOT_KEY=lr_YOUR_KEY cargo run -p folkmoot-clients --example agent`.
use folkmoot_clients::lark::{Client, Heard, Settings};
use folkmoot_wire::lark::{AgentHello, AgentWake, MessageSend, WokenBy};
#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (url, key) = (std::env::var("MOOT_URL")?.parse()?, std::env::var("MOOT_KEY")?);
    let (told, mut events) = tokio::sync::mpsc::channel(64);
    let hub = Client::start(Settings::new(reqwest::Client::new(), url, std::sync::Arc::new(move || key.clone())), told);
    let hello: AgentHello = serde_json::from_str(r#"{"role_card":{"system_prompt":"Counts the words people say."}}"#)?;
    while let Some(event) = events.recv().await {
        let ready = hub.is_ready() || hub.first(&hello).await.map(|_| hub.ready()).is_ok();
        let (Heard::Frame(frame), true) = (event, ready) else { continue };
        let Some(AgentWake::<WokenBy> { context, .. }) = frame.read() else { continue };
        let (Some(channel), Some(wake)) = (context.channel, context.delivery) else { continue };
        let said = context.recent_messages.last().map_or("", |message| &message.content);
        let content = format!("These are {} words.", said.split(' ').filter(|word| !word.starts_with('@')).count());
        hub.send(&MessageSend { channel_id: channel.id, content, delivery_id: Some(wake.id), ..Default::default() });
    }
    Ok(())
}
