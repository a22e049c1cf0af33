//! The messages of a SentencePiece model file: the fields that decide ids, under their published numbers.

use quick_protobuf::{BytesReader, Result, Writer};

const VARINT: u32 = 0;
const BYTES: u32 = 2;
const FIXED32: u32 = 5;

/// A tag as it stands before a field.
const fn tag(number: u32, wire: u32) -> u32 {
    number << 3 | wire
}

/// Reads the fields of one message; `field` takes in the one with this tag, or answers false for one that
/// is not read here.
fn fields(
    bytes: &[u8],
    mut field: impl FnMut(u32, &mut BytesReader) -> Result<bool>,
) -> Result<()> {
    let mut reader = BytesReader::from_bytes(bytes);
    while !reader.is_eof() {
        let tag = reader.next_tag(bytes)?;
        if !field(tag, &mut reader)? {
            reader.read_unknown(bytes, tag)?;
        }
    }
    Ok(())
}

/// Writes the fields of one message.
struct ProtoWriter(Vec<u8>);

impl ProtoWriter {
    fn put(
        &mut self,
        number: u32,
        wire: u32,
        value: impl FnMut(&mut Writer<&mut Vec<u8>>) -> Result<()>,
    ) {
        let mut writer = Writer::new(&mut self.0);
        // Into memory, which does not fail.
        let _ = writer.write_with_tag(tag(number, wire), value);
    }

    fn bytes(&mut self, number: u32, value: Option<&[u8]>) {
        if let Some(value) = value {
            self.put(number, BYTES, |writer| writer.write_bytes(value));
        }
    }

    fn text(&mut self, number: u32, value: Option<&str>) {
        self.bytes(number, value.map(str::as_bytes));
    }

    fn int(&mut self, number: u32, value: Option<i32>) {
        if let Some(value) = value {
            self.put(number, VARINT, |writer| writer.write_int32(value));
        }
    }

    fn flag(&mut self, number: u32, value: Option<bool>) {
        if let Some(value) = value {
            self.put(number, VARINT, |writer| writer.write_bool(value));
        }
    }

    fn float(&mut self, number: u32, value: Option<f32>) {
        if let Some(value) = value {
            self.put(number, FIXED32, |writer| writer.write_float(value));
        }
    }
}

/// The whole file.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::tokenizer) struct SentencePieceModel {
    /// In order of id.
    pub(in crate::tokenizer) pieces: Vec<ModelPiece>,
    pub(in crate::tokenizer) trainer: Option<TrainerSpec>,
    pub(in crate::tokenizer) normalizer: Option<NormalizerSpec>,
}

impl SentencePieceModel {
    /// Reads the bytes of a file.
    ///
    /// # Errors
    /// What of it is no such message.
    pub(in crate::tokenizer) fn decode(bytes: &[u8]) -> Result<Self> {
        let mut model = Self::default();
        fields(bytes, |found, reader| {
            match (found >> 3, found & 7) {
                (1, BYTES) => {
                    model.pieces.push(ModelPiece::decode(reader.read_bytes(bytes)?)?);
                }
                (2, BYTES) => {
                    model.trainer = Some(TrainerSpec::decode(reader.read_bytes(bytes)?)?);
                }
                (3, BYTES) => {
                    model.normalizer = Some(NormalizerSpec::decode(reader.read_bytes(bytes)?)?);
                }
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(model)
    }

    /// The bytes of a file.
    pub(in crate::tokenizer) fn encode_to_vec(&self) -> Vec<u8> {
        let mut out = ProtoWriter(Vec::new());
        for piece in &self.pieces {
            out.bytes(1, Some(&piece.encode()));
        }
        out.bytes(2, self.trainer.as_ref().map(TrainerSpec::encode).as_deref());
        out.bytes(3, self.normalizer.as_ref().map(NormalizerSpec::encode).as_deref());
        out.0
    }
}

/// One token.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::tokenizer) struct ModelPiece {
    pub(in crate::tokenizer) piece: Option<String>,
    pub(in crate::tokenizer) score: Option<f32>,
    pub(in crate::tokenizer) kind: Option<i32>,
}

impl ModelPiece {
    fn decode(bytes: &[u8]) -> Result<Self> {
        let mut piece = Self::default();
        fields(bytes, |found, reader| {
            match (found >> 3, found & 7) {
                (1, BYTES) => {
                    piece.piece = Some(reader.read_string(bytes)?.to_owned());
                }
                (2, FIXED32) => {
                    piece.score = Some(reader.read_float(bytes)?);
                }
                (3, VARINT) => piece.kind = Some(reader.read_int32(bytes)?),
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(piece)
    }

    fn encode(&self) -> Vec<u8> {
        let mut out = ProtoWriter(Vec::new());
        out.text(1, self.piece.as_deref());
        out.float(2, self.score);
        out.int(3, self.kind);
        out.0
    }

    /// Its spelling; a piece without one is spelled by nothing.
    pub(in crate::tokenizer) fn text(&self) -> &str {
        self.piece.as_deref().unwrap_or_default()
    }

    /// Its kind; absent is normal. None: one that this program does not know.
    pub(in crate::tokenizer) fn known_kind(&self) -> Option<SentencePieceKind> {
        match self.kind {
            None | Some(1) => Some(SentencePieceKind::Normal),
            Some(2) => Some(SentencePieceKind::Unknown),
            Some(3) => Some(SentencePieceKind::Control),
            Some(4) => Some(SentencePieceKind::UserDefined),
            Some(5) => Some(SentencePieceKind::Unused),
            Some(6) => Some(SentencePieceKind::Byte),
            Some(_) => None,
        }
    }
}

/// What a piece is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(in crate::tokenizer) enum SentencePieceKind {
    Normal = 1,
    Unknown = 2,
    Control = 3,
    UserDefined = 4,
    Unused = 5,
    Byte = 6,
}

/// How the model was trained; some of it decides how it encodes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::tokenizer) struct TrainerSpec {
    pub(in crate::tokenizer) model_type: Option<i32>,
    pub(in crate::tokenizer) vocab_size: Option<i32>,
    pub(in crate::tokenizer) treat_whitespace_as_suffix: Option<bool>,
    pub(in crate::tokenizer) byte_fallback: Option<bool>,
    pub(in crate::tokenizer) unk_id: Option<i32>,
    pub(in crate::tokenizer) bos_id: Option<i32>,
    pub(in crate::tokenizer) eos_id: Option<i32>,
    pub(in crate::tokenizer) pad_id: Option<i32>,
    pub(in crate::tokenizer) unk_piece: Option<String>,
    pub(in crate::tokenizer) bos_piece: Option<String>,
    pub(in crate::tokenizer) eos_piece: Option<String>,
    pub(in crate::tokenizer) pad_piece: Option<String>,
}

impl TrainerSpec {
    fn decode(bytes: &[u8]) -> Result<Self> {
        let mut trainer = Self::default();
        fields(bytes, |found, reader| {
            match (found >> 3, found & 7) {
                (3, VARINT) => trainer.model_type = Some(reader.read_int32(bytes)?),
                (4, VARINT) => trainer.vocab_size = Some(reader.read_int32(bytes)?),
                (24, VARINT) => {
                    trainer.treat_whitespace_as_suffix = Some(reader.read_bool(bytes)?);
                }
                (35, VARINT) => trainer.byte_fallback = Some(reader.read_bool(bytes)?),
                (40, VARINT) => trainer.unk_id = Some(reader.read_int32(bytes)?),
                (41, VARINT) => trainer.bos_id = Some(reader.read_int32(bytes)?),
                (42, VARINT) => trainer.eos_id = Some(reader.read_int32(bytes)?),
                (43, VARINT) => trainer.pad_id = Some(reader.read_int32(bytes)?),
                (45, BYTES) => trainer.unk_piece = Some(reader.read_string(bytes)?.to_owned()),
                (46, BYTES) => trainer.bos_piece = Some(reader.read_string(bytes)?.to_owned()),
                (47, BYTES) => trainer.eos_piece = Some(reader.read_string(bytes)?.to_owned()),
                (48, BYTES) => trainer.pad_piece = Some(reader.read_string(bytes)?.to_owned()),
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(trainer)
    }

    fn encode(&self) -> Vec<u8> {
        let mut out = ProtoWriter(Vec::new());
        out.int(3, self.model_type);
        out.int(4, self.vocab_size);
        out.flag(24, self.treat_whitespace_as_suffix);
        out.flag(35, self.byte_fallback);
        out.int(40, self.unk_id);
        out.int(41, self.bos_id);
        out.int(42, self.eos_id);
        out.int(43, self.pad_id);
        out.text(45, self.unk_piece.as_deref());
        out.text(46, self.bos_piece.as_deref());
        out.text(47, self.eos_piece.as_deref());
        out.text(48, self.pad_piece.as_deref());
        out.0
    }
}

/// Values of [`TrainerSpec::model_type`]; absent is Unigram.
pub(in crate::tokenizer) const UNIGRAM: i32 = 1;
pub(in crate::tokenizer) const BPE: i32 = 2;
pub(in crate::tokenizer) const WORD: i32 = 3;
pub(in crate::tokenizer) const CHAR: i32 = 4;

/// What is done to a text before it is cut into pieces; absent flags are true.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::tokenizer) struct NormalizerSpec {
    pub(in crate::tokenizer) name: Option<String>,
    pub(in crate::tokenizer) precompiled_charsmap: Option<Vec<u8>>,
    pub(in crate::tokenizer) add_dummy_prefix: Option<bool>,
    pub(in crate::tokenizer) remove_extra_whitespaces: Option<bool>,
    pub(in crate::tokenizer) escape_whitespaces: Option<bool>,
}

impl NormalizerSpec {
    fn decode(bytes: &[u8]) -> Result<Self> {
        let mut normalizer = Self::default();
        fields(bytes, |found, reader| {
            match (found >> 3, found & 7) {
                (1, BYTES) => normalizer.name = Some(reader.read_string(bytes)?.to_owned()),
                (2, BYTES) => {
                    normalizer.precompiled_charsmap = Some(reader.read_bytes(bytes)?.to_vec());
                }
                (3, VARINT) => normalizer.add_dummy_prefix = Some(reader.read_bool(bytes)?),
                (4, VARINT) => normalizer.remove_extra_whitespaces = Some(reader.read_bool(bytes)?),
                (5, VARINT) => normalizer.escape_whitespaces = Some(reader.read_bool(bytes)?),
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(normalizer)
    }

    fn encode(&self) -> Vec<u8> {
        let mut out = ProtoWriter(Vec::new());
        out.text(1, self.name.as_deref());
        out.bytes(2, self.precompiled_charsmap.as_deref());
        out.flag(3, self.add_dummy_prefix);
        out.flag(4, self.remove_extra_whitespaces);
        out.flag(5, self.escape_whitespaces);
        out.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_round_trip_and_unknown_fields_are_skipped() {
        let model = SentencePieceModel {
            pieces: vec![
                ModelPiece { piece: Some("▁a".into()), score: Some(-1.5), kind: Some(4) },
                ModelPiece::default(),
            ],
            trainer: Some(TrainerSpec {
                model_type: Some(BPE),
                unk_id: Some(-1),
                pad_piece: Some("<pad>".into()),
                byte_fallback: Some(true),
                ..TrainerSpec::default()
            }),
            normalizer: Some(NormalizerSpec {
                precompiled_charsmap: Some(vec![0, 255]),
                add_dummy_prefix: Some(false),
                ..NormalizerSpec::default()
            }),
        };
        let mut bytes = model.encode_to_vec();
        // Field 9, a message; field 12, a double.
        bytes.extend([0x4a, 2, 1, 2, 0x61, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(SentencePieceModel::decode(&bytes).unwrap(), model);
        // Field 1 of the first piece stands first, with its length in bytes.
        assert!(bytes.starts_with(b"\x0a\x0d\x0a\x04\xe2\x96\x81a\x15"), "{bytes:02x?}");
        for cut in 0..bytes.len() {
            let _ = SentencePieceModel::decode(&bytes[..cut]);
        }
    }
}
