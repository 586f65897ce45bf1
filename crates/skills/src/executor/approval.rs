//! Asking a person before a call: what it would do, the question, and what their answer allows.

use adjutant_l10n::skills;
use adjutant_mail::Address;
use adjutant_store::executions::{self, ExecutionRow};
use adjutant_store::questions::{self, QuestionRow};
use adjutant_store::{StoreError, inbox, turns};
use adjutant_turn::journal::{Limit, LimitReached, Suspend, fail_point};
use adjutant_turn::trust::{ActionKind, ApprovalReason, OwnWords, Target};
use adjutant_turn::wording;
use adjutant_turn::wording::questions::{Circumstances, ContactMatch, Recipient};
use adjutant_types::text::one_line;
use adjutant_types::{
    Allowance, Answer, Basis, ExecutionStatus, Own, QuestionKind, QuestionState, Taint, ours,
};

use super::approval_policy::{Judgement, domain, kind, may_be_allowed};
use super::{ActiveCall, wishes};
use crate::builtin::{self, Preview};
use crate::call::CallEnd;
use crate::handlers::mcp::Asked;
use crate::handlers::transfer;
use crate::{ErrorKind, Result, Skill, SkillError, risk, sources};

/// Proof that a call may be made. Only this module makes one, and only from what it checks: a policy that asks
/// nobody, a person's stored yes to exactly this call, or a row whose work had begun with one of these.
#[derive(Debug)]
pub struct Approved(());

impl Approved {
    pub(super) fn by_policy() -> Self {
        Self(())
    }

    pub(super) fn before_a_crash(row: &ExecutionRow) -> Option<Self> {
        (row.status == ExecutionStatus::Running).then_some(Self(()))
    }

    /// For a call that had begun when the login of its account turned out to have ended: only such a row has a basis.
    pub(super) fn begun_before_login(row: &ExecutionRow) -> Option<Self> {
        row.basis.is_some().then_some(Self(()))
    }

    /// For a call that had begun when its MCP server interrupted it with a question: only such a row has one.
    pub(super) fn already_running(_: &Asked) -> Self {
        Self(())
    }

    /// For a call that a person has said yes to, with the preview that they were shown. A yes is good for exactly the
    /// arguments it was asked about.
    fn by_answer<'q>(
        question: &'q QuestionRow,
        row: &ExecutionRow,
        arguments: &str,
    ) -> Option<(Self, &'q str)> {
        let QuestionKind::Approval { preview, arguments: asked, .. } = &question.kind else { return None };
        let is_bound = asked == arguments && row.parameters.as_ref() == Some(asked);
        let is_yes = question.state != QuestionState::Pending && question.answer == Some(Answer::Approve);
        (is_bound && is_yes).then_some((Self(()), preview))
    }
}

/// Whether the person names or knows somebody who gets something.
pub(super) fn is_known(to: &Recipient) -> bool {
    to.is_named || matches!(to.contact, ContactMatch::Found { .. })
}

/// How much is told of what somebody wrote with a no, in characters.
const ANSWER: usize = 200;
/// In how many of their last messages a person may have mentioned somebody.
const MENTIONED_IN: i64 = 40;

impl ActiveCall<'_> {
    /// Goes on with a call that a person was asked about, if budget, breaker and the world still allow it.
    pub(super) async fn resume_answered(&mut self, skill: &Skill) -> Result<CallEnd> {
        let ctx = self.ctx;
        let missing =
            || StoreError::Corrupt(format!("execution {} waits, but nobody was asked", self.row.id));
        let question = self.awaited_question().await?.ok_or_else(missing)?;
        if question.state == QuestionState::Pending {
            return Ok(CallEnd::Suspended(Suspend::ForPerson));
        }
        if let Some(asked) = self.asked_by_server(skill, &question).await? {
            return self.resume_asked(skill, &question, asked).await;
        }
        if let Some(account) = self.awaited_login(skill, &question).await? {
            return self.resume_logged_in(skill, &account).await;
        }
        let arguments = self.call.arguments.to_string();
        let Some((approved, preview)) = Approved::by_answer(&question, &self.row, &arguments) else {
            let (kind, why) = match (question.state, &question.answer) {
                (_, Some(Answer::Withdrawn)) => (ErrorKind::Withdrawn, ours!(skills::withdrawn)),
                (QuestionState::Expired, _) => (ErrorKind::Unapproved, ours!(skills::expired)),
                _ => match inbox::last_answer(&ctx.store, &ctx.turn.id, &ctx.turn.person.id).await? {
                    Some(words) if words.contains(['?', '？']) || words.split_whitespace().count() > 3 => {
                        let words = Own(one_line(&words, ANSWER));
                        (ErrorKind::Unapproved, ours!(skills::rejected_saying, words))
                    }
                    _ => (ErrorKind::Rejected, ours!(skills::rejected)),
                },
            };
            return Err(SkillError::new(kind, why).into());
        };
        if let Some(limit) = self.postpone_if_at_limit().await? {
            return Ok(CallEnd::Suspended(Suspend::AtLimit(limit)));
        }
        self.check_access(skill).await?;
        let now = self.preview(skill).await?;
        if now.text.is_some_and(|now| now != preview) {
            return Err(SkillError::params(ours!(skills::changed_since)).into());
        }
        self.row.basis = Some(match question.state {
            // Silence was the yes, which is none by itself: what trust asks for must be there still.
            QuestionState::Expired => match self.judge_effect(skill).await? {
                Judgement::Run(basis) => {
                    self.check_news(skill).inspect_err(|_| self.give_back(&basis))?;
                    basis
                }
                Judgement::Ask(_) | Judgement::Deny => {
                    return Err(SkillError::new(ErrorKind::Unapproved, ours!(skills::expired)).into());
                }
            },
            QuestionState::Pending | QuestionState::Answered => Basis::Approval,
        });
        self.run_unless_open(skill, &approved).await
    }

    /// The limit that an answered call has to wait for. It waits for the turn to go on, and then finds the same answer.
    pub(super) async fn postpone_if_at_limit(&self) -> Result<Option<Limit>, StoreError> {
        let ctx = self.ctx;
        match ctx.take_released_call(self.row.started_at.unwrap_or_default()).await {
            Ok(()) => Ok(None),
            Err(LimitReached::Store(error)) => Err(error),
            Err(LimitReached::Limit(limit)) => {
                let mut batch = ctx.batch();
                executions::postpone(&mut batch, &self.row.id);
                ctx.store.write(batch).await?;
                Ok(Some(limit))
            }
        }
    }

    pub(super) async fn ask(
        &mut self,
        skill: &Skill,
        preview: Preview,
        reason: Option<ApprovalReason>,
    ) -> Result<CallEnd> {
        let ctx = self.ctx;
        let Preview { text, stays, goes_to, .. } = preview;
        let preview = match text {
            Some(text) => text,
            None => self.arguments_as_text(skill).await?,
        };
        let recipients = self.marked_recipients(skill, goes_to).await?;
        let shown: &[Recipient] = if stays { &[] } else { &recipients };
        let body = self.body(skill, &preview, reason.as_ref(), shown).await?;
        let mut batch = ctx.batch();
        self.row.status = ExecutionStatus::Waiting;
        self.row.started_at = Some(ctx.store.now());
        match self.is_journalled {
            true => executions::wait(&mut batch, &self.row.id),
            false => executions::insert(&mut batch, &self.row, &ctx.turn.conversation.id),
        }
        executions::wait(&mut batch, self.call.agent);
        let arguments = self.row.parameters.clone().unwrap_or_default();
        let rule = self.rule_on_offer(skill, reason.as_ref()).await?;
        let delay = self.delay(skill, reason.as_ref(), &recipients);
        let kind = QuestionKind::Approval { preview, arguments, rule, delay };
        ctx.ask_approval(&mut batch, &self.row.id, kind, body);
        self.take_hold(batch).await?;
        fail_point("asked");
        Ok(CallEnd::Suspended(Suspend::ForPerson))
    }

    /// After how many milliseconds silence is a yes. What trust asks waits for an answer, and so does an email to somebody
    /// whom the person neither names nor knows.
    fn delay(&self, skill: &Skill, reason: Option<&ApprovalReason>, recipients: &[Recipient]) -> Option<i64> {
        let approval = &self.ctx.turn.settings.approval;
        let is_mail = matches!(kind(skill), Some(ActionKind::MailSend | ActionKind::MailReply));
        let is_listed = approval.skills.contains_key(&skill.name);
        if !is_mail || reason.is_some() || is_listed || !recipients.iter().all(is_known) {
            return None;
        }
        i64::try_from(approval.send_delay?.as_millis()).ok()
    }

    async fn rule_on_offer(
        &self,
        skill: &Skill,
        reason: Option<&ApprovalReason>,
    ) -> Result<Option<Allowance>> {
        let approval = &self.ctx.turn.settings.approval;
        // A skill that an owner wants to be asked about by its name asks each time.
        let is_open = approval.rule_days > 0 && !approval.skills.contains_key(&skill.name);
        let is_open = is_open && may_be_allowed(reason);
        if is_open { Ok(self.allowance(skill).await?.cloned()) } else { Ok(None) }
    }

    pub(super) async fn marked_recipients(&self, skill: &Skill, more: Vec<String>) -> Result<Vec<Recipient>> {
        // A draft goes to nobody.
        if super::implementation(skill).is_none() || matches!(kind(skill), None | Some(ActionKind::MailDraft))
        {
            return Ok(Vec::new());
        }
        let context = self.context(self.effect(skill), false);
        let mut targets = self.targets(skill).await?.to_vec();
        if !more.is_empty() {
            let more = more.into_iter().map(|address| Address { name: None, address });
            targets.extend(builtin::recipients(&context, &more.collect::<Vec<_>>()).await?);
        }
        let address = |target: &Target| match target {
            Target::Recipient { address, .. } => Some(address.clone()),
            _ => None,
        };
        let addresses: Vec<String> = targets.iter().filter_map(address).collect();
        if addresses.is_empty() {
            return Ok(Vec::new());
        }
        let (ctx, words) = (self.ctx, self.ctx.words().await?);
        let here = (&ctx.turn.conversation.id, &ctx.turn.person.id);
        let earlier = turns::texts_before(&ctx.store, here, &ctx.turn.id, MENTIONED_IN).await?;
        let lately = OwnWords::new(words.messages().chain(earlier.iter().map(String::as_str)));
        let contacts = builtin::contacts_among(&context, &addresses, words).await?;
        // A name of several says who is meant as long as it was said.
        let called_lately = builtin::contacts_among(&context, &addresses, &lately).await?;
        let recipient = |target: &Target| {
            let Target::Recipient { address, names, answers, .. } = target else { return None };
            let is_in = |words: &OwnWords| {
                words.hold_exactly(address) || names.iter().any(|name| words.mention(name))
            };
            let is_mentioned = is_in(&lately);
            let contacts = if is_mentioned { &contacts } else { &called_lately };
            Some(Recipient {
                address: address.clone(),
                contact: contacts.get(address).cloned().unwrap_or(ContactMatch::Unclear),
                is_named: is_in(words),
                is_mentioned,
                is_answered: answers.is_some(),
            })
        };
        Ok(targets.iter().filter_map(recipient).collect())
    }

    async fn body(
        &self,
        skill: &Skill,
        preview: &str,
        reason: Option<&ApprovalReason>,
        recipients: &[Recipient],
    ) -> Result<String> {
        let warning = match super::implementation(skill).filter(|builtin| builtin.action().is_some()) {
            Some(builtin) => builtin.warning(&self.context(self.effect(skill), false)).await,
            None => None,
        };
        let read = if self.call.taint.is_clean() { Taint::default() } else { self.read_now().await? };
        let replaces = match &self.call.replaces {
            Some(question) => questions::by_id(&self.ctx.store, question).await?,
            None => None,
        };
        let still_open = builtin::still_open(self.ctx, self.registry).await?;
        let about = Circumstances {
            reason,
            taint: Some(if read.is_clean() { &self.call.taint } else { &read }),
            warning,
            recipients,
            is_offered: wishes::offer(self.ctx).await?.is_some(),
            roles: self.call.path,
            replaces: replaces.as_ref(),
            still_open: &still_open,
        };
        Ok(wording::questions::body(preview, &about))
    }

    /// The sources of what this turn itself has read: likelier than what an earlier one read, and fewer.
    async fn read_now(&self) -> Result<Taint, StoreError> {
        let rows = executions::of_turn(&self.ctx.store, &self.ctx.turn.id).await?;
        let mut sources = Taint::default();
        for row in rows.iter().filter(|row| row.untrusted && row.status == ExecutionStatus::Completed) {
            let skill = row.skill.as_deref().and_then(|skill| self.registry.get(skill));
            // What is kept here names its own sources, and a server of tools is one itself.
            let names_others = |skill: &Skill| {
                let is_kept = ["tasks", "memory", "schedule", "contacts"].contains(&domain(skill))
                    || ["assistant.withdraw", "assistant.undo"].contains(&skill.name.as_str());
                !is_kept && skill.handler.tool().is_none()
            };
            let Some(skill) = skill.filter(|skill| names_others(skill)) else { continue };
            let data =
                row.data.as_deref().and_then(|data| serde_json::from_str(data).ok()).unwrap_or_default();
            sources.add(&sources::of_output(skill.title(), &data));
        }
        Ok(sources)
    }

    async fn arguments_as_text(&self, skill: &Skill) -> Result<String> {
        let context = self.context(self.effect(skill), false);
        let subject = match super::implementation(skill) {
            Some(builtin) => builtin.subject(&context).await?,
            None => None,
        };
        let shown = transfer::shown(skill, &context).await?;
        let arguments = shown.as_ref().unwrap_or(self.call.arguments);
        Ok(risk::preview(skill, arguments, subject.as_deref(), self.ctx.turn.zone))
    }
}
