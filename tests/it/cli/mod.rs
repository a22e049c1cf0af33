//! The command as a shell meets it.

mod answers;
mod demo;
mod errors;
mod help_examples;
mod schema;
mod secrets;
mod spelling;
mod text_files;
mod verbs;
mod way_out;
