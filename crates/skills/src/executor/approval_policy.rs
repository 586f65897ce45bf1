//! Whether a call runs, asks or is refused: by the policy of `[approval]`, by how much its turn has done already, and,
//! where the turn has read text from outside, by what the person asked for.

use adjutant_config::Policy;
use adjutant_l10n as l10n;
use adjutant_store::executions::{self, ExecutionRow};
use adjutant_store::questions::{self, QuestionRow};
use adjutant_store::watches::{ItemRow, TurnItems};
use adjutant_store::{StoreError, inbox, rules};
use adjutant_turn::journal::{TurnContext, WishBook};
use adjutant_turn::trust::{
    Action, ActionKind, ApprovalReason, EffectCounters, Evidence, MAX_DELETIONS, OwnWords, Reach, Shown,
    Target, Verdict, Wish, Wishes, decide,
};
use adjutant_types::text::one_line;
use adjutant_types::{Allowance, Answer, Basis, ExecutionKind, ExecutionStatus, RuleId, Taint};
use serde_json::Value;

use super::approval::is_known;
use super::{ActiveCall, Executor, implementation, wishes};
use crate::accounts::CallAccounts;
use crate::builtin::{self, BuiltinSkill, CallContext, DraftPress, Preview, undo};
use crate::{Failure, Handler, Registry, Result, Skill, risk};

/// How much of a step's task a plan shows at least, in characters.
const SHOWN_TASK: usize = 200;

pub(super) enum Judgement {
    Run(Basis),
    /// A person is asked; with the reason, unless that is the policy alone.
    Ask(Option<ApprovalReason>),
    Deny,
}

impl ActiveCall<'_> {
    pub(super) async fn judge(&self, skill: &Skill, preview: &Preview) -> Result<Judgement> {
        let approval = &self.ctx.turn.settings.approval;
        let policy = risk::policy(approval, &skill.name, skill.risk.max(preview.risk));
        // To take a question back needs no question of its own.
        if handler(skill) == "assistant.withdraw" && policy != Policy::Deny {
            return Ok(Judgement::Run(Basis::Policy));
        }
        let pressed = if policy == Policy::Deny { None } else { self.judge_press(skill, preview).await? };
        // What `[approval.skills]` says of a skill by its name goes before all that follows.
        let is_named = approval.skills.contains_key(&skill.name);
        if pressed.is_none() && (policy == Policy::Deny || is_named) {
            return Ok(match policy {
                Policy::Deny => Judgement::Deny,
                Policy::Ask => Judgement::Ask(None),
                Policy::Auto => Judgement::Run(Basis::Policy),
            });
        }
        let judged = match pressed {
            Some(judged) => judged,
            None => match self.judge_effect(skill).await? {
                Judgement::Run(basis) if policy == Policy::Ask => {
                    self.give_back(&basis);
                    Judgement::Ask(None)
                }
                judged => judged,
            },
        };
        match judged {
            Judgement::Ask(reason) if !is_named && may_be_allowed(reason.as_ref()) => {
                let rule = self.standing_approval(skill).await?;
                Ok(rule.map_or(Judgement::Ask(reason), |rule| Judgement::Run(Basis::Rule(rule))))
            }
            judged => Ok(judged),
        }
    }

    /// Judges a call that sends a draft as it is, if the person pressed its button: a yes to what stood above it, unless they
    /// have written since or don't know whom it goes to. One that may be out asks, whoever wants it sent.
    async fn judge_press(&self, skill: &Skill, preview: &Preview) -> Result<Option<Judgement>> {
        let given = self.call.arguments.as_object().filter(|_| handler(skill) == "email.send");
        let given = given.filter(|given| given.keys().all(|name| name == "draft" || name == "account"));
        let Some(draft) = given.and_then(|given| given.get("draft")?.as_str()) else { return Ok(None) };
        let (store, turn) = (&self.ctx.store, &self.ctx.turn);
        let press = builtin::draft_press(self.ctx).await?;
        if !matches!(press, Some(DraftPress::Send(chosen)) if chosen == draft) {
            let sent = executions::sent_at(store, &builtin::written_by(draft), &turn.id).await?;
            let why = || Judgement::Ask(Some(ApprovalReason::Because(l10n::email::may_be_sent())));
            return Ok(sent.map(|_| why()));
        }
        // A model that goes on after a no has no yes.
        if inbox::last_answer(store, &turn.id, &turn.person.id).await?.is_some() {
            return Ok(None);
        }
        let now = preview.text.as_deref().unwrap_or_default();
        let is_as_shown = builtin::is_as_shown(store, draft, now).await?;
        let since = inbox::texts_since(store, &turn.conversation.id, &turn.person.id, 0, &turn.id).await?;
        let recipients = self.marked_recipients(skill, Vec::new()).await?;
        Ok(Some(match (is_as_shown, since.is_empty()) {
            (false, _) => Judgement::Ask(Some(ApprovalReason::Because(l10n::email::draft_changed()))),
            (_, false) => Judgement::Ask(Some(ApprovalReason::Because(l10n::email::written_since()))),
            _ if recipients.iter().all(is_known) => Judgement::Run(Basis::Approval),
            _ => Judgement::Ask(Some(ApprovalReason::UnknownRecipient)),
        }))
    }

    async fn standing_approval(&self, skill: &Skill) -> Result<Option<RuleId>> {
        let ctx = self.ctx;
        if ctx.turn.settings.approval.rule_days == 0 {
            return Ok(None);
        }
        let Some(allows) = self.allowance(skill).await?.and_then(|rule| rule.to_json()) else {
            return Ok(None);
        };
        Ok(rules::allowing(&ctx.store, &ctx.turn.person.id, &allows).await?.map(|rule| rule.id))
    }

    pub(super) async fn allowance(&self, skill: &Skill) -> Result<Option<&Allowance>> {
        let load = async || match implementation(skill) {
            Some(builtin) => {
                let context = self.context(self.effect(skill), false);
                builtin.allowance(&context).await
            }
            None => Ok(kind(skill).map(|_| Allowance::Call {
                skill: skill.name.clone(),
                arguments: self.call.arguments.to_string(),
            })),
        };
        let allowed = self.allowance.get_or_try_init(load).await?;
        Ok(allowed.as_ref().filter(|rule| rule.to_json().is_some()))
    }

    /// Judges the call by its effect, whatever the policy says to its risk.
    pub(super) async fn judge_effect(&self, skill: &Skill) -> Result<Judgement> {
        let Some(kind) = kind(skill) else { return Ok(Judgement::Run(Basis::Policy)) };
        let mut recipients = recipients(handler(skill), self.call.arguments);
        let is_tainted = !self.call.taint.is_clean();
        if !is_tainted && recipients == 0 && !is_deletion(kind) {
            return Ok(Judgement::Run(Basis::Policy));
        }
        // Whom a draft is to, only the mailbox knows.
        let is_draft = !self.call.arguments["draft"].is_null();
        let targets = match is_tainted || is_draft || is_deletion(kind) {
            true => self.targets(skill).await?.to_vec(),
            false => Vec::new(),
        };
        if is_draft {
            let is_recipient = |target: &&Target| matches!(target, Target::Recipient { .. });
            recipients = recipients.max(targets.iter().filter(is_recipient).count());
        }
        let so_far = self.ctx.trust.counters.get_or_try_init(|| counted(self.ctx, self.registry)).await?;
        let reached = so_far.mail(if self.is_ahead { 0 } else { recipients }) + recipients;
        let action = Action { kind, targets };
        if is_deletion(kind) {
            let things = action.things();
            if so_far.delete(if self.is_ahead { 0 } else { things }) + things > MAX_DELETIONS {
                return Ok(Judgement::Ask(Some(ApprovalReason::TooManyDeletions)));
            }
        }
        if !is_tainted {
            return Ok(Judgement::Run(Basis::Policy));
        }
        let is_settled = self.needs_no_wishes(&action).await?;
        // Before a wish for another thing is used up for it.
        let put_back = if is_settled { Vec::new() } else { self.puts_back(skill, &action).await? };
        for done in put_back {
            // Where to is no choice of whoever wrote what the turn has read.
            let undo = Action { kind: ActionKind::Undo, targets: vec![done] };
            if let Judgement::Run(basis) = self.judge_tainted(&undo, 0, false).await? {
                return Ok(Judgement::Run(basis));
            }
        }
        let judged = self.judge_tainted(&action, reached, is_settled).await?;
        if !matches!(judged, Judgement::Ask(_)) {
            return Ok(judged);
        }
        if let Some(wish) = self.wished_later(skill, &action).await? {
            return Ok(Judgement::Run(wish));
        }
        if let Some(kind) = self.wished_as_new(skill, &action) {
            let action = Action { kind, ..action };
            return self.judge_tainted(&action, 0, self.needs_no_wishes(&action).await?).await;
        }
        Ok(judged)
    }

    /// Whether the call writes a draft anew that its turn has made: that takes no second wish.
    async fn redoes(&self) -> Result<bool> {
        let load = async || {
            let Some(replaced) = self.call.arguments["replaces"].as_str() else { return Ok(false) };
            let rows = executions::of_turn(&self.ctx.store, &self.ctx.turn.id).await?;
            let is_it = |row: &ExecutionRow| {
                let skill = handler_in(self.registry, row.skill.as_deref().unwrap_or_default());
                row.status == ExecutionStatus::Completed
                    && skill == "email.draft"
                    && row.id == builtin::written_by(replaced)
            };
            Ok::<_, Failure>(rows.iter().any(is_it))
        };
        Ok(*self.redoes.get_or_try_init(load).await?)
    }

    /// What a wish to undo must mean to ask for the call, which does no more than that: what was done last, or the newest that
    /// the wish names. Nothing if there is no such wish, or the call does more.
    async fn puts_back(&self, skill: &Skill, action: &Action) -> Result<Vec<Target>> {
        use ActionKind::{EventChange, EventDelete, MailSort, Undo};
        let may_be = matches!(action.kind, EventChange | EventDelete | MailSort);
        let reader = self.executor.intent.as_ref().filter(|_| may_be && self.ctx.trust.workflow.is_empty());
        let (Some(builtin), Some(model)) = (implementation(skill), reader) else { return Ok(Vec::new()) };
        let wishes = &wishes::of(self.ctx, self.registry, model).await?.wishes;
        let (context, mut all) = (self.context(self.effect(skill), false), Vec::new());
        for wish in wishes.all.iter().filter(|wish| wish.kind == Undo) {
            for (done, changes) in undo::meant(&context, &wish.targets).await? {
                if builtin.puts_back(&context, &changes).await? {
                    all.push(done);
                }
            }
        }
        Ok(all)
    }

    /// Applies the table to an effect in a tainted turn, unless a bare yes has settled it.
    async fn judge_tainted(&self, action: &Action, reached: usize, is_settled: bool) -> Result<Judgement> {
        let ctx = self.ctx;
        let recipients = (reached, ctx.limits.budget.limits.recipients_per_turn as usize);
        let words = ctx.words().await?;
        let mut shown = wishes::shown(ctx, self.registry).await?;
        let reader = self.executor.intent.as_ref().filter(|_| ctx.trust.workflow.is_empty());
        if reader.is_some() {
            shown.asked = self.asked_about(action.kind).await?;
        }
        let redoes = action.kind == ActionKind::MailDraft && self.redoes().await?;
        let facts = Facts { action, words, shown: &shown, name: &ctx.turn.person.name, recipients, redoes };
        if let Some(mut reason) = ctx.watch().and_then(|found| asks_in_watch(found, action)) {
            if let Some(model) = reader
                && facts.by_wishes(wishes::of(ctx, self.registry, model).await?, true).is_err()
            {
                reason = l10n::watches::not_wished(reason);
            }
            return Ok(Judgement::Ask(Some(ApprovalReason::Because(reason))));
        }
        if self.is_linked(action).await? {
            return Ok(Judgement::Run(Basis::Linked));
        }
        if is_settled {
            return Ok(Judgement::Run(Basis::OwnWords));
        }
        let judged = match reader {
            Some(model) => facts.by_wishes(wishes::of(ctx, self.registry, model).await?, self.is_ahead),
            None if ctx.trust.workflow.is_empty() => facts.by_text(Basis::Forms),
            None => facts.by_text(Basis::Workflow),
        };
        let is_read = judged.is_err() && self.is_read(action).await?;
        Ok(match judged {
            Err(reason) if !is_read => Judgement::Ask(Some(reason)),
            judged => Judgement::Run(judged.unwrap_or(Basis::OwnWords)),
        })
    }

    /// Whether a bare yes settles this without the clean room. Once there are wishes, they are used up first.
    async fn needs_no_wishes(&self, action: &Action) -> Result<bool> {
        let is_unread = self.ctx.turn.is_yes && self.ctx.trust.wishes.get().is_none();
        Ok(is_unread && self.is_read(action).await?)
    }

    /// Whether the person has said yes to an offer, or to a step of a plan, that says all that this does. It must be
    /// their own, `/undo` take it back, and it isn't done yet.
    async fn is_read(&self, action: &Action) -> Result<bool> {
        let rows = executions::of_turn(&self.ctx.store, &self.ctx.turn.id).await?;
        let is_draft = action.kind == ActionKind::MailDraft;
        let is_done = |row: &ExecutionRow| {
            let is_other = row.kind == ExecutionKind::Skill && row.id != self.row.id;
            // A draft's text isn't read, so there is one.
            let is_alike = is_draft || row.parameters == self.row.parameters;
            is_other && row.skill == self.row.skill && is_alike && row.status != ExecutionStatus::Failed
        };
        if action.reach() != Reach::Own || rows.iter().any(is_done) {
            return Ok(false);
        }
        let completes = handler_in(self.registry, self.call.skill) == "tasks.complete";
        let all = [wishes::offer(self.ctx).await?, self.planned(&rows).await?];
        let mut all: Vec<_> =
            all.into_iter().flatten().filter(|read| read.allows(action, completes)).collect();
        let (given, zone) = (self.call.arguments, self.ctx.turn.zone);
        let builtin = self.registry.get(self.call.skill).and_then(|skill| implementation(skill));
        let lasts = match builtin.filter(|_| !all.is_empty()) {
            Some(builtin) => {
                let context = self.context(builtin.effect(self.accounts.all()), false);
                builtin.keeps_length(&context).await?
            }
            None => true,
        };
        all.retain(|read| read.allows_times(given, zone, lasts));
        let Some(read) = all.first() else { return Ok(false) };
        let (shown, mut texts) = (wishes::shown(self.ctx, self.registry).await?, Vec::new());
        let is_new = matches!(action.kind, ActionKind::TaskCreate | ActionKind::EventCreate);
        let is_series =
            |target: &Target| matches!(target, Target::Thing(thing) if read.is_for_series(&thing.title));
        for (name, value) in given.as_object().into_iter().flatten() {
            match (name.as_str(), value.as_str()) {
                ("id" | "message_id", Some(id)) if read.means(id, &shown) => {}
                ("folder", Some(folder)) if folder.eq_ignore_ascii_case("inbox") || read.asks(folder) => {}
                ("title", Some(title)) if is_new && read.calls(title) => {}
                // It stays in their mailbox, and is shown before it is sent.
                ("body", _) if is_draft => {}
                ("timezone", Some(named)) if named == zone.name() => {}
                ("span", Some("one")) => {}
                ("duration", Some(length)) if read.lasts(length) => {}
                ("span", _) if action.targets.iter().any(is_series) => {}
                // Nobody has read which ones, where to, or when a calendar app reminds.
                ("id" | "message_id" | "folder" | "all" | "span" | "reminders", _) => return Ok(false),
                _ if is_draft => return Ok(false),
                _ => super::provenance::collect(value, &mut texts),
            }
        }
        Ok(texts.into_iter().all(|text| is_time(text) || read.says(text)))
    }

    /// The step of a plan that calls this, if the person said yes to it and the turn has read nothing from outside.
    async fn planned(&self, rows: &[ExecutionRow]) -> Result<Option<wishes::Offer>> {
        let has_read = rows.iter().any(|row| row.kind == ExecutionKind::Skill && row.untrusted);
        let step = rows.iter().find(|row| !has_read && row.id == *self.call.agent);
        let Some(step) = step else { return Ok(None) };
        // Of a run itself, a person is only asked whether its plan is right.
        let is_yes = |asked: &QuestionRow| {
            asked.execution_id == step.parent_id && asked.answer == Some(Answer::Approve)
        };
        let is_approved = questions::of_turn(&self.ctx.store, &self.ctx.turn.id).await?.iter().any(is_yes);
        let task: Value = serde_json::from_str(step.task.as_deref().unwrap_or_default()).unwrap_or_default();
        let shown = one_line(task["mission"].as_str().unwrap_or_default(), SHOWN_TASK);
        Ok(is_approved.then(|| wishes::Offer::of(&shown, "", &shown)))
    }

    /// The targets of the question that the message may change, as far as they were shown and are of this kind.
    async fn asked_about(&self, kind: ActionKind) -> Result<Vec<Target>> {
        let Some((question, row, skill)) = wishes::asked_about(self.ctx, self.registry).await? else {
            return Ok(Vec::new());
        };
        let Some(builtin) = implementation(skill).filter(|builtin| builtin.action() == Some(kind)) else {
            return Ok(Vec::new());
        };
        let arguments = row.parameters.as_deref().and_then(|json| serde_json::from_str::<Value>(json).ok());
        let arguments = &arguments.unwrap_or_default();
        let context = self.context(builtin.effect(self.accounts.all()), false);
        let accounts = &CallAccounts::journalled(self.accounts.all().clone(), row.account.clone());
        let mut targets = match builtin.targets(&CallContext { arguments, accounts, ..context }).await {
            Ok(targets) => targets,
            Err(Failure::Skill(_)) => Vec::new(),
            Err(failure) => return Err(failure),
        };
        // Whose address a name in the arguments stands for may have changed since.
        targets.retain(|target| match target {
            Target::Recipient { address, .. } => question.body.contains(address.as_str()),
            _ => true,
        });
        Ok(targets)
    }

    pub(super) async fn targets(&self, skill: &Skill) -> Result<&[Target]> {
        let load = async || match implementation(skill) {
            Some(builtin) => {
                let context = self.context(self.effect(skill), false);
                builtin.targets(&context).await
            }
            None => Ok(service_targets(skill, self.call.arguments)),
        };
        Ok(self.targets.get_or_try_init(load).await?)
    }

    pub(super) fn give_back(&self, basis: &Basis) {
        let has_taken = self.redoes.get() != Some(&true);
        if let (Basis::Wish(number), Some(book), true) = (basis, self.ctx.trust.wishes.get(), has_taken) {
            book.give_back(*number, 1);
        }
    }
}

impl Executor {
    /// Whether a skill only reads what stays here, so that no wish is needed for it.
    pub fn reads_here(skill: &Skill) -> bool {
        kind(skill).is_none() && !matches!(handler(skill), "assistant.withdraw" | "assistant.replace")
    }

    /// Why a workflow may not begin that a model wants to run, after it has been given text from outside; none if it may.
    pub async fn keeps_from_running(
        &self,
        ctx: &TurnContext,
        registry: &Registry,
        taint: &Taint,
        workflow: &str,
    ) -> Result<Option<ApprovalReason>, StoreError> {
        let Some(model) = self.intent.as_ref().filter(|_| !taint.is_clean() && !workflow.is_empty()) else {
            return Ok(None);
        };
        let targets = vec![Target::Named(workflow.replace(['-', '_'], " "))];
        let action = Action { kind: ActionKind::WorkflowRun, targets };
        let (words, shown) = (ctx.words().await?, wishes::shown(ctx, registry).await?);
        let name = &ctx.turn.person.name;
        let facts = Facts { action: &action, words, shown: &shown, name, recipients: (0, 0), redoes: false };
        let book = wishes::of(ctx, registry, model).await?;
        let names_none =
            book.wishes.all.iter().any(|wish| wish.kind == action.kind && wish.targets.is_empty());
        Ok(facts.by_wishes(book, true).err().map(|why| match why {
            ApprovalReason::NotNamed if !names_none => ApprovalReason::NotAskedFor,
            why => why,
        }))
    }
}

struct Facts<'a> {
    action: &'a Action,
    words: &'a OwnWords,
    shown: &'a Shown,
    name: &'a str,
    recipients: (usize, usize),
    /// Whether the wish was used for what this makes anew.
    redoes: bool,
}

impl Facts<'_> {
    fn judged(&self, wishes: &Wishes, used: &[u32]) -> Verdict {
        let Self { action, words, shown, name, recipients, redoes } = *self;
        let used: &[u32] = if redoes { &[] } else { used };
        decide(action, Evidence { wishes, words, shown, name, used, recipients })
    }

    fn by_wishes(&self, book: &WishBook, is_ahead: bool) -> Result<Basis, ApprovalReason> {
        let things = u32::try_from(self.action.things()).unwrap_or(u32::MAX);
        book.take(things, |used| match self.judged(&book.wishes, used) {
            Verdict::Wished(number) => {
                (Ok(Basis::Wish(number)), Some(number).filter(|_| !is_ahead && !self.redoes))
            }
            Verdict::InOwnWords => (Ok(Basis::OwnWords), None),
            Verdict::Ask(reason) => (Err(reason), None),
        })
    }

    /// Without a clean room: the person's own exact form, or the owner's file, asked for this kind of effect. Its targets
    /// must stand in that text all the same.
    fn by_text(&self, basis: Basis) -> Result<Basis, ApprovalReason> {
        let stored = self.action.targets.iter().find_map(|target| match target {
            Target::Text(text) if self.words.hold(text) => Some(text.clone()),
            _ => None,
        });
        let is_undo = self.action.kind == ActionKind::Undo;
        let wish = Wish {
            kind: self.action.kind,
            count: None,
            targets: self.words.messages().filter(|_| !is_undo).map(str::to_owned).collect(),
            text: stored.unwrap_or_default(),
            only_news: self.words.hold("only if news"),
        };
        match self.judged(&Wishes { all: vec![wish], ..Wishes::default() }, &[]) {
            Verdict::Wished(_) => Ok(basis),
            Verdict::InOwnWords => Ok(Basis::OwnWords),
            Verdict::Ask(reason) => Err(reason),
        }
    }
}

/// Why a watch's turn asks before an effect, whatever its words say: nobody there would notice a forged mail, two programs that
/// answer each other, or a watch that makes others.
fn asks_in_watch(found: &TurnItems, action: &Action) -> Option<String> {
    use ActionKind::*;
    let is_proven = |item: &ItemRow| {
        item.thing.as_ref().is_some_and(|thing| thing.is_signed == Some(true) && !thing.is_automatic)
    };
    match action.kind {
        ScheduleCreate | ScheduleChange | ScheduleDelete | WatchCreate | WatchChange | Undo => {
            Some(l10n::watches::lasting_effect())
        }
        _ if action.reach() != Reach::Leaves => None,
        _ if !found.items.is_empty() && found.items.iter().all(is_proven) => None,
        _ => Some(l10n::watches::unproven_effect()),
    }
}

/// Whether a rule may answer what is asked for this reason: not about too many, nor about what always asks.
pub(super) fn may_be_allowed(reason: Option<&ApprovalReason>) -> bool {
    use ApprovalReason::*;
    match reason {
        None | Some(NotAskedFor | Unread(_) | UnknownRecipient | NotNamed | Ambiguous(_)) => true,
        Some(TooManyRecipients(_) | TooManyDeletions | Because(_)) => false,
    }
}

/// The kind of effect that a skill has; none if it only reads what stays here.
pub(super) fn kind(skill: &Skill) -> Option<ActionKind> {
    match implementation(skill) {
        Some(builtin) => builtin.action(),
        None if !skill.only_reads() => Some(ActionKind::ToolUse),
        // A program of the owner's own machine tells nobody.
        None if matches!(skill.handler, Handler::Command { .. }) => None,
        None => Some(ActionKind::ToolRead),
    }
}

/// The targets of a call of a service or a program: the service itself must be named, and every text be the person's.
fn service_targets(skill: &Skill, arguments: &Value) -> Vec<Target> {
    let mut texts = Vec::new();
    super::provenance::collect(arguments, &mut texts);
    let is_free = |text: &&str| text.chars().any(char::is_alphabetic) && !is_time(text);
    let queries = texts.into_iter().filter(is_free).map(|text| Target::Query(text.to_owned()));
    let service = Target::Named(format!("{} {}", skill.name.replace(['.', '_', '-'], " "), skill.title()));
    queries.chain((!skill.only_reads()).then_some(service)).collect()
}

/// Whether a text is a date or a time, which a model computes from the person's words.
fn is_time(text: &str) -> bool {
    text.len() <= 32
        && text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_digit() || "-:.+TZ ".contains(c))
}

/// The name by which the code knows a skill, whatever name its file gives it.
pub(super) fn handler(skill: &Skill) -> &str {
    match &skill.handler {
        Handler::Builtin(name) => name,
        _ => &skill.name,
    }
}

pub(super) fn handler_in<'a>(registry: &'a Registry, skill: &'a str) -> &'a str {
    registry.get(skill).map_or(skill, |skill| handler(skill))
}

pub(super) fn domain(skill: &Skill) -> &str {
    handler(skill).split('.').next().unwrap_or_default()
}

fn is_deletion(kind: ActionKind) -> bool {
    use ActionKind::*;
    matches!(kind, TaskDelete | EventDelete | MemoryForget | ScheduleDelete)
}

/// How many others a call mails or invites, as far as its arguments say; a draft that is sent has at least one.
fn recipients(skill: &str, arguments: &Value) -> usize {
    let lists = ["to", "cc", "bcc", "attendees"].iter();
    let named: usize = lists.filter_map(|name| arguments[*name].as_array()).map(Vec::len).sum();
    (named + usize::from(skill == "email.reply")).max(usize::from(!arguments["draft"].is_null()))
}

/// The effects of the calls of a turn, by the journal.
async fn counted(ctx: &TurnContext, registry: &Registry) -> Result<EffectCounters, StoreError> {
    let counters = EffectCounters::default();
    for row in executions::of_turn(&ctx.store, &ctx.turn.id).await? {
        let skill = handler_in(registry, row.skill.as_deref().unwrap_or_default());
        let kind = builtin::find(skill).and_then(BuiltinSkill::action);
        let read = |json: &Option<String>| serde_json::from_str::<Value>(json.as_deref()?).ok();
        let arguments = read(&row.parameters);
        // A mail that was sent names all whom it is to.
        let sent = read(&row.data).map_or(0, |data| data["to"].as_array().map_or(0, Vec::len));
        if let (Some(kind), Some(arguments)) = (kind, arguments)
            && row.status != ExecutionStatus::Failed
        {
            counters.mail(recipients(skill, &arguments).max(sent));
            counters.delete(usize::from(is_deletion(kind)));
        }
    }
    Ok(counters)
}
