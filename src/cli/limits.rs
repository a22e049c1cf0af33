//! Keeps the limit of the file size from killing the process, so that it becomes an error.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Makes a write beyond the limit of the file size fail with an error. The library leaves signals to its program, so
/// the command does this. Where the system refuses, nothing changes.
pub(super) fn survive_file_size_limit() {
    // A signal with a handler, even an idle one, does not kill: the write fails with "file too large".
    let idle = Arc::new(AtomicBool::new(false));
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, idle);
}
