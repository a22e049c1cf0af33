//! What a new plan gives, against the account: every row and prefix, the parts of a world, what is built, and marks.

use crate::support::checker::corpus::{content, part};
use crate::support::ledger::account::{LedgerAccount, LedgerFault, fault};
use crate::support::ledger::history::LedgerRecipe;
use crate::support::ledger::run::LedgerRun;
use corpusdb::epoch::{BuildJob, Epoch, EpochError, EpochRow, Plan, StreamOptions};
use corpusdb::{Context, Corpus};
use std::collections::{BTreeMap, BTreeSet};

/// A plan as it was made, and what it gives.
pub struct LedgerPlan {
    pub number: u32,
    pub planned: Plan,
    /// Its recipe, with the passes of the whole chain.
    pub recipe: LedgerRecipe,
    pub eligible: BTreeMap<String, BTreeSet<u64>>,
    /// Up to three epochs, each with the row of the run that it begins with.
    pub epochs: Vec<(u64, Vec<EpochRow>)>,
    /// What the chain had given before.
    pub before: LedgerAccount,
}

impl LedgerPlan {
    /// How often a token of a document may come in the chain, by this plan.
    pub fn most(&self, id: u64, repeat: u32) -> Option<u32> {
        let source = self.recipe.sources.iter().find(|of| self.eligible[of.name].contains(&id))?;
        Some(source.repeats * repeat)
    }
}

impl LedgerRun<'_> {
    /// Reads up to three epochs of a new plan and checks every row, every prefix, and one part of a world.
    pub(super) fn examine(&mut self, mut plan: LedgerPlan) -> Result<LedgerPlan, LedgerFault> {
        let corpus = self.corpus();
        let stored = match corpus.stored_plan(plan.number) {
            Ok(stored) => stored,
            Err(error) => return fault("stored plan cannot be read", error.to_string()),
        };
        if stored.plan.hash() != plan.planned.plan.hash() {
            return fault("stored plan has another hash", format!("plan {}", plan.number));
        }
        plan.planned = stored;
        let mut account = plan.before.clone();
        account.plan(&plan.recipe, plan.eligible.values().flatten().copied());
        let mut with_rows = 0;
        // Epochs of few rows may carry them over many others until they fill a batch.
        let carries = plan.recipe.batch.contains("carry");
        for number in 0..60 {
            if number >= 3 && (with_rows > 0 || !carries) {
                break;
            }
            let epoch = match corpus.epoch(&plan.planned, number, &Context::new()) {
                Ok(epoch) => epoch,
                Err(error) => match error.origin() {
                    Some(EpochError::Infeasible { .. }) if number > 0 => break,
                    Some(EpochError::NoRows { .. }) => {
                        if error.to_string().contains("batch.rows = 0") {
                            return fault("advice that no recipe may hold", error.to_string());
                        }
                        plan.epochs.push((u64::MAX, Vec::new()));
                        continue;
                    }
                    _ => return fault("plan cannot be opened", format!("epoch {number}: {error}")),
                },
            };
            let rows = read_all(&epoch)?;
            if rows.len() as u64 != epoch.rows() || rows.is_empty() {
                return fault(
                    "other number of rows",
                    format!("{} of {}", rows.len(), epoch.rows()),
                );
            }
            with_rows += 1;
            self.check_run_row(&plan, &epoch)?;
            for row in &rows {
                account.check_row(&plan.recipe, &plan.eligible, row)?;
                account.give(&plan.recipe, std::slice::from_ref(row));
                let is_even = plan.recipe.is_in_order()
                    && !plan.recipe.replaces()
                    && plan.recipe.partial != Some("drop");
                // What the plan before had under way comes a pass earlier than what it did not draw.
                let passes = 1 + u32::from(plan.planned.plan.parent.is_some());
                for documents in plan.eligible.values().filter(|_| is_even) {
                    account.check_even(&plan.before, documents, passes * self.history.repeat)?;
                }
            }
            if !plan.recipe.replaces() {
                let most = |id| plan.most(id, self.history.repeat);
                account.check_most(&plan.before, most)?;
            }
            self.check_part(&epoch, &rows)?;
            plan.epochs.push((epoch.first_run_row(), rows));
        }
        if with_rows == 0 || (plan.epochs[0].1.is_empty() && !carries) {
            return fault("stored plan without rows", format!("{} epochs", plan.epochs.len()));
        }
        if self.random.chance(25) {
            self.check_build(&corpus, &plan)?;
        }
        drop(corpus);
        if self.random.chance(25) {
            self.check_marks(&plan)?;
        }
        Ok(plan)
    }

    /// Epochs are parts of one run: each begins where the one before it ended, unless rows are dropped.
    fn check_run_row(&self, plan: &LedgerPlan, epoch: &Epoch) -> Result<(), LedgerFault> {
        let first = epoch.first_run_row();
        let expected = match plan.epochs.last() {
            None => 0,
            Some((before, _)) if *before == u64::MAX => return Ok(()),
            Some((before, rows)) => {
                before + rows.iter().filter(|row| row.source().is_some()).count() as u64
            }
        };
        let is_right = if plan.recipe.drops() { first >= expected } else { first == expected };
        if is_right {
            Ok(())
        } else {
            fault("an epoch begins elsewhere", format!("{first}, not {expected}"))
        }
    }

    /// What all ranks of a world get from some batch on is the rest of the straight stream.
    fn check_part(&mut self, epoch: &Epoch, rows: &[EpochRow]) -> Result<(), LedgerFault> {
        let number = |row: &EpochRow| row.batch().unwrap_or(row.number());
        let from = self.random.below(epoch.batches() as usize) as u64;
        let world = *self.random.pick(&[1, 1, 2, 3, 5, 8, 13, 64]);
        let mut found: Vec<(u64, _)> = Vec::new();
        for rank in 0..world {
            let stream =
                match epoch.stream(&StreamOptions { prefetch: 1, ..part(from, rank, world) }) {
                    Ok(stream) => stream,
                    Err(error) => return fault("part cannot be read", error.to_string()),
                };
            for batch in stream {
                let batch = batch.map_err(|error| LedgerFault {
                    kind: "part cannot be read".to_owned(),
                    words: error.to_string(),
                })?;
                found.extend(batch.rows.iter().map(|row| (row.number(), content(row))));
            }
        }
        found.sort_by_key(|(number, _)| *number);
        let rest = rows.iter().filter(|row| number(row) >= from);
        let rest: Vec<_> = rest.map(|row| (row.number(), content(row))).collect();
        if found == rest {
            Ok(())
        } else {
            fault("a part is not of the stream", format!("from batch {from} in a world of {world}"))
        }
    }

    /// An epoch is built as it streams, and the verification agrees.
    fn check_build(&mut self, corpus: &Corpus, plan: &LedgerPlan) -> Result<(), LedgerFault> {
        let with_rows: Vec<u64> =
            (0..).zip(&plan.epochs).filter(|(_, of)| !of.1.is_empty()).map(|(at, _)| at).collect();
        let epoch = *self.random.pick(&with_rows);
        let out = self.scratch.path("built");
        let job = BuildJob { epoch, out: &out };
        if let Err(error) = corpus.build(&plan.planned, &job, &Context::new()) {
            return match error.origin() {
                Some(EpochError::Limit { .. } | EpochError::PadNeeded { .. }) => Ok(()),
                _ => fault("build", format!("epoch {epoch}: {error}")),
            };
        }
        let verification = corpus.verify(&plan.planned, &out, &Context::new());
        std::fs::remove_dir_all(&out).unwrap();
        match verification {
            Err(error) => fault("verify", format!("epoch {epoch}: {error}")),
            Ok(found) => match found.checks.iter().find(|check| !check.passed) {
                None => Ok(()),
                Some(check) => {
                    fault("verify refuses what was built", format!("epoch {epoch}: {check:?}"))
                }
            },
        }
    }

    /// Marks change no row.
    fn check_marks(&mut self, plan: &LedgerPlan) -> Result<(), LedgerFault> {
        let epochs = plan.epochs.len() as u64;
        if plan.epochs.iter().any(|(_, rows)| rows.is_empty()) {
            return Ok(());
        }
        if let Err(error) = self.writer().mark_epochs(plan.number, epochs, &Context::new()) {
            return fault("marks cannot be made", error.to_string());
        }
        let corpus = self.corpus();
        let planned = corpus.stored_plan(plan.number).unwrap();
        for (number, (first, rows)) in (0..).zip(&plan.epochs) {
            let epoch = match corpus.epoch(&planned, number, &Context::new()) {
                Ok(epoch) => epoch,
                Err(error) => return fault("marked epoch cannot be opened", error.to_string()),
            };
            let again = read_all(&epoch)?;
            if epoch.first_run_row() != *first
                || !again.iter().map(content).eq(rows.iter().map(content))
            {
                return fault("marks change rows", format!("epoch {number}"));
            }
        }
        Ok(())
    }
}

/// All rows of an epoch.
pub fn read_all(epoch: &Epoch) -> Result<Vec<EpochRow>, LedgerFault> {
    let stream = match epoch.stream(&StreamOptions::default()) {
        Ok(stream) => stream,
        Err(error) => return fault("stream", error.to_string()),
    };
    let mut rows = Vec::new();
    for batch in stream {
        match batch {
            Ok(batch) => rows.extend(batch.rows),
            Err(error) => return fault("stream", error.to_string()),
        }
    }
    Ok(rows)
}
