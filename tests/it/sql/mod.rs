//! Statements: what they answer, in which words, from which tables, within which limits.

mod files;
mod limits;
mod predicates;
mod recounts;
mod scripts;
mod statements;
mod tables;
