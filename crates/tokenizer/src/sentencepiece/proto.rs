//! The messages of a SentencePiece model file: the fields that decide ids, under their published numbers.

use prost::Message;

/// The whole file.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct SentencePieceModel {
    /// In order of id.
    #[prost(message, repeated, tag = "1")]
    pub(crate) pieces: Vec<ModelPiece>,
    #[prost(message, optional, tag = "2")]
    pub(crate) trainer: Option<TrainerSpec>,
    #[prost(message, optional, tag = "3")]
    pub(crate) normalizer: Option<NormalizerSpec>,
}

/// One token.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct ModelPiece {
    #[prost(string, optional, tag = "1")]
    pub(crate) piece: Option<String>,
    #[prost(float, optional, tag = "2")]
    pub(crate) score: Option<f32>,
    #[prost(int32, optional, tag = "3")]
    pub(crate) kind: Option<i32>,
}

impl ModelPiece {
    /// Its spelling; a piece without one is spelled by nothing.
    pub(crate) fn text(&self) -> &str {
        self.piece.as_deref().unwrap_or_default()
    }

    /// Its kind; absent is normal. None: one that this program does not know.
    pub(crate) fn known_kind(&self) -> Option<SentencePieceKind> {
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
pub(crate) enum SentencePieceKind {
    Normal = 1,
    Unknown = 2,
    Control = 3,
    UserDefined = 4,
    Unused = 5,
    Byte = 6,
}

/// How the model was trained; some of it decides how it encodes.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct TrainerSpec {
    #[prost(int32, optional, tag = "3")]
    pub(crate) model_type: Option<i32>,
    #[prost(int32, optional, tag = "4")]
    pub(crate) vocab_size: Option<i32>,
    #[prost(bool, optional, tag = "24")]
    pub(crate) treat_whitespace_as_suffix: Option<bool>,
    #[prost(bool, optional, tag = "35")]
    pub(crate) byte_fallback: Option<bool>,
    #[prost(int32, optional, tag = "40")]
    pub(crate) unk_id: Option<i32>,
    #[prost(int32, optional, tag = "41")]
    pub(crate) bos_id: Option<i32>,
    #[prost(int32, optional, tag = "42")]
    pub(crate) eos_id: Option<i32>,
    #[prost(int32, optional, tag = "43")]
    pub(crate) pad_id: Option<i32>,
    #[prost(string, optional, tag = "45")]
    pub(crate) unk_piece: Option<String>,
    #[prost(string, optional, tag = "46")]
    pub(crate) bos_piece: Option<String>,
    #[prost(string, optional, tag = "47")]
    pub(crate) eos_piece: Option<String>,
    #[prost(string, optional, tag = "48")]
    pub(crate) pad_piece: Option<String>,
}

/// Values of [`TrainerSpec::model_type`]; absent is Unigram.
pub(crate) const UNIGRAM: i32 = 1;
pub(crate) const BPE: i32 = 2;
pub(crate) const WORD: i32 = 3;
pub(crate) const CHAR: i32 = 4;

/// What is done to a text before it is cut into pieces; absent flags are true.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct NormalizerSpec {
    #[prost(string, optional, tag = "1")]
    pub(crate) name: Option<String>,
    #[prost(bytes = "vec", optional, tag = "2")]
    pub(crate) precompiled_charsmap: Option<Vec<u8>>,
    #[prost(bool, optional, tag = "3")]
    pub(crate) add_dummy_prefix: Option<bool>,
    #[prost(bool, optional, tag = "4")]
    pub(crate) remove_extra_whitespaces: Option<bool>,
    #[prost(bool, optional, tag = "5")]
    pub(crate) escape_whitespaces: Option<bool>,
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
        assert_eq!(SentencePieceModel::decode(bytes.as_slice()).unwrap(), model);
        // Field 1 of the first piece stands first, with its length in bytes.
        assert!(bytes.starts_with(b"\x0a\x0d\x0a\x04\xe2\x96\x81a\x15"), "{bytes:02x?}");
        for cut in 0..bytes.len() {
            let _ = SentencePieceModel::decode(&bytes[..cut]);
        }
    }
}
