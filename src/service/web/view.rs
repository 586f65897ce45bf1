//! Rows of the journal as the page shows them.

use std::path::Path;

use adjutant_chat::Choice;
use adjutant_l10n::page_talk;
use adjutant_models::Usage;
use adjutant_skills::ErrorKind;
use adjutant_store::questions::{self, ClosedRow};
use adjutant_store::tasks::TaskRow;
use adjutant_store::timeline::{self, ReplyRow, SaidRow};
use adjutant_store::turns::{self, TurnRow};
use adjutant_store::{Result, Store, files};
use adjutant_turn::wording::plans::CHANGE_BUTTON as CHANGE;
use adjutant_types::clock::when::When;
use adjutant_types::clock::{local_to_utc, rfc3339, utc};
use adjutant_types::text::shortened;
use adjutant_types::{
    Answer, ExecutionKind, ExecutionStatus, FILES_ALONE, InboxKind, OutboxState, PersonId, QuestionKind,
    QuestionState, TurnId, TurnStatus,
};
use adjutant_web::views::{Asks, Badge, Bar, Moment, Outcome, Row, RowKind, Said, Turn};
use adjutant_web::without_code;
use adjutant_workflows::trace::{self, Execution, cost, count, duration, one_line};
use chrono::{DateTime, Datelike, NaiveTime, TimeDelta};
use chrono_tz::Tz;
use futures::try_join;
use serde_json::Value;

use super::ROWS;

/// The longest mission or result in a row, in characters.
const ABOUT: usize = 160;

pub(super) struct ViewerContext<'a> {
    pub(super) store: &'a Store,
    pub(super) zone: Tz,
    pub(super) viewer: PersonId,
    pub(super) page: &'a str,
    pub(super) assistant: &'a str,
    /// The folder of emails that weren't sent.
    pub(super) mail: &'a Path,
}

/// Whether a message is the link to this page.
pub(super) fn is_login(text: &str) -> bool {
    text.contains("/login#")
}

pub(super) fn place(channel: String, is_shared: bool) -> String {
    if is_shared { page_talk::in_group(channel) } else { channel }
}

/// A time as a person reads it: without the day if it is today's, without the year if it is this year's.
pub(crate) fn moment(ms: i64, now: i64, zone: Tz) -> Moment {
    let (at, today) = (utc(ms).with_timezone(&zone), utc(now).with_timezone(&zone));
    let day = match (today.date_naive() - at.date_naive()).num_days() {
        0 => page_talk::today(),
        1 => page_talk::yesterday(),
        _ if at.year() == today.year() => at.format("%A, %-d %B").to_string(),
        _ => at.format("%-d %B %Y").to_string(),
    };
    let clock = at.format("%H:%M").to_string();
    let shown = date(at, today).map_or_else(|| clock.clone(), |date| format!("{date}, {clock}"));
    Moment { shown, day, clock, exact: rfc3339(ms) }
}

/// The date of a moment, without the year if it is this year's; none if it is today's.
fn date(at: DateTime<Tz>, today: DateTime<Tz>) -> Option<String> {
    let is_near = (today - at).abs() < TimeDelta::days(300) && at.year() == today.year();
    let format = if is_near { "%-d %b" } else { "%-d %b %Y" };
    (at.date_naive() != today.date_naive()).then(|| at.format(format).to_string())
}

impl ViewerContext<'_> {
    pub(super) fn moment(&self, ms: i64) -> Moment {
        moment(ms, self.store.now(), self.zone)
    }

    /// When a task is due. A whole day has no time.
    pub(super) fn due(&self, task: &TaskRow) -> Option<Moment> {
        let Ok(When::Day(day)) = When::parse(task.due.as_deref()?, self.zone) else {
            return task.due_at.map(|at| self.moment(at));
        };
        let begin = local_to_utc(day.and_time(NaiveTime::MIN), self.zone);
        let due = self.moment(begin.timestamp_millis());
        let [begin, now] = [begin, utc(self.store.now())].map(|at| at.with_timezone(&self.zone));
        Some(Moment { shown: date(begin, now).unwrap_or_else(|| due.day.clone()), ..due })
    }

    pub(super) fn message(&self, row: SaidRow) -> Said {
        Said {
            key: format!("in-{}", row.id),
            by: Some(row.name),
            assistant: self.assistant.to_owned(),
            channel: place(row.channel, row.shared),
            at: self.moment(row.received_at),
            text: match row.kind {
                // Nobody could hear it.
                _ if row.text.is_empty() => page_talk::voice_note(),
                // An earlier version journalled a bare yes like this.
                InboxKind::Command => row.text.strip_prefix("/answer ").unwrap_or(&row.text).to_owned(),
                _ => row.text,
            },
            delivery: row.waits.then(page_talk::queued),
            ..Said::default()
        }
    }

    /// How a question was closed. Of several in one message, each is named.
    pub(super) fn outcome(&self, row: &ClosedRow, is_alone: bool) -> Outcome {
        // Somebody whose name is gone has answered, too.
        let somebody = (row.question.state == QuestionState::Answered).then(page_talk::somebody);
        let name = row.answered_by.clone().or(somebody).unwrap_or_default();
        let (badge, what) = match (&row.question.answer, name.as_str()) {
            (Some(Answer::Approve), "") => (Badge::Done, page_talk::silence_was_yes()),
            (_, "") => (Badge::Stopped, page_talk::nobody_answered()),
            (Some(Answer::Approve), _) => (Badge::Done, page_talk::approved(&name)),
            (Some(Answer::Reject), _) => (Badge::Stopped, page_talk::rejected(&name)),
            (Some(Answer::Continue), _) => (Badge::Done, page_talk::let_go_on(&name)),
            (Some(Answer::Summarise), _) => (Badge::Done, page_talk::wanted_summary(&name)),
            (Some(Answer::Stop), _) => (Badge::Stopped, page_talk::stopped_it(&name)),
            (Some(Answer::Withdrawn) | None, _) => (Badge::Stopped, page_talk::withdrew(&name)),
            (Some(answer @ Answer::Text(text)), _) => match (answer.wish(), &row.question.kind) {
                (Some(wish), QuestionKind::Plan { .. }) => {
                    (Badge::Done, page_talk::wanted_change(&name, wish))
                }
                (_, QuestionKind::Input { .. }) => (Badge::Done, page_talk::wrote(&name, text)),
                _ => (Badge::Done, page_talk::chose(&name, text)),
            },
        };
        let subject = match &row.question.kind {
            QuestionKind::Approval { preview, .. } if !is_alone => Some(one_line(preview)),
            _ => None,
        };
        let place = match row.channel.as_deref() {
            Some(channel) if channel == self.page => page_talk::on_page(),
            Some(channel) => page_talk::on_channel(channel),
            None => String::new(),
        };
        let what = subject.into_iter().fold(what, |what, subject| format!("{what}: {subject}"));
        Outcome { badge, what: shortened(&what, ABOUT), at: self.moment(row.closed_at), place }
    }

    pub(super) fn reply(&self, row: ReplyRow) -> Said {
        let choices = row.is_open.then(|| serde_json::from_str(&row.choices).unwrap_or_default());
        let mut choices: Vec<Choice> = choices.unwrap_or_default();
        let text = match row.channel == self.page && is_login(&row.text) {
            true => page_talk::here_already(),
            // Who reads it can't open a file of this machine.
            false => without_code(&row.text).replace(&format!("{}/", self.mail.display()), ""),
        };
        let asks = row.asks.map(|question| {
            // The field says what should change, so there is no button that asks for it.
            choices.retain(|choice| choice.id != format!("{question}:{CHANGE}"));
            let plan = row.plan.map(|plan| plan.to_string());
            Asks { question: question.to_string(), plan }
        });
        Said {
            key: row.id.to_string(),
            assistant: self.assistant.to_owned(),
            channel: place(row.channel, row.shared),
            at: self.moment(row.created_at),
            text,
            file: row.file.as_deref().and_then(|file| serde_json::from_str(file).ok()),
            choices,
            asks,
            delivery: match row.state {
                OutboxState::Dead => Some(page_talk::undelivered()),
                OutboxState::Unknown => Some(page_talk::delivery_unclear()),
                OutboxState::Pending | OutboxState::Sending | OutboxState::Sent => None,
            },
            ..Said::default()
        }
    }

    /// A turn with the first rows of its tree; none if it is gone.
    pub(super) async fn turn_by_id(&self, turn: &TurnId) -> Result<Option<Turn>> {
        let Some(row) = turns::by_id(self.store, turn).await? else { return Ok(None) };
        self.turn(&row, 0, ROWS).await.map(Some)
    }

    /// A turn with at most this many rows of its tree, after the first ones.
    pub(super) async fn turn(&self, row: &TurnRow, skip: usize, limit: usize) -> Result<Turn> {
        let (trace, said, written, closed, sent, can_repeat) = try_join!(
            trace::load(self.store, row, false),
            timeline::said_in(self.store, &row.id),
            timeline::replies_in(self.store, &row.id),
            questions::closed_in(self.store, &row.id),
            files::of_turn(self.store, &row.id),
            self.can_repeat(row)
        )?;
        let mut asked: Vec<Said> = said.into_iter().map(|row| self.message(row)).collect();
        if let Some(last) = asked.last_mut() {
            last.attached = sent.into_iter().map(|file| (file.id.to_string(), file.name)).collect();
            if last.text == FILES_ALONE && !last.attached.is_empty() {
                last.text.clear();
            }
        }
        let mut replies: Vec<Said> = written.into_iter().map(|row| self.reply(row)).collect();
        for reply in &mut replies {
            let own: Vec<&ClosedRow> =
                closed.iter().filter(|row| row.question.outbox_id.as_str() == reply.key).collect();
            reply.outcomes = own.iter().map(|row| self.outcome(row, own.len() == 1)).collect();
        }
        let shown = trace.executions.iter().skip(skip).take(limit);
        let mut shown: Vec<Row> = shown.map(|execution| tree_row(execution, row.started_at)).collect();
        // While a person is asked, the orchestrator doesn't work.
        if row.status == TurnStatus::Waiting {
            let running = shown.iter_mut().filter(|row| row.kind == RowKind::Orchestrator);
            running.filter(|row| row.badge == Badge::Running).for_each(|row| row.badge = Badge::Waiting);
        }
        let whole = &trace.turn;
        let mut figures = Vec::new();
        figures.extend((whole.agents > 0).then(|| page_talk::agents(whole.agents)));
        figures.extend((whole.skill_calls > 0).then(|| page_talk::skill_calls(whole.skill_calls)));
        let ms = if row.ended_at.is_some() { whole.duration_ms } else { 0 };
        figures.extend(self::figures(ms, whole.tokens, whole.cost_usd));
        Ok(Turn {
            key: row.id.to_string(),
            badge: match turn_badge(row.status) {
                Badge::Done if has_failed_part(&trace.executions) => Badge::Partial,
                badge => badge,
            },
            person: row.person_id.to_string(),
            is_open: row.ended_at.is_none(),
            can_repeat,
            lasted: whole.duration_ms,
            asked,
            hidden: trace.executions.len().saturating_sub(skip + shown.len()),
            rows: shown,
            figures,
            replies,
        })
    }
}

/// Whether an agent failed whose part nobody did later.
fn has_failed_part(all: &[Execution]) -> bool {
    let agents = || all.iter().filter(|one| one.kind == ExecutionKind::Agent);
    let is_done = |failed: &Execution| {
        agents().any(|one| one.agent_id == failed.agent_id && one.status == ExecutionStatus::Completed)
    };
    let has_failed = |one: &Execution| {
        matches!(one.status, ExecutionStatus::Failed | ExecutionStatus::Timeout) && !is_rejected(one)
    };
    agents().any(|one| has_failed(one) && !is_done(one))
}

/// Whether a person said no to it, which is no failure.
fn is_rejected(execution: &Execution) -> bool {
    let kind = execution.error.as_ref().and_then(|error| error["kind"].as_str()?.parse().ok());
    kind.is_some_and(ErrorKind::is_no)
}

fn figures(ms: i64, tokens: Usage, dollars: f64) -> Vec<String> {
    let all = tokens.prompt + tokens.completion;
    let tokens = (all > 0).then(|| page_talk::tokens(count(all)));
    let cost = (dollars > 0.0).then(|| cost(dollars));
    [(ms > 0).then(|| duration(ms)), tokens, cost].into_iter().flatten().collect()
}

pub(super) fn turn_badge(status: TurnStatus) -> Badge {
    match status {
        TurnStatus::Queued => Badge::Pending,
        TurnStatus::Running => Badge::Running,
        TurnStatus::Waiting => Badge::Waiting,
        TurnStatus::Completed => Badge::Done,
        TurnStatus::Failed | TurnStatus::Dead => Badge::Failed,
        TurnStatus::Cancelled => Badge::Stopped,
    }
}

fn badge(status: ExecutionStatus) -> Badge {
    match status {
        ExecutionStatus::Pending => Badge::Pending,
        ExecutionStatus::Running => Badge::Running,
        ExecutionStatus::Waiting => Badge::Waiting,
        ExecutionStatus::Completed => Badge::Done,
        ExecutionStatus::Partial => Badge::Partial,
        ExecutionStatus::Failed | ExecutionStatus::Timeout => Badge::Failed,
        ExecutionStatus::Skipped | ExecutionStatus::Cancelled => Badge::Stopped,
        ExecutionStatus::Unknown => Badge::Unknown,
    }
}

fn tree_row(execution: &Execution, began: i64) -> Row {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let why = execution.error.as_ref().and_then(|error| error.get("message")).and_then(Value::as_str);
    let (kind, title, about) = match execution.kind {
        ExecutionKind::Orchestrator => (RowKind::Orchestrator, page_talk::orchestrator(), String::new()),
        ExecutionKind::Agent => {
            let role = execution.role.clone().unwrap_or_else(page_talk::agent);
            let title = format!("{role} {}", text(&execution.agent_id));
            (RowKind::Agent, title, text(&execution.mission))
        }
        ExecutionKind::Skill => {
            let about = execution.result.clone().or_else(|| why.map(str::to_owned)).unwrap_or_default();
            (RowKind::Skill, text(&execution.skill), about)
        }
    };
    // A page doesn't count along, so what runs has no duration yet.
    let ended_ms = if execution.status.has_ended() { execution.duration_ms } else { 0 };
    Row {
        execution: execution.id.to_string(),
        depth: execution.depth,
        kind,
        badge: if is_rejected(execution) { Badge::Stopped } else { badge(execution.status) },
        title: one_line(&title),
        about: shortened(&one_line(&about), ABOUT),
        needs: execution.depends_on.clone(),
        tainted: !execution.taint.is_clean(),
        figures: figures(ended_ms, execution.tokens, execution.cost_usd),
        micros: micros(execution.cost_usd),
        bar: execution.open().map(|(from, to)| Bar {
            from: from - began,
            to: to - began,
            work: execution.at_work().map(|(from, to)| (from - began, to - began)).collect(),
        }),
    }
}

fn micros(dollars: f64) -> u64 {
    (dollars * 1e6).clamp(0.0, 1e15) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_says_no_more_than_needed() {
        let at = |text: &str| chrono::DateTime::parse_from_rfc3339(text).unwrap().timestamp_millis();
        let now = at("2026-11-22T20:00:00Z");
        let shown = |text: &str| moment(at(text), now, chrono_tz::Europe::Berlin).shown;
        assert_eq!(shown("2026-11-22T17:05:00Z"), "18:05");
        assert_eq!(shown("2026-11-21T22:59:00Z"), "21 Nov, 23:59");
        assert_eq!(shown("2025-12-31T12:00:00Z"), "31 Dec 2025, 13:00");
    }
}
