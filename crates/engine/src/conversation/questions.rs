//! Questions and their answers.
//!
//! Properties:
//!
//! - A question is answered once, by the person who was asked or by an owner.
//! - Every button press and every typed answer gets exactly one reply.
//! - An answer isn't lost if its turn goes to sleep at the same moment: both sides lock the turn's row before they
//!   read.
//!
//! If the turn was only waiting for this answer, its next message is the reply. Otherwise the answer is confirmed at
//! once, because the turn's next message replies to something else.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use adjutant_l10n as l10n;
use adjutant_skills::executor::is_offer;
use adjutant_store::inbox::{self, InboxRow};
use adjutant_store::outbox::{self, Message};
use adjutant_store::people::Conversation;
use adjutant_store::questions::{self, QuestionRow};
use adjutant_store::rules::RuleRow;
use adjutant_store::turns::TurnRow;
use adjutant_store::{Batch, Result, StoreError, control, people, rules, turns};
use adjutant_turn::journal::{TurnEvent, fail_point};
use adjutant_turn::wording;
use adjutant_types::clock::day;
use adjutant_types::{
    Answer, ConversationId, InboxKind, InstanceId, MEANT_OTHER, OutboxId, PersonId, QuestionId, QuestionKind,
    QuestionState, TurnId, TurnStatus,
};

use super::Conversations;
use super::answers::{
    ALWAYS, Certainty, SHOW, Typed, agrees, by_number, certainty, is_bare, press, read, says_always,
};
use super::verdicts::{self, Verdicts};

pub use super::answers::{button, is_for_all};

/// How long an answer waits for a turn that may be going to sleep.
const SLEEP_PATIENCE: Duration = Duration::from_millis(500);
const DAY_MS: i64 = 86_400_000;
/// How often to check a turn that another process runs.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// How a message matches the open questions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerMatch {
    /// An answer to the message that asks this question.
    Question(QuestionId),
    /// A yes or a no, but not clear to what.
    Unclear,
}

impl Conversations {
    /// Matches a message with the open questions, by its text or as a reply; `None` for a new message.
    ///
    /// This runs for every message, because any text may be an answer. It's cheap: without an open question it's one
    /// lookup in an index of open questions, and for a reply one lookup of its receipt.
    pub async fn match_answer(
        &self,
        reply_to: Option<&str>,
        text: &str,
        conversation: &Conversation,
        person: &PersonId,
    ) -> Result<Option<AnswerMatch>> {
        if let Some(receipt) = reply_to {
            let question = questions::by_receipt(&self.store, &conversation.id, receipt).await?;
            let Some(question) = question else { return Ok(None) };
            let asked = questions::of_message(&self.store, &question.outbox_id).await?;
            let is_clear = !self.may_be_for_text_above(text, &question).await?;
            return Ok(read(text, &question, &asked).map(|meaning| match meaning {
                Typed::Answers(_) if is_clear => AnswerMatch::Question(question.id),
                _ => AnswerMatch::Unclear,
            }));
        }
        let (open, asked_at) = questions::open_and_read(&self.store, &conversation.id).await?;
        let (Some(question), Some(asked_at)) = (open.last(), asked_at) else { return Ok(None) };
        let numbered: Vec<_> = open.iter().filter(|question| by_number(text, question).is_some()).collect();
        match numbered.as_slice() {
            [named] if self.may_answer_for(person, named).await? => {
                return Ok(Some(AnswerMatch::Question(named.id.clone())));
            }
            [] | [_] => {}
            _ => return Ok(Some(AnswerMatch::Unclear)),
        }
        // An owner's text isn't another person's input, unless they reply to that question.
        let may_be_for_it =
            !matches!(question.kind, QuestionKind::Input { .. }) || question.person_id == *person;
        if !may_be_for_it || !self.may_answer_for(person, question).await? {
            return Ok(None);
        }
        let asked = questions::of_message(&self.store, &question.outbox_id).await?;
        let meaning = match read(text, question, &asked) {
            Some(meaning) => meaning,
            // "All of them" may be those of several messages.
            None if open.len() > 1 && verdicts::is_any(text) => Typed::Unclear,
            None => return Ok(None),
        };
        if self.is_for_offer(text, &open, (conversation, person, asked_at)).await? {
            return Ok(None);
        }
        let kind = &question.kind;
        let is_only = open.iter().all(|other| other.outbox_id == question.outbox_id);
        // After "no to 13" or "no! just undo", a yes may confirm that; after our "Shall I look it up?", it may answer that.
        let may_be_for_another = (meaning.approves()
            && is_bare(text, kind, &asked)
            && inbox::texts_since(&self.store, &conversation.id, person, asked_at, &question.turn_id)
                .await?
                .iter()
                .any(|said| verdicts::begins_with_no(said)))
            || questions::answered_another(&self.store, question, person, asked_at).await?
            || outbox::asked_since(&self.store, question, false).await?.is_some();
        let wrote_since = may_be_for_another
            || inbox::spoke_since(&self.store, &conversation.id, person, asked_at, &question.turn_id).await?;
        // "Which one do you mean?" was answered if a yes or a no comes next. A yes after a no is none: it may mean the no.
        let is_repeated = wrote_since && is_only && (open.len() == 1 || verdicts::selects(text)) && {
            let last = self.asked_which_before((&conversation.id, person), i64::MAX).await?;
            let is_it =
                |last: String| certainty(&last, kind) >= Certainty::Firm && (agrees(&last) || !agrees(text));
            last.is_some_and(is_it)
        };
        let certainty = certainty(text, kind);
        let is_clear = !wrote_since
            || certainty == Certainty::AskedFor
            || is_repeated
            || (matches!(kind, QuestionKind::Approval { .. })
                && verdicts::declined(text).is_some_and(|no| verdicts::rejects_all(&no)))
            || (certainty == Certainty::Firm && !may_be_for_another);
        let is_clear = is_clear && !self.may_be_for_text_above(text, question).await?;
        let is_for_one = || is_only || answers_all_listed(text, &open) || !is_bare(text, kind, &asked);
        Ok(match meaning {
            Typed::Answers(_) if is_clear && is_for_one() => Some(AnswerMatch::Question(question.id.clone())),
            // A person who asks something else in between may mean that with a number or a word, but hardly with a yes.
            _ => (!wrote_since || certainty >= Certainty::Firm).then_some(AnswerMatch::Unclear),
        })
    }

    /// Whether a text is for what a turn has asked in words, right before it and below the open questions: a thanked no for "Shall
    /// I look it up?", a bare yes only for what we may offer to do with the person's own things, in an answer to what they
    /// wrote since. "Shall I send it?" may be about an open question, and silence is a yes to what is delayed.
    async fn is_for_offer(
        &self,
        text: &str,
        open: &[QuestionRow],
        (here, person, asked_at): (&Conversation, &PersonId, i64),
    ) -> Result<bool> {
        let (Some(is_yes), Some(newest)) = (verdicts::to_offer(text), open.last()) else { return Ok(false) };
        if (is_yes && here.shared) || open.iter().any(|question| question.delay().is_some()) {
            return Ok(false);
        }
        // A watch may offer something while a yes to the question is on its way.
        if is_yes && !inbox::spoke_since(&self.store, &here.id, person, asked_at, &newest.turn_id).await? {
            return Ok(false);
        }
        let asked = outbox::asked_since(&self.store, newest, true).await?;
        Ok(asked.is_some_and(|asked| !is_yes || is_offer(&asked)))
    }

    /// Whether a text may be for what a model said above its own question, in the same message.
    async fn may_be_for_text_above(&self, text: &str, question: &QuestionRow) -> Result<bool> {
        if certainty(text, &question.kind) != Certainty::Vague {
            return Ok(false);
        }
        let turn = turns::by_id(&self.store, &question.turn_id).await?;
        Ok(turn.is_some_and(|turn| turn.shown_round >= 0))
    }

    /// Whether an account may press a button. True if the question doesn't exist: the press gets that reply.
    pub async fn may_press(&self, channel: &str, user: &str, pressed: &str) -> Result<bool> {
        let question = match button(pressed) {
            Some((question, _)) => questions::by_id(&self.store, &question).await?,
            None => None,
        };
        let Some(question) = question else { return Ok(true) };
        let account = format!("{channel}:{user}");
        Ok(self.settings.current().owners.contains(&account)
            || match people::person_of(&self.store, channel, user).await? {
                Some(person) => self.may_answer_for(&person.id, &question).await?,
                None => false,
            })
    }

    pub(super) async fn may_answer_for(&self, person: &PersonId, question: &QuestionRow) -> Result<bool> {
        Ok((question.person_id == *person && !question.kind.needs_owner()) || self.is_owner(person).await?)
    }

    pub(super) async fn is_owner(&self, person: &PersonId) -> Result<bool> {
        people::is_owner(&self.store, person, &self.settings.current().owners).await
    }

    /// Handles a button press or a typed answer that intake journalled.
    ///
    /// # Errors
    /// [`StoreError::Stale`] if it was done before.
    pub async fn take_answer(&self, row: &InboxRow) -> Result<()> {
        let question = match &row.question_id {
            Some(id) => questions::by_id(&self.store, id).await?,
            None => None,
        };
        let Some(question) = question else {
            return self.reply(row, None, l10n::questions::button_gone(), Batch::new()).await;
        };
        let asked = questions::of_message(&self.store, &question.outbox_id).await?;
        let pressed = button(&row.text).map(|(_, which)| which).filter(|_| row.kind == InboxKind::Press);
        let only_says = match pressed {
            Some(SHOW) => Some(wording::questions::shown_whole(&asked)),
            Some(MEANT_OTHER) => Some(l10n::questions::still_waits()),
            _ => None,
        };
        let may_answer = self.may_answer_for(&row.person_id, &question).await?;
        if let Some(text) = only_says.filter(|_| may_answer) {
            return self.reply(row, None, text, Batch::new()).await;
        }
        let given = match pressed {
            // Where the message says that a yes is for others, too, the button is.
            Some("approve-all") => Some("yes"),
            Some("reject-all") => Some("no"),
            _ => (row.kind != InboxKind::Press).then_some(row.text.as_str()),
        };
        if let Some(given) = given {
            let (open, _) = questions::open_and_read(&self.store, &question.conversation_id).await?;
            let is_of_message = |other: &QuestionRow| other.outbox_id == question.outbox_id;
            // "No to all. Who is coming?" is for whatever messages ask, "no to both" for what its own does.
            let is_theirs = may_answer && matches!(question.kind, QuestionKind::Approval { .. });
            let is_several = |no: &String| verdicts::rejects_all(no) || verdicts::rejects_both(no);
            let no = verdicts::declined(given).filter(|no| is_theirs && is_several(no));
            let is_for_own = no.as_deref().is_some_and(verdicts::rejects_both);
            let is_for_all =
                open.last().is_none_or(is_of_message) && (no.is_some() || answers_all_listed(given, &open));
            if is_for_own || is_for_all {
                let given = no.as_deref().unwrap_or(given);
                let own = is_for_own.then_some(&question.outbox_id);
                return self.answer_across(row, (&question.conversation_id, own), given).await;
            }
            // Its button was for others, too, and what is open isn't what it listed.
            let is_for_listed =
                |other: &QuestionRow| other.is_open() && wording::questions::is_for_listed(other);
            if row.kind == InboxKind::Press
                && asked.iter().any(is_for_listed)
                && !open.iter().all(is_of_message)
            {
                let which = wording::questions::which(&open, &self.newest(&open).await?, false);
                return self.reply_with(row, which, Batch::new()).await;
            }
        }
        let chosen = match read(&row.text, &question, &asked) {
            _ if row.kind == InboxKind::Press => press(&row.text, &question, &asked),
            Some(Typed::Answers(answers)) => {
                let of_question = |(at, answer): (usize, Answer)| Some((asked.get(at)?.clone(), answer));
                answers.into_iter().filter_map(of_question).collect()
            }
            _ => Vec::new(),
        };
        self.answer_questions(row, &question, chosen).await
    }

    /// Answers questions of one message, or says why that can't be done.
    pub(super) async fn answer_questions(
        &self,
        row: &InboxRow,
        question: &QuestionRow,
        mut chosen: Vec<(QuestionRow, Answer)>,
    ) -> Result<()> {
        if chosen.is_empty() {
            return self.reply(row, Some(question), l10n::questions::button_gone(), Batch::new()).await;
        }
        if question.is_open() {
            self.wait_until_asleep(&question.turn_id).await?;
        }
        if !self.may_answer_for(&row.person_id, question).await? {
            return self.reply(row, Some(question), l10n::questions::not_yours(), Batch::new()).await;
        }
        let first = chosen[0].0.id.clone();
        loop {
            chosen.retain(|(question, _)| question.is_open());
            if chosen.is_empty() {
                break;
            }
            match self.store_answers(row, &chosen).await {
                // Someone was faster, or the turn woke up or went to sleep at the same moment.
                Err(StoreError::Stale(_)) => {}
                done => return done,
            }
            if inbox::is_done(&self.store, row.id).await? {
                return Ok(());
            }
            for (question, _) in &mut chosen {
                if let Some(again) = questions::by_id(&self.store, &question.id).await? {
                    *question = again;
                }
            }
        }
        let now = questions::by_id(&self.store, &first).await?.unwrap_or_else(|| question.clone());
        let text =
            wording::already_closed(&now.kind, now.answer.as_ref(), now.state == QuestionState::Expired);
        self.reply(row, Some(&now), text, Batch::new()).await
    }

    /// Answers the open approvals of a conversation that the person may answer, whatever messages ask them: those that a text
    /// names by their numbers in the list, or all. Lists them if the text doesn't fit. What a typed answer says beside it
    /// becomes a message: one turn answers it, not every turn that goes on. `own`: a no to all that this message asks.
    pub(super) async fn answer_across(
        &self,
        row: &InboxRow,
        (conversation, own): (&ConversationId, Option<&OutboxId>),
        given: &str,
    ) -> Result<()> {
        let instance = self.instance_for(row, conversation);
        let rest = verdicts::after_no(&row.text, given)
            .filter(|rest| row.kind == InboxKind::Answer && !rest.starts_with('/'));
        loop {
            let (open, _) = questions::open_and_read(&self.store, conversation).await?;
            let (mut batch, mut theirs) = (Batch::new(), Vec::new());
            for question in &open {
                let is_meant = matches!(question.kind, QuestionKind::Approval { .. })
                    && own.is_none_or(|own| question.outbox_id == *own);
                if is_meant && self.may_answer_for(&row.person_id, question).await? {
                    theirs.push(question);
                }
            }
            let by_number = |number: usize| {
                theirs.iter().position(|question| usize::try_from(question.number()) == Ok(number))
            };
            let all: Vec<usize> = (0..theirs.len()).collect();
            // Another question may have come since the text was matched.
            let is_read = verdicts::verdict(given).is_none() || answers_all_listed(given, &open);
            let answers = match verdicts::read(given, theirs.len(), &all, by_number) {
                _ if own.is_some() => all.iter().map(|at| (*at, false)).collect(),
                Some(Verdicts::Of(answers)) if is_read => answers,
                _ => BTreeMap::new(),
            };
            let closed: Vec<(&QuestionRow, Answer)> = answers
                .into_iter()
                .map(|(at, is_yes)| (theirs[at], if is_yes { Answer::Approve } else { Answer::Reject }))
                .collect();
            // Their states, before an answer changes one.
            for turn in closed.iter().map(|(question, _)| &question.turn_id).collect::<BTreeSet<_>>() {
                if let Some(turn) = turns::by_id(&self.store, turn).await? {
                    turns::expect_status(&mut batch, &turn);
                }
            }
            let now = self.store.now();
            for (question, answer) in &closed {
                questions::answer(&mut batch, &question.id, answer, &row.person_id, now);
                control::go_on(&mut batch, question, Some(answer), &instance, now);
            }
            let noted: Vec<_> =
                closed.iter().map(|(question, answer)| wording::questions::noted(question, answer)).collect();
            let mut message: Message = match noted.is_empty() {
                true => {
                    wording::questions::which(&open, &self.newest(&open).await?, verdicts::refuses(given))
                }
                false => noted.join("\n").into(),
            };
            // Its turn hears what else was written, unless that became a message.
            let answered = closed.iter().find(|(question, _)| row.question_id.as_ref() == Some(&question.id));
            message.turn = answered.filter(|_| rest.is_none()).map(|(question, _)| question.turn_id.clone());
            if let Some(rest) = rest {
                inbox::add_rest(&mut batch, row, rest, self.instance.owner(), now);
            }
            match self.reply_with(row, message, batch).await {
                // A turn woke up or went to sleep, or somebody else was faster.
                Err(StoreError::Stale(_)) if !inbox::is_done(&self.store, row.id).await? => {}
                Err(StoreError::Stale(_)) => return Ok(()),
                Err(error) => return Err(error),
                Ok(()) => {
                    let is_closed =
                        |other: &QuestionRow| closed.iter().any(|(question, _)| question.id == other.id);
                    let remaining: Vec<_> = open.iter().filter(|other| !is_closed(other)).collect();
                    for (question, _) in &closed {
                        let is_last = remaining.iter().all(|other| other.outbox_id != question.outbox_id);
                        self.closed(question, is_last);
                    }
                    return Ok(());
                }
            }
        }
    }

    /// The questions of the message with the newest open one.
    pub(super) async fn newest(&self, open: &[QuestionRow]) -> Result<Vec<QuestionRow>> {
        let Some(question) = open.last() else { return Ok(Vec::new()) };
        questions::of_message(&self.store, &question.outbox_id).await
    }

    /// Waits a moment for a running turn to go to sleep, and returns it. A turn that just asked is about to: a
    /// program's answer may be faster, and must still get the turn's next message as its reply.
    pub(super) async fn wait_until_asleep(&self, turn: &TurnId) -> Result<Option<TurnRow>> {
        let deadline = tokio::time::Instant::now() + SLEEP_PATIENCE;
        loop {
            let now = turns::by_id(&self.store, turn).await?;
            let is_running = now.as_ref().is_some_and(|turn| turn.status == TurnStatus::Running);
            if !is_running || tokio::time::Instant::now() >= deadline {
                return Ok(now);
            }
            match self.running.get(turn) {
                Some(running) => {
                    let _ = tokio::time::timeout_at(deadline, running.ended.cancelled()).await;
                }
                // Another process runs it.
                None => tokio::time::sleep(CHECK_INTERVAL).await,
            }
        }
    }

    /// Who goes on after an answer to a conversation's question. A press on the web page is journalled in another one:
    /// whichever instance serves the question's.
    fn instance_for(&self, row: &InboxRow, conversation: &ConversationId) -> InstanceId {
        if row.conversation_id == *conversation { self.instance.owner().clone() } else { outbox::anybody() }
    }

    /// Stores the answers to questions of one turn, in one commit.
    async fn store_answers(&self, row: &InboxRow, chosen: &[(QuestionRow, Answer)]) -> Result<()> {
        let (now, question) = (self.store.now(), &chosen[0].0);
        let Some(turn) = turns::by_id(&self.store, &question.turn_id).await? else {
            return Err(StoreError::Corrupt(format!("question {} has no turn", question.id)));
        };
        let all = questions::of_turn(&self.store, &question.turn_id).await?;
        let is_chosen = |other: &QuestionRow| chosen.iter().any(|(question, _)| question.id == other.id);
        let mut remaining = all.iter().filter(|other| other.is_open() && !is_chosen(other));
        let is_last_of_message = remaining.clone().all(|other| other.outbox_id != question.outbox_id);
        let is_suspended = turn.status == TurnStatus::Waiting;
        let is_asked_here = row.conversation_id == question.conversation_id;
        let instance = self.instance_for(row, &question.conversation_id);
        let mut batch = Batch::new();
        turns::expect_status(&mut batch, &turn);
        for (question, answer) in chosen {
            questions::answer(&mut batch, &question.id, answer, &row.person_id, now);
            control::go_on(&mut batch, question, Some(answer), &instance, now);
        }
        let rule = self.new_rule(row, chosen);
        rule.iter().for_each(|rule| rules::add(&mut batch, rule));
        // An owner who was asked in another conversation doesn't see the turn's next message.
        let is_here = is_asked_here && turn.conversation_id == question.conversation_id;
        // What was left out for a reason is repeated, because that reason was cut off.
        if rule.is_none()
            && !verdicts::has_reason(&row.text)
            && is_suspended
            && is_here
            && (remaining.next().is_none() || question.asks_to_continue())
        {
            let mut answers = turn.answer_ids();
            answers.push(row.event_id().to_owned());
            turns::set_answers(&mut batch, &question.turn_id, &answers);
            inbox::mark_done(&mut batch, row.id, Some(&question.turn_id));
            self.store.write(batch).await?;
        } else {
            let noted = chosen.iter().map(|(question, answer)| wording::questions::noted(question, answer));
            let mut text = noted.collect::<Vec<_>>().join("\n");
            if let Some(rule) = &rule {
                let zone = self.zone_of(&people::person_by_id(&self.store, &row.person_id).await?);
                text.push_str(&format!("\n{}", wording::rules::made(rule, &day(rule.expires_at, zone))));
            }
            self.reply(row, Some(question), text, batch).await?;
        }
        fail_point("question-answered");
        self.closed(question, is_last_of_message);
        Ok(())
    }

    /// Wakes the turn of a question that was closed. The others of its message keep their buttons.
    fn closed(&self, question: &QuestionRow, is_last_of_message: bool) {
        if is_last_of_message {
            self.events.send(TurnEvent::QuestionClosed(question.outbox_id.clone()));
        }
        if let Some(running) = self.running.get(&question.turn_id) {
            running.answered.send_replace(());
        }
    }

    /// The rule that an answer makes. Only who was asked can make one: it is about what is done for them.
    fn new_rule(&self, row: &InboxRow, chosen: &[(QuestionRow, Answer)]) -> Option<RuleRow> {
        let [(question, Answer::Approve)] = chosen else { return None };
        let QuestionKind::Approval { rule: Some(rule), .. } = &question.kind else { return None };
        let is_always = match row.kind {
            InboxKind::Press => button(&row.text).is_some_and(|(_, which)| which == ALWAYS),
            _ => says_always(&row.text),
        };
        let approval = &self.settings.current().approval;
        if !is_always || row.person_id != question.person_id || approval.rule_days == 0 {
            return None;
        }
        let now = self.store.now();
        Some(RuleRow {
            id: self.store.new_id(),
            person_id: row.person_id.clone(),
            allows: rule.to_json()?,
            question_id: question.id.clone(),
            used: 0,
            most_uses: approval.rule_uses.into(),
            created_at: now,
            expires_at: now + i64::try_from(approval.rule_days).unwrap_or(1) * DAY_MS,
        })
    }

    /// Marks a row as done and replies to it, in one commit with the rest of the batch.
    pub(super) async fn reply(
        &self,
        row: &InboxRow,
        question: Option<&QuestionRow>,
        text: String,
        batch: Batch,
    ) -> Result<()> {
        let turn = question.map(|question| question.turn_id.clone());
        self.reply_with(row, Message { turn, text, ..Message::default() }, batch).await
    }

    /// The same with what else a message may have, such as buttons.
    pub(super) async fn reply_with(&self, row: &InboxRow, message: Message, mut batch: Batch) -> Result<()> {
        inbox::mark_done(&mut batch, row.id, message.turn.as_ref());
        self.say_to(row, message, batch).await
    }

    /// The same to a row that is done.
    pub async fn say_to(&self, row: &InboxRow, message: Message, batch: Batch) -> Result<()> {
        let answers = row.platform_id().map(str::to_owned).into_iter().collect();
        self.say(row, &Message { answers, ..message }, batch).await
    }

    /// Says something where a row came from, in one commit with the rest of the batch.
    pub async fn say(&self, row: &InboxRow, message: &Message, mut batch: Batch) -> Result<()> {
        outbox::say(&self.store, &mut batch, &row.conversation_id, self.instance.owner(), message);
        self.store.write(batch).await?;
        self.events.send(TurnEvent::MessageAdded(row.conversation_id.clone()));
        Ok(())
    }

    /// Closes a channel's questions whose time is up: silence is a yes to what was only delayed. Returns the
    /// conversations that can go on.
    pub async fn expire_questions(&self, channel: &str) -> Result<Vec<ConversationId>> {
        let mut woken = Vec::new();
        let silent = questions::silently_approved(&self.store, channel).await?;
        let approved = silent.into_iter().map(|question| (question, Some(Answer::Approve)));
        let overdue = questions::overdue(&self.store, channel).await?.into_iter().map(|question| {
            let answer = question.kind.answer_when_expired();
            (question, answer)
        });
        for (question, answer) in approved.chain(overdue) {
            let now = self.store.now();
            let mut batch = Batch::new();
            questions::expire(&mut batch, &question.id, answer.as_ref(), now);
            control::go_on(&mut batch, &question, answer.as_ref(), self.instance.owner(), now);
            if !self.store.try_write(batch).await? {
                continue;
            }
            self.closed(&question, true);
            woken.push(question.conversation_id);
        }
        Ok(woken)
    }
}

/// Whether a text is a yes or a no, and the newest of these messages says that it is for the questions of the others, too.
fn answers_all_listed(text: &str, open: &[QuestionRow]) -> bool {
    verdicts::verdict(text).is_some() && wording::questions::asks_for_all(open)
}
