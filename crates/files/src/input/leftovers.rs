//! Recognises files that editors, transfers and backups leave: older states or parts of the file that they work on.
//!
//! Both hold records, so their content cannot tell them from data: their names do. Of two records with one key the file
//! that is read last wins, and an older copy mostly has the later name.

use super::file_names::{is_data, plain};

const BACKUP: &str = "an older copy, which an editor, a patch or a backup left";
const UNFINISHED: &str = "a download, an upload or a copy that has not ended";
const EDITING: &str = "what an editor keeps of a file that is open, or was open when it ended";
const CONFLICT: &str = "the other copy of a conflict between two machines with the same folder";
const LOCK: &str = "a lock of a program";
const PATCH: &str = "changes that could not be applied to a file";
const DESKTOP: &str = "a file of the operating system about its folder";

/// Ends of names in small letters, of what is left, and the programs that leave it.
const ENDS: [(&str, &str); 35] = [
    // Emacs, nano, gedit, Vim with `backup`, `cp --backup`, `rsync --backup`; numbered ones are `.~1~`.
    ("~", BACKUP),
    // `sed -i.bak`, `perl -i.bak`, many editors; pgBackRest and databases; patch, git mergetool, hg; logrotate; nano.
    (".bak", BACKUP),
    (".backup", BACKUP),
    (".bkp", BACKUP),
    (".orig", BACKUP),
    (".old", BACKUP),
    (".save", BACKUP),
    // dpkg and RPM beside a file that was changed by hand.
    (".dpkg-old", BACKUP),
    (".dpkg-dist", BACKUP),
    (".rpmsave", BACKUP),
    (".rpmorig", BACKUP),
    // Most programs that rename a file once it is whole; Dropbox, Hadoop's distcp, wget with `-r -A`.
    (".tmp", UNFINISHED),
    (".temp", UNFINISHED),
    // Firefox, KDE, yt-dlp, Transmission; rclone, Edge and the Internet Explorer.
    (".part", UNFINISHED),
    (".partial", UNFINISHED),
    // Chrome, Opera, Safari.
    (".crdownload", UNFINISHED),
    (".opdownload", UNFINISHED),
    (".download", UNFINISHED),
    // huggingface_hub; `hadoop fs -put`; Flink; WinSCP; gsutil and `gcloud storage`.
    (".incomplete", UNFINISHED),
    ("._copying_", UNFINISHED),
    (".inprogress", UNFINISHED),
    (".in-progress", UNFINISHED),
    (".filepart", UNFINISHED),
    (".gstmp", UNFINISHED),
    // uTorrent, qBittorrent, BitComet, Thunder; the state of aria2, lftp, yt-dlp.
    (".!ut", UNFINISHED),
    (".!qb", UNFINISHED),
    (".bc!", UNFINISHED),
    (".xltd", UNFINISHED),
    (".aria2", UNFINISHED),
    (".lftp-pget-status", UNFINISHED),
    (".ytdl", UNFINISHED),
    // filelock, which huggingface_hub and datasets use; procmail and Unix programs.
    (".lock", LOCK),
    (".lck", LOCK),
    (".rej", PATCH),
    // rclone bisync, which numbers them.
    (".conflict", CONFLICT),
];
/// Endings that also stand before a number, a process or a time: `.bak.2`, `.tmp4711`, `.old-2024-03-31`.
const NUMBERED: [&str; 9] =
    [".bak", ".backup", ".bkp", ".orig", ".old", ".save", ".tmp", ".temp", ".conflict"];
/// Vim's swap files, of which the second has the letter before.
const SWAP: [&str; 4] = [".swp", ".swo", ".swn", ".swm"];
/// Within a name: Dropbox and Nextcloud, Syncthing.
const CONFLICTS: [&str; 3] = ["conflicted copy", "(case conflict", ".sync-conflict-"];
/// Windows, macOS.
const DESKTOPS: [&str; 4] = ["thumbs.db", "ehthumbs.db", "desktop.ini", "icon\r"];
/// What a program writes beside a file while it fetches it, until the file is whole: aria2, lftp, axel.
pub(super) const STATES: [&str; 3] = [".aria2", ".lftp-pget-status", ".st"];
/// Why the two are left.
pub(super) const FETCHED: &str = "a download that has not ended: its state is kept beside it";

/// The program or use that left a path behind, by its name or that of a folder above it; none: it is no leftover. The
/// ending of the compression may stand before or behind the one of the leftover.
pub(super) fn leftover(path: &str) -> Option<&'static str> {
    path.split('/').find_map(of_name)
}

fn of_name(name: &str) -> Option<&'static str> {
    let lower = name.to_ascii_lowercase();
    of_end(&lower).or_else(|| of_end(&plain(name))).or_else(|| {
        // boto3 and `aws s3 cp` fetch into a name with eight digits behind it. NFS, rsync, AzCopy hide theirs.
        let (data, digits) = name.rsplit_once('.')?;
        let is_digits = digits.len() == 8 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_day = digits.starts_with(['1', '2']) && digits.bytes().all(|b| b.is_ascii_digit());
        (is_digits && !is_day && is_data(data)).then_some(UNFINISHED)
    })
}

fn of_end(name: &str) -> Option<&'static str> {
    let is_open = name.len() > 2 && name.starts_with('#') && name.ends_with('#');
    // Files of Emacs and Vim, and of Word and Excel.
    if is_open || SWAP.iter().any(|end| name.ends_with(end)) {
        return Some(EDITING);
    }
    if name.starts_with("~$") {
        return Some(LOCK);
    }
    if DESKTOPS.contains(&name) {
        return Some(DESKTOP);
    }
    if CONFLICTS.iter().any(|within| name.contains(within)) {
        return Some(CONFLICT);
    }
    // `mktemp` and this program.
    let is_random = |end: &str| {
        end.len() > 3
            && end.contains(|c: char| c.is_ascii_digit())
            && end.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    let random = name.rsplit_once(['.', '-', '_']).filter(|(_, end)| is_random(end));
    if random.is_some_and(|(before, _)| before.ends_with(".tmp") || before.ends_with(".temp")) {
        return Some(UNFINISHED);
    }
    let before = without_number(name);
    ENDS.iter().find_map(|(end, what)| {
        let is_end = name.ends_with(end) || NUMBERED.contains(end) && before.ends_with(end);
        is_end.then_some(*what)
    })
}

/// The name before a number or a time at its end.
fn without_number(name: &str) -> &str {
    let mut before = name;
    loop {
        let rest = before.trim_end_matches(|c: char| c.is_ascii_digit() || ".-_:".contains(c));
        // `20240331t013000z`.
        let is_time = |rest: &&str| rest.ends_with(|c: char| c.is_ascii_digit());
        let rest = rest.strip_suffix(['t', 'z']).filter(is_time).unwrap_or(rest);
        if rest.len() == before.len() {
            return rest;
        }
        before = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leftovers_are_known_by_their_names() {
        let left = "pages.jsonl~ pages.jsonl.~2~ pages.jsonl.bak pages.jsonl.backup x.ORIG x.jsonl.old \
            x.jsonl.tmp x.jsonl.temp x.jsonl.part x.jsonl.partial x.jsonl.1a2b3c4d.partial x.jsonl.crdownload \
            x.jsonl.download x.jsonl.incomplete x.jsonl._COPYING_ x.jsonl.filepart x.jsonl.swp x.jsonl.swo \
            x.jsonl.aria2 #x.jsonl# ~$pages.xlsx x.jsonl.rej x.jsonl.lock x.jsonl.gstmp x.jsonl.gz.part \
            x.jsonl~.gz x.jsonl.bak.zst x.jsonl.bak.2 x.jsonl.tmp4711 x.jsonl.old-2024-03-31 x.jsonl.!qB \
            x.jsonl.bak.20240331T013000Z x.jsonl.tmp.Ab3Cd out.parquet.tmp-0123456789ab/data.parquet x.jsonl.conflict1 x.jsonl.6eF3a1B2 x.jsonl.gz.0a1b2c3d desktop.ini \
            x.sync-conflict-20240331-013000-AB.jsonl pages.bak/pages.jsonl a/crawl~/b.jsonl part-0.inprogress";
        let left = left.split_whitespace().chain(["x (Ann's conflicted copy 2024-03-31).jsonl"]);
        for name in left {
            assert!(leftover(name).is_some(), "{name}");
        }
        let read = "pages.jsonl old.arc part-00000 x.part1 x.jsonl.1 x.jsonl.20240331 backup.jsonl tmp.jsonl x.tmp.jsonl \
            x.partaa old/pages.jsonl bold x.bat lang=de/x.parquet part-00000-0a1b2c3d-c000.json x.text1 \
            x.0a1b2c3d download x.md#1 # #a";
        for name in read.split_whitespace().chain(["x (1).jsonl"]) {
            assert_eq!(leftover(name), None, "{name}");
        }
    }
}
