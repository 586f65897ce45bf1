//! What allowed each effect of a tainted turn, read from the journal alone: a wish, a yes, the person's own words, a
//! file of the owner's, or their `[approval.skills]`. It is checked at the end of every flow test.

use std::collections::{BTreeSet, HashMap};

use adjutant_skills::builtin::{self, written_by};
use adjutant_store::executions::ExecutionRow;
use adjutant_store::questions::QuestionRow;
use adjutant_store::{Store, executions, questions, turns};
use adjutant_turn::trust::{Action, ActionKind, Reach, Wishes};
use adjutant_types::{Answer, Basis, ExecutionKind, ExecutionStatus, TurnId};

/// Whether a skill has an effect that isn't done by reading alone. What reads is tainted by its own result, so its row
/// doesn't tell whether the turn was tainted before; the same holds for a service, and for `undo`, which names what it
/// takes back.
fn has_effect(skill: &str) -> bool {
    let kind = builtin::find(skill).and_then(|skill| skill.action());
    kind.is_some_and(|kind| reach(kind) != Reach::Reads && kind != ActionKind::Undo)
}

fn reach(kind: ActionKind) -> Reach {
    Action { kind, targets: Vec::new() }.reach()
}

/// Checks all turns. `named` are the skills that the configuration allows by their names.
pub(crate) async fn check(store: &Store, named: &BTreeSet<String>) {
    let turns: Vec<(TurnId,)> = store.all("SELECT id FROM turns ORDER BY id", &[]).await.unwrap();
    for (turn,) in turns {
        let rows = executions::of_turn(store, &turn).await.unwrap();
        let asked = questions::of_turn(store, &turn).await.unwrap();
        let wishes = turns::wishes(store, &turn).await.unwrap();
        let wishes: Wishes = wishes.map(|json| serde_json::from_str(&json).unwrap()).unwrap_or_default();
        let presses = "SELECT count(*) FROM inbox WHERE turn_id = $1 AND event LIKE ' line:%:send:%'";
        let is_press = store.count(presses, &[(&turn).into()]).await.unwrap() > 0;
        if let Err(fault) = faultless(&rows, (&asked, is_press), &wishes, named) {
            panic!("turn {turn}: {fault}");
        }
    }
}

/// Whether a call with these arguments sends a draft as it is.
fn sends_draft(arguments: &str) -> bool {
    let arguments: serde_json::Value = serde_json::from_str(arguments).unwrap_or_default();
    let is_it = |given: &serde_json::Map<String, serde_json::Value>| {
        given.contains_key("draft") && given.keys().all(|name| name == "draft" || name == "account")
    };
    arguments.as_object().is_some_and(is_it)
}

/// What a call with these arguments replaces.
fn replaced(arguments: &str) -> Option<String> {
    let arguments: serde_json::Value = serde_json::from_str(arguments).ok()?;
    arguments["replaces"].as_str().map(str::to_owned)
}

fn faultless(
    rows: &[ExecutionRow],
    (asked, is_press): (&[QuestionRow], bool),
    wishes: &Wishes,
    named: &BTreeSet<String>,
) -> Result<(), String> {
    let mut used: HashMap<usize, usize> = HashMap::new();
    for row in rows {
        use ExecutionStatus::{Completed, Running, Unknown};
        let Some(skill) = row.skill.as_deref().filter(|_| row.kind == ExecutionKind::Skill) else { continue };
        let is_made = matches!(row.status, Completed | Running | Unknown);
        if !is_made || row.taint.is_clean() || !has_effect(skill) {
            continue;
        }
        let is_allowed = match &row.basis {
            // Its own result may be what taints the row.
            Some(Basis::Policy) => named.contains(skill) || (row.untrusted && is_first_read(rows, row)),
            // A draft's button is a yes without a question, in a turn that has read nothing.
            Some(Basis::Approval)
                if is_press
                    && skill == "email.send"
                    && row.parameters.as_deref().is_some_and(sends_draft)
                    && is_first_read(rows, row) =>
            {
                true
            }
            Some(Basis::Approval) => asked.iter().any(|question| {
                question.execution_id.as_ref() == Some(&row.id) && question.answer == Some(Answer::Approve)
            }),
            Some(Basis::Wish(number)) => {
                // A draft of the turn that is written anew takes no second wish.
                let redone =
                    written_by(row.parameters.as_deref().and_then(replaced).as_deref().unwrap_or(""));
                let is_redone = skill == "email.draft" && rows.iter().any(|other| other.id == redone);
                *used.entry(*number).or_default() += usize::from(!is_redone);
                let wish = wishes.all.get(*number);
                let kind = builtin::find(skill).and_then(|skill| skill.action());
                wish.zip(kind).is_some_and(|(wish, kind)| {
                    let most = wish.count.map(|count| (count as usize).max(wish.targets.len()));
                    // Of an event or a mail, "undo" may also ask for the change back.
                    let is_undo = wish.kind == ActionKind::Undo
                        && matches!(
                            kind,
                            ActionKind::EventChange | ActionKind::EventDelete | ActionKind::MailSort
                        );
                    // A wish to be reminded may be for the calendar app, or for the time of what is there already.
                    let makes = matches!(wish.kind, ActionKind::TaskCreate | ActionKind::EventCreate);
                    let sets = |name: &str| row.parameters.as_deref().is_some_and(|json| json.contains(name));
                    let is_time =
                        makes && ["\"reminders\"", "\"due\"", "\"start\"", "\"until\""].into_iter().any(sets);
                    let is_time = is_time && matches!(kind, ActionKind::TaskChange | ActionKind::EventChange);
                    (is_undo || is_time || Action { kind, targets: Vec::new() }.is_asked_for_by(wish.kind))
                        && most.is_none_or(|most| used[number] <= most)
                })
            }
            Some(Basis::OwnWords | Basis::Linked | Basis::Workflow | Basis::Forms | Basis::Rule(_)) => true,
            None => false,
        };
        if !is_allowed {
            return Err(format!(
                "{skill} {} ({:?}) was {}, allowed by {:?} of {wishes:?}",
                row.id, row.parameters, row.status, row.basis
            ));
        }
    }
    Ok(())
}

/// Whether nothing of a turn was tainted before a call.
fn is_first_read(rows: &[ExecutionRow], call: &ExecutionRow) -> bool {
    let mut before = rows.iter().take_while(|row| row.id != call.id);
    before.all(|row| row.taint.is_clean() || call.parent_id.as_ref() == Some(&row.id))
}

#[test]
fn an_effect_without_a_reason_is_found() {
    use adjutant_turn::trust::Wish;
    use adjutant_types::Taint;
    let (kind, text) = (ActionKind::TaskCreate, "milk".to_owned());
    let wish = Wish { kind, count: Some(1), targets: Vec::new(), text, only_news: false };
    let wishes = Wishes { all: vec![wish], ..Wishes::default() };
    let row = |number: usize, skill: &str, basis: Option<Basis>| ExecutionRow {
        skill: Some(skill.into()),
        status: ExecutionStatus::Completed,
        taint: Taint::by("the mail “Hello” from x@evil.test"),
        basis,
        ..ExecutionRow::new(format!("e{number}").as_str().into(), &"t".into(), ExecutionKind::Skill)
    };
    let check_by =
        |rows: &[ExecutionRow], is_press| faultless(rows, (&[], is_press), &wishes, &BTreeSet::new());
    let check = |rows: &[ExecutionRow]| check_by(rows, false);
    let wished = || Some(Basis::Wish(0));
    assert_eq!(check(&[row(1, "tasks.create", wished())]), Ok(()));
    assert!(check(&[row(1, "tasks.create", wished()), row(2, "tasks.create", wished())]).is_err(), "used up");
    for (skill, basis) in [
        ("tasks.create", None),
        ("tasks.create", Some(Basis::Policy)),
        ("tasks.create", Some(Basis::Approval)),
        ("tasks.create", Some(Basis::Wish(1))),
        ("email.send", wished()),
    ] {
        assert!(check(&[row(1, skill, basis.clone())]).is_err(), "{skill} by {basis:?}");
    }
    assert_eq!(check(&[row(1, "tasks.search", Some(Basis::Policy))]), Ok(()));
    let draft = r#"{"draft": "<d@x.test>"}"#;
    let altered = r#"{"draft": "<d@x.test>", "to": ["eve@x.test"]}"#;
    for (is_press, parameters, is_fine) in
        [(true, draft, true), (false, draft, false), (true, altered, false), (true, "{}", false)]
    {
        let sent = row(1, "email.send", Some(Basis::Approval));
        let sent = ExecutionRow { parameters: Some(parameters.into()), ..sent };
        assert_eq!(check_by(&[sent], is_press).is_ok(), is_fine, "{is_press} {parameters}");
    }
}
