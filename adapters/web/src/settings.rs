//! What the page needs to show and change the configuration. Only owners come this far.

use adjutant_chat::Finding;
use async_trait::async_trait;

use crate::Result;
use crate::views::{SettingsEdit, SettingsOutcome, SettingsPage, Viewer};

#[async_trait]
pub trait SettingsEditor: Send + Sync + 'static {
    async fn settings(&self, viewer: &Viewer) -> Result<SettingsPage>;
    /// Changes the file, or says what that would do.
    async fn change(&self, viewer: &Viewer, edit: &SettingsEdit) -> Result<SettingsOutcome>;
    /// Tests a part of the file as it is; none if there is no such part.
    async fn test(&self, part: &str) -> Result<Option<Vec<Finding>>>;
    fn restart(&self, viewer: &Viewer);
}
