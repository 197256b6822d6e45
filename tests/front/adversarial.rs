//! What an agent, or somebody with its key, might try: each attempt by name, through the real doors, with what it was
//! answered, what it left in the tables, and what the audit log says of it.

mod approving;
mod attempt;
mod cancelling;
mod identity;
mod limits;
mod refunding;
mod retrying;
mod stock;
mod words;
