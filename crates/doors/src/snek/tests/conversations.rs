//! The document's two examples, one conversation per section of it, then what goes beyond it.

use super::transcript::play;
use crate::snek::Snek;

macro_rules! conversations {
    ($($test:ident $file:literal;)*) => {
        $(
            #[test]
            fn $test() {
                play(include_str!(concat!("../transcripts/", $file, ".txt")), &Snek::DOCUMENT);
            }
        )*

        const PLAYED: &[&str] = &[$($file),*];
    };
}

conversations! {
    appendix_a_complete_connection_example "appendix-a";
    appendix_b_streaming_example "appendix-b";

    section_2_connection "connection";
    section_3_request_and_response "calls";
    section_4_authentication "authentication";
    section_5_channel_operations "channels";
    section_6_messaging "messaging";
    section_7_events "events";
    section_8_visual_feedback "typing";
    section_10_streaming "streaming";

    beyond_the_other_dialect "other-dialect";
}

#[test]
fn every_transcript_is_played() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/snek/transcripts");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap().replace(".txt", ""))
        .collect();
    files.sort();
    let mut played = PLAYED.to_vec();
    played.sort_unstable();
    assert_eq!(files, played);
}
