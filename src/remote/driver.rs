//! The thread on which requests run; the only one of this library that starts tokio beside that of queries.
//!
//! Connections belong to the runtime that made them, so one runtime serves all of them and runs as long as anyone may
//! still ask. Who asks waits on another thread, hears the request to stop, and leaves nothing running behind.

use super::error::RemoteError;
use crate::model::Interrupt;
use futures::channel::oneshot;
use std::future::Future;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// How often one who waits looks whether to stop.
const LOOK: Duration = Duration::from_millis(50);

pub(super) struct RequestRuntime {
    handle: tokio::runtime::Handle,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl RequestRuntime {
    pub(super) fn start() -> io::Result<Self> {
        // What requests need of tokio is turned on by the client: input, output and time.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel();
        let run = move || runtime.block_on(async { stopped.await.unwrap_or_default() });
        let thread = Builder::new().name("corpusdb-remote".to_owned()).spawn(run)?;
        Ok(Self { handle, stop: Some(stop), thread: Some(thread) })
    }

    /// Begins something that ends by itself.
    pub(super) fn begin<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, RemoteError>> + Send + 'static,
    ) -> PendingRequest<T> {
        let (sender, receiver) = channel();
        let task = self.handle.spawn(async move {
            // Nobody listens any more when who asked is gone.
            let _ = sender.send(work.await);
        });
        PendingRequest { receiver, task }
    }
}

impl Drop for RequestRuntime {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What was begun; dropped, it is given up.
pub(super) struct PendingRequest<T> {
    receiver: Receiver<Result<T, RemoteError>>,
    task: tokio::task::JoinHandle<()>,
}

impl<T> PendingRequest<T> {
    /// Waits for the end, or for the request to stop.
    pub(super) fn wait(&self, interrupt: &Interrupt) -> Result<T, RemoteError> {
        loop {
            match self.receiver.recv_timeout(LOOK) {
                Ok(done) => return done,
                Err(RecvTimeoutError::Timeout) if interrupt.is_raised() => {
                    return Err(RemoteError::Interrupted);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    let why = "a request ended without an answer".to_owned();
                    return Err(RemoteError::Failed { address: "remote store".to_owned(), why });
                }
            }
        }
    }
}

impl<T> Drop for PendingRequest<T> {
    fn drop(&mut self) {
        self.task.abort();
    }
}
