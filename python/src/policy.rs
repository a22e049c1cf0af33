//! Makes a dedup policy of the command's options: a profile with overrides.

use crate::error::{named, raise};
use crate::words::json;
use corpusdb::Policy;
use corpusdb::cli::rows::{Face, VerbError, options_of, spell_message};
use corpusdb::dedup::PolicySettings;
use pyo3::prelude::*;

/// The command's options of a policy, from a JSON object.
#[derive(FromPyObject)]
#[pyo3(transparent)]
pub(crate) struct PolicyKeywords(String);

impl PolicyKeywords {
    /// The policy of these options.
    pub(crate) fn policy(&self, py: Python<'_>) -> PyResult<Policy> {
        self.settings(py)?.policy().map_err(|error| raise(py, error))
    }

    fn settings(&self, py: Python<'_>) -> PyResult<PolicySettings> {
        options_of::<PolicySettings>(&self.0).map_err(|error| match error {
            VerbError::Library(error) => raise(py, error),
            VerbError::Arguments(words) => {
                named(py, "BadPolicy", &spell_message(&words, Face::Python))
            }
        })
    }
}

/// The mode, keep order and scope of a policy, as words.
#[pyfunction]
pub(crate) fn policy_words(
    py: Python<'_>,
    settings: PolicyKeywords,
) -> PyResult<(&'static str, String, &'static str)> {
    let policy = settings.policy(py)?;
    Ok((policy.mode.name(), policy.keep.to_string(), policy.scope.name()))
}

/// A complete policy as JSON, as the manifest of a load has it.
#[pyfunction]
pub(crate) fn policy_json(py: Python<'_>, settings: PolicyKeywords) -> PyResult<String> {
    json(py, &settings.policy(py)?)
}
