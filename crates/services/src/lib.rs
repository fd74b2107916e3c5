//! Services over the hub: pools of worker agents with what there is to hear of them, routing, and tools for assistants.

#![expect(unused_qualifications, reason = "`utoipa::path` writes the full paths of the query types it describes")]

pub mod mcp;
pub mod pools;
pub mod routing;
pub mod settings;

pub use self::mcp::Mcp;
pub use self::pools::Pools;
pub use self::routing::Routing;
