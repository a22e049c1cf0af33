//! Tests that a check skips no family: a row of each that does not decode is a fault of that family.

use crate::bytes::key::StoreKey;
use crate::check::{FaultList, every_row};
use crate::database::family::{FamilyVisitor, StoreFamily, family_handle};
use crate::database::tuning::MemoryBudget;
use crate::table::{FAMILIES, for_each_family};
use crate::{StoreWriter, create};
use model::{Context, DedupMode, Policy};

struct Damaging {
    writer: StoreWriter,
    seen: Vec<&'static str>,
}

impl Damaging {
    /// The families with a faulty row while `key` has `value`.
    fn faults<C: StoreFamily>(&mut self, key: &[u8], value: &[u8]) -> Vec<String> {
        self.writer.db.put_cf(&family_handle::<C>(&self.writer.db).unwrap(), key, value).unwrap();
        self.writer.refresh_view().unwrap();
        let mut faults = FaultList::default();
        every_row(self.writer.view(), &Context::new(), &mut faults);
        self.writer.db.delete_cf(&family_handle::<C>(&self.writer.db).unwrap(), key).unwrap();
        faults.found.into_iter().map(|fault| fault.place).collect()
    }
}

impl FamilyVisitor for Damaging {
    fn family<C: StoreFamily>(&mut self) {
        let zeros = (1..32).map(|width| vec![0; width]);
        let mut keys = [b"redo".to_vec(), b"0000000001".to_vec()].into_iter().chain(zeros);
        let key = keys.find(|key| C::Key::decode(key).is_ok()).unwrap();
        let wrong = [0xff; 3];
        assert_eq!(self.faults::<C>(&key, &wrong), [C::NAME], "a value of {}", C::NAME);
        assert_eq!(self.faults::<C>(&wrong[..2], &[]), [C::NAME], "a key of {}", C::NAME);
        self.seen.push(C::NAME);
    }
}

#[test]
fn a_damaged_row_of_any_family_is_a_fault_of_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("corpus");
    create(&path, &Policy::new(DedupMode::Exact, 0.8).unwrap(), &[]).unwrap();
    let mut writer = StoreWriter::open(&path, MemoryBudget::within(16 << 20), 2).unwrap();
    writer.refresh_view().unwrap();
    let mut sound = FaultList::default();
    every_row(writer.view(), &Context::new(), &mut sound);
    assert!(sound.found.is_empty(), "{:?}", sound.found);
    let mut damaging = Damaging { writer, seen: Vec::new() };
    for_each_family(&mut damaging);
    let all: Vec<&str> = FAMILIES.iter().map(|family| family.name).collect();
    assert_eq!(damaging.seen, all);
}
