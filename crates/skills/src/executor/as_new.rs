//! What a wish for something new, or for a reminder, may mean of what is there already.

use adjutant_turn::trust::{Action, ActionKind, Evidence, OwnWords, Reach, Target, Wish};
use adjutant_types::Basis;
use serde_json::{Map, Value};

use super::approval_policy::handler;
use super::{ActiveCall, wishes};
use crate::{Result, Skill};

impl ActiveCall<'_> {
    /// What was wished for, if the call only says when the person is reminded of what is there, or when their own thing is
    /// that has the name of what they wanted made.
    pub(super) fn wished_as_new(&self, skill: &Skill, action: &Action) -> Option<ActionKind> {
        let given = self.call.arguments;
        if only_reminds(handler(skill), given) {
            return Some(ActionKind::TaskCreate);
        }
        let made = match action.kind {
            ActionKind::TaskChange => ActionKind::TaskCreate,
            ActionKind::EventChange => ActionKind::EventCreate,
            _ => return None,
        };
        let [Target::Thing(thing)] = action.targets.as_slice() else { return None };
        let is_time = |name: &String| matches!(name.as_str(), "id" | "due" | "start" | "end");
        let title = OwnWords::new([thing.title.as_str()]);
        let is_it = |wish: &Wish| {
            let text = OwnWords::new([wish.text.as_str()]);
            wish.kind == made && title.hold_words(&wish.text) && text.hold_words(&thing.title)
        };
        let is_meant = action.reach() == Reach::Own
            && given.as_object().is_some_and(|given| given.keys().all(is_time))
            && self.ctx.trust.wishes.get().is_some_and(|book| book.wishes.all.iter().any(is_it));
        is_meant.then_some(made)
    }

    /// The wish for a reminder that is used if a call tells something again later.
    pub(super) async fn wished_later(&self, skill: &Skill, action: &Action) -> Result<Option<Basis>> {
        let ([Target::Thing(thing)], Some(book), "watch.later") =
            (action.targets.as_slice(), self.ctx.trust.wishes.get(), handler(skill))
        else {
            return Ok(None);
        };
        let shown = wishes::shown(self.ctx, self.registry).await?;
        let (wishes, words, name) = (&book.wishes, self.ctx.words().await?, &self.ctx.turn.person.name);
        Ok(book.take(1, |used| {
            let evidence = Evidence { wishes, words, shown: &shown, name, used, recipients: (0, 0) };
            let wish = evidence.reminder_of(thing);
            (wish.map(Basis::Wish), wish.filter(|_| !self.is_ahead))
        }))
    }
}

/// Whether a call changes nothing of an event but when the calendar app reminds of it: "remind me of it".
fn only_reminds(skill: &str, arguments: &Value) -> bool {
    const REMINDS: [&str; 5] = ["id", "instance", "span", "account", "reminders"];
    let is_it = |given: &Map<String, Value>| given.keys().all(|name| REMINDS.contains(&name.as_str()));
    skill == "calendar.update_event"
        && !arguments["reminders"].is_null()
        && arguments.as_object().is_some_and(is_it)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_change_of_reminders_alone_is_a_reminder() {
        let reminds = |arguments: Value| only_reminds("calendar.update_event", &arguments);
        assert!(reminds(json!({"id": "e1", "reminders": [10]})));
        assert!(reminds(json!({"id": "e1", "reminders": [10], "span": "all", "account": "work"})));
        for more in ["title", "start", "attendees", "notes"] {
            assert!(!reminds(json!({"id": "e1", "reminders": [10], more: "x"})), "{more}");
        }
        assert!(!reminds(json!({"id": "e1"})) && !reminds(json!([])));
        assert!(!only_reminds("calendar.delete_event", &json!({"id": "e1", "reminders": [10]})));
    }
}
