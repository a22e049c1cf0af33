//! Decisions made elsewhere come in as an ingest of the same documents would have stored them.

mod kernel;
mod loads;
mod reloads;
