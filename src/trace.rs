//! tmp
use crate::store::{Store, StoreError, turns::TurnRow};
pub struct Trace;
pub struct Style;
impl Style {
    pub fn plain() -> Self {
        Self
    }
}
pub async fn load(_s: &Store, _t: &TurnRow, _c: bool) -> Result<Trace, StoreError> {
    Ok(Trace)
}
pub fn draw(_t: &Trace, _s: Style) -> String {
    String::new()
}
