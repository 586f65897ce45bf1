//! The page's questions and requests, each passed to the part that knows.

use std::path::PathBuf;

use adjutant_chat::OutgoingFile;
use adjutant_l10n::page;
use adjutant_store::{changes, control, people, pushes, timeline, web};
use adjutant_types::{PersonId, TurnId, metrics, with_words};
use adjutant_web::views::{
    AccountChange, AccountLine, Details, Hits, LogLine, Note, NotifyOf, Now, PageAction, PersonLine,
    PlanLine, Planned, PushAddress, Session, Started, Table, Timeline, Turn, Usage, Viewer, WorkflowPage,
    Workflows,
};
use adjutant_web::{Backend, Change, Cursor, Given, Kept, Result, Upload};
use async_trait::async_trait;

use super::view::moment;
use super::workflows::request;
use super::{PEOPLE, ROWS_ALONE, WebBackend, log_look};

#[async_trait]
impl Backend for WebBackend {
    async fn sign_in(&self, code: &str, browser: &str) -> Result<Option<String>> {
        Ok(web::redeem(&self.store, code, browser).await?)
    }

    async fn person_of_code(&self, code: &str) -> Result<Option<(String, String)>> {
        let Some(person) = web::person_of_code(&self.store, code).await? else { return Ok(None) };
        let name = people::person_by_id(&self.store, &person).await?.name;
        Ok(Some((person.to_string(), name)))
    }

    async fn viewer(&self, secret: &str) -> Result<Option<Viewer>> {
        let Some(session) = web::session(&self.store, secret).await? else { return Ok(None) };
        if !self.may_come(&session.person_id).await? {
            return Ok(None);
        }
        let person = people::person_by_id(&self.store, &session.person_id).await?;
        let owners = self.conversations.settings.current();
        let is_owner = people::is_owner(&self.store, &person.id, &owners.owners).await?;
        let waiting = timeline::count_open_questions(&self.store, &person.id).await?;
        Ok(Some(Viewer {
            person: person.id.to_string(),
            name: person.name,
            assistant: self.live.initial().assistant.name.clone(),
            is_owner,
            session: session.id,
            zone: None,
            waiting: u64::try_from(waiting).unwrap_or(0),
        }))
    }

    async fn sessions(&self, viewer: &Viewer) -> Result<Vec<Session>> {
        let zone = self.zone(viewer).await?;
        let now = self.store.now();
        let person: PersonId = viewer.person.as_str().into();
        let own = web::sessions(&self.store, Some(&person)).await;
        let reached = pushes::of_person(&self.store, &person).await?;
        let notified = |session: &str| match reached.iter().find(|row| row.session_id == session) {
            None => NotifyOf::Nothing,
            Some(row) if row.wants_news => NotifyOf::News,
            Some(_) => NotifyOf::Questions,
        };
        let session = |row: web::SessionRow| Session {
            notified: notified(&row.id),
            by_passkey: row.by_passkey,
            key: row.id,
            browser: row.browser,
            since: moment(row.created_at, now, zone),
            seen: moment(row.seen_at, now, zone),
        };
        Ok(own?.into_iter().map(session).collect())
    }

    async fn end_session(&self, viewer: &Viewer, session: &str) -> Result<bool> {
        Ok(web::revoke(&self.store, session, Some(&viewer.person.as_str().into())).await?)
    }

    async fn push_key(&self) -> Result<String> {
        Ok(self.signing_key().await?.public())
    }

    async fn notify_of(&self, viewer: &Viewer, what: NotifyOf, at: PushAddress) -> Result<bool> {
        self.set_notified(viewer, what, at).await
    }

    async fn notify(&self) {
        if let Err(error) = self.notify_all().await {
            tracing::error!(%error, "browsers can't be notified; will try again");
        }
    }

    async fn now(&self, viewer: &Viewer) -> Result<Now> {
        Ok(self.whats_on(viewer).await?)
    }

    async fn timeline(
        &self,
        viewer: &Viewer,
        whose: &str,
        before: Option<i64>,
        channel: &str,
    ) -> Result<Option<Timeline>> {
        let person: PersonId = whose.into();
        if viewer.person != whose {
            if !viewer.is_owner || !people::exists(&self.store, &person).await? {
                return Ok(None);
            }
            log_look(viewer, &person);
        }
        Ok(Some(self.page_of(viewer, &person, before, channel).await?))
    }

    async fn turn(&self, viewer: &Viewer, key: &str, skip: usize) -> Result<Option<Turn>> {
        let Some(row) = self.visible(viewer, &key.into()).await? else { return Ok(None) };
        Ok(Some(self.view(viewer).await?.turn(&row, skip, ROWS_ALONE).await?))
    }

    async fn details(&self, viewer: &Viewer, key: &str) -> Result<Option<Details>> {
        Ok(self.details_of(viewer, &key.into()).await?)
    }

    async fn people(&self, viewer: &Viewer) -> Result<Vec<PersonLine>> {
        let zone = self.zone(viewer).await?;
        let now = self.store.now();
        let settings = self.conversations.settings.current();
        let mut lines: Vec<PersonLine> = Vec::new();
        for (person, name, last, account) in timeline::people(&self.store, &self.channel, PEOPLE).await? {
            if lines.last().is_none_or(|line| line.person != person.as_str()) {
                let (person, last) = (person.to_string(), moment(last, now, zone));
                lines.push(PersonLine { person, name, accounts: Vec::new(), is_owner: false, last });
            }
            let Some(line) = lines.last_mut().filter(|_| !account.is_empty()) else { continue };
            line.is_owner |= settings.owners.contains(&account);
            line.accounts.push(account);
        }
        Ok(lines)
    }

    async fn say(
        &self,
        viewer: &Viewer,
        once: &str,
        text: &str,
        uploads: &[(String, String)],
        spoken: Option<(&str, u64)>,
    ) -> Result<()> {
        let mut attachments = self.attachments(viewer, uploads);
        attachments.extend(spoken.and_then(|spoken| self.voice_note(viewer, spoken)));
        if text.is_empty() && attachments.is_empty() {
            return Ok(());
        }
        self.hear(viewer, once, text, attachments).await
    }

    async fn keep_upload(&self, viewer: &Viewer, content: Upload<'_>) -> Result<Kept> {
        self.keep(viewer, content).await
    }

    fn upload_path(&self, key: &str) -> Option<PathBuf> {
        self.path_of_upload(key)
    }

    async fn press(&self, viewer: &Viewer, button: &str) -> Result<Option<String>> {
        // The same person pressing the same button again says nothing new.
        self.pressed(viewer, button, button).await
    }

    async fn press_all(&self, viewer: &Viewer, answer: &str) -> Result<Option<String>> {
        if !["continue", "stop"].contains(&answer) {
            return Ok(Some(page::nothing_here()));
        }
        let mut refused = None;
        let person: PersonId = viewer.person.as_str().into();
        for question in timeline::budget_questions(&self.store, &person).await? {
            let button = format!("{question}:{answer}");
            refused = refused.or(self.pressed(viewer, &button, &button).await?);
        }
        Ok(refused)
    }

    async fn answer(&self, viewer: &Viewer, once: &str, key: &str, words: &str) -> Result<Option<String>> {
        self.pressed(viewer, once, &with_words(&key.into(), words)).await
    }

    async fn stop(&self, viewer: &Viewer, key: &str) -> Result<bool> {
        let turn: TurnId = key.into();
        if self.visible(viewer, &turn).await?.is_none_or(|row| row.ended_at.is_some()) {
            return Ok(false);
        }
        let is_stopped = control::cancel(&self.store, &turn).await?;
        if let Some(running) = self.conversations.running.get(&turn) {
            running.cancel.cancel();
        }
        Ok(is_stopped)
    }

    async fn repeat(&self, viewer: &Viewer, key: &str) -> Result<bool> {
        self.say_again(viewer, &key.into()).await
    }

    async fn workflows(&self, viewer: &Viewer) -> Result<Workflows> {
        Ok(self.all_workflows(viewer).await?)
    }

    async fn workflow(&self, _: &Viewer, name: &str, given: &Given) -> Result<Option<WorkflowPage>> {
        Ok(self.workflow_page(name, given))
    }

    async fn plan(&self, viewer: &Viewer, name: &str, given: &Given) -> Result<Option<Planned>> {
        Ok(self.dry_run(viewer, name, given).await?)
    }

    async fn run(&self, viewer: &Viewer, once: &str, name: &str, given: &Given) -> Result<Option<Planned>> {
        match self.dry_run(viewer, name, given).await? {
            Some(Planned::Plan(_)) => {
                self.hear(viewer, once, &request(name, given), Vec::new()).await?;
                Ok(Some(Planned::Asked))
            }
            other => Ok(other),
        }
    }

    async fn rerun(&self, viewer: &Viewer, once: &str, key: &str, from: &str) -> Result<bool> {
        let Some(text) = self.rerun_request(viewer, key, from).await? else { return Ok(false) };
        self.hear(viewer, once, &text, Vec::new()).await.map(|()| true)
    }

    async fn plans(&self, viewer: &Viewer) -> Result<Vec<PlanLine>> {
        Ok(self.all_plans(viewer).await?)
    }

    async fn begin_plan(&self, viewer: &Viewer, once: &str, goal: &str) -> Result<Option<String>> {
        self.ask_for_plan(viewer, once, goal).await
    }

    async fn started(&self, viewer: &Viewer, key: &str) -> Result<Option<Started>> {
        Ok(self.find_started(viewer, key).await?)
    }

    async fn file(&self, viewer: &Viewer, message: &str) -> Result<Option<OutgoingFile>> {
        Ok(self.file_of(viewer, &message.into()).await?)
    }

    async fn sent(&self, viewer: &Viewer, file: &str) -> Result<Option<(String, Vec<u8>)>> {
        Ok(self.sent_file(viewer, &file.into()).await?)
    }

    async fn search(&self, viewer: &Viewer, query: &str) -> Result<Vec<Hits>> {
        Ok(self.find(viewer, query).await?)
    }

    async fn note(&self, viewer: &Viewer, path: &str) -> Result<Option<Note>> {
        Ok(self.note_at(viewer, path).await)
    }

    async fn save_note(&self, viewer: &Viewer, note: Note) -> Result<Option<String>> {
        Ok(self.save_note_as(viewer, note).await?)
    }

    async fn things(&self, viewer: &Viewer) -> Result<Vec<Table>> {
        Ok(self.things_of(viewer).await?)
    }

    async fn system(&self, viewer: &Viewer) -> Result<Option<Vec<Table>>> {
        if viewer.is_owner { Ok(Some(self.system_tables(viewer).await?)) } else { Ok(None) }
    }

    async fn log(&self, viewer: &Viewer, key: &str) -> Result<Option<Vec<LogLine>>> {
        Ok(self.log_of(viewer, &key.into()).await?)
    }

    async fn usage(&self, viewer: &Viewer) -> Result<Usage> {
        Ok(self.used(viewer).await?)
    }

    async fn act(&self, viewer: &Viewer, act: PageAction, key: &str, texts: &[&str]) -> Result<bool> {
        match act {
            PageAction::CancelPlan => self.cancel_plan(viewer, key).await,
            act => Ok(self.do_act(viewer, (act, key), texts).await?),
        }
    }

    async fn accounts(&self, viewer: &Viewer) -> Result<Vec<AccountLine>> {
        let (rows, _) = self.conversations.accounts_of(&viewer.person.as_str().into()).await?;
        let view = self.view(viewer).await?;
        Ok(rows.into_iter().map(|row| view.account(row)).collect())
    }

    async fn change_account(
        &self,
        viewer: &Viewer,
        key: &str,
        change: AccountChange,
    ) -> Result<Option<String>> {
        Ok(self.change_own_account(viewer, &key.into(), change).await?)
    }

    async fn latest(&self) -> Result<Cursor> {
        let (tx, seq) = changes::last(&self.store).await?;
        Ok(Cursor { tx, seq })
    }

    async fn changes(&self, after: Cursor, limit: usize) -> Result<Option<Vec<Change>>> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let rows = changes::after(&self.store, (after.tx, after.seq), limit).await?;
        let change = |row: changes::ChangeRow| Change {
            at: Cursor { tx: row.tx, seq: row.seq },
            person: row.person_id.to_string(),
            kind: row.kind,
            id: row.id,
            turn: row.turn_id.map(|turn| turn.to_string()),
            status: row.status,
        };
        Ok(rows.map(|rows| rows.into_iter().map(change).collect()))
    }

    async fn tidy(&self) {
        let tidied = async {
            changes::prune(&self.store).await?;
            pushes::prune(&self.store).await
        };
        if let Err(error) = tidied.await {
            tracing::error!(%error, "couldn't delete old changes; will try again");
        }
    }

    async fn is_shown(&self, message: &str) -> bool {
        timeline::is_replied(&self.store, &message.into()).await.unwrap_or(false)
    }

    fn refused(&self, reason: &'static str) {
        metrics::page_refused(reason);
        tracing::warn!(reason, "the web page refused a request");
    }
}
