//! Tests of grid pages: golden bytes of each kind, rows that come back, appends, and bytes of strangers.

use super::*;
use crate::bytes::number_block::NumberBlock;
use crate::bytes::page::put_check;
use proptest::prelude::*;

fn place(number: u64, text_of: Option<u64>) -> DocumentPlace {
    let (source, file) = (SourceId(7), FileId(number as u32 / 3));
    DocumentPlace { source, file, number, text_of: text_of.map(DocId), content: [number as u8; 16] }
}

fn print(number: u8) -> DocumentPrint {
    let normalised = [number + 1; 16];
    DocumentPrint { raw: [number; 16], normalised, words: number.into(), shingles: 9 }
}

fn numbers<const N: usize>(values: [i64; N]) -> Vec<u8> {
    NumberBlock::of(values.map(Some)).encode()
}

/// The page of so many documents and columns of a width each, as the description of the form has it.
fn page(documents: u8, columns: &[(u8, Vec<u8>)]) -> Vec<u8> {
    let mut page = vec![1, columns.len() as u8, documents - 1, 0, 0, 0, 0, 0];
    for (width, body) in columns {
        page.extend([*width, 0, body.len() as u8, (body.len() >> 8) as u8, 0, 0]);
    }
    page.extend(columns.iter().flat_map(|(_, body)| body));
    put_check(&mut page, 4);
    page
}

#[test]
fn golden_bytes_of_places() {
    let owners = NumberBlock::of([None, Some(0)]).encode();
    let contents = [[4; 16], [5; 16]].concat();
    let columns = [
        (0, numbers([7, 7])),
        (0, numbers([1, 1])),
        (0, numbers([4, 5])),
        (0, owners),
        (16, contents),
    ];
    let rows = [place(4, None), place(5, Some(0))];
    let bytes = DocumentPlace::page(&rows).unwrap();
    assert_eq!(bytes, page(2, &columns));
    // The check, which the line above has from the same code.
    assert_eq!(bytes[4..8], [225, 47, 33, 14]);
    assert_eq!(DocumentPlace::all(&bytes).unwrap(), rows);
}

#[test]
fn golden_bytes_of_prints() {
    let rows = [print(1), print(2)];
    let counts = [(0, numbers([1, 2])), (0, numbers([9, 9]))];
    let hashes = [(16, [[1; 16], [2; 16]].concat()), (16, [[2; 16], [3; 16]].concat())];
    assert_eq!(
        DocumentPrint::page(&rows).unwrap(),
        page(2, &[counts.clone(), hashes.clone()].concat())
    );
    let rows = rows.map(|row| DocumentPrint { normalised: [0; 16], ..row });
    let bytes = DocumentPrint::page(&rows).unwrap();
    assert_eq!(bytes, page(2, &[&counts[..], &hashes[..1]].concat()));
    assert_eq!(DocumentPrint::all(&bytes).unwrap(), rows);
}

#[test]
fn golden_bytes_of_sketches() {
    let bytes = sketch_page(4, &[Some(b"abcd"), None, Some(&[0xff; 4])]).unwrap();
    let places = NumberBlock::of([Some(0), None, Some(1)]).encode();
    assert_eq!(bytes, page(3, &[(0, places), (4, b"abcd\xff\xff\xff\xff".to_vec())]));
    let page = GridPage::read_whole(&bytes).unwrap();
    assert_eq!(sketch_at(&page, 4, 0), Ok(Some(b"abcd".as_slice())));
    assert_eq!(sketch_at(&page, 4, 1), Ok(None));
    assert_eq!(sketch_at(&page, 4, 2), Ok(Some([0xff; 4].as_slice())));
    assert!(sketch_at(&page, 4, 3).is_err() && sketch_at(&page, 8, 0).is_err());
    assert!(sketch_page(4, &[Some(b"abc")]).is_err());
    assert_eq!([1, 256, 1024, 20_000].map(sketches_of_page), [16_384, 64, 16, 1]);
}

#[test]
fn golden_bytes_of_ids() {
    let pieces = id_pieces(false, &[Some(&[1, 0, 2, 0]), None, Some(&[3, 0])]).unwrap();
    let lengths = NumberBlock::of([Some(2), None, Some(1)]).encode();
    assert_eq!(pieces, [page(3, &[(0, lengths), (2, vec![1, 0, 2, 0, 3, 0])])]);
    let pieces = id_pieces(true, &[Some(&[1, 2, 3, 4])]).unwrap();
    assert_eq!(pieces, [page(1, &[(0, numbers([1])), (4, vec![1, 2, 3, 4])])]);
    assert!(id_pieces(true, &[Some(&[1, 2])]).is_err());
}

/// A page is of 16 documents, and a piece of 64 KiB: the ids of one may stand in many.
#[test]
fn ids_are_read_over_borders_of_pieces() {
    let ids = |bytes: usize| (0..bytes).map(|at| (at % 251) as u8).collect::<Vec<_>>();
    let all = [ids(65_534), ids(4), ids(0), ids(200_000), ids(2)];
    let documents: Vec<_> = all.iter().map(|ids| Some(ids.as_slice())).collect();
    let pieces = id_pieces(false, &documents).unwrap();
    assert_eq!(pieces.len(), 5);
    assert!(pieces.iter().all(|piece| piece.len() < PIECE + 100));
    for (slot, ids) in all.iter().enumerate() {
        assert_eq!(ids_of(&pieces, false, slot as u16), Ok(Some(ids.clone())), "{slot}");
    }
    let first = GridPage::read(&pieces[0]).unwrap();
    assert!(ids_of_piece(&first, false, 0, &(0..65_537)).is_ok());
    assert!(ids_of_piece(&first, false, 1, &(65_536..65_540)).is_err());
    // The last piece has not all of what the lengths say: another page's.
    let last = GridPage::read(&pieces[4]).unwrap();
    assert!(ids_of_piece(&last, false, 4, &(4 * PIECE..5 * PIECE)).is_err());
}

/// The ids of a document from all pieces of its page.
fn ids_of(pieces: &[Vec<u8>], wide: bool, slot: u16) -> Result<Option<Vec<u8>>, DecodeError> {
    let Some(range) = IdPage::read(&GridPage::read(&pieces[0])?, wide)?.range(slot) else {
        return Ok(None);
    };
    let mut ids = Vec::new();
    for number in IdPage::pieces(&range) {
        let piece = pieces.get(number).map_or(&[][..], Vec::as_slice);
        ids.extend_from_slice(ids_of_piece(&GridPage::read(piece)?, wide, number, &range)?);
    }
    Ok(Some(ids))
}

#[test]
fn a_page_has_no_more_documents_than_the_grid() {
    assert!(DocumentPlace::page(&[place(1, None); 256]).is_ok());
    assert!(
        DocumentPlace::page(&[place(1, None); 257]).is_err() && DocumentPlace::page(&[]).is_err()
    );
    assert!(DocumentPrint::page(&[print(1); 513]).is_err());
    assert!(sketch_page(1024, &[None; 17]).is_err());
    assert!(id_pieces(false, &[None; 17]).is_err());
}

#[test]
fn a_bit_flipped_or_a_byte_gone_is_an_error() {
    let bytes = DocumentPlace::page(&[place(4, None), place(500, Some(1))]).unwrap();
    for at in 0..bytes.len() {
        assert!(DocumentPlace::all(&bytes[..at]).is_err(), "{at}");
        let mut other = bytes.clone();
        other[at] ^= 4;
        assert!(DocumentPlace::all(&other).is_err(), "{at}");
    }
}

/// What commits do: the rows of the last page, if it is short, are read and written again with those that come.
fn appended<R: GridRow + Clone>(rows: &[R], commits: &[usize]) -> Vec<Vec<u8>> {
    let (mut pages, mut rest) = (Vec::<Vec<u8>>::new(), rows);
    for commit in commits.iter().cycle() {
        let (now, later) = rest.split_at((*commit).min(rest.len()));
        let mut rows = pages.pop().map_or_else(Vec::new, |page| R::all(&page).unwrap());
        rows.extend_from_slice(now);
        pages.extend(rows.chunks(R::DOCUMENTS).map(|rows| R::page(rows).unwrap()));
        rest = later;
        if rest.is_empty() {
            break;
        }
    }
    pages
}

fn places() -> impl Strategy<Value = Vec<DocumentPlace>> {
    let row = (any::<(u32, u32, u64, Option<u64>, [u8; 16])>(), any::<bool>());
    let row = row.prop_map(|((source, file, number, owner, content), small)| DocumentPlace {
        source: SourceId(if small { 1 } else { source }),
        file: FileId(if small { file % 9 } else { file }),
        number: if small { number % 300 } else { number },
        text_of: owner.map(DocId),
        content,
    });
    proptest::collection::vec(row, 1..700)
}

fn prints() -> impl Strategy<Value = Vec<DocumentPrint>> {
    let row = any::<([u8; 16], [u8; 16], u32, u32)>();
    let row = row.prop_map(|(raw, normalised, words, shingles)| DocumentPrint {
        raw,
        normalised,
        words,
        shingles,
    });
    (proptest::collection::vec(row, 1..1200), any::<bool>()).prop_map(|(mut rows, normalises)| {
        for row in rows.iter_mut().filter(|_| !normalises) {
            row.normalised = [0; 16];
        }
        rows
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn grid_pages_do_not_know_of_commits(
        places in places(),
        prints in prints(),
        commits in proptest::collection::vec(1..300_usize, 1..6),
    ) {
        let whole: Vec<_> = places.chunks(256).map(|rows| DocumentPlace::page(rows).unwrap()).collect();
        prop_assert_eq!(appended(&places, &commits), whole);
        let whole: Vec<_> = prints.chunks(512).map(|rows| DocumentPrint::page(rows).unwrap()).collect();
        prop_assert_eq!(appended(&prints, &commits), whole);
    }

    #[test]
    fn one_value_in_place_is_that_of_the_whole(places in places(), prints in prints()) {
        let rows = &places[..places.len().min(256)];
        let bytes = DocumentPlace::page(rows).unwrap();
        prop_assert_eq!(DocumentPlace::all(&bytes).unwrap(), rows);
        let page = GridPage::read(&bytes).unwrap();
        for (slot, row) in rows.iter().enumerate() {
            prop_assert_eq!(DocumentPlace::at(&page, slot as u16), Ok(*row));
        }
        prop_assert!(DocumentPlace::at(&page, rows.len() as u16).is_err());
        let rows = &prints[..prints.len().min(512)];
        prop_assert_eq!(DocumentPrint::all(&DocumentPrint::page(rows).unwrap()).unwrap(), rows);
    }

    #[test]
    fn sketches_and_ids_round_trip(
        ids in proptest::collection::vec(any::<Option<Vec<u32>>>(), 1..17),
        sketches in proptest::collection::vec(any::<Option<[u8; 8]>>(), 1..40),
        wide: bool,
    ) {
        let lent: Vec<_> = sketches.iter().map(|sketch| sketch.as_ref().map(<[u8; 8]>::as_slice)).collect();
        let bytes = sketch_page(8, &lent).unwrap();
        let page = GridPage::read_whole(&bytes).unwrap();
        for (slot, sketch) in lent.iter().enumerate() {
            prop_assert_eq!(sketch_at(&page, 8, slot as u16), Ok(*sketch));
        }
        let bytes = |ids: &Vec<u32>| ids.iter().flat_map(|id| {
            id.to_le_bytes().into_iter().take(if wide { 4 } else { 2 })
        }).collect::<Vec<u8>>();
        let ids: Vec<_> = ids.iter().map(|ids| ids.as_ref().map(bytes)).collect();
        let lent: Vec<_> = ids.iter().map(Option::as_deref).collect();
        let pieces = id_pieces(wide, &lent).unwrap();
        for (slot, ids) in ids.iter().enumerate() {
            prop_assert_eq!(&ids_of(&pieces, wide, slot as u16).unwrap(), ids);
        }
    }

    #[test]
    fn any_bytes_are_an_error_or_a_page(
        mut bytes: Vec<u8>,
        places in places(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        slot in prop_oneof![0_u16..300, any::<u16>()],
    ) {
        let good = DocumentPlace::page(&places[..places.len().min(256)]).unwrap();
        let mut other = good.clone();
        for (at, byte) in changes {
            let at = at.index(other.len());
            other[at] = byte;
        }
        prop_assert!(other == good || DocumentPlace::all(&other).is_err());
        put_check(&mut other, 4);
        if let Some(form) = bytes.first_mut() {
            *form = 1;
        }
        put_check(&mut bytes, 4);
        for bytes in [bytes, other] {
            let _ = (DocumentPlace::all(&bytes), DocumentPrint::all(&bytes));
            if let Ok(page) = GridPage::read(&bytes) {
                let _ = (DocumentPlace::at(&page, slot), DocumentPrint::at(&page, slot), sketch_at(&page, 16, slot));
                for wide in [true, false] {
                    let range = IdPage::read(&page, wide).map(|ids| ids.range(slot));
                    let range = range.ok().flatten().unwrap_or(0..usize::from(slot));
                    for number in [0, 1, usize::MAX] {
                        let _ = ids_of_piece(&page, wide, number, &range);
                    }
                }
            }
        }
    }
}
