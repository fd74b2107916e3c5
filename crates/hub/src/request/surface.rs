//! A list of endpoints as two things: routes, and their description for those who ask for it.

use axum::handler::Handler;
use axum::routing::MethodRouter;
use utoipa::Path as Described;
use utoipa::openapi::{HttpMethod, OpenApi};
use utoipa_axum::PathItemExt;

/// Makes `routes()` and `described()` of one list over one state; one line is one address with its methods. Describing all
/// types takes more time and memory than everything else at the start, so the routes do not wait for it.
///
/// Who uses it depends on `axum` and `utoipa` itself.
#[macro_export]
macro_rules! surface {
    ($state:ty; $( $( $area:ident :: $handler:ident ),+ ; )*) => {
        pub fn routes() -> axum::Router<$state> {
            let router = axum::Router::new();
            $(
                let endpoint = $crate::request::Endpoint::<$state>::default();
                $( let endpoint = $crate::pastey::paste!(endpoint.with::<$area::[<__path_ $handler>], _, _>($area::$handler)); )+
                let router = router.route(&endpoint.address, endpoint.methods);
            )*
            router
        }

        /// One for every address: two that call different things by one name are found only as long as they are apart.
        pub fn described() -> Vec<utoipa::openapi::OpenApi> {
            vec![$({
                let router = $crate::utoipa_axum::router::OpenApiRouter::<$state>::new();
                router.routes($crate::utoipa_axum::routes!( $( $area::$handler ),+ )).into_openapi()
            }),*]
        }
    };
}

/// What one part of the hub answers to, ready to be put beside the rest.
pub struct Surface {
    pub routes: axum::Router,
    pub described: fn() -> Vec<OpenApi>,
}

/// One address and its methods.
pub struct Endpoint<S> {
    pub address: String,
    pub methods: MethodRouter<S>,
}

impl<S: Clone> Default for Endpoint<S> {
    fn default() -> Self {
        Self { address: String::new(), methods: MethodRouter::new() }
    }
}

impl<S: Clone + Send + Sync + 'static> Endpoint<S> {
    /// Adds a handler under the methods and at the address it is described with.
    pub fn with<D, H, T>(self, handler: H) -> Self
    where
        D: Described,
        H: Handler<T, S>,
        T: 'static,
    {
        let add = |all: MethodRouter<S>, method: &HttpMethod| all.on(method.to_method_filter(), handler.clone());
        Self { address: D::path(), methods: D::methods().iter().fold(self.methods, add) }
    }
}
