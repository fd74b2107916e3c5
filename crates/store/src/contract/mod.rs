//! What every store promises, as tests that each backend runs with one line: `contract!(path::to::a_new_place);`, or with
//! `contract!(path::to::a_new_place, path::to::is_there);` where it needs a server that may be missing.
//!
//! A rule takes a function that makes a [`Place`]: somewhere empty to keep things, which can be opened again after its store was
//! closed. Rules speak of the trait only; what just one backend does is tested beside that backend.

pub mod directory;
pub mod fixtures;
pub mod messages;
mod one_of_each;
pub mod pages;
pub mod records;
pub mod search;
pub mod transactions;

use crate::Store;

/// Where one test keeps its things; what is in it goes away with it.
pub trait Place {
    fn open(&self) -> Box<dyn Store>;
}

pub type NewPlace = fn() -> Box<dyn Place>;

/// Random cases of one property; nothing is kept of a failure but its message, which holds the smallest case.
fn cases(number: u32) -> proptest::test_runner::Config {
    proptest::test_runner::Config { cases: number, failure_persistence: None, ..Default::default() }
}

pub fn always_there() -> bool {
    true
}

macro_rules! contract {
    ($new_place:path) => {
        $crate::contract::contract!($new_place, $crate::contract::always_there);
    };
    ($new_place:path, $is_there:path) => {
        $crate::contract::tests! { $new_place, $is_there;
            transactions {
                what_was_committed_is_there_after_opening_again
                what_was_not_committed_is_gone
                an_attempt_to_write_changes_nothing
                lookups_in_a_transaction_see_what_was_appended_before
                lookups_see_changes_of_what_was_stored_and_of_what_was_foreseen
                what_was_foreseen_is_what_would_have_been_looked_up
                readers_see_a_transaction_when_it_is_committed_and_not_before
                a_message_is_stored_once
                a_position_is_given_out_once
                an_event_that_fails_takes_its_transaction_with_it
                the_store_goes_on_after_a_failed_transaction
                passing_events_leave_nothing_behind
            }
            messages {
                every_field_of_a_message_reads_back
                every_string_survives
                an_edit_replaces_what_was_said_and_nothing_else
                a_deleted_message_is_kept_without_its_words
                newest_messages_are_oldest_first_with_replies_and_without_deleted_ones
                newest_replies_leave_out_the_root_and_deleted_ones
                a_thread_is_its_root_and_what_hangs_below_oldest_first
                a_deleted_root_is_shown_as_long_as_something_hangs_below_it
                replies_are_counted_as_they_come_and_go
                the_room_version_is_known_for_every_position
                an_idempotency_key_finds_the_message_of_its_sender_only
                keys_are_found_however_many_there_are
                a_removed_channel_is_gone_at_once_and_for_good
                messages_are_counted_without_the_deleted_ones
            }
            pages {
                a_page_is_what_its_limits_say
                a_replay_is_dense_in_order_and_complete
                a_replay_shows_messages_as_they_are_now
                a_replay_beside_a_writer_has_no_gap
            }
            records {
                a_record_of_every_kind_reads_back
                saving_again_replaces_also_the_keys
                a_filter_means_what_it_says
                a_limit_of_none_finds_nothing_and_a_huge_one_everything
            }
            search {
                all_words_must_be_there_and_nothing_else_matters
                beginnings_find_whole_words_at_least
                the_newest_come_first
                only_the_given_channels_are_searched
                case_and_accents_do_not_matter
                no_input_is_syntax
                words_that_stand_side_by_side_are_told_from_others
                words_of_other_scripts_are_found
                nothing_is_found_by_nothing
                an_edited_message_is_found_by_its_new_words_only
                a_deleted_message_is_not_found_even_before_catching_up
                a_message_changed_before_it_was_taken_in_is_found_as_it_is_now
                words_said_often_elsewhere_are_still_found_here
                catching_up_goes_in_steps_and_comes_to_an_end
            }
            directory {
                the_directory_loads_into_the_state_that_followed_the_events
                the_head_of_a_channel_counts_changes_and_deleted_messages
                an_empty_store_has_an_empty_directory
                open_questions_are_loaded_and_decided_ones_are_not
            }
        }
    };
}
pub(crate) use contract;

macro_rules! tests {
    ($new_place:path, $is_there:path; $($module:ident { $($rule:ident)* })*) => {
        $(mod $module {
            $(#[test]
            fn $rule() {
                if $is_there() {
                    $crate::contract::$module::$rule($new_place);
                }
            })*
        })*
    };
}
pub(crate) use tests;
