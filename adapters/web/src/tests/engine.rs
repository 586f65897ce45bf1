//! A small engine.

use std::path::PathBuf;
use std::sync::Mutex;

use adjutant_chat::{Outbound, OutgoingFile};
use async_trait::async_trait;

use crate::views::{
    AccountChange, AccountLine, Details, Hits, LogLine, LoginOffer, LoginStep, Note, NotifyOf, Now,
    PageAction, PersonLine, PlanLine, Planned, PushAddress, Session, Started, Table, Timeline, Turn, Usage,
    Viewer, WorkflowPage, Workflows,
};
use crate::{
    Backend, Change, Cursor, Given, Kept, LoginLinks, Passkey, PasskeyLine, Passkeys, Result, Upload,
};

/// An engine whose outbox is a list.
#[derive(Default)]
pub(crate) struct Engine {
    pub(super) outbox: Mutex<Vec<Outbound>>,
}

#[async_trait]
impl Passkeys for Engine {
    async fn challenge(&self, _: &str) -> Result<String> {
        Ok(String::new())
    }
    async fn passkeys(&self, _: &Viewer) -> Result<Vec<PasskeyLine>> {
        Ok(Vec::new())
    }
    async fn add_passkey(&self, _: &Viewer, _: (String, Passkey), _: &str) -> Result<bool> {
        Ok(false)
    }
    async fn remove_passkey(&self, _: &Viewer, _: &str) -> Result<()> {
        Ok(())
    }
    async fn passkey(&self, _: &str) -> Result<Option<Passkey>> {
        Ok(None)
    }
    async fn begin(&self, _: &Passkey, _: (String, u32), _: &str) -> Result<Option<String>> {
        Ok(None)
    }
}

#[async_trait]
impl LoginLinks for Engine {
    async fn login_offer(&self, _: &str) -> Result<Option<LoginOffer>> {
        Ok(None)
    }
    async fn open_login(&self, _: &str, _: Option<&str>) -> Result<LoginStep> {
        Ok(LoginStep::Ended(String::new()))
    }
    async fn add_password(&self, _: &str, _: (&str, &str), _: Option<&str>) -> Result<LoginStep> {
        Ok(LoginStep::Ended(String::new()))
    }
    async fn finish_login(&self, _: &str, _: &str) -> Result<String> {
        Ok(String::new())
    }
}

#[async_trait]
impl Backend for Engine {
    async fn sign_in(&self, _: &str, _: &str) -> Result<Option<String>> {
        Ok(None)
    }
    async fn person_of_code(&self, _: &str) -> Result<Option<(String, String)>> {
        Ok(None)
    }
    async fn viewer(&self, secret: &str) -> Result<Option<Viewer>> {
        let (person, name, session) = ("p".into(), "P".into(), "s".into());
        let assistant = "A".into();
        let viewer = Viewer { person, name, assistant, is_owner: false, session, zone: None, waiting: 0 };
        Ok((secret != "ended").then_some(viewer))
    }
    async fn sessions(&self, _: &Viewer) -> Result<Vec<Session>> {
        Ok(Vec::new())
    }
    async fn end_session(&self, _: &Viewer, _: &str) -> Result<bool> {
        Ok(false)
    }
    async fn push_key(&self) -> Result<String> {
        Ok(String::new())
    }
    async fn notify_of(&self, _: &Viewer, _: NotifyOf, _: PushAddress) -> Result<bool> {
        Ok(false)
    }
    async fn notify(&self) {}
    async fn now(&self, _: &Viewer) -> Result<Now> {
        Ok(Now::default())
    }
    async fn timeline(&self, _: &Viewer, _: &str, _: Option<i64>, _: &str) -> Result<Option<Timeline>> {
        Ok(None)
    }
    async fn turn(&self, _: &Viewer, _: &str, _: usize) -> Result<Option<Turn>> {
        Ok(None)
    }
    async fn details(&self, _: &Viewer, _: &str) -> Result<Option<Details>> {
        Ok(None)
    }
    async fn people(&self, _: &Viewer) -> Result<Vec<PersonLine>> {
        Ok(Vec::new())
    }
    async fn say(
        &self,
        _: &Viewer,
        _: &str,
        _: &str,
        _: &[(String, String)],
        _: Option<(&str, u64)>,
    ) -> Result<()> {
        Ok(())
    }
    async fn keep_upload(&self, _: &Viewer, _: Upload<'_>) -> Result<Kept> {
        Ok(Kept::Refused(String::new()))
    }
    fn upload_path(&self, _: &str) -> Option<PathBuf> {
        None
    }
    async fn press(&self, _: &Viewer, _: &str) -> Result<Option<String>> {
        Ok(None)
    }
    async fn press_all(&self, _: &Viewer, _: &str) -> Result<Option<String>> {
        Ok(None)
    }
    async fn answer(&self, _: &Viewer, _: &str, _: &str, _: &str) -> Result<Option<String>> {
        Ok(None)
    }
    async fn plans(&self, _: &Viewer) -> Result<Vec<PlanLine>> {
        Ok(Vec::new())
    }
    async fn begin_plan(&self, _: &Viewer, _: &str, _: &str) -> Result<Option<String>> {
        Ok(None)
    }
    async fn stop(&self, _: &Viewer, _: &str) -> Result<bool> {
        Ok(false)
    }
    async fn repeat(&self, _: &Viewer, _: &str) -> Result<bool> {
        Ok(false)
    }
    async fn workflows(&self, _: &Viewer) -> Result<Workflows> {
        Ok(Workflows::default())
    }
    async fn workflow(&self, _: &Viewer, _: &str, _: &Given) -> Result<Option<WorkflowPage>> {
        Ok(None)
    }
    async fn plan(&self, _: &Viewer, _: &str, _: &Given) -> Result<Option<Planned>> {
        Ok(None)
    }
    async fn run(&self, _: &Viewer, _: &str, _: &str, _: &Given) -> Result<Option<Planned>> {
        Ok(None)
    }
    async fn rerun(&self, _: &Viewer, _: &str, _: &str, _: &str) -> Result<bool> {
        Ok(false)
    }
    async fn started(&self, _: &Viewer, _: &str) -> Result<Option<Started>> {
        Ok(None)
    }
    async fn file(&self, _: &Viewer, _: &str) -> Result<Option<OutgoingFile>> {
        Ok(None)
    }
    async fn sent(&self, _: &Viewer, _: &str) -> Result<Option<(String, Vec<u8>)>> {
        Ok(None)
    }
    async fn search(&self, _: &Viewer, _: &str) -> Result<Vec<Hits>> {
        Ok(Vec::new())
    }
    async fn note(&self, _: &Viewer, _: &str) -> Result<Option<Note>> {
        Ok(None)
    }
    async fn save_note(&self, _: &Viewer, _: Note) -> Result<Option<String>> {
        Ok(None)
    }
    async fn things(&self, _: &Viewer) -> Result<Vec<Table>> {
        Ok(Vec::new())
    }
    async fn system(&self, _: &Viewer) -> Result<Option<Vec<Table>>> {
        Ok(None)
    }
    async fn log(&self, _: &Viewer, _: &str) -> Result<Option<Vec<LogLine>>> {
        Ok(None)
    }
    async fn usage(&self, _: &Viewer) -> Result<Usage> {
        Ok(Usage::default())
    }
    async fn act(&self, _: &Viewer, _: PageAction, _: &str, _: &[&str]) -> Result<bool> {
        Ok(false)
    }
    async fn accounts(&self, _: &Viewer) -> Result<Vec<AccountLine>> {
        Ok(Vec::new())
    }
    async fn change_account(&self, _: &Viewer, _: &str, _: AccountChange) -> Result<Option<String>> {
        Ok(None)
    }
    async fn latest(&self) -> Result<Cursor> {
        Ok(Cursor::default())
    }
    async fn changes(&self, _: Cursor, _: usize) -> Result<Option<Vec<Change>>> {
        Ok(Some(Vec::new()))
    }
    async fn tidy(&self) {}
    async fn is_shown(&self, message: &str) -> bool {
        self.outbox.lock().unwrap().iter().any(|sent| sent.id == message)
    }
    fn refused(&self, _: &'static str) {}
}
