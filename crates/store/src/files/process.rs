//! Names a process, so that another one on the same machine can say that it is gone.

use std::fs;

/// The start of this machine, its set of process numbers, the number and the start of a process: together the name of
/// one process and of no other. Empty where the system does not say them.
pub(super) fn this_process() -> String {
    let id = std::process::id();
    let words = || Some(format!("{} {id} {}", machine()?, start(id)?));
    words().unwrap_or_default()
}

/// Whether the process of that name is gone; false where that cannot be said, as of another machine.
pub(super) fn is_gone(name: &str) -> bool {
    let words: Vec<&str> = name.split(' ').collect();
    let [boot, numbers, id, begin] = words.as_slice() else { return false };
    let Ok(id) = id.parse() else { return false };
    if machine().is_none_or(|own| own != format!("{boot} {numbers}")) {
        return false;
    }
    // Processes of others may be hidden; the first one is of another user then.
    start(1).is_some() && start(id).is_none_or(|found| found != *begin)
}

fn machine() -> Option<String> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let numbers = fs::read_link("/proc/self/ns/pid").ok()?;
    Some(format!("{} {}", boot.trim(), numbers.display()))
}

/// When a process started, in ticks since the start of the machine; none if it does not run.
fn start(id: u32) -> Option<String> {
    let line = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name of the program stands in parentheses, which it may have itself.
    let (_, behind) = line.rsplit_once(") ")?;
    let mut words = behind.split(' ');
    // A process that ended and was not waited for has an entry still.
    let is_over = words.next().is_none_or(|state| matches!(state, "Z" | "X"));
    // The 22nd word of the line, as proc_pid_stat(5) counts them.
    words.nth(18).filter(|_| !is_over).map(str::to_owned)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_process_is_gone_when_it_ended_on_this_machine() {
        let own = this_process();
        assert!(!is_gone(&own), "{own}");
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let of_child =
            format!("{} {} {}", machine().unwrap(), child.id(), start(child.id()).unwrap());
        assert!(!is_gone(&of_child));
        drop(child.stdin.take());
        child.wait().unwrap();
        assert!(is_gone(&of_child));
        // Its number may be given again: to a process that started later.
        let (rest, begin) = own.rsplit_once(' ').unwrap();
        assert!(is_gone(&format!("{rest} {}", begin.parse::<u64>().unwrap() - 1)));
        let elsewhere = of_child.replacen(|c: char| c.is_ascii_hexdigit(), "x", 1);
        for unknown in ["", "process 7", elsewhere.as_str()] {
            assert!(!is_gone(unknown), "{unknown}");
        }
    }
}
