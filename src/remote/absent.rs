//! What stands for objects where the feature `remote` is off: there are none, and asking for one says so.

use super::NameMatcher;
use super::error::RemoteError;
use super::stores::ObjectStores;
use crate::model::Interrupt;
use std::io::{self, Read, Write};

/// No object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RemoteObject {}

impl RemoteObject {
    pub(crate) fn name(&self) -> &str {
        match *self {}
    }

    pub(crate) fn size(&self) -> u64 {
        match *self {}
    }

    pub(crate) fn version(&self) -> i128 {
        match *self {}
    }
}

/// No object being read.
pub(crate) enum RemoteCursor {}

impl RemoteCursor {
    pub(crate) fn new(object: &RemoteObject, _: u64) -> Self {
        match *object {}
    }

    pub(crate) fn begins_with(&mut self, _: &[u8]) -> Result<bool, RemoteError> {
        match *self {}
    }
}

impl Read for RemoteCursor {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        match *self {}
    }
}

/// No object of which any place may be read.
#[derive(Clone)]
pub(crate) enum RemoteReader {}

impl RemoteReader {
    pub(crate) fn new(object: &RemoteObject, _: u64) -> Self {
        match *object {}
    }

    pub(crate) fn size(&self) -> u64 {
        match *self {}
    }

    pub(crate) fn fault(&self) -> Option<RemoteError> {
        match *self {}
    }

    pub(crate) fn read(&self, _: u64, _: usize) -> Result<Vec<u8>, RemoteError> {
        match *self {}
    }
}

/// No folder.
#[derive(Clone)]
pub(crate) enum RemoteFolder {}

/// An object of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RemoteEntry {
    pub(crate) name: String,
    pub(crate) bytes: u64,
    pub(crate) tag: Option<String>,
}

impl RemoteFolder {
    pub(crate) fn open(_: &ObjectStores, given: &str, _: &Interrupt) -> Result<Self, RemoteError> {
        Err(RemoteError::NotBuilt { address: given.to_owned() })
    }

    pub(crate) fn address_of(&self, _: &str) -> String {
        match *self {}
    }

    pub(crate) fn entries(&self) -> Result<Vec<RemoteEntry>, RemoteError> {
        match *self {}
    }

    pub(crate) fn entry(&self, _: &str) -> Result<Option<RemoteEntry>, RemoteError> {
        match *self {}
    }

    pub(crate) fn get(&self, _: &str) -> Result<Option<Vec<u8>>, RemoteError> {
        match *self {}
    }

    pub(crate) fn put(&self, _: &str, _: Vec<u8>) -> Result<(), RemoteError> {
        match *self {}
    }

    pub(crate) fn delete(&self, _: &str) -> Result<(), RemoteError> {
        match *self {}
    }

    pub(crate) fn create(&self, _: &str, _: u64) -> Result<RemoteWriter, RemoteError> {
        match *self {}
    }
}

/// No object being written.
pub(crate) enum RemoteWriter {}

impl RemoteWriter {
    pub(crate) fn finish(self) -> Result<(), RemoteError> {
        match self {}
    }
}

impl Write for RemoteWriter {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        match *self {}
    }

    fn flush(&mut self) -> io::Result<()> {
        match *self {}
    }
}

impl ObjectStores {
    pub(crate) fn objects(
        &self,
        given: &str,
        _: &Interrupt,
        _: impl FnOnce(&str) -> Result<NameMatcher, String>,
    ) -> Result<Vec<RemoteObject>, RemoteError> {
        Err(RemoteError::NotBuilt { address: given.to_owned() })
    }
}
