//! The table: how far an effect goes, and what the person asked for.

use std::collections::BTreeMap;

use super::action::{Action, ActionKind, Reach, Target};
use super::own_words::{self, OwnWords};
use super::{Shown, Thing, Wish, WishFailure, Wishes};

/// What people call a thing by its kind, or say of what a watch does, which says nothing of what it is or is for.
fn kind_words(noun: &str) -> &'static str {
    match noun {
        "mail" => "mail mails email emails e message messages nachricht pdf attachment attachments anhang",
        "event" => "event entry appointment termin eintrag",
        "task" => "task todo entry item aufgabe eintrag",
        "file" => "file pdf attachment attachments document datei anhang dokument",
        "watch" => {
            "watch watching check checking look looking out wait waiting monitor monitoring tell telling notify \
             notifying mail mails emails"
        }
        _ => "",
    }
}

/// What says which of somebody's emails is meant, and stands before whose it is.
const OF_MAIL: &str = "last latest newest letzte letzten neueste neuesten from von by";

/// Why a call must be asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalReason {
    /// The person asked for nothing of that kind.
    NotAskedFor,
    /// What the person asked for couldn't be read.
    Unread(WishFailure),
    /// The person named neither the address nor a contact with it.
    UnknownRecipient,
    /// The person didn't name this.
    NotNamed,
    /// What the person called it fits other things that were shown, too: the titles, and of an email its sender.
    Ambiguous(Vec<(String, Option<String>)>),
    /// More recipients in one turn than this.
    TooManyRecipients(usize),
    TooManyDeletions,
    Because(String),
}

/// What an effect is judged by.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a> {
    pub wishes: &'a Wishes,
    pub words: &'a OwnWords,
    /// What the system showed them.
    pub shown: &'a Shown,
    pub name: &'a str,
    /// How often each wish was used.
    pub used: &'a [u32],
    /// How many recipients the turn has had, with this call's, and how many it may have.
    pub recipients: (usize, usize),
}

/// What becomes of an effect in a tainted turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The wish of this number asks for it.
    Wished(usize),
    /// The person typed all that it tells others.
    InOwnWords,
    Ask(ApprovalReason),
}

/// Judges an effect in a tainted turn.
pub fn decide(action: &Action, evidence: Evidence<'_>) -> Verdict {
    for target in &action.targets {
        if let Target::Always(why) = target {
            return Verdict::Ask(ApprovalReason::Because(why.clone()));
        }
    }
    if action.reach() == Reach::Reads {
        let is_own = action.targets.iter().all(|target| evidence.is_typed(target));
        return if is_own { Verdict::InOwnWords } else { Verdict::Ask(ApprovalReason::NotNamed) };
    }
    let asked: Vec<(usize, &Wish)> = evidence.asking_for(action).collect();
    if asked.is_empty() {
        let why = evidence.wishes.failure.map_or(ApprovalReason::NotAskedFor, ApprovalReason::Unread);
        return Verdict::Ask(why);
    }
    if action.reach() == Reach::Own {
        let exact = asked.iter().find(|(_, wish)| wish.kind == action.kind);
        return Verdict::Wished(exact.or(asked.first()).map_or(0, |(number, _)| *number));
    }
    let (reached, max) = evidence.recipients;
    if action.targets.iter().any(|target| matches!(target, Target::Recipient { .. })) && reached > max {
        return Verdict::Ask(ApprovalReason::TooManyRecipients(max));
    }
    if action.targets.is_empty() {
        // Whoever forgets to say what a skill acts on must not be trusted by that.
        return Verdict::Ask(ApprovalReason::NotNamed);
    }
    let misses = |wish: &Wish| action.targets.iter().find(|target| !evidence.names(wish, target));
    match asked.iter().find(|(_, wish)| misses(wish).is_none()) {
        Some((number, _)) => Verdict::Wished(*number),
        None => Verdict::Ask(match asked.first().and_then(|(_, wish)| Some((wish, misses(wish)?))) {
            Some((_, Target::Recipient { .. })) => ApprovalReason::UnknownRecipient,
            Some((wish, Target::Thing(thing))) => evidence.why_unclear(wish, thing),
            _ => ApprovalReason::NotNamed,
        }),
    }
}

impl<'a> Evidence<'a> {
    /// The wishes that ask for such an effect and aren't used up, with their numbers.
    fn asking_for(self, action: &'a Action) -> impl Iterator<Item = (usize, &'a Wish)> {
        self.wishes.all.iter().enumerate().filter(move |(number, wish)| {
            let used = self.used.get(*number).copied().unwrap_or_default() as usize;
            // "Tell Ann and Bob" may be two emails.
            let allowed = wish.count.map(|count| match count {
                0 => 0,
                count => (count as usize).max(wish.targets.len()),
            });
            action.is_asked_for_by(wish.kind) && allowed.is_none_or(|max| used + action.things() <= max)
        })
    }

    /// Whether the person typed what a target tells others.
    fn is_typed(self, target: &Target) -> bool {
        match target {
            Target::Url(url) => self.words.hold_url(url),
            Target::Query(query) => self.words.hold_in_order(query),
            Target::Typed(typed) => self.words.hold_exactly(typed),
            Target::Recipient { address, .. } => self.words.hold_address(address),
            _ => false,
        }
    }

    fn names(self, wish: &Wish, target: &Target) -> bool {
        let named = |is: &dyn Fn(&str) -> bool| wish.targets.iter().any(|called| is(called));
        if self.is_as_asked(wish, target) {
            return true;
        }
        match target {
            Target::Recipient { address, names, answers, .. } => {
                // An address that they typed for another reason is no recipient.
                (self.words.hold_address(address)
                    && named(&|called| OwnWords::new([called]).hold_address(address)))
                    || names.iter().any(|name| named(&|called| own_words::hold_name(called, name)))
                    || answers.as_ref().is_some_and(|mail| self.points_at(wish, mail))
            }
            Target::Thing(thing) => self.points_at(wish, thing) || named(&|it| self.means(wish, it, thing)),
            Target::Text(text) => own_words::say_the_same(text, &wish.text, self.name),
            Target::Typed(_) | Target::Url(_) | Target::Query(_) => self.is_typed(target),
            Target::Time(when, pattern) => {
                // "Every day" stands in "every day at 8", too, so the clean room's pattern counts where it gives one.
                let has_pattern = named(&|called| called.split_whitespace().count() == 5);
                named(&|called| same_pattern(called, pattern)) || (!has_pattern && self.words.hold(when))
            }
            Target::Silence => wish.only_news,
            Target::Named(name) => {
                // "Undo that" is whatever was done last.
                let is_any = wish.kind == ActionKind::Undo && wish.targets.iter().all(|to| to == "that");
                is_any || named(&|called| own_words::names(called, name))
            }
            Target::Earlier(done) => named(&|called| own_words::names(called, done)),
            Target::Tells | Target::Always(_) => false,
        }
    }

    /// Whether a wish changes what was just asked about and still means this target: the "same" as in the question, or
    /// the "other Bob" of two. An address that the person neither typed nor has in the contacts stays unknown.
    fn is_as_asked(self, wish: &Wish, target: &Target) -> bool {
        let (asked, now) = (&self.shown.asked, OwnWords::new(self.words.messages().next()));
        let was_shown = asked.iter().any(|shown| shown.is_same(target));
        let is_kept = was_shown && wish.targets.iter().any(|called| called == "same");
        // "But not to Bob" and "without the plan" aren't the same, however they were read.
        let is_mentioned =
            |word: &str| now.mention(word) && !OwnWords::new([wish.text.as_str()]).mention(word);
        let (address, names, shared_names) = match target {
            Target::Recipient { address, names, shared_names, .. } => (address, names, shared_names),
            Target::Thing(thing) => {
                let mut words = thing.title.split(|char: char| !char.is_alphanumeric());
                return is_kept && !words.any(|word| word.chars().count() >= 4 && is_mentioned(word));
            }
            _ => return false,
        };
        let means_other = |name: &str| {
            let other = format!("other {name}");
            wish.targets.iter().any(|called| own_words::hold_name(called, &other))
        };
        if is_kept {
            let is_known = !names.is_empty() || self.words.hold_address(address);
            // Each part of a name, however many contacts share it.
            let mut parts = names.iter().flat_map(|name| name.split_whitespace()).chain([address.as_str()]);
            let is_other = |part: &str| means_other(part) && !names.iter().any(|name| name == part);
            return is_known && !parts.any(|part| is_mentioned(part) && !is_other(part));
        }
        let shares = |shown: &Target, name: &String| match shown {
            Target::Recipient { shared_names, .. } => shared_names.contains(name),
            _ => false,
        };
        let is_other = |name: &String| means_other(name) && asked.iter().any(|shown| shares(shown, name));
        !was_shown && shared_names.iter().any(is_other)
    }

    /// Whether a wish points at a thing that was shown: by its label, or without any word where nothing else was shown.
    fn points_at(self, wish: &Wish, thing: &Thing) -> bool {
        let is_it = |shown: &Thing| shown.noun == thing.noun && shown.id == thing.id;
        let is_labelled = wish.targets.iter().filter_map(|label| self.shown.find(label)).any(is_it);
        let is_only = wish.targets.is_empty() && self.shown.only(thing.noun).is_some_and(is_it);
        // "All tasks" are no events.
        let is_kind = wish.kind.as_str().split('.').next() == Some(thing.noun);
        // What a search has found since isn't among those that each get an answer.
        let reaches =
            matches!(wish.kind, ActionKind::MailSend | ActionKind::MailReply | ActionKind::MailForward);
        let was_seen =
            || if reaches { self.shown.labelled().any(is_it) } else { self.shown.things().any(is_it) };
        let is_every = is_kind && wish.targets.is_empty() && wish.count.is_none() && was_seen();
        is_labelled || is_only || is_every
    }

    /// Whether words mean a thing by its title, and nothing else that was shown.
    fn means(self, wish: &Wish, called: &str, thing: &Thing) -> bool {
        [false, true].iter().any(|is_loose| self.fitting(wish, called, thing, *is_loose) == Some(Vec::new()))
    }

    /// The wish for a reminder that names something that was shown, and nothing else that was, if it isn't used up.
    pub fn reminder_of(self, thing: &Thing) -> Option<usize> {
        let is_it = |shown: &Thing| (shown.noun, &shown.id) == (thing.noun, &thing.id);
        let means = |wish: &Wish| {
            // Of a task that is made, no email is a rival; here it is.
            let meant = Wish { kind: ActionKind::WatchChange, ..wish.clone() };
            let mut called = wish.targets.iter().chain([&wish.text]);
            called.any(|it| self.shown.find(it).is_some_and(is_it) || self.means(&meant, it, thing))
        };
        let made = Action { kind: ActionKind::TaskCreate, targets: Vec::new() };
        let mut asked = self.asking_for(&made).filter(|(_, wish)| wish.kind == made.kind && means(wish));
        asked.next().filter(|_| self.shown.things().any(is_it)).map(|(number, _)| number)
    }

    /// Why no words of a wish mean a thing.
    fn why_unclear(self, wish: &Wish, thing: &Thing) -> ApprovalReason {
        let mut called = wish.targets.iter().flat_map(|called| [(called, false), (called, true)]);
        let others = called.find_map(|(called, is_loose)| self.fitting(wish, called, thing, is_loose));
        let shown = |other: &Thing| (other.title.clone(), self.shown.senders.get(&other.id).cloned());
        let all = |others: Vec<&Thing>| ApprovalReason::Ambiguous(others.into_iter().map(shown).collect());
        others.map_or(ApprovalReason::NotNamed, all)
    }

    /// What else that was shown fits words that name this thing, each once. Loosely, what they say of its kind is left
    /// out, and of what was shown a letter may be wrong; what somebody else sent may be chosen for its title alone.
    fn fitting(self, wish: &Wish, called: &str, thing: &Thing, is_loose: bool) -> Option<Vec<&'a Thing>> {
        let is_it = |other: &Thing| (other.noun, &other.id) == (thing.noun, &thing.id);
        let shown = self.shown.things().find(|other| is_it(other));
        let bare = own_words::without(called, kind_words(thing.noun));
        let bare = if thing.noun == "mail" { own_words::without(&bare, OF_MAIL) } else { bare };
        let said = if thing.noun == "watch" { bare.as_str() } else { called };
        let words = if is_loose { bare.as_str() } else { said };
        let names: fn(&str, &str) -> bool =
            if is_loose && shown.is_some() { own_words::nearly_name } else { own_words::names };
        // An email called "Mail" isn't "the lunch mail".
        let is_other = names(&bare, &bare) && !names(&bare, &thing.title);
        let is_unseen = is_loose && shown.is_none() && matches!(thing.noun, "mail" | "file");
        // "Mail 2" is a label, and no title that has a 2.
        let is_label = self.shown.find(called).is_some() || (is_loose && !bare.contains(char::is_alphabetic));
        if !names(words, &thing.title) || is_other || is_unseen || is_label {
            return None;
        }
        let noun = wish.kind.as_str().split('.').next();
        let is_for_own = matches!(noun, Some("task" | "event" | "schedule" | "contact" | "memory"));
        let is_deletion = matches!(wish.kind, ActionKind::TaskDelete | ActionKind::EventDelete);
        let says = |noun: &str| own_words::has_any(called, kind_words(noun));
        let is_rival = |other: &Thing| match other.noun {
            _ if is_it(other) => false,
            // Of what is watched, only another watch.
            noun if thing.noun == "watch" => noun == "watch",
            // No such wish acts on an email, whatever its sender calls it; but people say "delete" of emails, too.
            "mail" | "file" if is_for_own && !is_deletion => false,
            // "The lunch mail" is no event.
            noun => !is_loose || noun == thing.noun || !says(thing.noun) || says(noun),
        };
        let fits = |other: &Thing| {
            // The words may name an email's sender, too.
            let from = self.shown.senders.get(&other.id).map_or("", String::as_str);
            let by_sender = format!("{} {from}", other.title);
            [said, words].iter().any(|words| names(words, &other.title) || names(words, &by_sender))
        };
        let others = self.shown.rivals(thing.noun).filter(|&other| is_rival(other) && fits(other));
        // What others may have sent any number of comes last.
        let once =
            others.map(|other| ((matches!(other.noun, "mail" | "file"), other.noun, &other.id), other));
        Some(once.collect::<BTreeMap<_, _>>().into_values().collect())
    }
}

fn same_pattern(one: &str, other: &str) -> bool {
    let fields = |text: &str| text.split_whitespace().map(str::to_lowercase).collect::<Vec<_>>();
    fields(one).len() == 5 && fields(one) == fields(other)
}
