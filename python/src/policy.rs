//! Settings of dedup: a profile with overrides.

use crate::error::{named, raise};
use crate::fields::kind_named;
use crate::words::word;
use corpusdb::dedup::{KeepOrder, Normaliser, PolicyError, PolicySettings as Settings, Profile};
use corpusdb::{Corpus, Policy};
use pyo3::prelude::*;
use serde::de::DeserializeOwned;
use std::path::PathBuf;

/// The flags of the command that choose a policy, each by its name there.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct PolicySettings {
    profile: Option<String>,
    mode: Option<String>,
    threshold: Option<f64>,
    bands: Option<u32>,
    rows: Option<u32>,
    keep: Option<String>,
    scope: Option<String>,
    compare: Option<String>,
    normaliser: Option<String>,
    shingle: Option<u32>,
    hashes: Option<u32>,
}

impl PolicySettings {
    /// The policy asked for.
    ///
    /// # Errors
    /// `corpusdb.BadPolicy`.
    pub(crate) fn policy(&self, py: Python<'_>) -> PyResult<Policy> {
        self.settings(py)?.policy().map_err(|error| told(py, error))
    }

    /// A corpus's policy with what may be otherwise in it; none when nothing is asked to be.
    ///
    /// # Errors
    /// `corpusdb.BadPolicy`.
    pub(crate) fn other_than(&self, py: Python<'_>, current: &Policy) -> PyResult<Option<Policy>> {
        self.settings(py)?.other_than(current).map_err(|error| told(py, error))
    }

    fn settings(&self, py: Python<'_>) -> PyResult<Settings> {
        let profile = self.profile.as_deref().map(Profile::parse).transpose();
        let profile = profile.map_err(|error| told(py, error))?;
        let normaliser = self.normaliser.as_deref().map(Normaliser::parse).transpose();
        let normaliser = normaliser.map_err(|error| told(py, error))?;
        Ok(Settings {
            profile: profile.map(|(profile, _)| profile),
            mode: given(py, "mode", &self.mode)?,
            threshold: self.threshold,
            bands: self.bands,
            rows: self.rows,
            keep: match &self.keep {
                Some(keep) => Some(KeepOrder::parse(keep).map_err(|error| told(py, error))?),
                None => None,
            },
            scope: given(py, "scope", &self.scope)?,
            compared: given(py, "compare", &self.compare)?,
            normaliser: normaliser.or(profile.and_then(|(_, version)| version)),
            shingle: self.shingle,
            hashes: self.hashes,
        })
    }
}

fn given<T: DeserializeOwned>(
    py: Python<'_>,
    name: &str,
    said: &Option<String>,
) -> PyResult<Option<T>> {
    said.as_deref().map(|said| word(py, "BadPolicy", name, said)).transpose()
}

/// With the words of Python for what cannot be changed.
fn told(py: Python<'_>, error: PolicyError) -> PyErr {
    let why = match &error {
        PolicyError::Fixed { .. } => {
            format!("{error}, or ask corpusdb.explain_dedup what another policy comes to")
        }
        PolicyError::FixedHashes { profile, hashes } => format!(
            "the sketch of profile {profile} has {hashes} hashes, always; leave hashes out, or begin with profile=\"bigcode\""
        ),
        _ => return raise(py, error),
    };
    named(py, "BadPolicy", &why)
}

/// What a policy comes to: its mode, keep order and scope, each by its word.
#[pyfunction]
pub(crate) fn policy_words(
    py: Python<'_>,
    settings: PolicySettings,
) -> PyResult<(&'static str, String, &'static str)> {
    let policy = settings.policy(py)?;
    Ok((policy.mode.name(), policy.keep.to_string(), policy.scope.name()))
}

/// Makes an empty corpus; the policy in words.
#[pyfunction]
pub(crate) fn create(
    py: Python<'_>,
    path: PathBuf,
    settings: PolicySettings,
    fields: Vec<(String, String)>,
) -> PyResult<String> {
    crate::process::refuse_forked(py)?;
    let policy = settings.policy(py)?;
    let declared = |(name, kind): (String, String)| {
        let kind = kind_named(py, &name, &kind)?;
        Ok((name, kind))
    };
    let declared = fields.into_iter().map(declared).collect::<PyResult<Vec<_>>>()?;
    crate::blocking::soon(py, || Corpus::init(&path, &policy, &declared))?;
    Ok(policy.to_string())
}
