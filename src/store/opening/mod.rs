//! Opening: making a corpus, becoming its writer, reading beside one.

mod aside;
mod reading;
#[cfg(test)]
mod tests;
mod writer;

pub(super) use aside::Aside;
pub use reading::read;
pub(super) use writer::synced;
pub use writer::{Writer, create};
