//! The integration tests: one binary, a folder a room of `src`, a file a subject.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::too_many_lines,
    missing_docs,
    reason = "a test that goes wrong should stop there and say so, and it tells its whole case in one place"
)]

/// The command as a shell meets it.
mod cli {
    mod answers;
    mod examples;
    mod messages;
    mod spelling;
    mod terminal;
    mod verbs;
}

/// Suites of evaluation items: found with evidence, reviewed.
mod contamination {
    mod evidence;
    mod layouts;
    mod review;
}

/// Changes of what is stored: removals, purges, fields.
mod curate {
    mod field_histories;
    mod fields;
    mod histories;
    mod outputs;
    mod purge;
    mod renames;
    mod takedown;
    mod undo;
}

/// The dedup contract against brute force: a world is a corpus beside the naive model of it.
mod decide {
    mod changes;
    mod contract;
    mod crowds;
    mod moments;
    mod prompts;
    mod same_text;
}

/// What the documents say is what there is, and what they tell people to run works.
mod docs {
    mod guides;
    mod pages;
    mod programs;
    mod promises;
    mod trouble;
}

/// The properties of an epoch, each by its definition: a checker that knows stored tokens and the rows of
/// the public reader, and nothing of how rows are made.
mod epoch {
    mod advice;
    mod append;
    mod batches;
    mod builds;
    mod collator;
    mod cuts;
    mod ends;
    mod explained;
    mod formats;
    mod golden;
    mod grouping;
    mod holdouts;
    mod laws;
    mod ledger;
    mod look;
    mod masks;
    mod near;
    mod orders;
    mod passes;
    mod plans;
    mod ranges;
    mod segments;
    mod sharded;
    mod steps;
    mod verbs;
}

/// The walls of the sources, the public surface, and what builds them.
mod house {
    mod layers;
    mod packages;
    mod setup;
    mod surface;
    mod workflows;
}

/// The ways in: formats and files, records handed over, conversations, what comes again, what is set aside.
mod ingest {
    mod chats;
    mod contents;
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
    mod tables;
    mod templates;
}

/// Looking at a corpus: duplicates, statistics, snapshots, the data card.
mod inspect {
    mod card;
    mod duplicates;
    mod forecast;
    mod matrix;
    mod policies;
    mod report;
    mod snapshots;
    mod sweeps;
}

/// Decisions made elsewhere come in as an ingest of the same documents would have stored them.
mod load {
    mod loads;
    mod reloads;
}

/// Documents as files: read back by other readers, into another corpus, after a kill, and compared with SQL.
mod output;

mod signals;

/// Statements: what they answer, in which words, from which tables, within which limits.
mod sql {
    mod exact;
    mod faces;
    mod files;
    mod limits;
    mod odd_columns;
    mod predicates;
    mod recounts;
    mod scripts;
    mod statements;
    mod subqueries;
    mod tables;
}

/// The directory of a corpus: kills, damage, repair, old formats, backups, limits, one writer beside many readers.
mod store {
    mod backups;
    mod corruption;
    mod crash;
    mod damage;
    mod exchanged;
    mod formats;
    mod limits;
    mod opening;
    mod remote_backups;
    mod repair;
}

mod support;

/// Tokenizers and the ids that they make.
mod tokenizer {
    mod ids;
    mod patterns;
    mod register;
}
