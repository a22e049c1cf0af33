//! The ways in: formats and files, records handed over, conversations, what comes again, what is set aside.

mod chats;
mod formats;
mod keys;
mod misfits;
mod one_record;
mod other_files;
mod records;
mod recrawls;
mod rejects;
mod remote;
mod splits;
mod templates;
