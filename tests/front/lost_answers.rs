//! Answers that never arrive. The server is killed, the client hangs up, or the way to the database is cut, at each point of
//! each call. What was committed stands and what was not left nothing behind; the same call, sent again, finds out which, and
//! nobody is told that something failed that was done.

mod calls;
mod contended;
mod cut_off;
mod hung_up;
mod killed;
mod told;
