//! Black-box tests of the hub: the built binary, REST and WebSocket on loopback, and the documents.
//!
//! First the doors, each section by section of its document, then `/v1`, then the proofs. Each test is named after the
//! rule it checks.

#[path = "../support/mod.rs"]
mod support;

mod abuse_approvals;
mod abuse_log;
mod abuse_memory;
mod abuse_quotas;
mod abuse_uploads;

mod chopsticks_chaos;
mod chopsticks_chat;
mod chopsticks_cli;
mod chopsticks_connect;
mod chopsticks_requests;
mod chopsticks_sessions;

mod abuse_bot;
mod abuse_keys;
mod abuse_login;
mod abuse_loop_guard;
mod abuse_machine;
mod abuse_modes;
mod abuse_pools;
mod abuse_revocation;
mod agents_bars;
mod agents_crash;
mod agents_programs;
mod agents_story;

mod bot_hub;

mod conformance;

mod deliveries_absence;
mod deliveries_bars;
mod deliveries_loop_guard;
mod deliveries_states;

mod lark_agents;
mod lark_approvals;
mod lark_bad_input;
mod lark_calls;
mod lark_channels;
mod lark_connect;
mod lark_daemon;
mod lark_drafts;
mod lark_idempotency;
mod lark_inbox;
mod lark_limits;
mod lark_live;
mod lark_messages;
mod lark_notifications;
mod lark_real_agent;
mod lark_reviews;
mod lark_sync;
mod lark_threads;
mod lark_tokens;
mod lark_wake;

mod runs_cost;
mod runs_life;
mod runs_people;

mod rest_accounts;
mod rest_agents;
mod rest_approvals;
mod rest_bad_input;
mod rest_channels;
mod rest_direct;
mod rest_experience;
mod rest_files;
mod rest_logins;
mod rest_members;
mod rest_messages;
mod rest_notifications;
mod rest_operator;
mod rest_origins;
mod rest_reactions;
mod rest_search;
mod rest_setup;
mod rest_surface;
mod rest_tasks;
mod rest_terminal;
mod rest_webhooks;
mod rest_workspaces;

mod jukebox_agent;
mod jukebox_browser;
mod jukebox_listen;
mod smarthole_browser;
mod smarthole_door;
mod smarthole_inputs;
mod smarthole_prompt;
mod smarthole_rejects;
mod smarthole_routing;
mod smarthole_terminal;

mod snek_calls;
mod snek_doors;
mod snek_drive;
mod snek_events;
mod snek_login;
mod snek_streams;

mod abuse_doors;
mod matrix;

mod full_disk;
mod mcp_door;
mod mcp_tools;
mod postgres;
mod proof_backup;
mod proof_conversation;
mod proof_crash;
mod proof_noise;
mod proof_readers;
mod proof_stop;
mod proof_views;
mod start_refusals;

mod telegram_approvals;
mod telegram_bars;
mod telegram_commands;
mod telegram_life;
mod telegram_runs;
mod telegram_soak;
mod telegram_start;
mod telegram_threads;
mod telegram_trouble;
