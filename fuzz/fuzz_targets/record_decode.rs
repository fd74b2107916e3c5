//! Any bytes as the body of a record: whatever can be read can be written, and reads back as the same.

#![no_main]

use folkmoot_core::record::{Record, RecordKind};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    for kind in RecordKind::ALL {
        let Ok(record) = Record::decode(*kind, text) else { continue };
        assert_eq!(record.kind(), *kind);
        let again = Record::decode(*kind, &record.encode()).expect("what was written can be read");
        assert_eq!(again, record);
        assert_eq!(again.keys(), record.keys());
    }
});
