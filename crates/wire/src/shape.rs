//! The shape of a type as JSON Schema, with the shapes it is made of: what a description of a door is put together from.

use utoipa::ToSchema;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;

/// A type that travels, and everything it refers to by name.
pub struct Shape {
    pub name: String,
    pub parts: Vec<(String, RefOr<Schema>)>,
}

impl Shape {
    pub fn of<T: ToSchema>() -> Self {
        let name = T::name().into_owned();
        let mut parts = vec![(name.clone(), T::schema())];
        T::schemas(&mut parts);
        Self { name, parts }
    }
}
