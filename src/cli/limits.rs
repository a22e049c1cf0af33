//! A limit of the process that would end it where an error could be said.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Has a write beyond a limit of the file size fail with an error instead of ending the process. The library leaves
/// signals to its program, so this is the command's. What cannot be had is done without.
pub(super) fn survive_file_size_limit() {
    // A signal that is handled, however idly, does not kill: the write is answered with "file too large".
    let idle = Arc::new(AtomicBool::new(false));
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, idle);
}
