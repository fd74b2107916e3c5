//! The list of all endpoints: one line is one address with its methods.

use axum::Router;
use axum::handler::Handler;
use axum::routing::MethodRouter;
use utoipa::Path as Described;
use utoipa::openapi::{HttpMethod, OpenApi};
use utoipa_axum::PathItemExt;
use utoipa_axum::router::OpenApiRouter;

use super::*;
use crate::app::App;

/// Makes two things of one list: the router, and the description for those who ask for it. Describing all types takes
/// more time and memory than everything else at the start, so the router does not wait for it.
macro_rules! surface {
    ($( $( $area:ident :: $handler:ident ),+ ; )*) => {
        pub fn routes() -> Router<App> {
            let router = Router::new();
            $(
                let endpoint = Endpoint::default();
                $( let endpoint = pastey::paste!(endpoint.with::<$area::[<__path_ $handler>], _, _>($area::$handler)); )+
                let router = router.route(&endpoint.address, endpoint.methods);
            )*
            router
        }

        pub fn described() -> OpenApi {
            let router = OpenApiRouter::<App>::with_openapi(describe::frame());
            $( let router = router.routes(utoipa_axum::routes!( $( $area::$handler ),+ )); )*
            describe::completed(router.into_openapi())
        }
    };
}

#[derive(Default)]
struct Endpoint {
    address: String,
    methods: MethodRouter<App>,
}

impl Endpoint {
    /// Adds a handler under the methods and at the address it is described with.
    fn with<D, H, T>(self, handler: H) -> Self
    where
        D: Described,
        H: Handler<T, App>,
        T: 'static,
    {
        let add = |all: MethodRouter<App>, method: &HttpMethod| all.on(method.to_method_filter(), handler.clone());
        Self { address: D::path(), methods: D::methods().iter().fold(self.methods, add) }
    }
}

surface! {
    // People, and the room they are in.
    auth::setup;
    auth::register;
    auth::join;
    auth::login;
    auth::renew;
    auth::logout;
    auth::providers;
    workspaces::create, workspaces::list;
    workspaces::get, workspaces::update, workspaces::delete;
    usage::get;
    members::add, members::list;
    members::get, members::update, members::remove;
    members::replace_key;
    members::me;
    invites::create, invites::list;
    invites::revoke;
    invites::show;
    machines::add, machines::list;
    machines::remove;
    members::set_avatar;
    credentials::change_password;
    credentials::list;
    credentials::end;
    agents::register, agents::list;
    agents::invite;
    agents::metrics;
    agents::remember, agents::memory;
    agents::forget;
    // What is said.
    channels::create, channels::list;
    channels::search;
    channels::get, channels::update, channels::delete;
    channels::archive;
    channels::unarchive;
    channels::admit;
    channels::dismiss;
    messages::send, messages::page;
    messages::get, messages::edit, messages::delete;
    messages::thread;
    messages::edits;
    reactions::add, reactions::list;
    reactions::remove;
    pins::add, pins::list;
    pins::remove;
    search::search;
    direct::open;
    direct::list;
    direct::unread;
    direct::mark_read;
    direct::set_preference;
    notifications::list;
    notifications::unread_count;
    notifications::mark_read;
    notifications::mark_all_read;
    // What agents live on, and what people decide and see of them.
    inbox::list;
    inbox::count;
    inbox::ack;
    inbox::ack_all;
    drafts::create, drafts::list;
    drafts::validate, drafts::validate_by_post;
    drafts::send;
    drafts::cancel;
    items::put, items::list;
    items::search;
    items::put_one, items::get, items::delete;
    reviews::request, reviews::list;
    reviews::get, reviews::decide;
    approvals::request, approvals::list;
    approvals::get, approvals::decide;
    approvals::take_up;
    telegram::link, telegram::show, telegram::unlink;
    runs::get;
    runs::of_channel;
    runs::of_workspace;
    runs::stop;
    runs::put_diff, runs::diff;
    deliveries::list;
    deliveries::get;
    deliveries::cancel;
    deliveries::pass;
    deliveries::fail;
    deliveries::join;
    deliveries::preview;
    // Tasks, files, calls, webhooks, routing.
    tasks::create, tasks::list;
    tasks::get, tasks::update, tasks::delete;
    tasks::claim;
    files::upload, files::list;
    files::get, files::delete;
    files::download;
    drive::upload;
    drive::download;
    calls::list;
    calls::get;
    webhooks::create, webhooks::list;
    webhooks::delete;
    webhooks::post;
    routing::say, routing::history;
    routing::say_aloud;
    routing::clients;
    routing::get;
    // Pools of workers.
    pools::agents;
    pools::request;
    pools::take, pools::sessions;
    pools::release;
    pools::dispatch;
    listen::link;
    pools::link, pools::show_link, pools::unlink;
    // The hub itself, and Lark's terminal client.
    engines::list;
    engines::test;
    hosting::create, hosting::list;
    hosting::remove;
    admin::stats;
    admin::backup;
    terminal::status;
    terminal::list_agents;
    terminal::list_channels;
    terminal::register;
    terminal::heartbeat;
    terminal::disconnect;
    terminal::list_daemons;
    terminal::get_daemon;
    terminal::wake;
    terminal::restart;
    terminal::my_directs;
    terminal::my_unread;
}
