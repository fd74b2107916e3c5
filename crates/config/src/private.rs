//! What only its owner may read of all that a configuration names.

use folkmoot_hub::modes::{Exposed, tend_data, tend_linked};

use super::{Environment, Loaded};

/// Everything private that a configuration names: the data folder, and the files that hold secrets.
pub fn tend_all(loaded: &Loaded) -> Vec<Exposed> {
    let home = Environment::of_process().folder("HOME");
    let mut found = tend_data(&loaded.config.data_dir(), home.as_deref());
    found.extend(loaded.files_with_secrets().iter().filter_map(|file| tend_linked(file)));
    found
}
