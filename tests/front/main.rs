//! Tests through the front doors.

mod harness;
mod migrations;
mod support;
