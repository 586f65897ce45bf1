//! What `serve` tells a service manager, whose socket is a fake that reads every message.

use std::io::ErrorKind;
use std::os::unix::net::UnixDatagram;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use adjutant_fakes::model::{FakeModel, Reply};
use adjutant_fakes::postgres;
use adjutant_fakes::telegram::FakeTelegram;
use sqlx::{AnyConnection, Connection, Executor};

use crate::gateway::{DEADLINE, Gateway};
use crate::process::Home;

/// The manager's watchdog interval.
const PATIENCE: Duration = Duration::from_secs(2);

/// The manager's end of the socket.
struct Manager {
    socket: UnixDatagram,
    /// Every message so far.
    seen: Vec<String>,
}

impl Manager {
    /// A manager, and `serve` under it.
    fn start(home: &Home) -> (Self, Gateway) {
        let path = home.path().join("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        let patience = PATIENCE.as_micros().to_string();
        let variables = [("NOTIFY_SOCKET", path.to_str().unwrap()), ("WATCHDOG_USEC", &patience)];
        (Self { socket, seen: Vec::new() }, Gateway::start_with(home, &variables))
    }

    /// The next message within this time.
    fn next(&mut self, within: Duration) -> Option<String> {
        let mut message = [0; 4096];
        self.socket.set_read_timeout(Some(within.max(Duration::from_millis(1)))).unwrap();
        match self.socket.recv(&mut message) {
            Ok(length) => {
                let message = std::str::from_utf8(&message[..length]).unwrap().to_owned();
                assert_is_known(&message);
                self.seen.push(message.clone());
                Some(message)
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => None,
            Err(error) => panic!("{error}"),
        }
    }

    /// Waits for a message with this prefix; returns all messages up to it.
    #[track_caller]
    fn hears(&mut self, beginning: &str) -> Vec<String> {
        let (begun, first) = (Instant::now(), self.seen.len());
        while begun.elapsed() < DEADLINE {
            if self.next(Duration::from_millis(100)).is_some_and(|message| message.starts_with(beginning)) {
                return self.seen[first..].to_vec();
            }
        }
        panic!("it never heard {beginning}: {:#?}", self.seen)
    }

    /// All messages within this time.
    fn hears_for(&mut self, time: Duration) -> Vec<String> {
        let (until, first) = (Instant::now() + time, self.seen.len());
        while Instant::now() < until {
            self.next(until.saturating_duration_since(Instant::now()));
        }
        self.seen[first..].to_vec()
    }
}

/// Whether systemd knows every line of a message.
#[track_caller]
fn assert_is_known(message: &str) {
    assert!(message.ends_with('\n'), "{message:?}");
    for line in message.lines() {
        let (name, value) = line.split_once('=').unwrap();
        let is_known = match name {
            "READY" | "RELOADING" | "STOPPING" | "WATCHDOG" => value == "1",
            "MONOTONIC_USEC" => value.parse::<u64>().is_ok(),
            "STATUS" => !value.is_empty(),
            _ => false,
        };
        assert!(is_known, "{message:?}");
    }
}

fn home(telegram: &FakeTelegram, api_url: &str, more: &str) -> Home {
    Home::with_config(&format!(
        "[assistant]\nowner = [\"telegram:1000\"]\n[http]\nlisten = \"127.0.0.1:0\"\n\
         [channels.telegram]\ntoken = \"{}\"\napi_url = \"{api_url}\"\nallow = [\"*\"]\n{more}",
        telegram.token(),
    ))
}

#[test]
fn the_manager_is_notified_of_each_step() {
    let telegram = FakeTelegram::start();
    let ada = telegram.person("Ada");
    let is_open = Arc::new(AtomicBool::new(false));
    let gate = is_open.clone();
    let model = FakeModel::start(move |_| {
        while !gate.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(10));
        }
        Reply::text("Here it is.")
    });
    let more =
        format!("[model]\nprovider = \"openai\"\nname = \"fake\"\nbase_url = \"{}\"\n", model.base_url());
    let home = home(&telegram, &telegram.api_url(), &more);
    let (mut manager, mut gateway) = Manager::start(&home);
    let begin = manager.hears("READY=1");
    assert_eq!(begin, ["STATUS=telegram ok, 0 turns\n", "READY=1\n"], "it is up when it receives");
    manager.hears("WATCHDOG=1");
    telegram.say(ada, ada, "find it");
    manager.hears("STATUS=telegram ok, 1 turn\n");
    is_open.store(true, Ordering::SeqCst);
    manager.hears("STATUS=telegram ok, 0 turns\n");
    gateway.signal("HUP");
    let reloading = manager.hears("RELOADING=1\nMONOTONIC_USEC=");
    let ready = manager.hears("READY=1");
    assert!(!reloading[..reloading.len() - 1].concat().contains("READY") && ready.len() <= 2, "{ready:?}");
    manager.hears("WATCHDOG=1");
    let config = std::fs::read_to_string(home.path().join("config.toml")).unwrap();
    home.write("config.toml", &config.replace("127.0.0.1:0", "127.0.0.1:1"));
    manager.hears("STATUS=telegram ok, 0 turns, restart to change http\n");
    home.write("config.toml", &config.replace("allow", "alow"));
    let refused = "the configuration has errors, the last good one is in use";
    manager.hears(&format!("STATUS=telegram ok, 0 turns, {refused}, restart to change http\n"));
    home.write("config.toml", &config);
    manager.hears("STATUS=telegram ok, 0 turns\n");
    gateway.signal("TERM");
    manager.hears("STOPPING=1");
    let (status, log) = gateway.wait();
    assert_eq!(status, Some(0), "{log}");
    assert_eq!(manager.hears_for(Duration::from_millis(50)), [""; 0], "it is over then");
    let errors = log.lines().filter(|line| line.contains("ERROR"));
    assert_eq!(errors.count(), 2, "the problem and the rejection only: {log}");
    home.assert_tidy("serve");
}

/// The store at this URL doesn't answer while it's locked like this.
fn hangs(home: &Home, url: &str, lock: &[&'static str]) {
    let (mut manager, mut gateway) = Manager::start(home);
    manager.hears("WATCHDOG=1");
    sqlx::any::install_default_drivers();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let locked = runtime.block_on(async {
        let mut connection = AnyConnection::connect(url).await.unwrap();
        for sql in lock {
            connection.execute(*sql).await.unwrap();
        }
        connection
    });
    // The sign of life already in progress.
    manager.hears_for(PATIENCE / 2);
    let meanwhile = manager.hears("STATUS=the store does not answer, telegram ");
    assert!(!meanwhile.concat().contains("WATCHDOG"), "{meanwhile:?}");
    let meanwhile = manager.hears_for(PATIENCE * 2);
    assert!(!meanwhile.concat().contains("WATCHDOG"), "{meanwhile:?}");
    // Readers of a file don't wait for a writer.
    if !url.starts_with("sqlite") {
        assert_eq!(gateway.get("/readyz"), ("503".to_owned(), "store: it does not answer\n".to_owned()));
    }
    runtime.block_on(locked.close()).unwrap();
    manager.hears("WATCHDOG=1");
    manager.hears("STATUS=telegram ok, 0 turns\n");
    let (status, log) = gateway.stop();
    assert_eq!(status, Some(0), "{log}");
    assert_eq!(log.matches("not alive: the store does not answer").count(), 1, "{log}");
}

#[test]
fn no_sign_of_life_is_given_while_the_file_is_locked() {
    let telegram = FakeTelegram::start();
    let home = home(&telegram, &telegram.api_url(), "");
    hangs(&home, &home.store_url(), &["PRAGMA busy_timeout = 10000", "BEGIN EXCLUSIVE"]);
}

#[test]
fn no_sign_of_life_is_given_while_the_server_hangs() {
    let Some(server) = postgres::shared().unwrap() else { return };
    let telegram = FakeTelegram::start();
    let url = server.database().unwrap();
    let home = home(&telegram, &telegram.api_url(), &format!("[store]\nurl = \"{url}\"\n"));
    hangs(&home, &url, &["BEGIN", "LOCK TABLE instances IN ACCESS EXCLUSIVE MODE"]);
}

#[test]
fn a_platform_that_is_away_is_told_and_restarts_nothing() {
    let telegram = FakeTelegram::start();
    // Nothing listens there.
    let home = home(&telegram, "http://127.0.0.1:1", "");
    let (mut manager, mut gateway) = Manager::start(&home);
    let begin = manager.hears("READY=1");
    assert_eq!(begin, ["STATUS=telegram reconnecting, 0 turns\n", "READY=1\n"]);
    manager.hears("WATCHDOG=1");
    manager.hears("WATCHDOG=1");
    assert_eq!(gateway.get("/readyz").0, "503");
    assert_eq!(gateway.stop().0, Some(0));
}

#[test]
fn a_wrong_token_is_never_ready() {
    let telegram = FakeTelegram::start();
    let home = home(&telegram, &telegram.api_url(), "");
    let config = std::fs::read_to_string(home.path().join("config.toml")).unwrap();
    let wrong = "1111111111:AAWrongWrongWrongWrongWrongWrongWro";
    home.write("config.toml", &config.replace(telegram.token(), wrong));
    let (mut manager, mut gateway) = Manager::start(&home);
    assert_eq!(manager.hears("STOPPING=1"), ["STOPPING=1\n"]);
    assert_eq!(gateway.wait().0, Some(78));
}
