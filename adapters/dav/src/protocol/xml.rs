//! WebDAV responses (RFC 4918 §13), resolved by namespace because servers differ in prefixes and order, and read
//! as a stream because a calendar can hold 20,000 objects.

use quick_xml::NsReader;
use quick_xml::escape::resolve_xml_entity;
use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::name::ResolveResult;
use tokio::io::AsyncBufRead;

use super::http::read_error;
use crate::{DavError, Result};

const MAX_DEPTH: usize = 64;

/// One `response` of a `multistatus`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) href: String,
    pub(crate) props: Vec<Prop>,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Prop {
    /// Namespace and name, as in `DAV:getetag`.
    pub(crate) name: String,
    pub(crate) text: String,
    /// The elements in it, with the value of their `name` attribute.
    pub(crate) inner: Vec<(String, String)>,
    pub(crate) hrefs: Vec<String>,
}

impl Entry {
    pub(crate) fn prop(&self, name: &str) -> Option<&Prop> {
        self.props.iter().find(|prop| prop.name == name)
    }

    /// Takes a property's text out.
    pub(crate) fn take(&mut self, name: &str) -> Option<String> {
        self.props.iter_mut().find(|prop| prop.name == name).map(|prop| std::mem::take(&mut prop.text))
    }
}

#[derive(Default)]
struct State {
    /// The open elements: namespace and name.
    path: Vec<String>,
    entry: Entry,
    /// The properties of the open `propstat` and its status.
    pending: Vec<Prop>,
    pending_status: Option<u16>,
    /// The text of the innermost element.
    text: String,
    /// Whether the outermost element has ended.
    is_whole: bool,
}

/// Reads a `multistatus`, entry by entry.
pub(crate) async fn multistatus(body: impl AsyncBufRead + Unpin, mut each: impl FnMut(Entry)) -> Result<()> {
    let mut reader = NsReader::from_reader(body);
    let (mut buffer, mut state) = (Vec::new(), State::default());
    let unreadable = |error: quick_xml::Error| match error {
        quick_xml::Error::Io(error) => read_error(&error),
        other => DavError::tool(format!("the server's response isn't XML: {other}")),
    };
    loop {
        let event = reader.read_resolved_event_into_async(&mut buffer).await;
        let (namespace, event) = event.map_err(unreadable)?;
        let full = |start: &BytesStart<'_>| {
            let namespace = if let ResolveResult::Bound(namespace) = &namespace { namespace.0 } else { "" };
            format!("{namespace}{}", start.local_name().as_ref())
        };
        match event {
            Event::Start(start) => state.open(full(&start), &start)?,
            Event::Empty(start) => {
                state.open(full(&start), &start)?;
                state.close(&mut each);
            }
            Event::End(_) => state.close(&mut each),
            Event::Text(text) => state.text.push_str(&text.xml10_content()),
            Event::CData(text) => state.text.push_str(&text.xml10_content()),
            Event::GeneralRef(reference) => state.text.push(character(&reference)?),
            Event::Eof if state.path.is_empty() && state.is_whole => return Ok(()),
            Event::Eof => return Err(DavError::tool("the server's response ended early")),
            _ => {}
        }
        buffer.clear();
    }
}

/// The character of a reference. Entities of a document type are rejected: they could expand without limit.
fn character(reference: &BytesRef<'_>) -> Result<char> {
    let unknown = || DavError::tool("the server's response isn't XML: unknown reference");
    if let Some(character) = reference.resolve_char_ref().map_err(|_| unknown())? {
        return Ok(character);
    }
    let text = resolve_xml_entity(&reference.xml10_content());
    text.and_then(|text| text.chars().next()).ok_or_else(unknown)
}

impl State {
    /// The name of the open element this many levels above the innermost.
    fn above(&self, levels: usize) -> &str {
        let at = self.path.len().checked_sub(levels + 1);
        at.and_then(|at| self.path.get(at)).map(String::as_str).unwrap_or_default()
    }

    fn open(&mut self, name: String, start: &BytesStart<'_>) -> Result<()> {
        if self.path.is_empty() && name != "DAV:multistatus" {
            return Err(DavError::tool("the server's response isn't a WebDAV multistatus"));
        }
        if self.path.len() == MAX_DEPTH {
            return Err(DavError::tool("the server's response is nested too deeply"));
        }
        let is_property =
            self.path.len() == 4 && self.above(0) == "DAV:prop" && self.above(1) == "DAV:propstat";
        if is_property {
            self.pending.push(Prop { name: name.clone(), ..Prop::default() });
        } else if self.path.len() > 4
            && let Some(prop) = self.pending.last_mut()
        {
            let attribute = start.try_get_attribute("name").ok().flatten();
            let attribute = attribute.map(|attribute| attribute.value.to_string()).unwrap_or_default();
            prop.inner.push((name.clone(), attribute));
        }
        self.path.push(name);
        self.text.clear();
        Ok(())
    }

    fn close(&mut self, each: &mut impl FnMut(Entry)) {
        let depth = self.path.len();
        let name = self.path.pop().unwrap_or_default();
        let text = std::mem::take(&mut self.text);
        match (depth, name.as_str()) {
            (1, _) => self.is_whole = true,
            (2, "DAV:response") => each(std::mem::take(&mut self.entry)),
            (3, "DAV:href") => text.trim().clone_into(&mut self.entry.href),
            (3, "DAV:propstat") => {
                let is_found = self.pending_status.take().is_some_and(|status| (200..300).contains(&status));
                let found = std::mem::take(&mut self.pending);
                self.entry.props.extend(found.into_iter().filter(|_| is_found));
            }
            (4, "DAV:status") => self.pending_status = status(&text),
            (5, _) => {
                if let Some(prop) = self.pending.last_mut() {
                    prop.text = text;
                }
            }
            (6.., "DAV:href") => {
                if let Some(prop) = self.pending.last_mut() {
                    prop.hrefs.push(text.trim().to_owned());
                }
            }
            _ => {}
        }
    }
}

/// `HTTP/1.1 200 OK`.
fn status(text: &str) -> Option<u16> {
    text.split_whitespace().nth(1)?.parse().ok()
}

/// The text of an error response: that of its XML or HTML, or else the name of the innermost element, which is
/// how WebDAV names a failed precondition.
pub(crate) fn error_text(body: &str) -> String {
    let mut reader = quick_xml::Reader::from_str(body);
    reader.config_mut().check_end_names = false;
    let (mut content, mut names, mut hidden) = (String::new(), String::new(), 0_usize);
    let is_hidden = |name: &str| matches!(name.to_ascii_lowercase().as_str(), "head" | "style" | "script");
    loop {
        match reader.read_event() {
            Ok(Event::Start(start)) => {
                hidden += usize::from(hidden > 0 || is_hidden(start.local_name().as_ref()));
                names = start.local_name().as_ref().to_owned();
            }
            Ok(Event::Empty(start)) => start.local_name().as_ref().clone_into(&mut names),
            Ok(Event::End(_)) => hidden = hidden.saturating_sub(1),
            Ok(Event::Text(text)) if hidden == 0 => {
                content.push_str(&text.xml10_content());
                content.push(' ');
            }
            Ok(Event::GeneralRef(reference)) => content.extend(character(&reference).ok()),
            Ok(Event::Eof) | Err(_) => break,
            Ok(_) => {}
        }
    }
    if content.trim().is_empty() { names } else { content }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Result<Vec<Entry>, DavError> {
        let mut entries = Vec::new();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(multistatus(text.as_bytes(), |entry| entries.push(entry))).map(|()| entries)
    }

    #[test]
    fn prefixes_order_and_cdata_do_not_matter() {
        let text = r#"<?xml version="1.0"?><multistatus xmlns="DAV:" xmlns:x="urn:ietf:params:xml:ns:caldav">
            <response><propstat><status>HTTP/1.1 200 OK</status><prop><getetag>"1"</getetag></prop></propstat>
              <propstat><prop><displayname/></prop><status>HTTP/1.1 404 Not Found</status></propstat>
              <href> /a%20b/ </href></response>
            <y:response xmlns:y="DAV:"><y:href>/c</y:href><y:status>HTTP/1.1 404 Gone</y:status></y:response>
            <response><href>/d</href><propstat><prop>
              <x:calendar-data><![CDATA[BEGIN:A & B]]>&amp;&#252;</x:calendar-data>
              <x:supported-calendar-component-set><x:comp name="VEVENT"/></x:supported-calendar-component-set>
              <x:calendar-home-set><href>/e</href><href>/f</href></x:calendar-home-set>
            </prop><status>HTTP/1.1 200 OK</status></propstat></response></multistatus>"#;
        let mut entries = read(text).unwrap();
        assert_eq!(entries[0].take("DAV:getetag").as_deref(), Some("\"1\""));
        assert_eq!(entries[0].href, "/a%20b/");
        assert_eq!(entries[0].prop("DAV:displayname"), None);
        assert_eq!(entries[1].href, "/c");
        let entry = &mut entries[2];
        let caldav = "urn:ietf:params:xml:ns:caldav";
        assert_eq!(entry.take(&format!("{caldav}calendar-data")).as_deref(), Some("BEGIN:A & B&ü"));
        let components = entry.prop(&format!("{caldav}supported-calendar-component-set")).unwrap();
        assert_eq!(components.inner, [(format!("{caldav}comp"), "VEVENT".to_owned())]);
        assert_eq!(entry.prop(&format!("{caldav}calendar-home-set")).unwrap().hrefs, ["/e", "/f"]);
    }

    #[test]
    fn other_responses_are_errors() {
        let bomb = "<!DOCTYPE a [<!ENTITY b \"bb\">]><multistatus xmlns=\"DAV:\">&b;</multistatus>";
        let deep = format!("<multistatus xmlns=\"DAV:\">{}", "<a>".repeat(100));
        for text in
            ["", "hello", "<html/>", "<multistatus/>", "<multistatus xmlns=\"DAV:\"><response>", bomb, &deep]
        {
            assert!(read(text).is_err(), "{text}");
        }
        assert_eq!(read("<multistatus xmlns=\"DAV:\"/>").unwrap(), []);
    }

    #[test]
    fn error_responses_have_texts() {
        assert_eq!(
            error_text("<html><head><title>x</title></head><body><h1>No</h1> way</body></html>")
                .split_whitespace()
                .collect::<Vec<_>>(),
            ["No", "way"]
        );
        assert_eq!(error_text("<d:error xmlns:d=\"DAV:\"><c:no-uid-conflict/></d:error>"), "no-uid-conflict");
        assert_eq!(error_text("Access denied & so on").trim(), "Access denied");
        assert_eq!(error_text(""), "");
    }

    proptest! {
        #[test]
        fn any_answer_is_read_without_panic(
            text in "(<multistatus xmlns=\"DAV:\">|</multistatus>|<response>|</response>|<prop>|</prop>|<propstat>|</propstat>|<status>|</status>|HTTP/1.1 200|<a b=|/>|&amp;|&x;|<!\\[CDATA\\[|\\]\\]>|ü){0,30}"
        ) {
            let _ = read(&text);
            error_text(&text);
        }
    }
}
