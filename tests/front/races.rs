//! Races: many at once, through the real doors. The loser is told who won, and has written nothing: after every round the
//! books balance.
//!
//! Where the order matters, both orders are forced: contenders queue up behind a lock that somebody else holds
//! ([`TestApp::in_order`](crate::support::TestApp::in_order)), or the first is stopped between its reads and its writes
//! ([`Gate`](crate::support::held::Gate)).

mod accounts;
mod approve_approve;
mod approve_expiry;
mod approve_reject;
mod approve_withdraw;
mod audit_fails;
mod cancel_refund;
mod edited_order;
mod equal_writes;
mod first_insert;
mod hang_up;
mod key_reused;
mod last_piece;
mod late_clock;
mod locked_out;
mod over_total;
mod owners;
mod pauses;
mod pending_duplicate;
mod person_gone;
mod processes;
mod repeated_after_end;
mod revoked_agent;
mod secrets;
mod sweepers;
mod two_agents;
mod window_edge;

/// How many contend at once.
const CONTENDERS: usize = 16;
/// How often, at least, on each backend.
const ROUNDS: usize = 200;
