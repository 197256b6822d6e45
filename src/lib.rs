//! The approval gate for AI agents.
