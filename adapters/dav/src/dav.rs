//! What calendars and address books have in common (RFC 4918, 5397, 6764): finding the collections, and
//! getting, writing and deleting single objects, each write bound to the state it was made from.

use reqwest::{StatusCode, Url};

use crate::http::{Account, Answer, Http, Request, same_host};
use crate::xml::Entry;
use crate::{Fault, Kind};

const XML: &str = "application/xml; charset=utf-8";

/// A calendar or an address book.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collection {
    /// Its URL, by which it is called here.
    pub url: String,
    /// Its name, or the last part of the URL.
    pub name: String,
}

/// One object on a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// Its URL, by which it is called here.
    pub url: String,
    /// Which state of it this is; a few servers don't tell.
    pub etag: Option<String>,
    /// iCalendar or vCard text.
    pub text: String,
}

/// What became of making an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Created {
    /// It was made, with this URL and state.
    Made {
        /// Its URL.
        url: String,
        /// Its state, if the server tells.
        etag: Option<String>,
    },
    /// One with this UID is there: an earlier try has succeeded.
    AlreadyThere(Resource),
}

/// What became of changing or deleting an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Written {
    /// It was done; with the new state, if the server tells.
    Done(Option<String>),
    /// Somebody else was faster: this is how it is now. Nothing was done.
    Conflict(Resource),
    /// It is not there any more. Deleting counts that as done.
    Gone,
}

/// The words in which a kind of collection is spoken of.
pub(crate) struct Words {
    pub(crate) namespace: &'static str,
    /// The resource type.
    pub(crate) collection: &'static str,
    pub(crate) home_set: &'static str,
    pub(crate) well_known: &'static str,
    pub(crate) content_type: &'static str,
    /// The property of a query's answer that holds the text.
    pub(crate) data: &'static str,
    /// How an object's file name ends.
    pub(crate) ending: &'static str,
    /// What an object's text must say its UID is.
    pub(crate) uid: fn(&str) -> Option<String>,
}

#[derive(Clone)]
pub(crate) struct Dav {
    pub(crate) http: Http,
    pub(crate) base: Url,
    pub(crate) words: &'static Words,
}

impl Dav {
    pub(crate) fn new(account: &Account, words: &'static Words) -> Result<Self, Fault> {
        let (http, base) = Http::new(account)?;
        Ok(Self { http, base, words })
    }

    /// A URL that was handed out earlier; never one of another host.
    pub(crate) fn url(&self, url: &str) -> Result<Url, Fault> {
        let joined = self.base.join(url).map_err(|_| Fault::params(format!("{url} is not a URL")))?;
        same_host(&self.base, joined)
    }

    /// The collections that the account's URL leads to.
    pub(crate) async fn collections(&self) -> Result<Vec<Collection>, Fault> {
        let found = match self.discover(&self.base).await {
            Err(fault) if self.base.path() == "/" && fault.kind != Kind::Auth => {
                // RFC 6764 §5: where the service is not at the root, this address redirects to it.
                let known = self.url(self.words.well_known)?;
                self.discover(&known).await.map_err(|_| fault)?
            }
            found => found?,
        };
        Ok(found)
    }

    async fn discover(&self, from: &Url) -> Result<Vec<Collection>, Fault> {
        let (entries, at) = self.propfind(from, "0").await?;
        let itself =
            entries.first().ok_or_else(|| Fault::unreadable("the server says nothing of the URL"))?;
        if let Some(collection) = self.collection(itself, &at) {
            return Ok(vec![collection]);
        }
        let homes = self.hrefs(itself, &format!("{}{}", self.words.namespace, self.words.home_set), &at)?;
        if !homes.is_empty() {
            return self.inside(&homes).await;
        }
        let here = self.inside(std::slice::from_ref(&at)).await;
        match here {
            Ok(here) if !here.is_empty() => return Ok(here),
            Err(fault) if fault.kind == Kind::Auth => return Err(fault),
            _ => {}
        }
        let principals = self.hrefs(itself, "DAV:current-user-principal", &at)?;
        for principal in &principals {
            let (entries, at) = self.propfind(principal, "0").await?;
            let Some(entry) = entries.first() else { continue };
            let homes =
                self.hrefs(entry, &format!("{}{}", self.words.namespace, self.words.home_set), &at)?;
            if !homes.is_empty() {
                return self.inside(&homes).await;
            }
        }
        if principals.is_empty() {
            let what = self.words.collection;
            return Err(Fault::new(Kind::NotFound, format!("no {what} is found from the server's URL")));
        }
        Ok(Vec::new())
    }

    async fn inside(&self, homes: &[Url]) -> Result<Vec<Collection>, Fault> {
        let mut found = Vec::new();
        for home in homes {
            let (entries, at) = self.propfind(home, "1").await?;
            found.extend(entries.iter().filter_map(|entry| self.collection(entry, &at)));
        }
        Ok(found)
    }

    fn hrefs(&self, entry: &Entry, name: &str, at: &Url) -> Result<Vec<Url>, Fault> {
        let hrefs = entry.prop(name).map(|prop| prop.hrefs.as_slice()).unwrap_or_default();
        let url = |href: &String| {
            let url = at.join(href).map_err(|_| Fault::unreadable(format!("{href} is not a URL")))?;
            same_host(&self.base, url)
        };
        hrefs.iter().filter(|href| !href.is_empty()).map(url).collect()
    }

    /// The collection that an entry is, if it is one of ours.
    fn collection(&self, entry: &Entry, at: &Url) -> Option<Collection> {
        let wanted = format!("{}{}", self.words.namespace, self.words.collection);
        let is_ours = entry.prop("DAV:resourcetype")?.inner.iter().any(|(name, _)| *name == wanted);
        let components = format!("{}supported-calendar-component-set", self.words.namespace);
        // A list of tasks is a calendar too, but not one of events.
        let has_events = entry
            .prop(&components)
            .is_none_or(|set| set.inner.is_empty() || set.inner.iter().any(|(_, name)| name == "VEVENT"));
        if !is_ours || !has_events {
            return None;
        }
        let url = same_host(&self.base, at.join(&entry.href).ok()?).ok()?;
        let name = entry.prop("DAV:displayname").map(|prop| prop.text.trim()).unwrap_or_default();
        let last = url.path_segments()?.rfind(|part| !part.is_empty()).unwrap_or("/").to_owned();
        let name = if name.is_empty() { last } else { name.to_owned() };
        Some(Collection { url: url.into(), name })
    }

    async fn propfind(&self, url: &Url, depth: &str) -> Result<(Vec<Entry>, Url), Fault> {
        let Words { namespace, home_set, .. } = self.words;
        let body = format!(
            "<?xml version=\"1.0\" encoding=\"utf-8\"?><D:propfind xmlns:D=\"DAV:\" xmlns:C=\"{namespace}\"><D:prop>\
             <D:resourcetype/><D:displayname/><D:current-user-principal/><C:{home_set}/>\
             <C:supported-calendar-component-set/></D:prop></D:propfind>"
        );
        let mut entries = Vec::new();
        let at = self.report("PROPFIND", url, depth, body, |entry| entries.push(entry)).await?;
        Ok((entries, at))
    }

    /// A request whose answer is a list; where it was answered.
    async fn report(
        &self,
        method: &str,
        url: &Url,
        depth: &str,
        body: String,
        each: impl FnMut(Entry),
    ) -> Result<Url, Fault> {
        let headers = [("depth", depth)];
        let request = Request { method, url, headers: &headers, body: Some((XML, body)), is_write: false };
        let (answer, at) = self.http.send(request).await?;
        let answer = answer.accept().await?;
        if answer.status() != StatusCode::MULTI_STATUS {
            return Err(Fault::unreadable(format!("the URL does not speak WebDAV ({})", answer.status())));
        }
        answer.entries(each).await?;
        Ok(at)
    }

    /// The objects of a collection that a query finds.
    pub(crate) async fn query(&self, collection: &str, body: String) -> Result<Vec<Resource>, Fault> {
        let url = self.url(collection)?;
        let data = format!("{}{}", self.words.namespace, self.words.data);
        let mut found = Vec::new();
        let each = |mut entry: Entry| {
            if let Some(text) = entry.take(&data).filter(|text| !text.trim().is_empty()) {
                found.push((entry.href.clone(), entry.take("DAV:getetag"), text));
            }
        };
        let at = self.report("REPORT", &url, "1", body, each).await?;
        let resource = |(href, etag, text): (String, Option<String>, String)| {
            let url = same_host(&self.base, at.join(&href).ok()?).ok()?;
            let etag = etag.map(|etag| etag.trim().to_owned());
            Some(Resource { url: url.into(), etag: etag.filter(|etag| !etag.is_empty()), text })
        };
        Ok(found.into_iter().filter_map(resource).collect())
    }

    /// One object as it is now.
    pub(crate) async fn get(&self, url: &str) -> Result<Resource, Fault> {
        let url = self.url(url)?;
        let request = Request { method: "GET", url: &url, headers: &[], body: None, is_write: false };
        let answer = self.http.send(request).await?.0.accept().await?;
        let etag = answer.etag();
        Ok(Resource { url: url.into(), etag, text: answer.text().await? })
    }

    /// Makes an object at the place its UID fixes, unless there is one. None when the server says that there
    /// is, there or elsewhere.
    pub(crate) async fn put_new(
        &self,
        collection: &str,
        uid: &str,
        text: &str,
    ) -> Result<(Url, Option<Answer>), Fault> {
        let mut folder = self.url(collection)?;
        if !folder.path().ends_with('/') {
            folder.set_path(&format!("{}/", folder.path()));
        }
        let name = format!("{}{}", file_name(uid), self.words.ending);
        let url = folder.join(&name).map_err(|_| Fault::params("the UID makes no file name"))?;
        let headers = [("if-none-match", "*")];
        let body = Some((self.words.content_type, text.to_owned()));
        let request = Request { method: "PUT", url: &url, headers: &headers, body, is_write: true };
        let (answer, _) = self.http.send(request).await?;
        // 412 is there already; 409 and 403 may mean that the UID is taken (RFC 4791 §5.3.2.1).
        match answer.status() {
            StatusCode::PRECONDITION_FAILED => Ok((url, None)),
            StatusCode::CONFLICT | StatusCode::FORBIDDEN => match answer.accept().await {
                Err(fault) if fault.words.contains("uid") || fault.words.contains("UID") => Ok((url, None)),
                Err(fault) => Err(fault),
                Ok(answer) => Ok((url, Some(answer))),
            },
            _ => answer.accept().await.map(|answer| (url, Some(answer))),
        }
    }

    /// The outcome of [`Dav::put_new`]; `elsewhere` is what a search for the UID has found.
    pub(crate) async fn created(
        &self,
        collection: &str,
        uid: &str,
        text: &str,
        find: impl AsyncFnOnce() -> Result<Option<Resource>, Fault>,
    ) -> Result<Created, Fault> {
        let (url, answer) = self.put_new(collection, uid, text).await?;
        if let Some(answer) = answer {
            return Ok(Created::Made { url: url.into(), etag: answer.etag() });
        }
        match self.get(url.as_str()).await {
            Ok(there) if (self.words.uid)(&there.text).as_deref() == Some(uid) => {
                return Ok(Created::AlreadyThere(there));
            }
            Err(fault) if fault.kind != Kind::NotFound => return Err(fault),
            _ => {}
        }
        let there = find().await?;
        there
            .map(Created::AlreadyThere)
            .ok_or_else(|| Fault::new(Kind::Tool, "the server has another object there"))
    }

    /// Writes a new state, or deletes without a text, if the object is still in the state `etag`.
    pub(crate) async fn write(
        &self,
        url: &str,
        etag: Option<&str>,
        text: Option<&str>,
    ) -> Result<Written, Fault> {
        let target = self.url(url)?;
        // A proxy that compresses marks the state as weak, and a weak one matches nothing.
        let etag = etag.map_or("*", |etag| etag.trim_start_matches("W/"));
        let headers = [("if-match", etag)];
        let body = text.map(|text| (self.words.content_type, text.to_owned()));
        let method = if text.is_some() { "PUT" } else { "DELETE" };
        let request = Request { method, url: &target, headers: &headers, body, is_write: true };
        let (answer, _) = self.http.send(request).await?;
        match answer.status() {
            StatusCode::NOT_FOUND | StatusCode::GONE => Ok(Written::Gone),
            StatusCode::PRECONDITION_FAILED => match self.get(url).await {
                Ok(now) => Ok(Written::Conflict(now)),
                Err(fault) if fault.kind == Kind::NotFound => Ok(Written::Gone),
                Err(fault) => Err(fault),
            },
            _ => answer.accept().await.map(|answer| Written::Done(answer.etag())),
        }
    }
}

/// The file name that a UID fixes: letters and digits as they are, everything else in hexadecimal; what is
/// long is shortened by a hash, because file names end at 255 bytes.
fn file_name(uid: &str) -> String {
    let mut name = String::new();
    for byte in uid.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => name.push(char::from(byte)),
            other => name.push_str(&format!("={other:02x}")),
        }
    }
    if name.len() <= 120 {
        return name;
    }
    // FNV-1a, which never changes.
    let hash = uid.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{}={hash:016x}", &name[..100])
}

/// Text as XML content.
pub(crate) fn xml_text(text: &str) -> String {
    let text: String = text.chars().filter(|c| !c.is_control()).collect();
    quick_xml::escape::escape(text.as_str()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uid_fixes_a_file_name() {
        assert_eq!(file_name("a-1_Z@x.org/../ü"), "a-1_Z=40x=2eorg=2f=2e=2e=2f=c3=bc");
        let long = file_name(&"x".repeat(255));
        assert_eq!(long.len(), 117);
        assert_ne!(long, file_name(&"x".repeat(254)));
    }

    #[test]
    fn the_password_stays_with_its_host() {
        let url = |text: &str| Url::parse(text).unwrap();
        let goes = |from: &str, to: &str| same_host(&url(from), url(to)).is_ok();
        assert!(goes("https://a.example/x", "https://a.example/y"));
        assert!(goes("http://a.example/", "https://a.example/"));
        assert!(!goes("https://a.example/", "http://a.example/"));
        assert!(!goes("https://a.example/", "https://b.example/"));
        assert!(!goes("https://a.example/", "https://a.example:444/"));
        let account = Account {
            url: "https://a.example/".into(),
            user: "me".into(),
            password: "secret".into(),
            ca_pem: None,
            timeout: std::time::Duration::from_secs(1),
        };
        assert!(!format!("{account:?}").contains("secret"));
    }
}
