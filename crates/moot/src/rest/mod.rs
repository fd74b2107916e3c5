//! What the machine itself brings to `/v1`: its engines, the agents it hosts, its Telegram bot; and the whole description.

mod engines;
mod hosting;
mod telegram;
#[cfg(test)]
mod tests;

use folkmoot_hub::request::Surface;
use folkmoot_hub::surface;
use folkmoot_services::{pools, routing};

use crate::hosting::Local;

surface! {
    Local;
    engines::list;
    engines::test;
    hosting::create, hosting::list;
    hosting::remove;
    telegram::link, telegram::show, telegram::unlink;
}

pub fn surface(local: &Local) -> Surface {
    Surface { routes: routes().with_state(local.clone()), described }
}

/// The description of the whole surface, as it stands in `docs/openapi.json`.
pub fn openapi_json() -> String {
    folkmoot_http::openapi_json(&[described, pools::described, routing::described])
}

/// The description of the Lark door, as it stands in `docs/asyncapi.json`.
pub fn asyncapi_json() -> String {
    folkmoot_http::asyncapi_json()
}

#[cfg(test)]
fn described_twice() -> std::collections::BTreeSet<String> {
    folkmoot_http::described_twice(&[described, pools::described, routing::described])
}
