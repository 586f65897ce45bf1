//! What CalDAV and CardDAV share (RFC 4918, 5397, 6764): discovering collections, and reading, writing and deleting
//! objects. Each write is conditional on the etag it is based on.

use reqwest::{StatusCode, Url};

use super::http::{Account, Http, HttpResponse, Request};
use super::xml::Entry;
use crate::{DavError, ErrorKind, Result};

const XML: &str = "application/xml; charset=utf-8";

/// A calendar or an address book.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collection {
    /// Its URL, which identifies it.
    pub url: String,
    /// Its display name, or the last segment of the URL.
    pub name: String,
}

/// One object on a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// Its URL, which identifies it.
    pub url: String,
    /// Its version; a few servers don't send one.
    pub etag: Option<String>,
    /// iCalendar or vCard text.
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CreateOutcome {
    Created {
        url: String,
        /// Its version, if the server sends one.
        etag: Option<String>,
    },
    /// The server has one with this UID: an earlier attempt succeeded.
    AlreadyExists(Resource),
}

/// The outcome of updating or deleting an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WriteOutcome {
    /// Done, with the new etag if the server sends one.
    Done(Option<String>),
    /// Somebody else changed it meanwhile: this is its current state. Nothing was written.
    Conflict(Resource),
    /// It no longer exists. For a deletion that's success.
    Gone,
}

/// The names by which CalDAV and CardDAV differ.
pub(crate) struct Protocol {
    pub(crate) namespace: &'static str,
    /// The resource type.
    pub(crate) collection: &'static str,
    pub(crate) home_set: &'static str,
    pub(crate) well_known: &'static str,
    pub(crate) content_type: &'static str,
    /// The property that holds an object's text.
    pub(crate) data: &'static str,
    pub(crate) extension: &'static str,
    pub(crate) uid: fn(&str) -> Option<String>,
}

#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) http: Http,
    pub(crate) base: Url,
    pub(crate) protocol: &'static Protocol,
}

impl Client {
    pub(crate) fn new(account: &Account, protocol: &'static Protocol) -> Result<Self> {
        let (http, base) = Http::new(account)?;
        Ok(Self { http, base, protocol })
    }

    /// A URL we returned earlier; never one of a host that mustn't have the login.
    pub(crate) fn url(&self, url: &str) -> Result<Url> {
        let joined = self.base.join(url).map_err(|_| DavError::params(format!("{url} is not a URL")))?;
        self.http.allowed(&self.base, joined)
    }

    /// The collections behind the account's URL.
    pub(crate) async fn collections(&self) -> Result<Vec<Collection>> {
        match self.discover(&self.base).await {
            Err(error) if self.base.path() == "/" && error.kind != ErrorKind::Auth => {
                // RFC 6764 §5: this address redirects to the service if it isn't at the root.
                let well_known = self.url(self.protocol.well_known)?;
                self.discover(&well_known).await.map_err(|_| error)
            }
            found => found,
        }
    }

    async fn discover(&self, from: &Url) -> Result<Vec<Collection>> {
        let (entries, at) = self.propfind(from, "0").await?;
        let itself = entries
            .first()
            .ok_or_else(|| DavError::tool("the server's answer says nothing about the URL"))?;
        if let Some(collection) = self.collection(itself, &at) {
            return Ok(vec![collection]);
        }
        let home_set = format!("{}{}", self.protocol.namespace, self.protocol.home_set);
        let homes = self.hrefs(itself, &home_set, &at)?;
        if !homes.is_empty() {
            return self.inside(&homes).await;
        }
        match self.inside(std::slice::from_ref(&at)).await {
            Ok(here) if !here.is_empty() => return Ok(here),
            Err(error) if error.kind == ErrorKind::Auth => return Err(error),
            _ => {}
        }
        let principals = self.hrefs(itself, "DAV:current-user-principal", &at)?;
        for principal in &principals {
            let (entries, at) = self.propfind(principal, "0").await?;
            let Some(entry) = entries.first() else { continue };
            let homes = self.hrefs(entry, &home_set, &at)?;
            if !homes.is_empty() {
                return self.inside(&homes).await;
            }
        }
        if principals.is_empty() {
            let kind = self.protocol.collection;
            return Err(DavError::not_found(format!("there is no {kind} behind the server's URL")));
        }
        Ok(Vec::new())
    }

    async fn inside(&self, homes: &[Url]) -> Result<Vec<Collection>> {
        let mut found = Vec::new();
        for home in homes {
            let (entries, at) = self.propfind(home, "1").await?;
            let those =
                entries.iter().filter_map(|entry| Some((is_read_only(entry), self.collection(entry, &at)?)));
            found.extend(those);
        }
        // What is new goes into the first one.
        found.sort_by_key(|(is_read_only, _)| *is_read_only);
        Ok(found.into_iter().map(|(_, collection)| collection).collect())
    }

    fn hrefs(&self, entry: &Entry, name: &str, at: &Url) -> Result<Vec<Url>> {
        let hrefs = entry.prop(name).map(|prop| prop.hrefs.as_slice()).unwrap_or_default();
        let url = |href: &String| {
            let url = at.join(href).map_err(|_| DavError::tool(format!("{href} is not a URL")))?;
            self.http.allowed(&self.base, url)
        };
        hrefs.iter().filter(|href| !href.is_empty()).map(url).collect()
    }

    /// The collection that an entry describes, if it is of our kind.
    fn collection(&self, entry: &Entry, at: &Url) -> Option<Collection> {
        let wanted = format!("{}{}", self.protocol.namespace, self.protocol.collection);
        let is_ours = entry.prop("DAV:resourcetype")?.inner.iter().any(|(name, _)| *name == wanted);
        let components = format!("{}supported-calendar-component-set", self.protocol.namespace);
        // A task list is a calendar, too.
        let has_events = entry
            .prop(&components)
            .is_none_or(|set| set.inner.is_empty() || set.inner.iter().any(|(_, name)| name == "VEVENT"));
        if !is_ours || !has_events {
            return None;
        }
        let url = self.http.allowed(&self.base, at.join(&entry.href).ok()?).ok()?;
        let name = entry.prop("DAV:displayname").map(|prop| prop.text.trim()).unwrap_or_default();
        let last = url.path_segments()?.rfind(|part| !part.is_empty()).unwrap_or("/").to_owned();
        let name = if name.is_empty() { last } else { name.to_owned() };
        Some(Collection { url: url.into(), name })
    }

    async fn propfind(&self, url: &Url, depth: &str) -> Result<(Vec<Entry>, Url)> {
        let Protocol { namespace, home_set, .. } = self.protocol;
        let body = format!(
            "<?xml version=\"1.0\" encoding=\"utf-8\"?><D:propfind xmlns:D=\"DAV:\" xmlns:C=\"{namespace}\"><D:prop>\
             <D:resourcetype/><D:displayname/><D:current-user-principal/><C:{home_set}/>\
             <D:current-user-privilege-set/><C:supported-calendar-component-set/></D:prop></D:propfind>"
        );
        let mut entries = Vec::new();
        let at = self.report("PROPFIND", url, depth, body, |entry| entries.push(entry)).await?;
        Ok((entries, at))
    }

    /// The state of a collection: its ctag
    /// (<https://github.com/apple/ccs-calendarserver/blob/master/doc/Extensions/caldav-ctag.txt>) or, where there is none, its
    /// sync-token (RFC 6578 §4).
    pub(crate) async fn tag(&self, collection: &str) -> Result<String> {
        let body = "<?xml version=\"1.0\" encoding=\"utf-8\"?><D:propfind xmlns:D=\"DAV:\" \
                    xmlns:S=\"http://calendarserver.org/ns/\"><D:prop><S:getctag/><D:sync-token/></D:prop></D:propfind>";
        let mut tag = String::new();
        let each = |mut entry: Entry| {
            let tags =
                ["http://calendarserver.org/ns/getctag", "DAV:sync-token"].map(|name| entry.take(name));
            let found = tags.into_iter().flatten().find(|tag| !tag.trim().is_empty());
            tag = found.unwrap_or_default();
        };
        self.report("PROPFIND", &self.url(collection)?, "0", body.to_owned(), each).await?;
        Ok(tag)
    }

    /// A request answered by a list; returns the URL that answered, after redirects.
    async fn report(
        &self,
        method: &str,
        url: &Url,
        depth: &str,
        body: String,
        each: impl FnMut(Entry),
    ) -> Result<Url> {
        let headers = [("depth", depth)];
        let request = Request { method, url, headers: &headers, body: Some((XML, body)), is_write: false };
        let (response, at) = self.http.send(request).await?;
        let response = response.accept().await?;
        if response.status() != StatusCode::MULTI_STATUS {
            return Err(DavError::tool(format!("the URL isn't a WebDAV server ({})", response.status())));
        }
        response.entries(each).await?;
        Ok(at)
    }

    /// The objects of a collection that a query finds.
    pub(crate) async fn query(&self, collection: &str, body: String) -> Result<Vec<Resource>> {
        let url = self.url(collection)?;
        let data = format!("{}{}", self.protocol.namespace, self.protocol.data);
        let mut found = Vec::new();
        let each = |mut entry: Entry| {
            if let Some(text) = entry.take(&data).filter(|text| !text.trim().is_empty()) {
                found.push((entry.href.clone(), entry.take("DAV:getetag"), text));
            }
        };
        let at = self.report("REPORT", &url, "1", body, each).await?;
        let resource = |(href, etag, text): (String, Option<String>, String)| {
            let url = self.http.allowed(&self.base, at.join(&href).ok()?).ok()?;
            let etag = etag.map(|etag| etag.trim().to_owned());
            Some(Resource { url: url.into(), etag: etag.filter(|etag| !etag.is_empty()), text })
        };
        Ok(found.into_iter().filter_map(resource).collect())
    }

    pub(crate) async fn get(&self, url: &str) -> Result<Resource> {
        let url = self.url(url)?;
        let request = Request { method: "GET", url: &url, headers: &[], body: None, is_write: false };
        let response = self.http.send(request).await?.0.accept().await?;
        let etag = response.etag();
        Ok(Resource { url: url.into(), etag, text: response.text().await? })
    }

    /// The URL that follows from an object's UID.
    fn object_url(&self, collection: &str, uid: &str) -> Result<Url> {
        let mut folder = self.url(collection)?;
        if !folder.path().ends_with('/') {
            folder.set_path(&format!("{}/", folder.path()));
        }
        let name = format!("{}{}", file_name(uid), self.protocol.extension);
        folder.join(&name).map_err(|_| DavError::params("the UID can't be part of a URL"))
    }

    /// Creates an object. `None` if the server already has one, there or elsewhere.
    async fn put_new(&self, url: &Url, text: &str) -> Result<Option<HttpResponse>> {
        let headers: &[_] =
            if self.http.quirks.lacks_if_none_match { &[] } else { &[("if-none-match", "*")] };
        let body = Some((self.protocol.content_type, text.to_owned()));
        let request = Request { method: "PUT", url, headers, body, is_write: true };
        let (response, _) = self.http.send(request).await?;
        // 412: it exists. 409 and 403 can mean that the UID is taken (RFC 4791 §5.3.2.1).
        match response.status() {
            StatusCode::PRECONDITION_FAILED => Ok(None),
            // The text is the server's own; the only thing common to all of them is the word.
            StatusCode::CONFLICT | StatusCode::FORBIDDEN => match response.accept().await {
                Err(error) if error.message.contains("uid") || error.message.contains("UID") => Ok(None),
                Err(error) => Err(error),
                Ok(response) => Ok(Some(response)),
            },
            _ => response.accept().await.map(Some),
        }
    }

    /// Creates an object; `find` searches for its UID elsewhere in the collection.
    pub(crate) async fn create(
        &self,
        collection: &str,
        uid: &str,
        text: &str,
        find: impl AsyncFnOnce() -> Result<Option<Resource>>,
    ) -> Result<CreateOutcome> {
        let url = self.object_url(collection, uid)?;
        if self.http.quirks.lacks_if_none_match {
            // Nothing else has this URL, so what is there is ours, even if the server gave it a UID of its own. Of
            // two attempts at the same time the second only writes the same again.
            match self.get(url.as_str()).await {
                Err(error) if error.kind == ErrorKind::NotFound => {}
                there => return there.map(CreateOutcome::AlreadyExists),
            }
        }
        if let Some(response) = self.put_new(&url, text).await? {
            // The server may have put it elsewhere (RFC 9110 §10.2.2).
            let elsewhere = response.header("location").and_then(|at| url.join(at).ok());
            let elsewhere = elsewhere.and_then(|at| self.http.allowed(&self.base, at).ok());
            return Ok(CreateOutcome::Created {
                url: elsewhere.unwrap_or(url).into(),
                etag: response.etag(),
            });
        }
        match self.get(url.as_str()).await {
            Ok(there) if (self.protocol.uid)(&there.text).as_deref() == Some(uid) => {
                return Ok(CreateOutcome::AlreadyExists(there));
            }
            Err(error) if error.kind != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let there = find().await?.map(CreateOutcome::AlreadyExists);
        there.ok_or_else(|| DavError::tool("the server has another object at this URL"))
    }

    /// Updates an object, or deletes it if there is no text, provided that its etag is still the same.
    pub(crate) async fn write(
        &self,
        url: &str,
        etag: Option<&str>,
        text: Option<&str>,
    ) -> Result<WriteOutcome> {
        let target = self.url(url)?;
        // Compressing proxies make etags weak, and weak etags never match.
        let etag = etag.map_or("*", |etag| etag.trim_start_matches("W/"));
        let headers = [("if-match", etag)];
        let body = text.map(|text| (self.protocol.content_type, text.to_owned()));
        let method = if text.is_some() { "PUT" } else { "DELETE" };
        let request = Request { method, url: &target, headers: &headers, body, is_write: true };
        let (response, _) = self.http.send(request).await?;
        match response.status() {
            StatusCode::NOT_FOUND | StatusCode::GONE => Ok(WriteOutcome::Gone),
            StatusCode::PRECONDITION_FAILED => match self.get(url).await {
                Ok(now) => Ok(WriteOutcome::Conflict(now)),
                Err(error) if error.kind == ErrorKind::NotFound => Ok(WriteOutcome::Gone),
                Err(error) => Err(error),
            },
            _ => response.accept().await.map(|response| WriteOutcome::Done(response.etag())),
        }
    }
}

/// Whether the server says that nothing can be put into a collection (RFC 3744 §3 and §5.4).
fn is_read_only(entry: &Entry) -> bool {
    const WRITING: [&str; 4] = ["DAV:all", "DAV:write", "DAV:write-content", "DAV:bind"];
    entry.prop("DAV:current-user-privilege-set").is_some_and(|set| {
        !set.inner.is_empty() && !set.inner.iter().any(|(name, _)| WRITING.contains(&name.as_str()))
    })
}

/// The file name for a UID: other characters than letters and digits become hexadecimal, and long UIDs are
/// shortened by a hash because file names are limited to 255 bytes.
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

pub(crate) fn xml_text(text: &str) -> String {
    let text: String = text.chars().filter(|c| !c.is_control()).collect();
    quick_xml::escape::escape(text.as_str()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::super::http::{Quirks, same_host};
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
        let ends = ["b.example".to_owned()];
        let goes = |from: &str, to: &str| same_host(&url(from), url(to), &[]).is_ok();
        let goes_on = |to: &str| same_host(&url("https://a.example/"), url(to), &ends).is_ok();
        assert!(goes("https://a.example/x", "https://a.example/y"));
        assert!(goes("http://a.example/", "https://a.example/"));
        assert!(!goes("https://a.example/", "http://a.example/"));
        assert!(!goes("https://a.example/", "https://b.example/"));
        assert!(!goes("https://a.example/", "https://a.example:444/"));
        assert!(goes_on("https://b.example/") && goes_on("https://p1.b.example:443/"));
        for to in [
            "http://b.example/",
            "https://b.example:444/",
            "https://evilb.example/",
            "https://b.example.org/",
        ] {
            assert!(!goes_on(to), "{to}");
        }
        let account = Account {
            url: "https://a.example/".into(),
            user: "me".into(),
            credential: "secret".into(),
            ca_pem: None,
            timeout: std::time::Duration::from_secs(1),
            quirks: Quirks::default(),
            address_filter: None,
        };
        assert!(!format!("{account:?}").contains("secret"));
    }
}
