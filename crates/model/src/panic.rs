//! Catches a panic of third-party code as an error value, and tells panic hooks that they need not report it.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// Runs code of others; its panic is an error with its words. Sound only where what `run` changes is not used
/// after a panic, or is whole at every moment.
///
/// # Errors
/// The words of the panic.
pub fn catch_panic<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    DEPTH.set(DEPTH.get() + 1);
    let ran = catch_unwind(AssertUnwindSafe(run));
    DEPTH.set(DEPTH.get().saturating_sub(1));
    ran.map_err(|panic| {
        let words = panic.downcast_ref::<String>().map(String::as_str);
        let words = words.or_else(|| panic.downcast_ref::<&str>().copied());
        words.unwrap_or("no reason given").to_owned()
    })
}

/// Whether a panic of this thread, now, would become an error value. A panic hook need not tell such a one.
#[must_use]
pub fn is_panic_caught() -> bool {
    DEPTH.get() > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_a_value_and_known_to_be_one() {
        assert!(!is_panic_caught());
        assert_eq!(catch_panic(|| catch_panic(is_panic_caught)), Ok(Ok(true)));
        let seen: Result<(), String> = catch_panic(|| {
            std::panic::resume_unwind(Box::new(format!("seen: {}", is_panic_caught())))
        });
        assert_eq!(seen, Err("seen: true".to_owned()));
        assert!(!is_panic_caught());
    }
}
