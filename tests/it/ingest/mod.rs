//! The ways in: formats and files, records handed over, conversations, what comes again, what is set aside.

mod chat_numbers;
mod chats;
mod conversations;
mod damage;
mod decisions;
mod foreign;
mod formats;
mod incoming;
mod inputs;
mod joins;
mod keys;
mod mappings;
mod misfits;
mod one_record;
mod other_files;
mod records;
mod recrawls;
mod rejects;
mod remote;
mod splits;
