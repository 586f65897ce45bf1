//! What becomes of the things that watches find.

mod judge;
pub mod matching;
mod telling;

pub(crate) use telling::why;

use adjutant_config::QuietHours;
use adjutant_l10n as l10n;
use adjutant_skills::builtin::watches::found_thing;
use adjutant_store::watches::{ItemRow, WatchRow};
use adjutant_types::clock::{local_to_utc, utc};
use adjutant_types::invisible_chars::line;
use adjutant_types::text::{one_line, shortened};
use adjutant_types::{ItemNoun, PromptText, Taint, TurnId, WatchItem};
use chrono_tz::Tz;

/// The longest title and the longest text that are shown, in characters.
const MAX_TITLE: usize = 200;
const MAX_TEXT: usize = 4_000;
/// How many bytes of what was found a turn reads.
const MAX_BYTES: usize = 12_000;

/// Until when a watch's person wants quiet, if they do now.
pub(crate) fn quiet_until(watch: &WatchRow, ms: i64, zone: Tz) -> Option<i64> {
    let hours = QuietHours::read(watch.bounds.quiet.as_deref()?)?;
    let end = hours.end(utc(ms).with_timezone(&zone).naive_local())?;
    Some(local_to_utc(end, zone).timestamp_millis())
}

fn title(thing: &WatchItem) -> String {
    line(&one_line(&thing.title, MAX_TITLE), MAX_TITLE)
}

/// Who wrote a thing, as people are told.
fn source(thing: &WatchItem) -> Taint {
    Taint::by(&match thing.noun {
        ItemNoun::Mail => l10n::sources::email(title(thing), &thing.from),
        ItemNoun::Event => l10n::sources::event(title(thing)),
        _ => l10n::watches::source(title(thing)),
    })
}

/// What a turn begins with beside its words, in blocks, and its sources. It is never clean: nobody knows who wrote what is
/// too old or too much to be shown.
pub(crate) fn found(turn: &TurnId, items: &[ItemRow], zone: Tz) -> (PromptText, Taint) {
    let (mut text, mut taint) = (PromptText::from("What came in:"), Taint::default());
    let (mut bytes, mut count) = (0, 0);
    for item in items {
        let (Some(data), Some(thing)) = (found_thing(item, zone), &item.thing) else { continue };
        let (source, data) = (source(thing), shortened(&data.to_string(), MAX_TEXT));
        bytes += data.len();
        if count > 0 && bytes > MAX_BYTES {
            break;
        }
        count += 1;
        text = text.with("\n").with(PromptText::outside(turn, &source, &data));
        taint.add(&source);
    }
    if count < items.len() {
        text.push(PromptText::system(format_args!("\n{} more", items.len() - count)));
    }
    (text, if taint.is_clean() { Taint::by("") } else { taint })
}
