//! How well a text compresses.

use std::io::{self, Write};

/// The level of zstd.
const LEVEL: i32 = 3;

/// Bytes of a text a byte of its zstd frame at level 3: some 2 to 4 for prose, more where it repeats itself, about 1
/// for noise. 0 for an empty text. The bytes of a frame are those of the zstd that is linked (1.5), without a checksum.
pub(crate) fn compression_ratio(text: &str) -> f64 {
    match compressed(text.as_bytes()) {
        Ok(bytes) if bytes > 0 && !text.is_empty() => text.len() as f64 / bytes as f64,
        _ => 0.0,
    }
}

/// Nothing is held of what is written: a long text takes no more than the encoder's window.
fn compressed(bytes: &[u8]) -> io::Result<u64> {
    let mut encoder = zstd::stream::write::Encoder::new(Counted(0), LEVEL)?;
    encoder.set_pledged_src_size(Some(bytes.len() as u64))?;
    encoder.include_contentsize(true)?;
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?.0)
}

struct Counted(u64);

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
