//! Reads batches ahead in a thread.

use super::EpochBatch;
use super::steps::Reading;
use crate::epoch::error::EpochError;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::JoinHandle;

/// What the reading thread sends. An end is sent like all else: a thread that ends without one has
/// panicked, which must not look like the end of an epoch.
enum PrefetchMessage {
    /// A batch, and the number of the batch after its step.
    Batch(EpochBatch, u64),
    Failed(EpochError),
    End,
}

/// The batches of an epoch that one rank has, in order, read ahead. Ends with the epoch or with an error.
pub struct BatchStream {
    ahead: Prefetch,
    next: (u64, u64),
    over: bool,
}

/// The thread that reads, and where it sends.
struct Prefetch {
    /// Always there until the drop.
    receiver: Option<Receiver<PrefetchMessage>>,
    /// Always there until the drop.
    reader: Option<JoinHandle<()>>,
}

/// A dropped stream has no thread any more: one that went on reading while the process ends would meet a storage
/// library that is being taken down.
impl Drop for Prefetch {
    fn drop(&mut self) {
        // Nobody receives: the thread ends with the batch that it is reading.
        drop(self.receiver.take());
        if let Some(reader) = self.reader.take() {
            // A panic of the thread was reported as an error, or nothing was read after it.
            let _ = reader.join();
        }
    }
}

impl BatchStream {
    /// Starts the thread: it has at most `ahead` batches ready, beside those it read together with them. `next` is
    /// where it begins.
    pub(super) fn start(
        mut reading: Reading,
        next: (u64, u64),
        ahead: usize,
    ) -> Result<Self, EpochError> {
        let (sender, receiver) = sync_channel(ahead);
        let reader = std::thread::Builder::new()
            .name("epoch stream".to_owned())
            .spawn(move || {
                let end = loop {
                    match reading.next() {
                        Ok(steps) if steps.is_empty() => break PrefetchMessage::End,
                        Ok(steps) => {
                            for (batch, next) in steps {
                                // If nothing receives, the stream was dropped.
                                if sender.send(PrefetchMessage::Batch(batch, next)).is_err() {
                                    return;
                                }
                            }
                        }
                        Err(error) => break PrefetchMessage::Failed(error),
                    }
                };
                // Nobody receives it where the stream was dropped.
                let _ = sender.send(end);
            })
            .map_err(|error| EpochError::Threads { threads: 1, why: error.to_string() })?;
        let ahead = Prefetch { receiver: Some(receiver), reader: Some(reader) };
        Ok(Self { ahead, next, over: false })
    }

    /// (epoch, next global batch): a stream opened there, of any rank and world, continues from here.
    #[must_use]
    pub const fn state(&self) -> (u64, u64) {
        self.next
    }
}

impl Iterator for BatchStream {
    type Item = Result<EpochBatch, EpochError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.over {
            return None;
        }
        match self.ahead.receiver.as_ref()?.recv() {
            Ok(PrefetchMessage::Batch(batch, next)) => {
                self.next.1 = next;
                Some(Ok(batch))
            }
            Ok(PrefetchMessage::End) => {
                self.over = true;
                None
            }
            Ok(PrefetchMessage::Failed(error)) => {
                self.over = true;
                Some(Err(error))
            }
            Err(_) => {
                self.over = true;
                Some(Err(EpochError::bug(format!(
                    "the read-ahead thread stopped before batch {} without an error",
                    self.next.1
                ))))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    /// A reading thread that panicked looked like the end of the epoch: training stopped early, exit 0.
    #[test]
    fn a_reader_that_dies_is_not_the_end_of_an_epoch() {
        let (sender, receiver) = sync_channel(1);
        let reader = std::thread::spawn(move || {
            let batch = EpochBatch { number: 4, rows: Vec::new() };
            sender.send(PrefetchMessage::Batch(batch, 5)).unwrap();
            std::panic::resume_unwind(Box::new("a fault"));
        });
        let ahead = Prefetch { receiver: Some(receiver), reader: Some(reader) };
        let mut stream = BatchStream { ahead, next: (0, 4), over: false };
        assert_eq!(stream.next().unwrap().unwrap().number, 4);
        let error = stream.next().unwrap().unwrap_err().to_string();
        assert!(error.contains("before batch 5"), "{error}");
        assert!(stream.next().is_none() && stream.state() == (0, 5));
    }

    /// A command that ended with an error while its stream read ahead was sometimes aborted: the thread was still
    /// reading when the storage library was taken down.
    #[test]
    fn a_dropped_stream_has_waited_for_its_reader() {
        let (sender, receiver) = sync_channel(1);
        let ended = Arc::new(AtomicBool::new(false));
        let theirs = Arc::clone(&ended);
        let reader = std::thread::spawn(move || {
            while sender
                .send(PrefetchMessage::Batch(EpochBatch { number: 0, rows: Vec::new() }, 1))
                .is_ok()
            {}
            std::thread::yield_now();
            theirs.store(true, Ordering::SeqCst);
        });
        let ahead = Prefetch { receiver: Some(receiver), reader: Some(reader) };
        let mut stream = BatchStream { ahead, next: (0, 0), over: false };
        assert!(stream.next().unwrap().is_ok());
        drop(stream);
        assert!(ended.load(Ordering::SeqCst));
    }
}
