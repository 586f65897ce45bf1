//! Slash commands: answered at once, without waiting for running turns.

use adjutant_chat::suggest::nearest;
use adjutant_chat::{COMMANDS, EventId, SlashCommand};
use adjutant_l10n as l10n;
use adjutant_store::inbox::{self, InboxRow};
use adjutant_store::questions::QuestionRow;
use adjutant_store::turns::TurnRow;
use adjutant_store::{Batch, Result, access, control, executions, links, people, questions, turns, web};
use adjutant_turn::wording;
use adjutant_types::invisible_chars::display_name;
use adjutant_types::{ConversationId, PersonId, TurnId, TurnStatus};
use adjutant_workflows::trace;

use super::answers::typed;
use super::command::{Command, is_command};
use super::{Conversations, Handle, verdicts};
use crate::orchestrator::Orchestrator;

/// A turn's id as people type it: its last six characters.
pub(crate) fn short(turn: &TurnId) -> &str {
    &turn[turn.len().saturating_sub(6)..]
}

fn help(may_connect: bool) -> String {
    let line = |SlashCommand { name, argument, description }: &SlashCommand| match argument {
        Some(argument) => {
            format!("- `/{name} {}`: {}", argument.to_uppercase().replace('-', " "), description())
        }
        None => format!("- `/{name}`: {}", description()),
    };
    let all = COMMANDS.iter().filter(|command| may_connect || command.name != "connect");
    l10n::commands::help(all.map(line).collect::<Vec<_>>().join("\n"))
}

fn unknown(word: &str) -> String {
    let names: Vec<String> = COMMANDS.iter().map(|command| format!("/{}", command.name)).collect();
    match nearest(&word.to_ascii_lowercase(), names.iter().map(String::as_str).chain(["/start"])) {
        Some(similar) => l10n::commands::misspelt_command(word, similar),
        None => l10n::commands::unknown_command(word),
    }
}

/// A command whose answer nobody but its sender may read.
fn private(command: Command<'_>) -> Option<&'static str> {
    match command {
        // These stand for a code or a password that was taken out of a message, and are answered where it was.
        Command::Connect("pasted" | "typed" | "refused") => None,
        Command::Connect(_) => Some("/connect"),
        Command::Accounts(_) => Some("/accounts"),
        Command::Rules(_) => Some("/rules"),
        Command::Watches("") => Some("/watches"),
        Command::Mine(_) => Some("/mine"),
        Command::Link(_) => Some("/link"),
        Command::Web => Some("/web"),
        _ => None,
    }
}

impl Conversations {
    /// Runs a slash command that intake journalled. One whose answer is private is answered in the direct chat of its sender
    /// if it was given in a room.
    ///
    /// # Errors
    /// [`adjutant_store::StoreError::Stale`] if it was done before.
    pub async fn command(&self, row: &InboxRow) -> Result<()> {
        let Some(name) = private(Command::read(&row.text)) else { return self.run_command(row).await };
        if !people::conversation_by_id(&self.store, &row.conversation_id).await?.shared {
            return self.run_command(row).await;
        }
        // What "it" is, a room doesn't say clearly enough.
        let is_it = matches!(Command::read(&row.text), Command::Mine("it"));
        let Some(direct) = self.direct_chat(row).await?.filter(|_| !is_it) else {
            return self.reply(row, None, l10n::commands::in_private(name), Batch::new()).await;
        };
        self.run_command(&InboxRow { conversation_id: direct, ..row.clone() }).await?;
        // Where nobody else saw the command, its answer is seen there by its sender alone.
        if EventId::private_to(row.event_id()).is_some() {
            return Ok(());
        }
        // After a crash here, the room doesn't hear of the answer.
        self.say_to(row, l10n::commands::answered_privately().into(), Batch::new()).await
    }

    /// The direct chat of a message's sender on its channel.
    async fn direct_chat(&self, row: &InboxRow) -> Result<Option<ConversationId>> {
        let accounts = people::accounts(&self.store, &row.person_id).await?;
        let user = accounts.iter().find_map(|account| account.strip_prefix(row.channel())?.strip_prefix(':'));
        let Some(user) = user else { return Ok(None) };
        Ok(people::direct_conversation(&self.store, row.channel(), user).await?.map(|(id, _)| id))
    }

    async fn run_command(&self, row: &InboxRow) -> Result<()> {
        let mut batch = Batch::new();
        let text = match Command::read(&row.text) {
            Command::Help => help(self.has_logins()),
            Command::New => {
                people::clear_history(&mut batch, &row.conversation_id);
                l10n::commands::fresh_start()
            }
            Command::Stop(named) => self.stop(row, named).await?,
            Command::Pause => self.pause(row).await?,
            Command::Status => self.status(row).await?,
            Command::Trace => self.trace(row).await?,
            Command::Answer(given) => return self.answer(row, given).await,
            Command::Memories(page) => return self.show_memories(row, page).await,
            Command::Forget(asked) => return self.forget_memory(row, asked).await,
            Command::Rules(rest) => return self.rules(row, rest).await,
            Command::Room(rest) => return self.room(row, rest).await,
            Command::Connect(rest) => return self.connect(row, rest).await,
            Command::Watches(rest) => return self.watches(row, rest).await,
            Command::Accounts(rest) => return self.accounts(row, rest).await,
            Command::Mine(which) => self.mine(row, which, &mut batch).await?,
            Command::Pair(code) => self.pair(row, code).await?,
            Command::Link(code) => self.link(row, code).await?,
            Command::Web => self.web(row).await?,
            Command::Unknown(word) => unknown(word),
        };
        self.reply(row, None, text, batch).await
    }

    /// Stops the person's running turns here and ends the waiting ones. An owner stops what runs for others, too, but
    /// nobody ends other people's questions.
    async fn stop(&self, row: &InboxRow, named: &str) -> Result<String> {
        let is_owner = self.is_owner(&row.person_id).await?;
        let open = turns::open_of(&self.store, &row.conversation_id).await?;
        let (background, talk): (Vec<_>, Vec<_>) = open.into_iter().partition(|turn| turn.background != 0);
        let in_background = background.len();
        let is_only = named.is_empty() && talk.is_empty() && in_background == 1;
        let is_named = |turn: &TurnRow| is_only || short(&turn.id).eq_ignore_ascii_case(named);
        let ended: Vec<TurnRow> = background.into_iter().filter(is_named).collect();
        if !named.is_empty() && ended.is_empty() && talk.is_empty() {
            return Ok(l10n::roles::no_such_id());
        }
        let open = if ended.is_empty() { talk } else { ended };
        let (stoppable, remaining): (Vec<_>, Vec<_>) = open.into_iter().partition(|turn| {
            turn.person_id == row.person_id || (is_owner && turn.status == TurnStatus::Running)
        });
        let running: Vec<Handle> = stoppable.iter().filter_map(|turn| self.running.get(&turn.id)).collect();
        running.iter().for_each(|handle| handle.cancel.cancel());
        let (mut stopping, mut ended) = (running.len(), 0);
        for turn in stoppable {
            // One that runs elsewhere hears of it at once, also while it goes to sleep.
            let is_elsewhere = turn.status == TurnStatus::Running && self.running.get(&turn.id).is_none();
            if is_elsewhere && control::request_stop(&self.store, &turn.id).await? {
                stopping += 1;
                continue;
            }
            // A turn that was just going to sleep may have missed the signal.
            let Some(mut turn) = self.wait_until_asleep(&turn.id).await? else { continue };
            if turn.status == TurnStatus::Running {
                if self.running.get(&turn.id).is_some() {
                    continue;
                }
                if control::request_stop(&self.store, &turn.id).await? {
                    stopping += 1;
                    continue;
                }
                // It ended or went to sleep just now.
                let Some(now) = turns::by_id(&self.store, &turn.id).await? else { continue };
                turn = now;
            }
            if turn.ended_at.is_none() && turn.person_id == row.person_id {
                match self.end_waiting(&turn).await? {
                    true => ended += 1,
                    // It began to run just now.
                    false => stopping += usize::from(control::request_stop(&self.store, &turn.id).await?),
                }
            }
        }
        Ok(match (stopping, ended) {
            (0, 0) if !remaining.is_empty() => l10n::commands::nothing_of_yours(),
            (0, 0) if in_background > 0 => l10n::roles::only_in_background(),
            (0, 0) => l10n::commands::nothing_runs(),
            // The waiting turns said so themselves.
            (0, _) => l10n::commands::nothing_else_runs(),
            _ => l10n::commands::stopping(),
        })
    }

    async fn pause(&self, row: &InboxRow) -> Result<String> {
        let mut is_any = false;
        for turn in turns::open_of(&self.store, &row.conversation_id).await? {
            if !control::pause(&self.store, &turn.id).await? {
                continue;
            }
            is_any = true;
            if let Some(running) = self.running.get(&turn.id) {
                running.pause();
            }
        }
        Ok(if is_any { l10n::commands::pausing() } else { l10n::commands::nothing_runs() })
    }

    /// Ends a turn that isn't running, with its one answer.
    async fn end_waiting(&self, turn: &TurnRow) -> Result<bool> {
        let rows = executions::of_turn(&self.store, &turn.id).await?;
        let last = turn.reply(wording::stopped(&Orchestrator::summary(&rows)));
        let mut batch = Batch::new();
        // Not under the lane's lease: another turn of this conversation may be running under it.
        turns::must_rest(&mut batch, &turn.id);
        self.close(&mut batch, turn, TurnStatus::Cancelled, &last);
        let is_closed = self.store.try_write(batch).await?;
        if is_closed {
            self.ended(&turn.id, TurnStatus::Cancelled);
        }
        Ok(is_closed)
    }

    /// Lets in the stranger whose code an owner sends.
    async fn pair(&self, row: &InboxRow, code: &str) -> Result<String> {
        if !self.is_owner(&row.person_id).await? {
            return Ok(l10n::commands::not_an_owner());
        }
        if code.is_empty() {
            return Ok(l10n::commands::pair_how());
        }
        let Some(paired) = access::approve(&self.store, &code.to_ascii_uppercase()).await? else {
            return Ok(l10n::commands::unknown_pairing_code());
        };
        let name = display_name(paired.name.as_deref().unwrap_or_default());
        Ok(if name.is_empty() { l10n::commands::paired_unnamed() } else { l10n::commands::paired(name) })
    }

    /// Makes a code for linking another account, or links this account with the one that made the code.
    async fn link(&self, row: &InboxRow, text: &str) -> Result<String> {
        if let Some(code) = access::code_in(text) {
            let joined = links::join(&self.store, &code, &row.person_id).await?;
            return Ok(if joined { l10n::commands::linked() } else { l10n::commands::unknown_link() });
        }
        let code = access::new_code(self.store.clock().random());
        links::offer(&self.store, &code, &row.person_id).await?;
        Ok(l10n::commands::link(&code))
    }

    /// Makes a link that signs this person in on the web page.
    async fn web(&self, row: &InboxRow) -> Result<String> {
        let Some(page) = self.settings.current().page.clone() else { return Ok(l10n::commands::no_page()) };
        let code = web::offer(&self.store, &row.person_id).await?;
        Ok(l10n::commands::page_link(format!("{page}/login#{code}")))
    }

    async fn status(&self, row: &InboxRow) -> Result<String> {
        let open = turns::open_of(&self.store, &row.conversation_id).await?;
        let background = open.iter().filter(|turn| turn.background != 0);
        let background: Vec<String> = background
            .map(|turn| wording::roles::in_background(&turn.text, turn.status, short(&turn.id)))
            .collect();
        let waiting = open.iter().filter(|turn| turn.status == TurnStatus::Waiting).count();
        let (questions, _) = questions::open_and_read(&self.store, &row.conversation_id).await?;
        let mut text = wording::status(open.len() - waiting, waiting, &questions);
        if !background.is_empty() {
            text.push_str(&wording::roles::background_list(&background));
        }
        Ok(text)
    }

    /// Answers the open question of this number, or asks which one is meant.
    async fn answer(&self, row: &InboxRow, given: &str) -> Result<()> {
        let (open, _) = questions::open_and_read(&self.store, &row.conversation_id).await?;
        let asked = self.newest(&open).await?;
        let before = match !is_command(&row.text) && verdicts::selects(given) {
            true => self.asked_which_before((&row.conversation_id, &row.person_id), row.id).await?,
            false => None,
        };
        let is_listed = before.is_some() || wording::questions::lists_all(&open);
        // "Both" says to what the yes or the no was that came before it.
        let verdict = before.filter(|before| verdicts::verdict(before).is_some());
        let whole = verdict.filter(|_| !verdicts::decides(given)).map(|verdict| format!("{verdict} {given}"));
        let given = whole.as_deref().unwrap_or(given);
        let (decides, has_numbers) = (verdicts::decides(given), verdicts::names_numbers(given));
        let is_across = !is_command(&row.text)
            && (decides && has_numbers || !has_numbers && is_listed && verdicts::selects(given));
        if is_across || verdicts::rejects_all(given) {
            return self.answer_across(row, (&row.conversation_id, None), given).await;
        }
        let (number, answer) = given.split_once(char::is_whitespace).unwrap_or((given, ""));
        let named = number.parse::<i64>().ok();
        let shown = |question: &QuestionRow| wording::questions::shown_number(question, &open, &asked);
        // Without the command, a number may be for something else.
        let is_command = is_command(&row.text);
        let is_named = |question: &&QuestionRow| {
            Some(question.number()) == named || (is_command && Some(shown(question)) == named)
        };
        let fitting: Vec<_> = open.iter().filter(is_named).collect();
        let [question] = fitting.as_slice() else {
            let is_no = verdicts::refuses(given);
            let message = match is_command {
                true => wording::questions::no_such_number(number, &open, &asked, is_no),
                false => wording::questions::which(&open, &asked, is_no),
            };
            return self.reply_with(row, message, Batch::new()).await;
        };
        match typed(answer, &question.kind) {
            Some(answer) => self.answer_questions(row, question, vec![((*question).clone(), answer)]).await,
            None => self.reply(row, None, wording::questions::how_to_answer(question), Batch::new()).await,
        }
    }

    /// To which answer the open questions were listed right before a row; none if they weren't. "All" means those then.
    pub(super) async fn asked_which_before(
        &self,
        here: (&ConversationId, &PersonId),
        row: i64,
    ) -> Result<Option<String>> {
        let before = inbox::last_command(&self.store, here, row).await?;
        Ok(before.and_then(|before| match Command::read(&before) {
            Command::Answer(answer) => Some(answer.to_owned()),
            _ => None,
        }))
    }

    async fn trace(&self, row: &InboxRow) -> Result<String> {
        let Some(turn) = turns::last_of(&self.store, &row.conversation_id).await? else {
            return Ok(l10n::commands::nothing_to_trace());
        };
        let trace = trace::load(&self.store, &turn, false).await?;
        Ok(trace::for_chat(&trace))
    }
}
