//! What the machine allows a process: main memory, also by control groups, and open files.

use std::fs;
use std::path::{Path, PathBuf};

/// Main memory where the system reports none: 8 GiB.
const UNKNOWN_MEMORY: u64 = 8 << 30;

/// The limit of open files to ask for; the hard limit may be lower. Every table of a corpus is held open, so that none
/// vanishes under a reader: 60 GB of tables reach the usual 1,024.
const OPEN_FILES: u64 = 1 << 20;

/// Raises this process's limit of open files towards its hard limit. If that fails, nothing changes: an opening that
/// needs more files reports it.
pub(super) fn raise_open_files() {
    let _ = rlimit::increase_nofile_limit(OPEN_FILES);
}

/// Bytes of main memory that this process may take: those of the machine, or the limit of a control group (of a
/// container, a job of a cluster, a service) where that is less. `root` is `/`.
pub(super) fn memory_within(root: &Path) -> u64 {
    let machine = physical_memory(root).unwrap_or(UNKNOWN_MEMORY);
    group_limits(root).into_iter().fold(machine, u64::min)
}

fn physical_memory(root: &Path) -> Option<u64> {
    let text = fs::read_to_string(root.join("proc/meminfo")).ok()?;
    let line = text.lines().find(|line| line.starts_with("MemTotal:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib.saturating_mul(1024))
}

/// The two versions of control groups; a machine may have both at once, with memory in one of them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum GroupVersion {
    V1,
    V2,
}

impl GroupVersion {
    /// Files of a group that limit memory. Beyond `memory.high` a process is not killed, but put to sleep.
    const fn limits(self) -> &'static [&'static str] {
        match self {
            Self::V1 => &["memory.limit_in_bytes"],
            Self::V2 => &["memory.max", "memory.high"],
        }
    }

    /// The usual mount point.
    const fn usual_place(self) -> &'static str {
        match self {
            Self::V1 => "/sys/fs/cgroup/memory",
            Self::V2 => "/sys/fs/cgroup",
        }
    }
}

/// A mounted tree of groups: the group at its mount point, and that point.
struct GroupMount {
    version: GroupVersion,
    group: PathBuf,
    point: PathBuf,
}

/// All memory limits of the groups that this process is in, and of groups around them.
fn group_limits(root: &Path) -> Vec<u64> {
    let Ok(groups) = fs::read_to_string(root.join("proc/self/cgroup")) else { return Vec::new() };
    let mounts = group_mounts(root);
    let mut found = Vec::new();
    for line in groups.lines() {
        // `0::/user.slice` in version 2, `4:memory:/docker/1f` in version 1.
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (parts.next(), parts.next()) else { continue };
        let version = match controllers {
            "" => GroupVersion::V2,
            names if names.split(',').any(|name| name == "memory") => GroupVersion::V1,
            _ => continue,
        };
        for mount in mounts.iter().filter(|mount| mount.version == version) {
            limits_upwards(root, mount, Path::new(group), &mut found);
        }
    }
    found
}

/// The limits of a group and of all groups above it, as far as they are visible here.
fn limits_upwards(root: &Path, mount: &GroupMount, group: &Path, found: &mut Vec<u64>) {
    // A container may see its own group at the mount point, under the name that the host has for it. Directories that
    // do not exist are skipped on the way up.
    let inside = group.strip_prefix(&mount.group).unwrap_or(Path::new(""));
    let point = under(root, &mount.point);
    let lowest = point.join(inside);
    for directory in lowest.ancestors().take_while(|directory| directory.starts_with(&point)) {
        for name in mount.version.limits() {
            let limit = fs::read_to_string(directory.join(name)).ok();
            // `max` is not a number. Version 1 writes a number beyond any machine.
            let limit = limit.and_then(|text| text.trim().parse::<u64>().ok());
            found.extend(limit.filter(|limit| *limit > 0));
        }
    }
}

/// The mounted trees of groups, or the usual places where the system lists none.
fn group_mounts(root: &Path) -> Vec<GroupMount> {
    let text = fs::read_to_string(root.join("proc/self/mountinfo")).unwrap_or_default();
    let mounts: Vec<GroupMount> = text.lines().filter_map(group_mount).collect();
    if !mounts.is_empty() {
        return mounts;
    }
    let usual = [GroupVersion::V1, GroupVersion::V2].map(|version| GroupMount {
        version,
        group: PathBuf::from("/"),
        point: PathBuf::from(version.usual_place()),
    });
    usual.into()
}

/// A line of mountinfo, when a tree of groups with memory is mounted there:
/// `35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory`.
fn group_mount(line: &str) -> Option<GroupMount> {
    let (place, kind) = line.split_once(" - ")?;
    let mut place = place.split(' ').skip(3);
    let (group, point) = (place.next()?, place.next()?);
    let mut kind = kind.split(' ');
    let version = match kind.next()? {
        "cgroup2" => GroupVersion::V2,
        "cgroup" if kind.nth(1)?.split(',').any(|option| option == "memory") => GroupVersion::V1,
        _ => return None,
    };
    Some(GroupMount { version, group: group.into(), point: point.into() })
}

fn under(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MACHINE: u64 = 64 << 30;
    const V2: &str = "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n";
    const V1: &str =
        "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n";

    /// A machine of 64 GiB with these files.
    fn machine(files: &[(&str, &str)]) -> u64 {
        let root = tempfile::tempdir().unwrap();
        let meminfo = format!("MemTotal:       {} kB\nMemFree: 1 kB\n", MACHINE / 1024);
        for (name, text) in files.iter().chain(&[("proc/meminfo", meminfo.as_str())]) {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        memory_within(root.path())
    }

    #[test]
    fn without_groups_the_machine_counts_and_without_proc_a_default() {
        assert_eq!(machine(&[]), MACHINE);
        assert_eq!(memory_within(Path::new("/nowhere")), UNKNOWN_MEMORY);
    }

    #[test]
    fn the_least_limit_of_a_group_and_those_around_it_counts() {
        let with = |own: &str, above: &str, top: &str| {
            machine(&[
                ("proc/self/cgroup", "0::/slice/job\n"),
                ("proc/self/mountinfo", V2),
                ("sys/fs/cgroup/slice/job/memory.max", own),
                ("sys/fs/cgroup/slice/memory.max", above),
                ("sys/fs/cgroup/memory.max", top),
            ])
        };
        assert_eq!(with("4294967296\n", "max\n", "max\n"), 4 << 30);
        assert_eq!(with("max\n", "1073741824\n", "max\n"), 1 << 30);
        assert_eq!(with("max\n", "max\n", "2147483648\n"), 2 << 30);
        assert_eq!(with("max\n", "max\n", "max\n"), MACHINE);
        // More than the machine has, and no plausible limit.
        assert_eq!(with("9223372036854771712\n", "0\n", "nonsense\n"), MACHINE);
    }

    #[test]
    fn a_group_that_is_slowed_down_beyond_a_limit_keeps_below_it() {
        let files = [
            ("proc/self/cgroup", "0::/job\n"),
            ("proc/self/mountinfo", V2),
            ("sys/fs/cgroup/job/memory.max", "8589934592\n"),
            ("sys/fs/cgroup/job/memory.high", "4294967296\n"),
        ];
        assert_eq!(machine(&files), 4 << 30);
    }

    #[test]
    fn memory_limits_are_read_from_groups_of_version_1() {
        let groups = "5:cpuset:/other\n4:memory:/docker/1f\n0::/\n";
        let other = ("sys/fs/cgroup/memory/other/memory.limit_in_bytes", "1048576\n");
        let own = ("sys/fs/cgroup/memory/docker/1f/memory.limit_in_bytes", "2147483648\n");
        let above = ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
        let groups = ("proc/self/cgroup", groups);
        assert_eq!(machine(&[groups, ("proc/self/mountinfo", V1), other, own, above]), 2 << 30);
        // The usual place, since mounts are hidden.
        assert_eq!(machine(&[groups, other, own, above]), 2 << 30);
    }

    #[test]
    fn a_container_finds_its_limit_at_the_mount_point() {
        let named_by_the_host = "4:memory:/docker/1f/inner\n";
        let mount = "35 31 0:32 /docker/1f /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n";
        let limit = ("sys/fs/cgroup/memory/memory.limit_in_bytes", "3221225472\n");
        let inner = ("sys/fs/cgroup/memory/inner/memory.limit_in_bytes", "1073741824\n");
        let groups = ("proc/self/cgroup", named_by_the_host);
        assert_eq!(machine(&[groups, ("proc/self/mountinfo", mount), limit, inner]), 1 << 30);
        assert_eq!(machine(&[groups, ("proc/self/mountinfo", V1), limit]), 3 << 30);
        let elsewhere = ("proc/self/cgroup", "0::/../../other\n");
        let top = ("sys/fs/cgroup/memory.max", "536870912\n");
        assert_eq!(machine(&[elsewhere, ("proc/self/mountinfo", V2), top]), 512 << 20);
    }
}
