//! Programs of skills: they see what they may, and nothing of them is left.

use std::net::{TcpListener, UdpSocket};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::process::Stdio;

use adjutant_fakes::telegram::FakeTelegram;

use crate::gateway::{self, Gateway};
use crate::process::{Home, json};

/// A skill that runs a script, which basic mode knows as "go".
fn with_script(script: &str, permissions: &str) -> Home {
    let home = Home::with_config("[skills]\npaths = [\"skills\"]\n");
    home.write("scripts/go.sh", script);
    let path = home.path().join("scripts/go.sh").display().to_string();
    let skill = format!(
        "domain = 'lab'\nsummary = 'A lab'\n[[skill]]\nname = 'lab.go'\nsummary = 'Go'\nrisk = 'low'\n\
         timeout = '5m'\n[skill.handler.command]\nargv = ['/bin/bash', '{path}', '{}']\n{permissions}\n\
         [skill.parameters]\ntype = 'object'\n[[skill.forms]]\nsay = 'go'\n",
        home.path().display()
    );
    home.write("skills/lab.toml", &skill);
    home
}

/// The command lines of all processes that name this home.
fn left(home: &Home) -> Vec<String> {
    let here = home.path().display().to_string();
    let entries = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let lines = entries.filter_map(|entry| std::fs::read_to_string(entry.path().join("cmdline")).ok());
    lines.filter(|line| line.contains(&here)).collect()
}

/// Waits until it is so of the processes that are left.
#[track_caller]
fn wait_until(what: &str, home: &Home, is_so: impl Fn(&[String]) -> bool) {
    gateway::wait_until(what, || is_so(&left(home)));
}

/// Starts processes in every way to get out of sight, and goes on itself.
const STAYS: &str = r#"
one() { exec sh -c 'sleep 1000; :' "$1/left"; }
setsid sh -c 'sleep 1000; :' "$1/left" &
nohup sh -c 'sleep 1000; :' "$1/left" > /dev/null 2>&1 &
(setsid sh -c '(trap "" TERM HUP INT; setsid sh -c "sleep 1000; :" "$0") & sleep 0' "$1/left" &)
(one "$1" &)
sleep 1000
"#;

fn all_run(lines: &[String]) -> bool {
    lines.iter().filter(|line| line.contains("/left")).count() >= 4
}

#[test]
fn nothing_of_a_program_outlives_the_chat_that_started_it() {
    for signal in ["KILL", "TERM", "HUP"] {
        let home = with_script(STAYS, "");
        let mut chat = home.chat();
        chat.send(&json!({"id": "m1", "text": "go"}));
        wait_until("it starts", &home, all_run);
        chat.signal(signal);
        wait_until(signal, &home, <[_]>::is_empty);
    }
}

#[test]
fn nothing_of_a_program_outlives_the_gateway() {
    for signal in ["KILL", "TERM"] {
        let (telegram, home) = (FakeTelegram::start(), with_script(STAYS, ""));
        let config = format!(
            "[assistant]\nowner = [\"telegram:1000\"]\n[skills]\npaths = [\"skills\"]\n[http]\nlisten = \"\"\n\
             [channels.telegram]\ntoken = \"{}\"\napi_url = \"{}\"\n",
            telegram.token(),
            telegram.api_url()
        );
        home.write("config.toml", &config);
        let ada = telegram.person("Ada");
        telegram.say(ada, ada, "go");
        let mut gateway = Gateway::start(&home);
        wait_until("it starts", &home, all_run);
        gateway.signal(signal);
        if signal == "TERM" {
            // The second one doesn't wait for what runs.
            gateway.logs("stopping");
            gateway.signal(signal);
        }
        wait_until(signal, &home, <[_]>::is_empty);
        gateway.kill();
    }
}

#[test]
fn nothing_of_a_program_outlives_its_call() {
    let home = with_script(STAYS, "");
    let mut chat = home.chat();
    chat.send(&json!({"id": "m1", "text": "go"}));
    wait_until("it starts", &home, all_run);
    chat.say("m2", "/stop");
    wait_until("stopped", &home, <[_]>::is_empty);
    chat.finish();

    let home = with_script(&STAYS.replace("\nsleep 1000\n", "\necho done\n"), "");
    let mut chat = home.chat();
    assert_eq!(chat.say("m1", "go")["text"], "done");
    assert_eq!(left(&home), [""; 0], "nothing is left when there is an answer");
    chat.finish_well();
}

/// Tries what a program shouldn't do, and says what worked.
const TRIES: &str = r#"
try() { if (eval "$2") > /dev/null 2>&1; then echo "$1: yes"; else echo "$1: no"; fi; }
try own 'echo x > file && cat file'
try temporary 'cat "$(mktemp)"'
try system 'cat /etc/hosts && ls /usr/bin && python3 -c "import json"'
try config "cat $1/config.toml"
try store "ls $1/.local/share/adjutant"
try home "ls $1"
try secret "cat $1/secret"
try write "echo x > $1/secret"
try skill "cat $1/skills/lab.toml"
try machine 'ls /root || ls /home || cat /etc/shadow'
try parent 'cat /proc/$PPID/environ'
try server 'cat /proc/$(ps -o ppid= -p $PPID | tr -d " ")/environ'
try kill 'kill -0 $PPID'
try tcp 'echo > /dev/tcp/127.0.0.1/TCP'
try udp 'echo > /dev/udp/127.0.0.1/UDP'
"#;

fn tried(permissions: impl Fn(&str) -> String) -> String {
    let (tcp, udp) = (TcpListener::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
    let port = |address: std::net::SocketAddr| address.port().to_string();
    let script = TRIES.replace("TCP", &port(tcp.local_addr().unwrap()));
    let script = script.replace("UDP", &port(udp.local_addr().unwrap()));
    let home = with_script(&script, "");
    home.write("secret", "s3cret");
    let given = permissions(&home.path().display().to_string());
    let skill = std::fs::read_to_string(home.path().join("skills/lab.toml")).unwrap();
    home.write(
        "skills/lab.toml",
        &skill.replace("[skill.parameters]", &format!("{given}\n[skill.parameters]")),
    );
    let mut chat = home.chat();
    let said = chat.say("m1", "go")["text"].as_str().unwrap().to_owned();
    chat.finish_well();
    said
}

#[test]
fn a_program_sees_its_own_folder_and_what_is_permitted() {
    insta::assert_snapshot!(tried(|_| String::new()), @"
    own: yes
    temporary: yes
    system: yes
    config: no
    store: no
    home: no
    secret: no
    write: no
    skill: no
    machine: no
    parent: no
    server: no
    kill: no
    tcp: no
    udp: no
    ");
    let more =
        |home: &str| format!("network = true\nread = ['{home}/config.toml']\nwrite = ['{home}/secret']");
    insta::assert_snapshot!(tried(more), @"
    own: yes
    temporary: yes
    system: yes
    config: yes
    store: no
    home: no
    secret: yes
    write: yes
    skill: no
    machine: no
    parent: no
    server: no
    kill: no
    tcp: yes
    udp: yes
    ");
}

#[test]
fn a_refusal_says_what_to_permit() {
    let home = with_script("cat \"$1/config.toml\"", "read = []");
    let mut chat = home.chat();
    let said = chat.say("m1", "go")["text"].as_str().unwrap().to_owned();
    assert!(
        said.contains("say what else it needs in the skill's file: `network`, `read`, `write`"),
        "{said}"
    );
    chat.finish_well();
    let doctor = home.run(&["doctor"]).stdout;
    assert!(doctor.contains("have no network and see only their own folders: lab.go"), "{doctor}");
}

#[test]
fn the_scripts_of_instructions_see_their_own_folder_and_what_was_permitted() {
    let home = Home::new();
    home.write("pdf/SKILL.md", "---\nname: pdf\ndescription: x\n---\n");
    home.write("pdf/scripts/get.sh", "echo x\n");
    let added = home.run(&["skills", "add", "pdf", "--yes"]);
    assert!(added.stdout.contains("  scripts may use: their own folder, no network\n"), "{added:?}");
    let added = home.run(&["skills", "add", "pdf", "--network", "--read", "pdf", "--yes"]);
    let may = format!(
        "  scripts may use: network, reads {}\n",
        home.path().join("pdf").canonicalize().unwrap().display()
    );
    assert!(added.stdout.contains(&may), "{added:?}");
    let missing = home.run(&["skills", "add", "pdf", "--write", "no-such-folder", "--yes"]);
    assert_eq!(missing.status, Some(1), "{missing:?}");
}

#[test]
fn a_secret_leaves_the_environment_that_the_system_shows() {
    let home =
        Home::with_config("[model]\nprovider = \"openai\"\nname = \"m\"\napi_key = { env = \"MY_KEY\" }\n");
    let mut command = home.command(&["chat", "--json"]);
    command.env("MY_KEY", "s3cret-in-the-environment").stdin(Stdio::piped()).stdout(Stdio::piped());
    let user = rustix::process::geteuid().as_raw();
    // To root, the system shows everything.
    if user == 0 {
        command.uid(65534).gid(65534);
        for path in [home.path().to_owned(), home.path().join("config.toml")] {
            std::os::unix::fs::chown(path, Some(65534), Some(65534)).unwrap();
        }
    }
    let mut chat = crate::process::Chat::start(command);
    assert!(chat.say("m1", "/help")["text"].is_string(), "the secret was read");
    let environ = format!("/proc/{}/environ", chat.pid());
    assert_eq!(std::fs::metadata(&environ).unwrap().uid(), 0, "no program of this user can read it");
    let shown = std::fs::read(&environ);
    assert!(shown.is_err() || !String::from_utf8_lossy(&shown.unwrap()).contains("s3cret"));
    chat.finish_well();
}
