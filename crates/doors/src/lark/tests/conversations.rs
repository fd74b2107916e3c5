//! One conversation per section of the document, then what goes beyond it.

use super::transcript::play;
use crate::lark::Lark;

macro_rules! conversations {
    ($($test:ident $file:literal;)*) => {
        $(
            #[test]
            fn $test() {
                play(include_str!(concat!("../transcripts/", $file, ".txt")), &Lark);
            }
        )*

        const PLAYED: &[&str] = &[$($file),*];
    };
}

conversations! {
    envelope "envelope";
    connection_lifecycle_authentication "authentication";
    connection_lifecycle_channel_subscription "channel-subscription";
    agent_lifecycle "agent-lifecycle";
    agent_lifecycle_wake "agent-wake";
    daemon_proxy "daemon";
    messaging "messaging";
    messaging_threads "threads";
    typing "typing";
    presence "presence";
    notifications "notifications";
    call_signaling "calls";
    approvals "approvals";
    error_handling "errors";
    implementation_notes_timeouts "timeouts";
    implementation_notes_reconnection "reconnection";
    implementation_notes_name_resolution "name-resolution";

    beyond_inbox "inbox";
    beyond_drafts "drafts";
    beyond_reviews "reviews";
    beyond_workspace_items "workspace-items";
    beyond_reactions_and_pins "reactions-and-pins";
    beyond_catching_up "catching-up";
    beyond_idempotency "idempotency";
    beyond_runs "runs";
    beyond_deliveries "deliveries";
    beyond_plain_frames "plain-frames";
}

#[test]
fn every_transcript_is_played() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/lark/transcripts");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap().replace(".txt", ""))
        .collect();
    files.sort();
    let mut played = PLAYED.to_vec();
    played.sort_unstable();
    assert_eq!(files, played);
}
