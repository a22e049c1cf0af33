//! Limits of the process that would end it where an error could be said.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Open files that are asked for; the hard limit may be lower. Every table of a corpus is held open, so that none
/// vanishes under a reader: 60 GB of tables reach the usual 1,024.
const OPEN_FILES: u64 = 1 << 20;

/// Raises the limit of open files, and has a write beyond a limit of the file size fail with an error instead of
/// ending the process. What cannot be had is done without.
pub(super) fn lift() {
    let _ = rlimit::increase_nofile_limit(OPEN_FILES);
    // A signal that is handled, however idly, does not kill: the write is answered with "file too large".
    let idle = Arc::new(AtomicBool::new(false));
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, idle);
}
