//! The toolbox: definitions, arguments, breakers.
