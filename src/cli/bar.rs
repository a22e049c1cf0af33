//! Progress on stderr: bytes, documents a second, time left; hidden when stderr is no terminal.

use corpusdb::{Progress, Tally};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::Mutex;

/// Draws what the library reports.
pub(super) struct Bar(Mutex<Option<ProgressBar>>);

impl Bar {
    pub(super) fn new() -> Self {
        Self(Mutex::new(None))
    }

    fn with(&self, act: impl FnOnce(&ProgressBar)) {
        if let Ok(bar) = self.0.lock()
            && let Some(bar) = bar.as_ref()
        {
            act(bar);
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.with(ProgressBar::finish_and_clear);
    }
}

impl Progress for Bar {
    fn begin(&self, stage: &str, total: Option<u64>) {
        let target = ProgressDrawTarget::stderr_with_hz(8);
        let is_bytes = stage == "ingesting";
        let template = match (total, is_bytes) {
            (Some(_), true) => {
                "{prefix:>12} [{bar:30}] {bytes}/{total_bytes} {bytes_per_sec} {eta} left {wide_msg}"
            }
            (Some(_), false) => {
                "{prefix:>12} [{bar:30}] {human_pos}/{human_len} {per_sec} {eta} left {wide_msg}"
            }
            (None, _) => "{prefix:>12} {spinner} {elapsed} {wide_msg}",
        };
        let style =
            ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = ProgressBar::with_draw_target(total, target)
            .with_style(style)
            .with_prefix(stage.to_owned());
        if let Ok(mut current) = self.0.lock()
            && let Some(before) = current.replace(bar)
        {
            before.finish_and_clear();
        }
    }

    fn advance(&self, done: u64) {
        self.with(|bar| bar.set_position(done));
    }

    fn tally(&self, tally: &Tally) {
        self.with(|bar| {
            let seconds = bar.elapsed().as_secs_f64().max(0.001);
            let rate = tally.records as f64 / seconds;
            bar.set_message(format!(
                "| {rate:.0} documents/s, {} kept, {} duplicates",
                tally.kept, tally.duplicates
            ));
        });
    }

    fn end(&self) {
        if let Ok(mut bar) = self.0.lock()
            && let Some(bar) = bar.take()
        {
            bar.finish_and_clear();
        }
    }

    fn note(&self, message: &str) {
        self.with(|bar| bar.suspend(|| super::print::talk(message)));
    }
}
