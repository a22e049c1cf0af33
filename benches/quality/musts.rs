//! What must hold, collected to be said at the end.

use std::process::ExitCode;

/// Checks made so far and those that failed.
#[derive(Default)]
pub struct Musts {
    checked: u64,
    failed: Vec<String>,
}

impl Musts {
    /// Counts one check; `what` says which one when it failed.
    pub fn check(&mut self, holds: bool, what: impl FnOnce() -> String) {
        self.checked += 1;
        if !holds {
            self.failed.push(what());
        }
    }

    /// Says the verdict: 0 when all hold, else 1.
    pub fn conclude(self) -> ExitCode {
        if self.failed.is_empty() && self.checked > 0 {
            println!("\nAll {} musts hold.", self.checked);
            return ExitCode::SUCCESS;
        }
        println!("\n{} of {} musts FAIL:\n", self.failed.len(), self.checked);
        for failure in &self.failed {
            println!("* {failure}");
        }
        ExitCode::FAILURE
    }
}
