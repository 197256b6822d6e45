//! The agents' door over HTTP, as clients of both protocol eras meet it.

mod answers;
mod door;
mod eras;
mod limits;
mod own_actions;
mod scopes;
mod tool_list;
