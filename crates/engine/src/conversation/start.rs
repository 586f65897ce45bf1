//! The start of a turn: one commit that takes its lane and its messages. One that needs no work is added as done.

use adjutant_chat::EventId;
use adjutant_l10n as l10n;
use adjutant_store::executions::{self, Closing, ExecutionRow};
use adjutant_store::inbox::{self, InboxRow, NewRow};
use adjutant_store::leases::lane;
use adjutant_store::turns::{self, TurnRow};
use adjutant_store::{Batch, Result, outbox, sharing};
use adjutant_turn::journal::{TurnEvent, fail_point};
use adjutant_types::metrics;
use adjutant_types::{
    Basis, ConversationId, ExecutionId, ExecutionKind, ExecutionStatus, PersonId, Taint, TurnId, TurnStatus,
};

use super::Conversations;
use super::access::Admitted;
use super::commands::short;
use super::turn::LeasedTurn;

impl Conversations {
    /// Journals a message that intake has just let in, and starts its turn in the same commit.
    ///
    /// A crash before that commit leaves nothing, so the platform delivers the message again; one after it leaves a
    /// running turn, which is continued.
    ///
    /// # Errors
    /// [`adjutant_store::StoreError::Stale`] if it was journalled before, if something in the lane goes before it, or if
    /// another process works on this conversation.
    pub(crate) async fn journal_and_begin(&self, row: &InboxRow) -> Result<LeasedTurn> {
        let turn = self.new_turn(row, std::slice::from_ref(row));
        let (name, mut batch) = (lane(&turn.conversation_id, 0), Batch::new());
        self.instance.take(&name, &mut batch);
        turns::must_be_first(&mut batch, &name, &turn.conversation_id);
        inbox::arrive(&mut batch, &row.as_new(&self.instance.id), row.received_at);
        turns::start(&mut batch, &turn, &[]);
        inbox::take_arriving(&mut batch, &row.event, &turn.id);
        let leased = self.write_start(batch, name, turn).await?;
        fail_point("journalled");
        metrics::turn_began(&leased.turn.id, row.received_at).await;
        Ok(leased)
    }

    /// Journals what arrived; none if it was journalled before.
    pub async fn journal(&self, row: &NewRow<'_>) -> Result<Option<InboxRow>> {
        let inserted = inbox::insert(&self.store, row).await?;
        if inserted.is_some() {
            fail_point("journalled");
        }
        Ok(inserted)
    }

    /// Starts a turn for messages of one person, in this lane of the conversation.
    ///
    /// # Errors
    /// [`adjutant_store::StoreError::Stale`] if another process works on this conversation.
    pub async fn begin(&self, admitted: Vec<Admitted>, background: i64) -> Result<Option<LeasedTurn>> {
        let rows: Vec<InboxRow> = admitted.into_iter().map(Admitted::into_row).collect();
        let Some(first) = rows.first() else { return Ok(None) };
        let mut turn = self.new_turn(first, &rows);
        turn.background = background;
        let (name, mut batch) = (lane(&turn.conversation_id, background), Batch::new());
        self.instance.take(&name, &mut batch);
        if !self.instance.shares().is_empty() {
            sharing::must_leave_none(&mut batch, &name, &turn);
        }
        let spawned = self.orchestrator.spawned(&first.text);
        if let Some(Ok((role, _))) = &spawned {
            // The conversation goes on, and the result is a message of its own, seen by whoever saw the command.
            let reply = turn.reply(l10n::roles::spawned(role, short(&turn.id)));
            outbox::say(&self.store, &mut batch, &turn.conversation_id, self.instance.owner(), &reply);
            let private = |event: &&str| EventId::private_to(event).is_some();
            let unseen: Vec<&str> = rows.iter().map(InboxRow::event_id).filter(private).collect();
            turn.answers = serde_json::to_string(&unseen).unwrap_or_default();
        }
        let received_at = first.received_at;
        turns::start(&mut batch, &turn, &rows);
        let leased = self.write_start(batch, name, turn).await?;
        if let Some(Ok(_)) = spawned {
            self.events.send(TurnEvent::MessageAdded(leased.turn.conversation_id.clone()));
        }
        metrics::turn_began(&leased.turn.id, received_at).await;
        Ok(Some(leased))
    }

    /// Writes a turn's start, whose first statement takes the lane.
    async fn write_start(&self, mut batch: Batch, name: String, turn: TurnRow) -> Result<LeasedTurn> {
        let root = root_row(&turn, self.store.new_id());
        executions::insert(&mut batch, &root, &turn.conversation_id);
        let returned = self.store.write(batch).await?;
        fail_point("turn-started");
        let lease = self.instance.taken(name, &returned);
        Ok(LeasedTurn { turn, lease, root: root.id.clone(), rows: vec![root] })
    }

    /// Adds a message of our own to the batch, with its turn, which is done: one call, and its answer unless nobody waits for
    /// one. It needs no lane.
    pub(crate) fn add_done(
        &self,
        batch: &mut Batch,
        row: &NewRow<'_>,
        (skill, closing): (&str, &Closing),
        answer: Option<outbox::Message>,
    ) -> TurnId {
        let (now, stored) = (self.store.now(), row.as_stored(0, self.store.now()));
        let turn = self.new_turn(&stored, std::slice::from_ref(&stored));
        inbox::arrive(batch, row, now);
        turns::start(batch, &turn, &[]);
        inbox::take_arriving(batch, &row.event, &turn.id);
        self.add_call(batch, &turn, (skill, closing));
        let (done, result) = (TurnStatus::Completed, closing.result.as_deref().unwrap_or_default());
        match answer.map(|answer| outbox::Message { turn: Some(turn.id.clone()), ..answer }) {
            Some(answer) => self.close(batch, &turn, done, &answer),
            None => self.close_work(batch, &turn, done, result),
        }
        turn.id
    }

    /// Adds what a person did on the page to the batch as a turn that is done, so that history and undo know of it.
    pub fn add_act(
        &self,
        batch: &mut Batch,
        here: (&ConversationId, &PersonId),
        text: &str,
        call: (&str, &Closing),
    ) -> TurnId {
        let event = inbox::PAGE.to_owned() + &self.store.new_id::<String>();
        let row = NewRow::ours(event, here, text, Taint::default(), self.instance.owner());
        self.add_done(batch, &row, call, None)
    }

    /// Adds a turn that began and ended with a message that needs no model, and its answer. It needs no lane.
    pub(crate) fn add_answered(&self, batch: &mut Batch, row: &InboxRow, taint: &Taint, text: String) {
        let turn = self.new_turn(row, std::slice::from_ref(row));
        turns::start(batch, &turn, &[]);
        turns::set_taint(batch, &turn.id, taint);
        executions::insert(batch, &root_row(&turn, self.store.new_id()), &turn.conversation_id);
        inbox::mark_done(batch, row.id, Some(&turn.id));
        self.close(batch, &turn, TurnStatus::Completed, &turn.reply(text));
    }

    /// Adds a turn that began and ended with a press, so that history and undo know of it. The reply names it.
    pub(super) fn add_press(&self, batch: &mut Batch, row: &InboxRow, call: (&str, &Closing)) -> TurnId {
        let turn = self.new_turn(row, std::slice::from_ref(row));
        turns::start(batch, &turn, &[]);
        self.add_call(batch, &turn, call);
        self.close_work(batch, &turn, TurnStatus::Completed, call.1.result.as_deref().unwrap_or_default());
        turn.id
    }

    fn add_call(&self, batch: &mut Batch, turn: &TurnRow, (skill, closing): (&str, &Closing)) {
        turns::set_taint(batch, &turn.id, &closing.taint);
        let root = root_row(turn, self.store.new_id());
        let call = ExecutionRow {
            parent_id: Some(root.id.clone()),
            skill: Some(skill.to_owned()),
            parameters: Some("{}".to_owned()),
            basis: Some(Basis::Policy),
            ..ExecutionRow::new(self.store.new_id(), &turn.id, ExecutionKind::Skill)
        };
        executions::insert(batch, &root, &turn.conversation_id);
        let call = call.closed(ExecutionStatus::Completed, closing, self.store.now());
        executions::insert(batch, &call, &turn.conversation_id);
        if let Some(undo) = &closing.undo {
            executions::set_undo(batch, &call.id, undo);
        }
    }

    fn new_turn(&self, first: &InboxRow, rows: &[InboxRow]) -> TurnRow {
        let now = self.store.now();
        let events: Vec<&str> = rows.iter().map(InboxRow::event_id).collect();
        let text: Vec<&str> = rows.iter().map(|row| row.text.as_str()).collect();
        TurnRow {
            id: self.store.new_id(),
            conversation_id: first.conversation_id.clone(),
            person_id: first.person_id.clone(),
            status: TurnStatus::Running,
            text: text.join("\n"),
            text_taint: rows.iter().map(|row| &row.taint).collect(),
            shown_round: -1,
            answers: serde_json::to_string(&events).unwrap_or_default(),
            instance: self.instance.id.clone(),
            budget_from: now,
            started_at: now,
            resumed_at: now,
            ..TurnRow::default()
        }
    }
}

fn root_row(turn: &TurnRow, id: ExecutionId) -> ExecutionRow {
    ExecutionRow {
        status: ExecutionStatus::Running,
        started_at: Some(turn.started_at),
        ..ExecutionRow::new(id, &turn.id, ExecutionKind::Orchestrator)
    }
}
