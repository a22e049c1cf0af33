//! Reads standard input and pipes on a thread of its own, so that whoever waits for bytes hears a request to stop.
//!
//! The bytes may not come for hours.

use crate::remote::RemoteError;
use model::Interrupt;
use model::invariant::part;
use std::io::{self, ErrorKind, Read};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

/// Bytes that are read at a time, at most.
const BLOCK: usize = 64 << 10;
/// Blocks that wait for the reader.
const WAITING: usize = 4;
/// How long a request to stop may go unheard.
const TICK: Duration = Duration::from_millis(50);

type Block = io::Result<Vec<u8>>;

/// A pipe that a thread of its own opens and reads. The thread ends with the pipe, or when the reader is dropped; a
/// thread that waits for bytes ends with the process.
pub(super) struct PipeReader {
    blocks: Receiver<Block>,
    block: Vec<u8>,
    /// Bytes of the block that were taken.
    taken: usize,
    interrupt: Interrupt,
}

impl PipeReader {
    /// Reads what `open` gives: opening a pipe waits too, for its writer.
    pub(super) fn new<R: Read>(
        open: impl FnOnce() -> io::Result<R> + Send + 'static,
        interrupt: &Interrupt,
    ) -> io::Result<Self> {
        let (send, blocks) = sync_channel(WAITING);
        thread::Builder::new().name("pipe".to_owned()).spawn(move || match open() {
            Ok(pipe) => read_all(pipe, &send),
            Err(error) => drop(send.send(Err(error))),
        })?;
        Ok(Self { blocks, block: Vec::new(), taken: 0, interrupt: interrupt.clone() })
    }
}

fn read_all(mut pipe: impl Read, send: &SyncSender<Block>) {
    loop {
        let mut block = vec![0; BLOCK];
        let read = match pipe.read(&mut block) {
            Ok(0) => return,
            Ok(read) => {
                block.truncate(read);
                send.send(Ok(block))
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => send.send(Err(error)),
        };
        if read.is_err() {
            return;
        }
    }
}

impl Read for PipeReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.taken == self.block.len() {
            match self.blocks.recv_timeout(TICK) {
                Ok(block) => (self.block, self.taken) = (block?, 0),
                Err(RecvTimeoutError::Disconnected) => return Ok(0),
                Err(RecvTimeoutError::Timeout) => {
                    self.interrupt.check().map_err(RemoteError::from)?;
                }
            }
        }
        let read = part(&self.block, self.taken..).read(buffer)?;
        self.taken += read;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_gives_its_bytes_its_end_and_its_error() {
        let bytes: Vec<u8> = (0..200_000_u32).map(|n| n.to_le_bytes()[0]).collect();
        let given = bytes.clone();
        let mut pipe =
            PipeReader::new(move || Ok(io::Cursor::new(given)), &Interrupt::default()).unwrap();
        let mut read = Vec::new();
        pipe.read_to_end(&mut read).unwrap();
        assert_eq!(read, bytes);
        let fails = || Err::<io::Empty, _>(io::Error::other("no pipe"));
        let mut pipe = PipeReader::new(fails, &Interrupt::default()).unwrap();
        assert_eq!(pipe.read(&mut [0]).unwrap_err().to_string(), "no pipe");
    }

    #[test]
    fn a_request_to_stop_is_heard_while_nothing_comes() {
        let (silent, _writer) = io::pipe().unwrap();
        let interrupt = Interrupt::default();
        let mut pipe = PipeReader::new(move || Ok(silent), &interrupt.of_part()).unwrap();
        interrupt.raise();
        let error = pipe.read(&mut [0]).unwrap_err();
        assert!(matches!(RemoteError::within(&error), Some(RemoteError::Interrupted(_))));
    }
}
