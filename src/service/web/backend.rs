//! The page's questions and requests, each passed to the part that knows.

use std::path::PathBuf;

use adjutant_chat::OutgoingFile;
use adjutant_l10n::page;
use adjutant_store::{changes, people, pushes, timeline, web};
use adjutant_types::{OutboxId, PersonId, metrics, with_words};
use adjutant_web::views::{
    AccountChange, AccountLine, Details, Hits, LogLine, Note, NotifyOf, Now, PageAction, PersonLine,
    PlanLine, Planned, PushAddress, Session, Started, Table, Timeline, Turn, Usage, Viewer, WorkflowPage,
    Workflows,
};
use adjutant_web::{Backend, Change, Cursor, Given, Unavailable, Upload};
use async_trait::async_trait;

use super::view::moment;
use super::workflows::request;
use super::{PEOPLE, ROWS_ALONE, WebBackend, log_look, unavailable};

#[async_trait]
impl Backend for WebBackend {
    async fn sign_in(&self, code: &str, browser: &str) -> Result<Option<String>, Unavailable> {
        web::redeem(&self.store, code, browser).await.map_err(unavailable)
    }

    async fn person_of_code(&self, code: &str) -> Result<Option<(String, String)>, Unavailable> {
        let found = async {
            let Some(person) = web::person_of_code(&self.store, code).await? else { return Ok(None) };
            let name = people::person_by_id(&self.store, &person).await?.name;
            Ok(Some((person.to_string(), name)))
        };
        found.await.map_err(unavailable)
    }

    async fn viewer(&self, secret: &str) -> Result<Option<Viewer>, Unavailable> {
        self.find_viewer(secret).await.map_err(unavailable)
    }

    async fn sessions(&self, viewer: &Viewer) -> Result<Vec<Session>, Unavailable> {
        let zone = self.zone(viewer).await.map_err(unavailable)?;
        let now = self.store.now();
        let person: PersonId = viewer.person.as_str().into();
        let own = web::sessions(&self.store, Some(&person)).await;
        let reached = pushes::of_person(&self.store, &person).await.map_err(unavailable)?;
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
        Ok(own.map_err(unavailable)?.into_iter().map(session).collect())
    }

    async fn end_session(&self, viewer: &Viewer, session: &str) -> Result<bool, Unavailable> {
        web::revoke(&self.store, session, Some(&viewer.person.as_str().into())).await.map_err(unavailable)
    }

    async fn push_key(&self) -> Result<String, Unavailable> {
        self.public_key().await
    }

    async fn notify_of(&self, viewer: &Viewer, what: NotifyOf, at: PushAddress) -> Result<bool, Unavailable> {
        self.set_notified(viewer, what, at).await
    }

    async fn notify(&self) {
        if let Err(error) = self.notify_all().await {
            tracing::error!(%error, "browsers can't be notified; will try again");
        }
    }

    async fn now(&self, viewer: &Viewer) -> Result<Now, Unavailable> {
        self.whats_on(viewer).await.map_err(unavailable)
    }

    async fn timeline(
        &self,
        viewer: &Viewer,
        whose: &str,
        before: Option<i64>,
        channel: &str,
    ) -> Result<Option<Timeline>, Unavailable> {
        let is_own = viewer.person == whose;
        let person: PersonId = whose.into();
        if !is_own {
            let is_known = people::exists(&self.store, &person).await.map_err(unavailable)?;
            if !viewer.is_owner || !is_known {
                return Ok(None);
            }
            log_look(viewer, &person);
        }
        self.page_of(viewer, &person, before, channel).await.map(Some).map_err(unavailable)
    }

    async fn turn(&self, viewer: &Viewer, key: &str, skip: usize) -> Result<Option<Turn>, Unavailable> {
        let turn = async {
            let Some(row) = self.visible(viewer, &key.into()).await? else { return Ok(None) };
            self.view(viewer).await?.turn(&row, skip, ROWS_ALONE).await.map(Some)
        };
        turn.await.map_err(unavailable)
    }

    async fn details(&self, viewer: &Viewer, key: &str) -> Result<Option<Details>, Unavailable> {
        self.details_of(viewer, &key.into()).await.map_err(unavailable)
    }

    async fn people(&self, viewer: &Viewer) -> Result<Vec<PersonLine>, Unavailable> {
        let zone = self.zone(viewer).await.map_err(unavailable)?;
        let now = self.store.now();
        let rows = timeline::people(&self.store, PEOPLE).await.map_err(unavailable)?;
        let line = |(person, name, last): (PersonId, String, i64)| PersonLine {
            person: person.to_string(),
            name,
            last: moment(last, now, zone),
        };
        Ok(rows.into_iter().map(line).collect())
    }

    async fn say(
        &self,
        viewer: &Viewer,
        once: &str,
        text: &str,
        uploads: &[(String, String)],
        spoken: Option<(&str, u64)>,
    ) -> Result<(), Unavailable> {
        let mut attachments = self.attachments(uploads);
        attachments.extend(spoken.and_then(|spoken| self.voice_note(spoken)));
        if text.is_empty() && attachments.is_empty() {
            return Ok(());
        }
        self.hear_with(viewer, once, text, attachments).await
    }

    async fn keep_upload(&self, content: Upload<'_>) -> Result<Option<String>, Unavailable> {
        self.keep(content).await
    }

    fn upload_path(&self, key: &str) -> Option<PathBuf> {
        self.path_of_upload(key)
    }

    async fn press(&self, viewer: &Viewer, button: &str) -> Result<Option<String>, Unavailable> {
        // The same person pressing the same button again says nothing new.
        self.pressed(viewer, button, button).await
    }

    async fn press_all(&self, viewer: &Viewer, answer: &str) -> Result<Option<String>, Unavailable> {
        if !["continue", "stop"].contains(&answer) {
            return Ok(Some(page::nothing_here()));
        }
        let mut refused = None;
        let person: PersonId = viewer.person.as_str().into();
        for question in timeline::budget_questions(&self.store, &person).await.map_err(unavailable)? {
            let button = format!("{question}:{answer}");
            refused = refused.or(self.pressed(viewer, &button, &button).await?);
        }
        Ok(refused)
    }

    async fn answer(
        &self,
        viewer: &Viewer,
        once: &str,
        key: &str,
        words: &str,
    ) -> Result<Option<String>, Unavailable> {
        self.pressed(viewer, once, &with_words(&key.into(), words)).await
    }

    async fn stop(&self, viewer: &Viewer, key: &str) -> Result<bool, Unavailable> {
        self.stop_turn(viewer, &key.into()).await.map_err(unavailable)
    }

    async fn repeat(&self, viewer: &Viewer, key: &str) -> Result<bool, Unavailable> {
        self.say_again(viewer, &key.into()).await
    }

    async fn workflows(&self, viewer: &Viewer) -> Result<Workflows, Unavailable> {
        self.all_workflows(viewer).await.map_err(unavailable)
    }

    async fn workflow(
        &self,
        _: &Viewer,
        name: &str,
        given: &Given,
    ) -> Result<Option<WorkflowPage>, Unavailable> {
        Ok(self.workflow_page(name, given))
    }

    async fn plan(&self, viewer: &Viewer, name: &str, given: &Given) -> Result<Option<Planned>, Unavailable> {
        self.dry_run(viewer, name, given).await.map_err(unavailable)
    }

    async fn run(
        &self,
        viewer: &Viewer,
        once: &str,
        name: &str,
        given: &Given,
    ) -> Result<Option<Planned>, Unavailable> {
        match self.dry_run(viewer, name, given).await.map_err(unavailable)? {
            Some(Planned::Plan(_)) => {
                self.hear(viewer, once, &request(name, given)).await?;
                Ok(Some(Planned::Asked))
            }
            other => Ok(other),
        }
    }

    async fn rerun(&self, viewer: &Viewer, once: &str, key: &str, from: &str) -> Result<bool, Unavailable> {
        match self.rerun_request(viewer, key, from).await.map_err(unavailable)? {
            Some(text) => self.hear(viewer, once, &text).await.map(|()| true),
            None => Ok(false),
        }
    }

    async fn plans(&self, viewer: &Viewer) -> Result<Vec<PlanLine>, Unavailable> {
        self.all_plans(viewer).await.map_err(unavailable)
    }

    async fn begin_plan(
        &self,
        viewer: &Viewer,
        once: &str,
        goal: &str,
    ) -> Result<Option<String>, Unavailable> {
        self.ask_for_plan(viewer, once, goal).await
    }

    async fn started(&self, viewer: &Viewer, key: &str) -> Result<Option<Started>, Unavailable> {
        self.find_started(viewer, key).await.map_err(unavailable)
    }

    async fn file(&self, viewer: &Viewer, message: &str) -> Result<Option<OutgoingFile>, Unavailable> {
        self.file_of(viewer, &message.into()).await.map_err(unavailable)
    }

    async fn sent(&self, viewer: &Viewer, file: &str) -> Result<Option<(String, Vec<u8>)>, Unavailable> {
        self.sent_file(viewer, &file.into()).await.map_err(unavailable)
    }

    async fn search(&self, viewer: &Viewer, query: &str) -> Result<Vec<Hits>, Unavailable> {
        self.find(viewer, query).await.map_err(unavailable)
    }

    async fn note(&self, viewer: &Viewer, path: &str) -> Result<Option<Note>, Unavailable> {
        Ok(self.note_at(viewer, path).await)
    }

    async fn save_note(&self, viewer: &Viewer, note: Note) -> Result<Option<String>, Unavailable> {
        self.save_note_as(viewer, note).await.map_err(unavailable)
    }

    async fn things(&self, viewer: &Viewer) -> Result<Vec<Table>, Unavailable> {
        self.things_of(viewer).await.map_err(unavailable)
    }

    async fn system(&self, viewer: &Viewer) -> Result<Option<Vec<Table>>, Unavailable> {
        match viewer.is_owner {
            true => self.system_tables(viewer).await.map(Some).map_err(unavailable),
            false => Ok(None),
        }
    }

    async fn log(&self, viewer: &Viewer, key: &str) -> Result<Option<Vec<LogLine>>, Unavailable> {
        self.log_of(viewer, &key.into()).await.map_err(unavailable)
    }

    async fn usage(&self, viewer: &Viewer) -> Result<Usage, Unavailable> {
        self.used(viewer).await.map_err(unavailable)
    }

    async fn act(
        &self,
        viewer: &Viewer,
        act: PageAction,
        key: &str,
        texts: &[&str],
    ) -> Result<bool, Unavailable> {
        match act {
            PageAction::CancelPlan => self.cancel_plan(viewer, key).await,
            act => self.do_act(viewer, (act, key), texts).await.map_err(unavailable),
        }
    }

    async fn accounts(&self, viewer: &Viewer) -> Result<Vec<AccountLine>, Unavailable> {
        self.accounts_of(viewer).await.map_err(unavailable)
    }

    async fn change_account(
        &self,
        viewer: &Viewer,
        key: &str,
        change: AccountChange,
    ) -> Result<Option<String>, Unavailable> {
        self.change_own_account(viewer, &key.into(), change).await.map_err(unavailable)
    }

    async fn latest(&self) -> Result<Cursor, Unavailable> {
        let (tx, seq) = changes::last(&self.store).await.map_err(unavailable)?;
        Ok(Cursor { tx, seq })
    }

    async fn changes(&self, after: Cursor, limit: usize) -> Result<Option<Vec<Change>>, Unavailable> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let rows = changes::after(&self.store, (after.tx, after.seq), limit).await.map_err(unavailable)?;
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
        let message: OutboxId = message.into();
        timeline::is_replied(&self.store, &message).await.is_ok_and(|is_replied| is_replied)
    }

    fn refused(&self, reason: &'static str) {
        metrics::page_refused(reason);
        tracing::warn!(reason, "the web page refused a request");
    }
}
