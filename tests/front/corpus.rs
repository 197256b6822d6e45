//! One corpus of hostile values, fed to every argument of every tool that the server lists: a new tool is covered by
//! itself. Whatever comes, the answer is a success or an error of the tool's own, nothing leaks, and what is refused
//! leaves one audit event and nothing else.

mod arguments;
mod calls;
mod messages;
mod values;
