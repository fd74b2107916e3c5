//! Ids and their text form.

use crate::cases;
use crate::domain::ids::*;
use proptest::prelude::*;

macro_rules! reads_back {
    ($number:expr, $($id:ident),*) => {$(
        let id = $id($number);
        let text = id.to_string();
        prop_assert_eq!($id::parse(&text), id);
        prop_assert!(text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'));
        let json = serde_json::to_string(&id).unwrap();
        prop_assert_eq!(serde_json::from_str::<$id>(&json).unwrap(), id);
    )*};
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn every_id_reads_back_from_its_text(number: u128) {
        reads_back!(
            number, WorkspaceId, MemberId, ChannelId, MembershipId, MessageId, NotificationId, DraftId, ReviewId, TaskId,
            ApprovalId, CallId, WebhookId, FileId, PinId, EditId, ItemId, MemoryId, TokenId
        );
    }

    #[test]
    fn an_id_of_one_kind_is_nobodys_id_of_another(number in 1_u128..) {
        prop_assert!(ChannelId::parse(&MessageId(number).to_string()).is_none());
        prop_assert!(MessageId::parse(&MemberId(number).to_string()).is_none());
        prop_assert!(MemberId::parse(&MembershipId(number).to_string()).is_none());
    }

    #[test]
    fn reading_an_id_never_panics(text in ".{0,40}", digits in "[0-9A-Za-z]{20,30}") {
        let _ = MessageId::parse(&text);
        let _ = MessageId::parse(&format!("msg_{text}"));
        let _ = MessageId::parse(&format!("msg_{digits}"));
    }

    #[test]
    fn ids_sort_like_their_texts_and_like_their_times(seed: u64, times in proptest::collection::vec(0_i64..1 << 47, 2..20)) {
        let mut source = IdSource::new(seed);
        let made: Vec<_> = times.iter().map(|now| MessageId(source.next(*now))).collect();
        for pair in made.windows(2) {
            prop_assert!(pair[0] < pair[1]);
            prop_assert!(pair[0].to_string() < pair[1].to_string());
        }
    }
}
