//! Test audio: a tone in a WAV file, with or without tags.

const RATE: u32 = 8000;

/// A quiet tone of 440 Hz, 16 bit mono, with title, artist and album in a `LIST` chunk.
pub fn tone(seconds: f64, tags: Option<(&str, &str, &str)>) -> Vec<u8> {
    let count = (f64::from(RATE) * seconds) as u32;
    let samples = (0..count).flat_map(|number| {
        let angle = f64::from(number) * 440.0 * std::f64::consts::TAU / f64::from(RATE);
        ((angle.sin() * 3000.0) as i16).to_le_bytes()
    });
    let mut format = Vec::new();
    for part in [&1_u16.to_le_bytes()[..], &1_u16.to_le_bytes(), &RATE.to_le_bytes(), &(RATE * 2).to_le_bytes()] {
        format.extend_from_slice(part);
    }
    format.extend_from_slice(&2_u16.to_le_bytes());
    format.extend_from_slice(&16_u16.to_le_bytes());
    let mut body = b"WAVE".to_vec();
    body.extend(chunk(b"fmt ", &format));
    if let Some((title, artist, album)) = tags {
        let mut list = b"INFO".to_vec();
        for (name, text) in [(b"INAM", title), (b"IART", artist), (b"IPRD", album)] {
            list.extend(chunk(name, &[text.as_bytes(), b"\0"].concat()));
        }
        body.extend(chunk(b"LIST", &list));
    }
    body.extend(chunk(b"data", &samples.collect::<Vec<u8>>()));
    chunk(b"RIFF", &body)
}

fn chunk(name: &[u8; 4], content: &[u8]) -> Vec<u8> {
    let length = u32::try_from(content.len()).unwrap_or(u32::MAX).to_le_bytes();
    let padding: &[u8] = if content.len() % 2 == 1 { &[0] } else { &[] };
    [&name[..], &length, content, padding].concat()
}
