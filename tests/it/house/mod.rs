//! The walls of the sources, the public surface, and what builds them.

mod layers;
mod setup;
mod surface;
mod workflows;
