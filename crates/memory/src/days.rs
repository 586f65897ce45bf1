//! The names of months, weekdays and days as people write them, in a few languages.

use adjutant_types::clock::{MONTHS, WEEKDAYS};

/// Names without accents, each with the English one, in order.
const NAMES: [(&str, &str); 76] = [
    ("abril", "april"),
    ("agosto", "august"),
    ("aout", "august"),
    ("aprile", "april"),
    ("avril", "april"),
    ("decembre", "december"),
    ("dezember", "december"),
    ("dicembre", "december"),
    ("diciembre", "december"),
    ("dienstag", "tuesday"),
    ("dimanche", "sunday"),
    ("domenica", "sunday"),
    ("domingo", "sunday"),
    ("donnerstag", "thursday"),
    ("enero", "january"),
    ("febbraio", "february"),
    ("febrero", "february"),
    ("februar", "february"),
    ("fevrier", "february"),
    ("freitag", "friday"),
    ("gennaio", "january"),
    ("giovedi", "thursday"),
    ("giugno", "june"),
    ("januar", "january"),
    ("janvier", "january"),
    ("jeudi", "thursday"),
    ("jueves", "thursday"),
    ("juillet", "july"),
    ("juin", "june"),
    ("juli", "july"),
    ("julio", "july"),
    ("juni", "june"),
    ("junio", "june"),
    ("luglio", "july"),
    ("lundi", "monday"),
    ("lunedi", "monday"),
    ("lunes", "monday"),
    ("maggio", "may"),
    ("mai", "may"),
    ("mardi", "tuesday"),
    ("mars", "march"),
    ("martedi", "tuesday"),
    ("martes", "tuesday"),
    ("marz", "march"),
    ("marzo", "march"),
    ("mayo", "may"),
    ("mercoledi", "wednesday"),
    ("mercredi", "wednesday"),
    ("miercoles", "wednesday"),
    ("mittwoch", "wednesday"),
    ("montag", "monday"),
    ("novembre", "november"),
    ("noviembre", "november"),
    ("octobre", "october"),
    ("octubre", "october"),
    ("oktober", "october"),
    ("ottobre", "october"),
    ("sabado", "saturday"),
    ("sabato", "saturday"),
    ("samedi", "saturday"),
    ("samstag", "saturday"),
    ("septembre", "september"),
    ("septiembre", "september"),
    ("settembre", "september"),
    ("sonnabend", "saturday"),
    ("sonntag", "sunday"),
    ("vendredi", "friday"),
    ("venerdi", "friday"),
    ("viernes", "friday"),
    ("土曜", "saturday"),
    ("日曜", "sunday"),
    ("月曜", "monday"),
    ("木曜", "thursday"),
    ("水曜", "wednesday"),
    ("火曜", "tuesday"),
    ("金曜", "friday"),
];

/// How many days ago a day was.
const AGO: [(&str, u64); 14] = [
    ("today", 0),
    ("tonight", 0),
    ("heute", 0),
    ("hoy", 0),
    ("oggi", 0),
    ("今日", 0),
    ("yesterday", 1),
    ("gestern", 1),
    ("ayer", 1),
    ("ieri", 1),
    ("昨日", 1),
    ("vorgestern", 2),
    ("anteayer", 2),
    ("一昨", 2),
];

/// The English name of a month or a weekday.
pub(super) fn english(plain: &str) -> Option<&str> {
    let is_english = MONTHS.contains(&plain) || WEEKDAYS.contains(&plain);
    let other = || NAMES.binary_search_by_key(&plain, |(name, _)| name).ok().map(|at| NAMES[at].1);
    if is_english { Some(plain) } else { other() }
}

/// Whether a word is the name of a month.
pub(super) fn is_month(plain: &str) -> bool {
    english(plain).is_some_and(|name| MONTHS.contains(&name))
}

/// How many days ago the day was that a word names.
pub(super) fn ago(plain: &str) -> Option<u64> {
    AGO.iter().find(|(name, _)| *name == plain).map(|(_, days)| *days)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_order_and_known_in_english() {
        assert!(NAMES.is_sorted());
        assert!(NAMES.iter().all(|(_, name)| MONTHS.contains(name) || WEEKDAYS.contains(name)));
    }
}
