//! Bad input gets an error that names the place and the fix, and the documented exit status.

use std::fs::{self, Permissions};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::process::{Ended, Home};

/// The text for a person, without the folder that differs in each run.
fn told(home: &Home, ended: &Ended) -> String {
    let text = format!("{:?} {}{}", ended.status, ended.stdout, ended.stderr);
    text.replace(home.path().to_str().unwrap(), "HOME")
}

#[track_caller]
fn once(config: &str) -> String {
    let home = Home::with_config(config);
    let ended = home.run(&["chat", "--once", "what is overdue?"]);
    assert_eq!(ended.stdout, "");
    told(&home, &ended)
}

#[test]
fn a_wrong_configuration() {
    insta::assert_snapshot!(once("[limits]\nagents_per_trun = 3\n"), @r"
    Some(78) adjutant: the configuration has errors
    config.toml:2: limits.agents_per_trun: unknown key; did you mean `agents_per_turn`?
    ");
    insta::assert_snapshot!(once("[limits]\nagents_per_turn = \"three\"\nskill_timeout = 30\n"), @r#"
    Some(78) adjutant: the configuration has errors
    config.toml:2: limits.agents_per_turn: must be a whole number, not a text
    config.toml:3: limits.skill_timeout: must be a duration in quotes, such as "30s", not a whole number
    "#);
    insta::assert_snapshot!(once("[model]\nprovider = \"openai\"\nname = \"x\"\napi_key = { env = \"NO_SUCH_KEY\" }\n"), @r#"
    Some(78) adjutant: the configuration has errors
    config.toml:4: model.api_key: the environment variable "NO_SUCH_KEY" is unset or empty; set it
    "#);
    insta::assert_snapshot!(once("[model]\nprovider = \"openai\"\nname = \"x\"\napi_key = { file = \"nowhere\" }\n"), @r#"
    Some(78) adjutant: the configuration has errors
    config.toml:4: model.api_key: the file "nowhere" can't be read: No such file or directory (os error 2)
    "#);
    insta::assert_snapshot!(once("[model]\nprovider = \"opnai\"\nname = \"x\"\n"), @r#"
    Some(78) adjutant: the configuration has errors
    config.toml:2: model.provider: unknown provider "opnai"; did you mean `openai`?
    "#);
    insta::assert_snapshot!(once("[approval]\nmedium = \"perhaps\"\n[approval.skills]\n\"tasks.delte\" = \"ask\"\n"), @r#"
    Some(78) adjutant: the configuration has errors
    config.toml:2: approval.medium: unknown word "perhaps"; known here: auto, ask, deny
    "#);
    insta::assert_snapshot!(once("[approval.skills]\n\"tasks.delte\" = \"ask\"\n"), @r#"
    Some(78) adjutant: the configuration has errors
    config.toml:2: approval.skills."tasks.delte": unknown skill; did you mean `tasks.delete`?
    "#);
    insta::assert_snapshot!(once("[assistant\n"), @r"
    Some(78) adjutant: the configuration has errors
    config.toml:1: not TOML: unclosed table, expected `]`
    ");
    insta::assert_snapshot!(once("[assistant]\ntimezone = \"Europe/Berln\"\n"), @r#"
    Some(78) adjutant: the configuration has errors
    config.toml:2: assistant.timezone: unknown time zone "Europe/Berln"; did you mean `Europe/Berlin`?
    "#);
}

#[test]
fn a_store_that_cant_be_opened() {
    insta::assert_snapshot!(once("[store]\nurl = \"mysql://x/y\"\n"), @r#"
    Some(78) adjutant: the configuration has errors
    config.toml:2: store.url: must begin with sqlite: or postgres://, such as "sqlite:///var/lib/adjutant/adjutant.db" or "postgres://USER@HOST/DB"
    "#);
    insta::assert_snapshot!(once("[store]\nurl = \"nonsense\"\n"), @r#"
    Some(78) adjutant: the configuration has errors
    config.toml:2: store.url: must begin with sqlite: or postgres://, such as "sqlite:///var/lib/adjutant/adjutant.db" or "postgres://USER@HOST/DB"
    "#);
    // Nothing listens there.
    insta::assert_snapshot!(once("[store]\nurl = \"postgres://a:secret@127.0.0.1:1/b\"\n"), @"Some(1) adjutant: the store at postgres://127.0.0.1:1/b can't be opened: error communicating with database: Connection refused (os error 111). Check that [store] url is right and that the server runs and lets you in");
    // Not even root can create a folder below a file.
    let home = Home::with_config("[store]\nurl = \"sqlite://file/adjutant.db\"\n");
    home.write("file", "");
    insta::assert_snapshot!(told(&home, &home.run(&["chat", "--once", "x"])), @"Some(1) adjutant: the store at file/adjutant.db can't be opened: File exists (os error 17). Check that [store] url is right and that the place is writable");
    let home = Home::new();
    home.write("file", "");
    let ended = home
        .command(&["chat", "--once", "x"])
        .env("ADJUTANT_DATA_DIR", home.path().join("file/data"))
        .output()
        .unwrap();
    let stderr = String::from_utf8(ended.stderr).unwrap().replace(home.path().to_str().unwrap(), "HOME");
    insta::assert_snapshot!(format!("{:?} {stderr}", ended.status.code()), @"Some(1) adjutant: the store at HOME/file/data/adjutant.db can't be opened: Not a directory (os error 20). Check that [store] url is right and that the place is writable");
    // Another file is in its place.
    let home = Home::with_config("[store]\nurl = \"sqlite://other.db\"\n");
    home.write("other.db", &"this is a letter, not a database. ".repeat(100));
    insta::assert_snapshot!(told(&home, &home.run(&["chat", "--once", "x"])), @"Some(1) adjutant: the store at other.db can't be opened: its file isn't a database. Check that [store] url is right; if it is, restore a backup");
    let doctor = home.run(&["doctor"]).stdout;
    let lines: Vec<&str> = doctor.lines().skip_while(|line| !line.starts_with("✗ store ")).take(2).collect();
    assert!(lines[0].ends_with("can't be opened: its file isn't a database (A04)"), "{doctor}");
    assert!(lines[1].ends_with("→ Check that [store] url is right; if it is, restore a backup"), "{doctor}");
}

/// What a command says to somebody who isn't root.
fn told_to_user(home: &Home, words: &[&str]) -> String {
    let plain = home.command(words);
    // Root may write anywhere, unless it gives that up.
    let mut command = Command::new("setpriv");
    if rustix::process::geteuid().is_root() {
        command.arg("--bounding-set=-dac_override");
    }
    command.arg(plain.get_program()).args(words).env_clear().env("HOME", home.path()).current_dir("/");
    told(home, &Ended::of(command.output().unwrap()))
}

#[test]
fn a_store_that_is_read_only() {
    let home = Home::new();
    assert_eq!(home.run(&["chat", "--once", "what is overdue?"]).status, Some(0));
    let (file, folder) = (home.data().join("adjutant.db"), home.data());
    fs::set_permissions(&file, Permissions::from_mode(0o400)).unwrap();
    insta::assert_snapshot!(told_to_user(&home, &["chat", "--once", "add a task to x"]), @"Some(1) adjutant: the store failed: its file or folder can't be written. Give both to the user who runs this");
    fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    // SQLite gave these the permissions of the file.
    for beside in ["adjutant.db-wal", "adjutant.db-shm"] {
        let _ = fs::remove_file(folder.join(beside));
    }
    fs::set_permissions(&folder, Permissions::from_mode(0o500)).unwrap();
    insta::assert_snapshot!(told_to_user(&home, &["chat", "--once", "add a task to x"]), @"Some(1) adjutant: the store at HOME/.local/share/adjutant/adjutant.db can't be opened: its file or folder can't be written. Give both to the user who runs this");
    fs::set_permissions(&folder, Permissions::from_mode(0o700)).unwrap();
    assert_eq!(home.tasks(), [""; 0]);
}

#[test]
fn a_home_that_cant_be_written_to() {
    let home = Home::new();
    fs::set_permissions(home.path(), Permissions::from_mode(0o555)).unwrap();
    let run = |words: &[&str]| told_to_user(&home, words);
    insta::assert_snapshot!(run(&["chat", "--once", "what is overdue?"]), @"Some(1) adjutant: the store at HOME/.local/share/adjutant/adjutant.db can't be opened: its file or folder can't be written. Give both to the user who runs this");
    let path = home.path().join("config.toml");
    insta::assert_snapshot!(run(&["init", "--defaults", "--config", path.to_str().unwrap()]), @"Some(1) adjutant: can't write HOME/config.toml: Permission denied (os error 13); run this as root, or name another file with --config");
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
}

#[test]
fn a_port_that_another_program_has() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let telegram = "[channels.telegram]\ntoken = \"1:a\"\napi_url = \"http://127.0.0.1:1\"\n";
    let serve = |listen: String| {
        let home = Home::with_config(&format!("{telegram}{listen}"));
        let told = told(&home, &home.run(&["serve"]));
        told.lines().last().unwrap_or_default().replace(&address, "ADDRESS")
    };
    insta::assert_snapshot!(serve(format!("[http]\nlisten = \"{address}\"\n")), @r#"Some(1) adjutant: can't listen on ADDRESS: Address already in use (os error 98); change [http] listen, or set it to """#);
    let page = format!("[http]\nlisten = \"\"\n[channels.web]\nlisten = \"{address}\"\n");
    insta::assert_snapshot!(serve(page), @"Some(1) adjutant: can't listen on ADDRESS: Address already in use (os error 98); change [channels.web] listen");
}

#[test]
fn a_locale_that_is_unknown_or_none() {
    for locale in ["", "C", "POSIX", "xx_YY.nowhere"] {
        let home = Home::new();
        let said = home.command(&["chat", "--once", "add a task to grüßen"]).env("LC_ALL", locale).output();
        assert_eq!(Ended::of(said.unwrap()).stdout, "Added “grüßen”\n", "{locale}");
    }
}

#[test]
fn a_store_of_a_newer_version_is_left_alone() {
    let home = Home::new();
    assert_eq!(home.run(&["chat", "--once", "what is overdue?"]).status, Some(0));
    home.ask(async |store| {
        let mut batch = adjutant_store::Batch::new();
        batch.run(
            "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
             VALUES (99990101000000, 'later', 1, 'x', 1)",
            [],
        );
        store.write(batch).await.unwrap();
    });
    insta::assert_snapshot!(told(&home, &home.run(&["chat", "--once", "what is overdue?"])), @"Some(1) adjutant: the store at HOME/.local/share/adjutant/adjutant.db was last used by a newer adjutant (migration 99990101000000); install that version or restore a backup made before it");
    insta::assert_snapshot!(told(&home, &home.feed(&["chat", "--json"], b"hello\n")), @"Some(1) adjutant: the store at HOME/.local/share/adjutant/adjutant.db was last used by a newer adjutant (migration 99990101000000); install that version or restore a backup made before it");
}

#[test]
fn a_broken_skill_file() {
    let home = Home::with_config("[skills]\npaths = [\"skills\"]\n");
    home.write(
        "skills/bell.toml",
        "domain = \"bell\"\nsummary = \"A bell\"\n[[skill]]\nname = \"bell.ring\"\nrisk = \"none\"\n",
    );
    insta::assert_snapshot!(told(&home, &home.run(&["chat", "--once", "x"])), @r#"
    Some(78) adjutant: the configuration has errors
    [skills]: skills/bell.toml:3: the skill lacks `handler`: { http = ... } or { command = [...] }
    skills/bell.toml:3: the skill lacks `summary`
    skills/bell.toml:5: 'none' is no risk; write "low", "medium" or "high"
    "#);
    insta::assert_snapshot!(told(&home, &home.run(&["skills", "check"])), @r#"
    Some(1) skills/bell.toml:3: the skill lacks `handler`: { http = ... } or { command = [...] }
    skills/bell.toml:3: the skill lacks `summary`
    skills/bell.toml:5: 'none' is no risk; write "low", "medium" or "high"
    3 problems; 66 skills in 12 files have none
    "#);
    insta::assert_snapshot!(told(&home, &home.run(&["skills", "list"])), @r#"
    Some(1) adjutant: skills/bell.toml:3: the skill lacks `handler`: { http = ... } or { command = [...] }
    skills/bell.toml:3: the skill lacks `summary`
    skills/bell.toml:5: 'none' is no risk; write "low", "medium" or "high"
    "#);
}

#[test]
fn a_wrong_command_line() {
    let home = Home::new();
    for (words, hint) in [
        (&["chat", "--once", ""][..], "the message is empty"),
        (&["chat", "--once", " \n"], "the message is empty"),
        (&["chat", "--json", "--once", "x"], "cannot be used with"),
        (&["chta"], "chat"),
        (&["chat", "--jsn"], "--json"),
    ] {
        let ended = home.run(words);
        assert_eq!((ended.status, ended.stdout.as_str()), (Some(2), ""), "{words:?}");
        assert!(ended.stderr.contains(hint), "{words:?}: {}", ended.stderr);
    }
    // A single argument of a program can't be longer than 128 KiB.
    let ended = home.run(&["chat", "--once", &"x".repeat(120_000)]);
    assert_eq!((ended.status, ended.stdout.as_str()), (Some(2), ""));
    insta::assert_snapshot!(ended.stderr, @"adjutant: the message has 120000 characters, and 100000 is the limit; shorten it or split it");
    assert!(!home.data().exists(), "what was never said left something behind");
}

#[test]
fn a_megabyte_of_plain_text_in_a_pipe() {
    let home = Home::new();
    let mut input = vec![b'x'; 1_000_000];
    input.extend_from_slice(b"\n\xff\xfe\nadd a task to survive\n");
    let ended = home.feed(&["chat"], &input);
    assert_eq!(ended.status, Some(0));
    insta::assert_snapshot!(ended.stdout, @r"
    The text has 1000000 characters; at most 100000 are allowed. Send it in several messages.
    The line is not valid UTF-8 (byte 1 is wrong). Send the text in UTF-8.
    Added “survive”
    ");
}

#[test]
fn a_reader_that_goes_away_ends_it_and_nothing_is_lost() {
    let home = Home::new();
    let (reader, writer) = std::io::pipe().unwrap();
    let mut command = home.command(&["chat", "--json"]);
    let mut child = command.stdin(std::process::Stdio::piped()).stdout(writer).spawn().unwrap();
    drop(command);
    drop(reader);
    let mut stdin = child.stdin.take().unwrap();
    let _ = std::io::Write::write_all(&mut stdin, b"{\"id\": \"m1\", \"text\": \"add a task to keep\"}\n");
    // stdin stays open: it ends because nothing can be written any more.
    assert_eq!(child.wait().unwrap().code(), Some(0));
    drop(stdin);
    let mut chat = home.chat();
    chat.say("m1", "add a task to keep");
    chat.finish_well();
    assert_eq!(home.tasks(), ["keep"]);
}
