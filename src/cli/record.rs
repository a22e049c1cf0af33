//! Puts outputs on record for verbs, with the flag that turns this off and the answer about it.

use super::verb::VerbCall;
use corpusdb::Error;
use serde::Serialize;

/// Whether an output is put on record.
#[derive(clap::Args)]
pub(super) struct RecordArgs {
    /// Entry in the table outputs, which `corpusdb who` reads.
    #[arg(id = "record", long = "no-record", action = clap::ArgAction::SetFalse)]
    pub(super) record: bool,
}

/// The entry of an output.
#[derive(Default, Serialize, schemars::JsonSchema)]
pub(super) struct OnRecord {
    /// Its number in the table `outputs`; null: it is not on record.
    recorded: Option<u32>,
    /// Why it is not on record, if it should be.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_recorded: Option<String>,
}

impl OnRecord {
    /// The entry that was made; if there is none, a note says why at once.
    pub(super) fn of(made: Result<u32, Error>, call: &VerbCall<'_>) -> Self {
        Self::noting(made, &|text| call.note(text))
    }

    /// As [`OnRecord::of`], with the note given to `note`.
    pub(super) fn noting(made: Result<u32, Error>, note: &dyn Fn(&str)) -> Self {
        match made {
            Ok(number) => Self { recorded: Some(number), not_recorded: None },
            Err(error) => {
                let why = format!("{:#}", anyhow::Error::from(error));
                note(&format!("not recorded: {why}"));
                Self { recorded: None, not_recorded: Some(why) }
            }
        }
    }
}
