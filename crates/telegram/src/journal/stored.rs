//! Enums that are stored as numbers.

/// An enum whose variants have the numbers under which the file knows them.
macro_rules! stored {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $number:literal,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $($(#[$doc])* $variant = $number,)*
        }

        impl rusqlite::ToSql for $name {
            fn to_sql(&self) -> rusqlite::Result<rusqlite::types::ToSqlOutput<'_>> {
                Ok((*self as i64).into())
            }
        }

        impl rusqlite::types::FromSql for $name {
            fn column_result(value: rusqlite::types::ValueRef<'_>) -> rusqlite::types::FromSqlResult<Self> {
                let number = value.as_i64()?;
                let known = [$(Self::$variant),*].into_iter().find(|known| *known as i64 == number);
                known.ok_or(rusqlite::types::FromSqlError::OutOfRange(number))
            }
        }
    };
}
