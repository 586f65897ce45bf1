//! Reads lines from a pipe, skipping those that are too long.

use std::io::{self, BufRead, ErrorKind};

use adjutant_chat::Inbound;
use adjutant_l10n::terminal;
use tokio::sync::mpsc::Sender;

use super::Event;
use crate::json::{Entry, Line};

/// The longest line that is read, in bytes.
const MAX_LINE: usize = 1024 * 1024;

/// Reads to the end, or until nobody listens any more.
pub(super) fn read(
    mut reader: impl BufRead,
    events: &Sender<Event>,
    parse: impl Fn(&[u8]) -> Result<Line, String>,
    inbound: impl Fn(Entry) -> Inbound,
) {
    let mut bytes = Vec::new();
    for line in 1.. {
        let event = match next_line(&mut reader, &mut bytes) {
            Ok(Next::End) => break,
            Ok(Next::Whole) => match parse(&bytes) {
                Ok(Line::Blank) => continue,
                Ok(Line::Entry(entry)) => Event::Line(inbound(entry)),
                Err(message) => Event::Bad { line, message },
            },
            Ok(Next::TooLong) => Event::Bad { line, message: terminal::line_too_long() },
            Err(error) => {
                let message = terminal::unreadable_input(error);
                let _ = events.blocking_send(Event::Bad { line, message });
                break;
            }
        };
        if events.blocking_send(event).is_err() {
            return;
        }
    }
    // Nobody may be listening any more, which is fine at the end.
    let _ = events.blocking_send(Event::Eof);
}

enum Next {
    Whole,
    TooLong,
    End,
}

/// Reads up to and including the next newline, without keeping a line that is too long.
fn next_line(reader: &mut impl BufRead, bytes: &mut Vec<u8>) -> io::Result<Next> {
    bytes.clear();
    let mut too_long = false;
    let mut any = false;
    loop {
        let buffer = match reader.fill_buf() {
            Ok(buffer) => buffer,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(buffer.len(), |at| at + 1);
        any |= taken > 0;
        too_long |= bytes.len() + taken > MAX_LINE;
        if too_long {
            *bytes = Vec::new();
        } else {
            bytes.extend_from_slice(&buffer[..taken]);
        }
        reader.consume(taken);
        if end.is_some() || taken == 0 {
            return Ok(match (any, too_long) {
                (false, _) => Next::End,
                (true, true) => Next::TooLong,
                (true, false) => Next::Whole,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Cursor};
    use std::sync::Arc;

    use super::super::{Source, json, plain};
    use super::*;

    fn source() -> Source {
        Source {
            channel: "console".into(),
            conversation: "here".into(),
            new_id: Arc::new(|| "new".to_owned()),
        }
    }

    fn told(events: &[Event]) -> Vec<String> {
        let one = |event: &Event| match event {
            Event::Line(Inbound::Message(said)) => {
                format!("{} in {}: {}", said.event.0, said.address.place, said.text)
            }
            Event::Line(Inbound::ButtonPress(pressed)) => {
                format!("{} pressed {}", pressed.event.0, pressed.button)
            }
            Event::Bad { line, message } => format!("line {line}: {message}"),
            other => format!("{other:?}"),
        };
        events.iter().map(one).collect()
    }

    async fn all(mut events: tokio::sync::mpsc::Receiver<Event>) -> Vec<Event> {
        let mut list = Vec::new();
        while let Some(event) = events.recv().await {
            list.push(event);
        }
        list
    }

    #[tokio::test]
    async fn json_lines_become_events() {
        let input = b"{\"text\": \"a\", \"id\": \"1\"}\n\n plain\r\n{\"press\": \"b\", \"conversation\": \"c\"}\n{\n\xff\nlast";
        let events = all(json(Cursor::new(input.to_vec()), source()).unwrap()).await;
        insta::assert_snapshot!(told(&events).join("\n"), @r#"
    main:1 in main: a
    main:new in main:  plain
    c:new pressed b
    line 5: The line starts with { but is not valid JSON: EOF while parsing an object (column 0). Write one whole object on one line, such as {"text": "..."}; inside a string a quote is \" and a new line is \n.
    line 6: The line is not valid UTF-8 (byte 1 is wrong). Send the text in UTF-8.
    main:new in main: last
    Eof
    "#);
    }

    #[tokio::test]
    async fn plain_lines_are_never_json() {
        let events = all(plain(Cursor::new("{\"text\": 1}\nhello\n"), source()).unwrap()).await;
        assert_eq!(told(&events), ["here:new in here: {\"text\": 1}", "here:new in here: hello", "Eof"]);
    }

    #[tokio::test]
    async fn a_line_without_end_is_skipped_and_the_next_is_read() {
        let mut input = vec![b'x'; 3 * MAX_LINE];
        input.extend_from_slice(b"\nafter\n");
        let reader = BufReader::with_capacity(1000, Cursor::new(input));
        let events = all(json(reader, source()).unwrap()).await;
        insta::assert_snapshot!(told(&events).join("\n"), @r#"
    line 1: The line is longer than 1 MiB; it was skipped. Send it in several messages.
    main:new in main: after
    Eof
    "#);
    }

    #[test]
    fn a_line_of_just_the_longest_length_is_whole() {
        let mut bytes = Vec::new();
        let mut line = vec![b'x'; MAX_LINE - 1];
        line.push(b'\n');
        let next = next_line(&mut Cursor::new(&line), &mut bytes).unwrap();
        assert!(matches!(next, Next::Whole) && bytes.len() == MAX_LINE);
        line.insert(0, b'x');
        assert!(matches!(next_line(&mut Cursor::new(&line), &mut bytes).unwrap(), Next::TooLong));
    }

    proptest::proptest! {
        #[test]
        fn no_input_is_a_panic_and_it_always_ends(input in proptest::collection::vec(0_u8..=255, 0..400)) {
            let lines = input.split(|byte| *byte == b'\n').count();
            let (sender, mut receiver) = tokio::sync::mpsc::channel(1000);
            read(Cursor::new(input), &sender, crate::json::parse_line, |entry| source().inbound(entry));
            let mut seen = Vec::new();
            while let Ok(event) = receiver.try_recv() {
                seen.push(event);
            }
            proptest::prop_assert_eq!(seen.last(), Some(&Event::Eof));
            proptest::prop_assert!(seen.len() <= lines + 1);
        }
    }
}
