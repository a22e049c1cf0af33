//! A macro for functions that replace one of the engine's: everything but the call is forwarded to the field `inner`.

/// The methods of [`ScalarUDFImpl`](datafusion::logical_expr::ScalarUDFImpl) that `self.inner` answers. Not `simplify`:
/// the engine's would put its own function back.
macro_rules! all_but_the_call {
    () => {
        fn name(&self) -> &str {
            self.inner.name()
        }

        fn aliases(&self) -> &[String] {
            self.inner.aliases()
        }

        fn signature(&self) -> &datafusion::logical_expr::Signature {
            self.inner.signature()
        }

        fn return_type(&self, kinds: &[DataType]) -> Result<DataType> {
            self.inner.return_type(kinds)
        }

        fn return_field_from_args(
            &self,
            args: datafusion::logical_expr::ReturnFieldArgs<'_>,
        ) -> Result<arrow::datatypes::FieldRef> {
            self.inner.return_field_from_args(args)
        }

        fn coerce_types(&self, kinds: &[DataType]) -> Result<Vec<DataType>> {
            self.inner.inner().coerce_types(kinds)
        }

        fn documentation(&self) -> Option<&datafusion::logical_expr::Documentation> {
            self.inner.documentation()
        }
    };
}

pub(in crate::sql) use all_but_the_call;
