//! A gateway with a page, and a browser without a screen.

use std::io::{Read, Write};
use std::net::TcpStream;

use adjutant_fakes::ports;
use adjutant_fakes::telegram::FakeTelegram;

use crate::gateway::{Gateway, eventually};
use crate::process::Home;

/// An address for a page that keeps it over restarts: no connection can take it while nobody listens.
pub fn free_address() -> String {
    format!("127.0.0.1:{}", ports::free(1).unwrap()[0])
}

/// A gateway with a page and a chat platform.
pub struct Site {
    pub telegram: FakeTelegram,
    pub home: Home,
    pub address: String,
    pub gateway: Option<Gateway>,
}

impl Site {
    /// With these lines in its configuration.
    pub fn start(config: &str) -> Self {
        Self::start_with(config, &[])
    }

    /// And with these files in its home.
    pub fn start_with(config: &str, files: &[(&str, &str)]) -> Self {
        let telegram = FakeTelegram::start();
        let address = free_address();
        let (token, api_url) = (telegram.token(), telegram.api_url());
        let home = Home::with_config(&format!(
            "{config}\n[http]\nlisten = \"127.0.0.1:0\"\n[channels.telegram]\ntoken = \"{token}\"\n\
             api_url = \"{api_url}\"\nallow = [\"*\"]\n[channels.web]\nlisten = \"{address}\"\npush_hosts = [\"127.0.0.1\"]\n"
        ));
        files.iter().for_each(|(name, text)| home.write(name, text));
        let mut site = Self { telegram, home, address, gateway: None };
        site.begin();
        site
    }

    /// Starts the gateway, also again.
    pub fn begin(&mut self) {
        let mut gateway = Gateway::start(&self.home);
        gateway.logs("Web page: ");
        self.gateway = Some(gateway);
    }

    /// `kill -9`
    pub fn kill(&mut self) -> String {
        self.gateway.take().map(Gateway::kill).unwrap_or_default()
    }

    /// Stops it properly; it must have left no work open.
    #[track_caller]
    pub fn stop(mut self) -> String {
        let (status, log) = self.gateway.take().unwrap().stop();
        assert_eq!(status, Some(0), "{log}");
        log
    }

    /// The link that `/web` gives this person in a direct chat.
    #[track_caller]
    pub fn link_for(&self, person: i64) -> String {
        let before = self.telegram.seen(person).len();
        self.telegram.say(person, person, "/web");
        eventually("the link", || {
            let seen = self.telegram.seen(person);
            let link = |text: &str| text.lines().find(|line| line.contains("/login#")).map(str::to_owned);
            seen.iter().skip(before).find_map(|seen| link(&seen.text))
        })
    }

    /// The path of the link to this page that this person is answered with in a direct chat.
    #[track_caller]
    pub fn path_for(&self, person: i64, said: &str) -> String {
        let before = self.telegram.seen(person).len();
        self.telegram.say(person, person, said);
        let origin = format!("http://{}", self.address);
        eventually("the link", || {
            let seen = self.telegram.seen(person);
            let mut lines = seen.iter().skip(before).flat_map(|seen| seen.text.lines());
            lines.find_map(|line| line.trim().strip_prefix(&origin)).map(str::to_owned)
        })
    }

    /// A browser in which this person is signed in.
    #[track_caller]
    pub fn browser(&self, person: i64) -> Browser {
        let link = self.link_for(person);
        let mut browser = self.stranger();
        let code = link.split_once('#').unwrap().1;
        let answer = browser.post("/login", &[("code", code)]);
        assert_eq!(answer.status, 303, "{}", answer.body);
        browser
    }

    /// A browser in which nobody is signed in.
    pub fn stranger(&self) -> Browser {
        Browser { address: self.address.clone(), cookie: None, headers: Vec::new() }
    }
}

/// An answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    /// A header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.into_iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// The value of a form's field.
    #[track_caller]
    pub fn field(&self, name: &str) -> String {
        let at =
            self.body.find(&format!("name=\"{name}\" value=\"")).unwrap_or_else(|| panic!("{}", self.body));
        let rest = self.body[at..].split('"').nth(3).unwrap();
        rest.to_owned()
    }
}

/// What keeps a cookie and sends requests.
#[derive(Debug, Clone)]
pub struct Browser {
    pub address: String,
    pub cookie: Option<String>,
    /// Headers instead of, or beside, those that it sends by itself.
    pub headers: Vec<(&'static str, String)>,
}

impl Browser {
    #[track_caller]
    pub fn get(&mut self, path: &str) -> Answer {
        self.request("GET", path, "")
    }

    #[track_caller]
    pub fn post(&mut self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let mut form = String::new();
        for (name, value) in fields {
            let encoded: String = value.bytes().map(|byte| format!("%{byte:02X}")).collect();
            form.push_str(&format!("{}{name}={encoded}", if form.is_empty() { "" } else { "&" }));
        }
        self.request("POST", path, &form)
    }

    /// Posts a form of the page with its token.
    #[track_caller]
    pub fn submit(&mut self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let token = self.get("/talk").field("token");
        let mut all = vec![("token", token.as_str())];
        all.extend(fields);
        self.post(path, &all)
    }

    /// Uploads a file with this content. Returns its key.
    #[track_caller]
    pub fn upload(&mut self, content: &str) -> String {
        let mut uploader = self.clone();
        uploader.headers.push(("X-Form-Token", self.get("/talk").field("token")));
        let answer = uploader.request("POST", "/upload", content);
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.body
    }

    /// Writes a message.
    #[track_caller]
    pub fn say(&mut self, text: &str) {
        let once = self.get("/talk").field("once");
        let answer = self.submit("/say", &[("once", &once), ("text", text)]);
        assert_eq!(answer.status, 303, "{}", answer.body);
    }

    /// The lines of a request's head.
    pub fn head(&self, method: &str, path: &str) -> String {
        let own = |name: &str| self.headers.iter().any(|(key, _)| key.eq_ignore_ascii_case(name));
        let mut head = format!("{method} {path} HTTP/1.1\r\n");
        if !own("Host") {
            head.push_str(&format!("Host: {}\r\n", self.address));
        }
        if method == "POST" && !own("Origin") {
            head.push_str(&format!("Origin: http://{}\r\n", self.address));
        }
        if let Some(cookie) = &self.cookie {
            head.push_str(&format!("Cookie: {cookie}\r\n"));
        }
        for (name, value) in self.headers.iter().filter(|(_, value)| !value.is_empty()) {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head
    }

    #[track_caller]
    fn request(&mut self, method: &str, path: &str, body: &str) -> Answer {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let head = self.head(method, path);
        let length = body.len();
        let _ = write!(stream, "{head}Connection: close\r\nContent-Length: {length}\r\n\r\n{body}");
        let mut bytes = Vec::new();
        // It may hang up on a body that is too long.
        let _ = stream.read_to_end(&mut bytes);
        let text = String::from_utf8(bytes).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split_whitespace().nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        let answer = Answer { status, head: head.to_owned(), body: body.to_owned() };
        if let Some(cookie) = answer.header("set-cookie") {
            let pair = cookie.split(';').next().unwrap();
            self.cookie = (!pair.ends_with('=')).then(|| pair.to_owned());
        }
        answer
    }

    /// Loads a page until it holds these words.
    #[track_caller]
    pub fn sees(&mut self, path: &str, words: &str) -> String {
        let mut last = String::new();
        let deadline = std::time::Instant::now() + crate::gateway::DEADLINE;
        while std::time::Instant::now() < deadline {
            last = self.get(path).body;
            if last.contains(words) {
                return last;
            }
            std::thread::sleep(std::time::Duration::from_millis(30));
        }
        panic!("never on {path}: {words}\n{last}")
    }
}
