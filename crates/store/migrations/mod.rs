//! Steps from one store format to the next, each of a release that changed how a corpus lies. See README.md here.

pub(super) mod v0009;
