//! `moot client echo`: a whole SmartHole client, to try the router with and to copy from.
//!
//! It registers, takes every sentence, says it back as a notification, and comes back when the hub was away.

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio_tungstenite::connect_async;
use tokio_tungstenite::tungstenite::Message;

use crate::client::text;
use crate::{Fault, output};
use folkmoot_clients::Backoff;

/// Clients of the router on this machine.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// A client that takes every sentence and says it back.
    Echo(Args),
}

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Where the hub takes clients.
    #[arg(long, default_value = "ws://127.0.0.1:9473")]
    url: String,
    /// What to be called.
    #[arg(long, default_value = "echo")]
    name: String,
    /// What to say of itself; the router chooses by it.
    #[arg(long, default_value = "I repeat what you say, to test whether sentences arrive.")]
    description: String,
    /// Refuse every sentence with this reason.
    #[arg(long, value_name = "REASON")]
    reject: Option<String>,
}

pub async fn run(command: Command) -> anyhow::Result<()> {
    let Command::Echo(args) = command;
    let mut backoff = Backoff::for_reconnecting();
    loop {
        match serve(&args, &mut backoff).await {
            Ok(()) => output::note("the hub closed the connection"),
            Err(End::Refused(fault)) => return Err(fault.into()),
            Err(End::Lost(cause)) => output::note(&format!("no connection: {cause}")),
        }
        tokio::time::sleep(backoff.next(rand::random())).await;
    }
}

enum End {
    Refused(Fault),
    Lost(String),
}

async fn serve(args: &Args, backoff: &mut Backoff) -> Result<(), End> {
    let lost = |error: tokio_tungstenite::tungstenite::Error| End::Lost(error.to_string());
    let (mut socket, _) = connect_async(&args.url).await.map_err(lost)?;
    let payload = json!({ "name": args.name, "description": args.description, "version": env!("CARGO_PKG_VERSION") });
    let registration = json!({ "type": "registration", "payload": payload });
    socket.send(Message::text(registration.to_string())).await.map_err(lost)?;
    while let Some(frame) = socket.next().await {
        let Message::Text(frame) = frame.map_err(lost)? else { continue };
        let Ok(frame) = serde_json::from_str::<Value>(&frame) else { continue };
        let payload = &frame["payload"];
        match text(&frame, "type") {
            "registration_response" if payload["success"] == true => {
                backoff.reset();
                output::note(&format!("{} is registered", args.name));
            }
            "registration_response" => {
                let said = output::printable(text(payload, "message"));
                return Err(End::Refused(Fault::failed(format!("the hub refused the registration: {said}"))));
            }
            "message" => {
                // Whoever reads along may be gone; the client is not.
                let _ = output::line(&output::printable(text(payload, "text")));
                for response in responses(args, payload) {
                    socket.send(Message::text(response.to_string())).await.map_err(lost)?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn responses(args: &Args, message: &Value) -> Vec<Value> {
    let respond = |kind: &str, payload: Value| {
        let response = json!({ "messageId": message["id"], "type": kind, "payload": payload });
        json!({ "type": "response", "payload": response })
    };
    match &args.reject {
        Some(reason) => vec![respond("reject", json!({ "reason": reason }))],
        None => vec![respond("ack", json!({})), respond("notification", json!({ "body": message["text"] }))],
    }
}
