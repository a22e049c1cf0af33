//! A single file of output: judges what stands under its name, and makes the file whole or not at all.
//!
//! Nothing or a regular file: the file is made beside the name and takes its place when it is whole. A pipe, a device,
//! a descriptor such as `/dev/stdout`: it is written to. A link is followed. What is read is never written over.

use super::error::OutputError;
use super::naming::rename_new;
use model::{IoError, corpus_around, derived_name, sync_directory};
use std::fs;
use std::fs::{File, Metadata, Permissions};
use std::io::{BufWriter, ErrorKind, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Links that lead to one another before there is no end to them.
const MOST_LINKS: usize = 40;

/// A name for output, and what stands there.
#[derive(Debug)]
pub struct OutputFile {
    /// The name as it was given.
    name: PathBuf,
    /// Where the file will stand: links are followed.
    path: PathBuf,
    found: FoundOutput,
}

#[derive(Debug)]
enum FoundOutput {
    Nothing,
    /// A regular file; its permissions stay.
    File(Permissions),
    /// A pipe, a device or a descriptor.
    Stream,
}

impl OutputFile {
    /// Judges a name.
    ///
    /// # Errors
    /// [`OutputError::InCorpus`], [`OutputError::Directory`], [`OutputError::Unsuitable`]; [`OutputError::Io`] when it cannot be looked at.
    pub fn judge(name: &Path) -> Result<Self, OutputError> {
        if let Some((scheme, _)) = name.to_str().and_then(|name| name.split_once("://")) {
            return Err(OutputError::Address { scheme: scheme.to_owned() });
        }
        let (path, is_descriptor) = followed_outside_corpora(name)?;
        let judged = |found| Ok(Self { name: name.to_path_buf(), path: path.clone(), found });
        let unsuitable = |what| Err(OutputError::Unsuitable { path: name.to_path_buf(), what });
        let found = match fs::metadata(name) {
            Ok(found) => found,
            Err(error) if error.kind() == ErrorKind::NotFound && path.file_name().is_some() => {
                return judged(FoundOutput::Nothing);
            }
            Err(error) => return Err(IoError::of("looking at", name)(error).into()),
        };
        let kind = found.file_type();
        if kind.is_dir() {
            return Err(OutputError::Directory { path: name.to_path_buf() });
        }
        if kind.is_block_device() {
            return unsuitable("device of blocks");
        }
        if kind.is_socket() && !is_descriptor {
            return unsuitable("socket");
        }
        match is_descriptor || !kind.is_file() {
            true => judged(FoundOutput::Stream),
            false => judged(FoundOutput::File(found.permissions())),
        }
    }

    /// Where the file will stand.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether a regular file stands there, which it would replace.
    #[must_use]
    pub const fn is_taken(&self) -> bool {
        matches!(self.found, FoundOutput::File(_))
    }

    /// This output, unless it is one of the files that are read, under whatever name.
    ///
    /// # Errors
    /// [`OutputError::Input`].
    pub fn beside_inputs<P: AsRef<Path>>(
        self,
        inputs: impl IntoIterator<Item = P>,
    ) -> Result<Self, OutputError> {
        let identity = |of: &Metadata| (of.dev(), of.ino());
        // A terminal may well be read and written.
        let Some(own) = fs::metadata(&self.name).ok().filter(Metadata::is_file) else {
            return Ok(self);
        };
        for input in inputs {
            let input = input.as_ref();
            if fs::metadata(input).is_ok_and(|input| identity(&input) == identity(&own)) {
                return Err(OutputError::Input { path: self.name, input: input.to_path_buf() });
            }
        }
        Ok(self)
    }

    /// This output, unless a file stands there for which `is_replaced` does not hold; `instead` says of it in words
    /// what it is not ("no ...").
    ///
    /// # Errors
    /// [`OutputError::Taken`].
    pub fn replacing(
        self,
        instead: &'static str,
        is_replaced: impl FnOnce(&Path) -> bool,
    ) -> Result<Self, OutputError> {
        if self.is_taken() && !is_replaced(&self.path) {
            return Err(OutputError::Taken { path: self.name, instead });
        }
        Ok(self)
    }

    /// Begins to write.
    ///
    /// # Errors
    /// [`OutputError::Io`].
    pub fn create(self) -> Result<OutputWriter, OutputError> {
        let Self { path, found, .. } = self;
        let permissions = match found {
            FoundOutput::Stream => {
                let failed = IoError::of("opening", &path);
                // Behind what a file that is a descriptor has by now.
                let out = File::options().append(true).open(&path).map_err(failed)?;
                let out = BufWriter::new(out);
                return Ok(OutputWriter { path, partial: None, replaces: false, out });
            }
            FoundOutput::File(permissions) => Some(permissions),
            FoundOutput::Nothing => None,
        };
        let (partial, file) = beside(&path)?;
        let (replaces, out) = (permissions.is_some(), BufWriter::new(file));
        let writer = OutputWriter { path, partial: Some(partial), replaces, out };
        if let Some(permissions) = permissions {
            let file = writer.out.get_ref();
            file.set_permissions(permissions).map_err(IoError::of("creating", &writer.path))?;
        }
        Ok(writer)
    }

    /// Writes a file of these bytes.
    ///
    /// # Errors
    /// [`OutputError::Io`].
    pub fn write(self, bytes: &[u8]) -> Result<(), OutputError> {
        let mut writer = self.create()?;
        writer.write_all(bytes).map_err(IoError::of("writing", &writer.path))?;
        writer.finish()
    }
}

/// Where a name leads, link by link, and whether on the way it is a descriptor of a process. No output is made inside of
/// a corpus: whoever removes, copies or restores the corpus would take it along.
pub(super) fn followed_outside_corpora(name: &Path) -> Result<(PathBuf, bool), OutputError> {
    let (path, is_descriptor) = followed(name)?;
    match corpus_around(&path) {
        Some(corpus) if !is_descriptor => {
            Err(OutputError::InCorpus { path: name.to_path_buf(), corpus })
        }
        _ => Ok((path, is_descriptor)),
    }
}

fn followed(name: &Path) -> Result<(PathBuf, bool), OutputError> {
    let mut path = name.to_path_buf();
    for _ in 0..MOST_LINKS {
        let is_of_process =
            path.starts_with("/proc") && path.parent().is_some_and(|of| of.ends_with("fd"));
        if path.starts_with("/dev/fd") || is_of_process {
            return Ok((path, true));
        }
        match fs::read_link(&path) {
            Ok(to) => path = path.parent().unwrap_or(Path::new("")).join(to),
            // No link, or nothing.
            Err(_) => return Ok((path, false)),
        }
    }
    Err(IoError::of("looking at", name)(std::io::Error::other("links without end")).into())
}

/// A new file beside a path, under a name that nobody has.
fn beside(path: &Path) -> Result<(PathBuf, File), OutputError> {
    let own = path.file_name().unwrap_or_default();
    for number in 0_u32.. {
        let behind = format!(".partial-{}-{number}", std::process::id());
        let partial = path.with_file_name(derived_name(".", own, &behind));
        match File::create_new(&partial) {
            Ok(file) => return Ok((partial, file)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(IoError::of("creating", path)(error).into()),
        }
    }
    Err(IoError::of("creating", path)(ErrorKind::AlreadyExists.into()).into())
}

/// A file under way. Dropped unfinished, it leaves nothing, but for what a stream has got.
#[derive(Debug)]
pub struct OutputWriter {
    path: PathBuf,
    partial: Option<PathBuf>,
    /// Whether a file stood there that is replaced.
    replaces: bool,
    out: BufWriter<File>,
}

impl OutputWriter {
    /// All is written: the file takes its place.
    ///
    /// # Errors
    /// [`OutputError::Io`].
    pub fn finish(mut self) -> Result<(), OutputError> {
        self.out.flush().map_err(IoError::of("writing", &self.path))?;
        let Some(partial) = &self.partial else { return Ok(()) };
        let file = self.out.get_ref();
        file.sync_all().map_err(IoError::of("writing", &self.path))?;
        let renamed = match self.replaces {
            true => fs::rename(partial, &self.path),
            false => rename_new(partial, &self.path),
        };
        match renamed {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                let kept = self.partial.take().unwrap_or_default();
                return Err(OutputError::Appeared { path: self.path.clone(), kept });
            }
            renamed => renamed.map_err(IoError::of("renaming to", &self.path))?,
        }
        self.partial = None;
        // The name is on the disk once its directory is.
        Ok(sync_directory(self.path.parent().unwrap_or(Path::new("")))?)
    }
}

impl Write for OutputWriter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.out.flush()
    }
}

impl Drop for OutputWriter {
    fn drop(&mut self) {
        if let Some(partial) = &self.partial {
            let _ = fs::remove_file(partial);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::process::Command;

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_whole_or_what_it_was_and_keeps_its_permissions() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("page");
        OutputFile::judge(&path).unwrap().write(b"one").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        let judged = OutputFile::judge(&path).unwrap();
        assert!(judged.is_taken());
        let mut writer = judged.create().unwrap();
        writer.write_all(b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"one");
        drop(writer);
        assert_eq!(
            (fs::read(&path).unwrap(), names(directory.path())),
            (b"one".to_vec(), vec!["page".to_owned()])
        );
        OutputFile::judge(&path).unwrap().write(b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        let kept = OutputFile::judge(&path).unwrap().replacing("no page", |_| false);
        assert!(matches!(kept, Err(OutputError::Taken { .. })));
    }

    #[test]
    fn links_are_followed_and_stay() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::create_dir(at("sub")).unwrap();
        fs::write(at("sub/file"), "old").unwrap();
        for (link, to) in [("a", "sub/file"), ("b", "a"), ("new", "sub/new")] {
            symlink(to, at(link)).unwrap();
        }
        for (link, file) in [("b", "sub/file"), ("new", "sub/new")] {
            OutputFile::judge(&at(link)).unwrap().write(b"text").unwrap();
            assert!(at(link).is_symlink());
            assert_eq!(fs::read(at(file)).unwrap(), b"text");
        }
        symlink("round", at("round")).unwrap();
        assert!(matches!(OutputFile::judge(&at("round")), Err(OutputError::Io(_))));
        assert!(matches!(OutputFile::judge(&at("sub")), Err(OutputError::Directory { .. })));
    }

    #[test]
    fn pipes_and_devices_are_written_to() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || {
                let mut text = String::new();
                File::open(pipe).unwrap().read_to_string(&mut text).unwrap();
                text
            }
        });
        OutputFile::judge(&pipe).unwrap().beside_inputs([&pipe]).unwrap().write(b"text").unwrap();
        assert_eq!(reader.join().unwrap(), "text");
        OutputFile::judge(Path::new("/dev/null")).unwrap().write(b"text").unwrap();
        assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
        assert_eq!(names(directory.path()), ["pipe"]);
        let socket = directory.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        assert!(matches!(OutputFile::judge(&socket), Err(OutputError::Unsuitable { .. })));
    }

    #[test]
    fn an_input_is_not_overwritten_under_any_name() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::write(at("in"), "text").unwrap();
        fs::write(at("other"), "text").unwrap();
        symlink("in", at("link")).unwrap();
        fs::hard_link(at("in"), at("hard")).unwrap();
        for name in ["in", "link", "hard", "./in"] {
            let judged =
                OutputFile::judge(&at(name)).unwrap().beside_inputs([at("other"), at("in")]);
            assert!(matches!(judged, Err(OutputError::Input { .. })), "{name}");
        }
        assert!(OutputFile::judge(&at("new")).unwrap().beside_inputs([at("in")]).is_ok());
    }
}
