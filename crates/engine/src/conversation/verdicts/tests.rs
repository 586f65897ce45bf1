use proptest::prelude::*;

use super::*;

/// The indexes that a text approves, and those that it rejects, of things shown as 1, 2, ….
fn of(count: usize, text: &str) -> Option<(Vec<usize>, Vec<usize>)> {
    let open: Vec<usize> = (0..count).collect();
    let index_of = |number: usize| number.checked_sub(1).filter(|index| *index < count);
    let Verdicts::Of(all) = read(text, count, &open, index_of)? else { return None };
    let of = |yes| all.iter().filter(|(_, is)| **is == yes).map(|(index, _)| index + 1).collect();
    Some((of(true), of(false)))
}

/// What people say to three questions, and which of them it approves and rejects.
const WAYS: &[(&str, &str, &str)] = &[
    ("yes", "123", ""),
    ("ok do it", "123", ""),
    ("Yes please!", "123", ""),
    ("approve", "123", ""),
    ("sure, all of them please", "123", ""),
    ("go ahead", "123", ""),
    ("send", "123", ""),
    ("ok send", "123", ""),
    ("yes to all but the second", "13", "2"),
    ("all except 3", "12", "3"),
    ("yes to 1 and 3", "13", ""),
    ("1, 3", "13", ""),
    ("the second", "2", ""),
    ("the last one please", "3", ""),
    ("go ahead and send it", "123", ""),
    ("do all of them", "123", ""),
    ("do 2", "2", ""),
    ("don't 1, do 2", "2", "1"),
    ("sounds good", "123", ""),
    ("go for it!", "123", ""),
    ("of course", "123", ""),
    ("that’s fine, thanks", "123", ""),
    ("perfect, do it", "123", ""),
    ("passt", "123", ""),
    ("That works!", "123", ""),
    ("works for me, thanks", "123", ""),
    ("sure thing", "123", ""),
    ("yes please do", "123", ""),
    ("yep that's right", "123", ""),
    ("yup thats it", "123", ""),
    ("yes, send", "123", ""),
    ("1, that's it", "1", ""),
    ("no, that's it", "", "123"),
    ("no wait", "", "123"),
    ("Wait, no!", "", "123"),
    ("oh no. hold on please", "", "123"),
    ("halt, nein", "", "123"),
    ("no to all, wait", "", "123"),
    ("yess please", "123", ""),
    ("yeees", "123", ""),
    ("okkk, do it plese", "123", ""),
    ("aproved", "123", ""),
    ("perfekt, danke", "123", ""),
    ("ja, passt so", "123", ""),
    ("klar doch, mach das", "123", ""),
    ("fine by me", "123", ""),
    ("absolutely!", "123", ""),
    ("jo, schick ab", "123", ""),
    ("2 is fine", "2", ""),
    ("1 and 3 are fine", "13", ""),
    ("nooo", "", "123"),
    ("eh? no, none of that", "", "123"),
    ("What?! No!", "", "123"),
    ("hä? nein, nichts davon", "", "123"),
    ("nah", "", "123"),
    ("nee, lieber nicht", "", "123"),
    ("cancell", "", "123"),
    ("yes pls", "123", ""),
    ("yes send it pls", "123", ""),
    ("looks good, run it", "123", ""),
    ("yes thats right", "123", ""),
    ("go", "123", ""),
    ("great, send it", "123", ""),
    ("yes, exactly", "123", ""),
    ("y", "123", ""),
    ("fine", "123", ""),
    ("yep do that thx", "123", ""),
    ("yeah sure, send it over", "123", ""),
    ("lgtm", "123", ""),
    ("ok then", "123", ""),
    ("ja schick ab", "123", ""),
    ("No!!", "", "123"),
    ("dont send it", "", "123"),
    ("genau, mach das", "123", ""),
    ("yes to all except 3, I paid that one already", "12", "3"),
    ("all but the second; because it's wrong", "13", "2"),
    ("alle außer 2 – weil ich die Rechnung schon bezahlt habe!", "13", "2"),
    ("yes to the 1st, no to the 3rd", "1", "3"),
    ("1 yes 2 no", "1", "2"),
    ("approve 1, reject the rest", "1", "23"),
    ("only the first one", "1", "23"),
    ("yes, but only 2 please", "2", "13"),
    ("nur 1 und 3", "13", "2"),
    ("no to all", "", "123"),
    ("no to all but 2", "", "13"),
    ("none of them", "", "123"),
    ("no don't", "", "123"),
    ("Ja bitte", "123", ""),
    ("ja zu allen", "123", ""),
    ("alle außer 2", "13", "2"),
    ("ja, alle bis auf die zweite", "13", "2"),
    ("nein danke", "", "123"),
    ("nein zu 2, ja zu 1", "1", "2"),
    ("lieber nicht", "", "123"),
    ("keine davon", "", "123"),
    ("はい", "123", ""),
    ("はい、お願いします。", "123", ""),
    ("全部お願いします", "123", ""),
    ("２以外は全部はい", "13", "2"),
    ("1番と3番はお願いします", "13", ""),
    ("2はいいえ", "", "2"),
    ("全部やめてください", "", "123"),
    ("いいえ", "", "123"),
];

#[test]
fn people_say_it_in_many_ways() {
    for (text, approved, rejected) in WAYS {
        let digits = |indexes: Vec<usize>| indexes.iter().map(usize::to_string).collect::<String>();
        let verdicts = of(3, text).map(|(yes, no)| (digits(yes), digits(no)));
        assert_eq!(verdicts, Some(((*approved).to_owned(), (*rejected).to_owned())), "{text}");
    }
    assert_eq!(of(2, "both"), Some((vec![1, 2], vec![])));
    assert_eq!(of(2, "do both"), Some((vec![1, 2], vec![])));
    assert_eq!(of(2, "both are fine"), Some((vec![1, 2], vec![])));
    assert_eq!(of(1, "nope, not that one"), Some((vec![], vec![1])));
    assert_eq!(of(2, "beide"), Some((vec![1, 2], vec![])));
    assert_eq!(of(2, "両方お願いします"), Some((vec![1, 2], vec![])));
    assert_eq!((of(3, "both"), of(3, "no to both")), (None, None));
    assert_eq!((of(1, "yes to both"), of(1, "no to both")), (None, None));
}

#[test]
fn what_says_more_or_less_is_no_answer() {
    for text in [
        "",
        "please",
        "thanks",
        "the",
        "yes but",
        "yes but change the date",
        "yes and no",
        "yes, no",
        "yes?",
        "ok stop",
        "don't stop",
        "yes to",
        "yes, only",
        "no, only 2",
        "all but only 2",
        "yes, but please only 1",
        "only 1, no to 2",
        "no and",
        "all except",
        "yes to all except 5, I paid that one",
        "yes to all except 3, I paid 2 already",
        "yes to all except 3, I paid that one, didn't I?",
        "yes to all except 3, I paid that one but not the second",
        "yes to all except 3, I want them on Friday",
        "yes to all except 3, because the first is wrong, too",
        "yes to all except 3, paid already",
        "yes to all except 3, I paid two",
        "yes to all except 3, I paid the other one as well",
        "all but 3, I paid that one and this",
        "alle außer 3, ich habe auch die bezahlt",
        "do",
        "ok, do",
        "yes to all, I paid already",
        "yes to 1, because I like it",
        "all, except 3, I'd do 2 later",
        "to do",
        "do nothing",
        "passt nicht",
        "no, that's fine",
        "don't cancel it",
        "yes 7",
        "all but 9",
        "YES add the milk",
        "not now",
        "yesno",
        "1and2",
        "ja aber",
        "ja nicht",
        "schick sie nicht",
        "yes\u{200b}",
        "いいです",
        "yes to 1, no to 1",
        "rest",
        "1 yes 1 no",
        "all 2",
        "2 but 1",
        "nope, not that one",
        "not that one, 2",
        "1 yes, not that one",
        "yes, not that one",
        "that works if Bob agrees",
        "that works for Bob",
        "sure thing, but on Friday",
        "all but the secnd",
        "all expect 2",
        "bth",
        "noow",
    ] {
        assert_eq!(of(3, text), None, "{text}");
    }
}

#[test]
fn to_wait_is_a_no_only_beside_a_plain_one() {
    for text in ["wait", "hold on", "yes, wait", "ok, moment", "don't wait", "all but 2, wait"] {
        assert_eq!(of(3, text), None, "{text}");
    }
    for text in ["no wait, 2", "no wait, yes", "no wait, make it 3pm", "no, wait for Bob"] {
        assert_eq!(of(3, text), None, "{text}");
    }
}

#[test]
fn a_long_text_is_read_at_once() {
    assert_eq!(verdict(&"はい".repeat(40)), Some(true));
    assert_eq!(verdict(&"don't do it ".repeat(50)), None);
}

#[test]
fn words_of_the_question_may_follow_a_yes_and_a_question_a_no() {
    let mail = "Send this email to Bob Miller <bob.miller@acme.test>: “Re: 2 lamps, not one”:\n```\nYes if Ann pays\n```";
    for text in
        ["yep, miller", "yes ask them", "yes, tell him!", "Yes please send it to Bob", "ja, schreib ihm"]
    {
        assert!(agrees_on(text, mail) && verdict(text).is_none(), "{text}");
    }
    for text in [
        "miller",
        "ok, miller",
        "yes to",
        "yes, ann",
        "yes, if ann pays",
        "yes, not one",
        "yes, 2 lamps",
        "yes, lamps and bob",
        "yes, only bob",
        "yes, miller?",
        "no, miller",
        "yes but miller",
        "yes, bob later",
        "yes, the other bob",
    ] {
        assert!(!agrees_on(text, mail), "{text}");
    }
    assert!(!agrees_on("yes ask him", "Delete the event “Lunch with Bob”"), "that is no email");
    for more in [
        "Send this email to bob@x.test, ann@x.test: “Hi”",
        "Send this email to bob@x.test: “Hi”\n- cc: ann@x.test",
    ] {
        assert!(!agrees_on("yes, bob", more), "perhaps to him alone: {more}");
    }
    let change = "Change the event “Demo”, Friday 9:00 → Monday 9:00";
    for text in ["yes move it", "Yes, please make it", "ja, verschieb es"] {
        assert!(agrees_on(text, change), "{text}");
    }
    for text in ["yes, friday", "yes move it to friday", "yes, the event"] {
        assert!(!agrees_on(text, change), "{text}");
    }
    let subject = "Send this email to bob@x.test: “Demo: Friday → Monday”";
    assert!(!agrees_on("yes, move it", subject), "an email about that isn't that");
    for text in [
        "no!! what is that",
        "eh? no! what is that?",
        "no!! what is that? i just want the numbers",
        "No. Why?",
        "nein, was ist das",
        "nope who is mallory",
        "no to all. who is this mallory",
        "nein danke, wer ist das?",
        "no, did frank write?",
        "no. is that for friday?",
        "no, when is the planning?",
        "nein, wann ist die planung",
        "no to all whens the planning",
        "no to both whens the planning",
    ] {
        let is_to_all = declined(text).map(|no| rejects_all(&no) || rejects_both(&no));
        assert_eq!(is_to_all, Some(text.starts_with("no to ")), "{text}");
    }
    for text in [
        "no",
        "no, the other one",
        "what is that",
        "no, what about friday",
        "no, which one do i want?",
        "no, how would you",
        "no to 2. who is that",
        "not what i said",
        "never mind who comes",
        "no problem",
        "no, is fine",
        "no, is fine?",
        "no, is for the other Bob",
        "no, any other day?",
        "no, has to be Friday",
        "no, can you make it Friday?",
    ] {
        assert_eq!(declined(text), None, "{text}");
    }
}

#[test]
fn almost_anything_may_follow_a_no_to_all() {
    for text in [
        "no to all. whens the planning, and did frank write?",
        "No to all, when's the planning?",
        "no to all. when is the planning?",
        "no to all; did frank write",
        "no to all, thanks. and the planning?",
        "no to all – can you look it up?",
        "no to all, do I have lunch today?",
        "no to all! tell Bob that I'm late",
        "nein zu allen, wann ist die Planung?",
        "no to both. when's the planning?",
        "nein zu beiden, wann ist die Planung?",
        "nein zu allen. hat Frank geschrieben",
    ] {
        let is_both = text.contains("both") || text.contains("beiden");
        let no = declined(text).map(|no| (rejects_all(&no), rejects_both(&no)));
        assert_eq!(no, Some((!is_both, is_both)), "{text}");
    }
    for text in [
        "no to all",
        "no to all!",
        "no to all, thanks",
        "no to all?",
        "no to all but 2",
        "no to all, but 2 is ok",
        "no to all, only the first",
        "no to all, the second is ok",
        "no to all, do 2",
        "no to all, do Bob's",
        "no to all, send the one to Bob",
        "no to all, actually yes to 2",
        "no to all, unless Bob agrees",
        "nein zu allen, aber 2 ist ok",
        "no to all the newsletters, keep Bob's",
        "no to 2, whatever that is",
        "no to both",
        "no to both, but 2 is ok",
        "yes to both. when's the planning?",
        "nothing, it's as I want it",
        "no, all of them, I said",
        "yes to all. when is the planning?",
    ] {
        let no = declined(text).filter(|no| rejects_all(no) || rejects_both(no));
        assert_eq!(no, None, "{text}");
    }
}

#[test]
fn what_follows_a_no_to_all_is_read_as_it_was_written() {
    for (text, rest) in [
        ("no to all. Whens the planning?", "Whens the planning?"),
        ("No to all – can Frank come?", "can Frank come?"),
        ("eh? no to all!! Who is Mallory", "Who is Mallory"),
        ("no to all whens the planning", "whens the planning"),
        ("Nein zu allen, wann ist die Planung? Und wo? ", "wann ist die Planung? Und wo?"),
    ] {
        let no = declined(text).unwrap_or_default();
        assert_eq!(after_no(text, &no), Some(rest), "{text}");
    }
    assert_eq!(after_no("No to all!", "no to all"), None);
}

#[test]
fn a_text_may_begin_with_a_no() {
    for text in
        ["no! just undo", "No, just undo", "no! 10.45", "nein, 9.00", "nooo, undo that", "eh? no, the other"]
    {
        assert!(begins_with_no(text) && refuses(text), "{text}");
    }
    assert!(refuses("cancel") && refuses("none of them"), "these say it in other words");
    for text in ["yes", "1", "ok", "not now", "nothing new?", "now undo it", "", "yes, no"] {
        assert!(!begins_with_no(text) && !refuses(text), "{text}");
    }
    assert!(begins_with_no("no to 1, yes to 2") && !refuses("no to 1, yes to 2"));
}

#[test]
fn a_yes_or_a_no_with_thanks_that_names_no_act_is_for_an_offer() {
    for text in ["no thx", "No, thanks!", "nah thank you", "nein danke", "いいえ、ありがとう"] {
        assert_eq!(to_offer(text), Some(false), "{text}");
    }
    for text in ["yes", "ja", "yes please", "yes thanks", "ja bitte", "はい", "ok"] {
        assert_eq!(to_offer(text), Some(true), "{text}");
    }
    for text in ["no", "nah", "don't send it, thanks", "no to all, thanks", "no thanks to Al"] {
        assert_eq!(to_offer(text), None, "{text}");
    }
    for text in ["send it", "yes, send it", "do it", "ja, mach das", "yes to 13", "all of them", "lunch"] {
        assert_eq!(to_offer(text), None, "{text}");
    }
}

#[test]
fn a_change_of_what_is_left_out_may_follow_and_nothing_else() {
    for (text, verdict) in [
        ("all except 2, tell him Wednesday instead", "all except 2"),
        ("Yes to all but the second – make it Friday!", "Yes to all but the second"),
        ("all except 2 but change it to Monday", "all except 2"),
        ("alle außer 2, schreib ihm Mittwoch", "alle außer 2"),
        ("alle außer 2, schreib ihm stattdessen Mittwoch", "alle außer 2"),
    ] {
        assert_eq!(before_change(text), Some(verdict), "{text}");
        assert_eq!((of(3, verdict), of(3, text)), (Some((vec![1, 3], vec![2])), None), "{text}");
    }
    for text in [
        "all except 2",
        "all except 2, 3",
        "all except 2, 3, tell him Wednesday",
        "all except 2 and 3, tell him Wednesday",
        "no to all but 2, tell him Wednesday",
        "yes, tell him Wednesday instead",
        "2, tell him Wednesday instead",
        "all except 2, tell him Wednesday, if it rains",
        "all except 2, tell him Wednesday if it rains",
        "all except 2, tell him Wednesday and change 3",
        "all except 2, make it 3",
        "all except 2, make it as short as the others",
        "all except 2, tell him Wednesday, the others too",
        "all except 2, make it 14:30",
        "all except 2, tell them Wednesday",
        "all except 2, tell him no",
        "all except 2, make it Wednesday?",
        "all except 2, add a task",
        "all except 2, only after lunch",
    ] {
        assert_eq!(before_change(text), None, "{text}");
    }
}

#[test]
fn what_is_left_out_may_be_named() {
    let mail = "Send this email to Bob <bob@x.test>: “Hi”\n```\nAsk Eva later\n```";
    let open = [(1, mail, ""), (3, "Add a task: “call Ann”", "")];
    let of = |text: &str| with_number(text, &open);
    assert_eq!(of("yes to all except Bob").as_deref(), Some("yes to all except 1"));
    assert_eq!(of("Except ann!").as_deref(), Some("Except 3"));
    assert_eq!(of("alle außer Bob").as_deref(), Some("alle außer 1"));
    for text in [
        "all except Eve",
        "all except ask",
        "all except eva",
        "all, Bob",
        "no, bob",
        "except bob later",
        "yes but tell Bob",
        "Bob",
    ] {
        assert_eq!(of(text), None, "{text}");
    }
    let both = [open[0], (2, "Tell Bob <bob@y.test>", "")];
    assert_eq!(with_number("all except bob", &both), None, "that may be either");
    let shown = [open[1], (2, "Tell r@y.test", "Tell r@y.test\n\nGoes to: Ann <r@y.test>")];
    assert_eq!(with_number("all except ann", &shown), None, "who gets it is shown beside it");
    let titles = [open[0], (2, "Add a task: “Later, now, yet, it, urgent”", "")];
    for text in ["yes but later", "yes, but not now", "ok but not yet", "all but not it", "yes but urgent"] {
        assert_eq!(with_number(text, &titles), None, "{text}");
    }
    assert_eq!(with_number("all but urgent", &titles).as_deref(), Some("all but 2"));
}

fn words() -> Vec<&'static str> {
    PHRASES.iter().flat_map(|(_, phrases)| phrases.iter().copied()).collect()
}

proptest! {
    #[test]
    fn no_text_with_another_word_is_an_answer(
        before in proptest::collection::vec(proptest::sample::select(words()), 0..5),
        other in "[a-zäöüß]{3,12}|[ぁ-ん]{4,8}|[?？%*/_\u{200b}\u{202e}]",
        after in proptest::collection::vec(proptest::sample::select(words()), 0..5),
    ) {
        prop_assume!(tokens(&other).is_none());
        // Letters that join a Japanese word may make another one of the list.
        let text = format!("{} {other} {}", before.join(" "), after.join(" "));
        prop_assert_eq!(of(3, &text), None, "{}", text);
    }

    #[test]
    fn what_is_left_out_or_refused_is_never_approved(
        words in proptest::collection::vec(proptest::sample::select(words()), 0..6), left_out in 1..4usize
    ) {
        let text = words.join(" ");
        if let Some((yes, no)) = of(3, &text) {
            prop_assert!(yes.iter().all(|index| !no.contains(index)));
            let is_no = |word: &&str| PHRASES.iter().any(|(token, phrases)| {
                let is_no = matches!(token, Token::Lead(false) | Token::Act(false) | Token::Nothing | Token::NotThat);
                is_no && phrases.contains(word)
            });
            prop_assert!(yes.is_empty() || !words.iter().all(is_no));
            prop_assert!(verdict(&text).is_none_or(|is_yes| is_yes != words.iter().any(is_no)));
        }
        if let Some((yes, _)) = of(3, &format!("{text} all except {left_out}")) {
            // "Approve the rest, reject all except 1" approves 1.
            let is_no = |word: &&str| PHRASES.iter().any(|(token, phrases)| {
                matches!(token, Token::Lead(false) | Token::Act(false) | Token::Nothing) && phrases.contains(word)
            });
            prop_assert!(!yes.contains(&left_out) || words.iter().any(is_no));
        }
    }

    #[test]
    fn a_reason_changes_nothing_and_hides_no_wish(
        words in proptest::collection::vec(proptest::sample::select(words()), 0..5),
        reason in proptest::sample::select(REASONS.to_vec()),
        why in "[a-z]{3,9}( [a-z]{3,9}){0,3}",
        wish in proptest::sample::select(words()),
        other in "[0-9?？%*/_:\u{200b}\u{202e}]",
    ) {
        let said = format!("{} all except 2", words.join(" "));
        let with = |why: &str| of(3, &format!("{said}, {reason} {why}"));
        if is_reason(&format!("{reason} {why}")) {
            prop_assert_eq!(with(&why), of(3, &said));
        }
        prop_assert_eq!(with(&format!("{why}{other}")), None);
        let says_more = |token: &Token| !token.is_filler();
        let is_wish = tokens(wish).is_some_and(|all| all.iter().any(says_more));
        let tail = format!("{reason} {why} {wish}");
        prop_assert!(!is_wish || !is_reason(&tail));
    }

    #[test]
    fn no_text_breaks_it(text in "\\PC{0,90}") {
        let _ = of(3, &text);
    }
}
