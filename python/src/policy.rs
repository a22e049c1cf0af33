//! Settings of dedup: a profile, and what is to be otherwise than in it.

use crate::error::{named, raise};
use crate::words::word;
use corpusdb::dedup::{Compared, KeepOrder, Normaliser, Profile, Scope, Signature};
use corpusdb::{Corpus, Error, FieldKind, Policy};
use pyo3::prelude::*;
use std::path::PathBuf;

const BAD: &str = "BadPolicy";

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
        let profile = match &self.profile {
            Some(name) => word::<Profile>(py, BAD, "profile", name)?,
            None => Profile::Web,
        };
        let mut policy = Policy::of(profile);
        if let Some(name) = &self.compare {
            policy.compared = word::<Compared>(py, BAD, "compare", name)?;
        }
        if let Some(name) = &self.normaliser {
            policy.normaliser = word::<Normaliser>(py, BAD, "normaliser", name)?;
        }
        policy.shingle = self.shingle.unwrap_or(policy.shingle);
        if let Some(hashes) = self.hashes.filter(|hashes| *hashes != policy.hashes) {
            if policy.signature != Signature::Bigcode {
                let why = format!(
                    "the sketch of profile {} has {} hashes, always; leave hashes out, or begin with profile=\"bigcode\"",
                    policy.profile.name(),
                    policy.hashes
                );
                return Err(named(py, BAD, &why));
            }
            policy.hashes = hashes;
            // The published bands fill 256 slots: others get bands for the threshold.
            policy.set_threshold(policy.threshold).map_err(|error| raise(py, error.into()))?;
        }
        self.change(py, &mut policy)?;
        Ok(policy)
    }

    /// A corpus's policy with what may be otherwise in it; none when nothing is asked to be.
    ///
    /// # Errors
    /// `corpusdb.BadPolicy`.
    pub(crate) fn other_than(&self, py: Python<'_>, current: &Policy) -> PyResult<Option<Policy>> {
        let fixed = [
            ("profile", self.profile.is_some()),
            ("compare", self.compare.is_some()),
            ("normaliser", self.normaliser.is_some()),
            ("shingle", self.shingle.is_some()),
            ("hashes", self.hashes.is_some()),
        ];
        if let Some((name, _)) = fixed.iter().find(|(_, given)| *given) {
            let why = format!(
                "{name} cannot be changed in a corpus: its sketches are made; leave it out, or ask corpusdb.explain_dedup what another policy comes to"
            );
            return Err(named(py, BAD, &why));
        }
        let mut policy = current.clone();
        self.change(py, &mut policy)?;
        Ok((policy != *current).then_some(policy))
    }

    /// Changes what decides about sketches that are made already.
    fn change(&self, py: Python<'_>, policy: &mut Policy) -> PyResult<()> {
        let raised = |error| raise(py, Error::from(error));
        if let Some(name) = &self.mode {
            policy.mode = word(py, BAD, "mode", name)?;
        }
        // A threshold that is the policy's own leaves published bands as they are.
        if let Some(threshold) = self.threshold.filter(|threshold| *threshold != policy.threshold) {
            if (10.0..=100.0).contains(&threshold) {
                let why = format!(
                    "threshold {threshold} is not in 0.1..=1.0; for {threshold} percent write {}",
                    threshold / 100.0
                );
                return Err(named(py, BAD, &why));
            }
            policy.set_threshold(threshold).map_err(raised)?;
        }
        match (self.bands, self.rows) {
            (Some(bands), Some(rows)) => (policy.bands, policy.rows) = (bands, rows),
            (None, None) => {}
            _ => return Err(named(py, BAD, "bands and rows go together: give both or none")),
        }
        if let Some(keep) = &self.keep {
            policy.keep = KeepOrder::parse(keep).map_err(raised)?;
            if let KeepOrder::SourcePriority(names) = &policy.keep {
                let before = |at: usize| names.iter().take(at);
                let twice =
                    names.iter().enumerate().find(|(at, name)| before(*at).any(|n| n == *name));
                if let Some((_, name)) = twice {
                    let why = format!(
                        "source `{name}` is named twice; name each once, the preferred one first"
                    );
                    return Err(named(py, BAD, &why));
                }
            }
        }
        if let Some(name) = &self.scope {
            policy.scope = word::<Scope>(py, BAD, "scope", name)?;
        }
        policy.check().map_err(raised)
    }
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
    let declared = |(name, kind): (String, String)| match FieldKind::from_name(&kind) {
        Some(kind) => Ok((name, kind)),
        None => {
            let why = format!("field `{name}`: unknown kind `{kind}`; keyword, int or float");
            Err(named(py, "BadName", &why))
        }
    };
    let declared = fields.into_iter().map(declared).collect::<PyResult<Vec<_>>>()?;
    crate::blocking::soon(py, || Corpus::init(&path, &policy, &declared))?;
    Ok(policy.to_string())
}
