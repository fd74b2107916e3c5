//! Images in messages: found, fetched once, and put into what the model gets (section 11).

use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;
use reqwest::Url;

pub mod extract;
pub mod format;
pub mod mime;
pub mod seen;

use crate::settings::{Limits, seconds};
use crate::web::{Beyond, Purpose, Web};
use seen::{Image, Seen, Verdict};

/// How many bytes of images are kept besides the verdicts.
const KEPT_BYTES: usize = 64 << 20;

/// Fetches images and remembers them.
pub struct Images {
    web: Web,
    limits: Limits,
    seen: Mutex<Seen>,
}

impl Images {
    pub fn new(web: Web, limits: &Limits) -> Self {
        let seen = Seen::new(
            limits.media_hunt_dedup_max_size as usize,
            seconds(limits.media_hunt_dedup_ttl_s),
            KEPT_BYTES.max(limits.media_max_bytes as usize),
        );
        Self { web, limits: limits.clone(), seen: Mutex::new(seen) }
    }

    /// The image at an address, from memory or from the web; `Err` says why it cannot be shown.
    pub async fn look_at(&self, url: &str) -> Result<Arc<Image>, String> {
        let known = self.seen.lock().get(url, Instant::now()).cloned();
        let verdict = match known {
            Some(verdict) => verdict,
            None => {
                let verdict = self.fetch(url).await?;
                self.seen.lock().insert(url, verdict.clone(), Instant::now());
                verdict
            }
        };
        match verdict {
            Verdict::Image(image) => Ok(image),
            Verdict::Refused(why) => Err(why),
        }
    }

    /// Forgets what is too old.
    pub fn clean(&self) {
        self.seen.lock().clean(Instant::now());
    }

    /// What will hold for a while is a verdict; `Err` is trouble that may be over at the next look.
    async fn fetch(&self, url: &str) -> Result<Verdict, String> {
        let Ok(address) = Url::parse(url) else {
            return Ok(Verdict::Refused("it is no address".to_owned()));
        };
        let most = self.limits.media_max_bytes as usize;
        // Many servers do not know HEAD, so only what it says counts, not that it failed.
        if let Ok((kind, length)) =
            self.web.head(&address, Purpose::Image, seconds(self.limits.media_hunt_head_timeout_s)).await
        {
            if let Some(why) = other_kind(&kind) {
                return Ok(Verdict::Refused(why));
            }
            if length.is_some_and(|length| length > most as u64) {
                return Ok(Verdict::Refused(format!("it is larger than {most} bytes")));
            }
        }
        let patience = seconds(self.limits.media_hunt_fetch_timeout_s);
        let fetched = self.web.get(&address, Purpose::Image, most, Beyond::Refuse, patience).await;
        let fetched = fetched.map_err(|error| error.to_string())?;
        if let Some(why) = other_kind(&fetched.kind) {
            return Ok(Verdict::Refused(why));
        }
        let mime = mime::mime(url, &fetched.bytes);
        Ok(Verdict::Image(Arc::new(Image { mime, bytes: fetched.bytes })))
    }
}

/// A page that says "not found" has an address that ends with `.png` too.
fn other_kind(kind: &str) -> Option<String> {
    let is_text = kind.starts_with("text/") || matches!(kind, "application/json" | "application/xhtml+xml");
    is_text.then(|| format!("it is no image but {kind}"))
}
