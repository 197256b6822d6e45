//! Tests through the front doors.

mod harness;
mod health;
mod migrations;
mod support;
