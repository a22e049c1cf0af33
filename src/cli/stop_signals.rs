//! Signals that ask the command to stop: Ctrl-C, a terminal that closes, a service that ends.

use anyhow::Context as _;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};

/// Handles the signals until it is dropped.
pub(super) struct StopSignals(Handle);

impl StopSignals {
    /// Calls `stop` at each signal, on a thread of its own. A signal that was ignored when the process began stays
    /// ignored, as `nohup`, and `&` in a script, intend.
    pub(super) fn hear(mut stop: impl FnMut() + Send + 'static) -> anyhow::Result<Self> {
        let ignored =
            ignored_signals(&std::fs::read_to_string("/proc/self/status").unwrap_or_default());
        let heard = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| !is_in(ignored, *signal));
        let mut signals = Signals::new(heard).context("cannot handle Ctrl-C")?;
        let handle = signals.handle();
        let listen = move || signals.forever().for_each(|_| stop());
        std::thread::Builder::new().name("stop-signals".to_owned()).spawn(listen)?;
        Ok(Self(handle))
    }
}

impl Drop for StopSignals {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// The signals that a process ignores, a bit for each, from Linux's `SigIgn: 0000000000000001`; 0 on other systems.
fn ignored_signals(status: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// Whether a mask has a signal; signals are counted from 1.
fn is_in(mask: u64, signal: i32) -> bool {
    u32::try_from(signal - 1)
        .is_ok_and(|bit| mask.checked_shr(bit).is_some_and(|rest| rest & 1 == 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_read_from_the_mask() {
        let mask = ignored_signals("Name:\tx\nSigIgn:\t0000000000004003\nSigCgt:\tff\n");
        let among = |signal| is_in(mask, signal);
        assert!(among(SIGHUP) && among(SIGINT) && among(SIGTERM));
        assert!(!among(3) && !among(64));
        assert_eq!(ignored_signals(""), 0);
        assert_eq!(ignored_signals("SigIgn: what"), 0);
    }
}
