//! The command as a shell meets it.

mod examples;
mod messages;
mod spelling;
mod verbs;
