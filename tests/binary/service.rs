//! `service`: the systemd unit, with a fake `systemctl`, and checked by the real `systemd-analyze`.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use adjutant_fakes::postgres::NO_SKIP;

use crate::process::{Ended, Home};

/// Records its arguments, and answers like a running service.
const SYSTEMCTL: &str = r#"#!/bin/sh
echo "$*" >> "$HOME/asked"
case "$*" in *show*) cat "$HOME/shown" ;; esac
"#;

/// A home with a `systemctl` in its PATH.
struct Machine {
    home: Home,
}

impl Machine {
    fn new(systemctl: &str) -> Self {
        let home = Home::new();
        home.write("bin/systemctl", systemctl);
        let path = home.path().join("bin/systemctl");
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        Self { home }
    }

    fn run(&self, word: &str) -> Ended {
        let mut command = self.home.command(&["service", word, "--user"]);
        command.env("PATH", format!("{}:/usr/bin:/bin", self.home.path().join("bin").display()));
        let output = command.output().unwrap();
        let home = self.home.path().to_str().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap().replace(home, "~");
        Ended { status: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    fn unit(&self) -> PathBuf {
        self.home.path().join(".config/systemd/user/adjutant.service")
    }

    /// The calls of `systemctl` since the last check.
    fn asked(&self) -> Vec<String> {
        let asked = fs::read_to_string(self.home.path().join("asked")).unwrap();
        fs::remove_file(self.home.path().join("asked")).unwrap();
        asked.lines().map(str::to_owned).collect()
    }
}

#[test]
fn the_unit_is_written_enabled_and_removed() {
    let machine = Machine::new(SYSTEMCTL);
    let installed = machine.run("install");
    assert_eq!((installed.status, installed.stderr.as_str()), (Some(0), ""));
    insta::assert_snapshot!(installed.stdout, @r"
    wrote ~/.config/systemd/user/adjutant.service
    enabled: it starts when you log in; `loginctl enable-linger` keeps it running after you log out
    now edit ~/.config/adjutant/config.toml, check it with `adjutant doctor`, and start the service: systemctl --user restart adjutant
    ");
    let reload_and_enable =
        ["--user daemon-reload", "--user daemon-reload", "--user enable adjutant.service"];
    assert_eq!(machine.asked(), reload_and_enable);
    let unit = fs::read_to_string(machine.unit()).unwrap();
    assert!(unit.contains(&format!("ExecStart={} serve\n", env!("CARGO_BIN_EXE_adjutant"))), "{unit}");
    let credentials = machine.home.path().join(".config/adjutant/credentials");
    assert_eq!(fs::metadata(credentials).unwrap().permissions().mode() & 0o777, 0o700);
    let again = machine.run("install");
    assert!(again.stdout.starts_with("~/.config/systemd/user/adjutant.service is up to date\n"), "{again:?}");
    machine.asked();
    let uninstalled = machine.run("uninstall");
    assert_eq!((uninstalled.status, uninstalled.stderr.as_str()), (Some(0), ""));
    insta::assert_snapshot!(uninstalled.stdout, @r"
    stopped and disabled
    removed ~/.config/systemd/user/adjutant.service
    ~/.config/adjutant and the data are kept
    ");
    assert_eq!(machine.asked(), ["--user disable --now adjutant.service", "--user daemon-reload"]);
    assert!(!machine.unit().exists());
    assert!(machine.run("uninstall").stdout.ends_with("nothing to do\n"));
}

#[test]
fn a_changed_unit_is_kept() {
    let machine = Machine::new(SYSTEMCTL);
    for word in ["install", "uninstall"] {
        machine.home.write(".config/systemd/user/adjutant.service", "[Service]\nExecStart=/bin/mine\n");
        let ended = machine.run(word);
        assert_eq!(ended.status, Some(0), "{ended:?}");
        assert!(
            ended
                .stdout
                .contains("was different; it is kept as ~/.config/systemd/user/adjutant.service.old\n"),
            "{ended:?}"
        );
        let kept = machine.unit().with_extension("service.old");
        assert!(fs::read_to_string(&kept).unwrap().contains("/bin/mine"));
        fs::remove_file(kept).unwrap();
    }
    assert!(!machine.unit().exists());
}

#[test]
fn the_status_is_that_of_systemd() {
    let machine = Machine::new(SYSTEMCTL);
    let shown = |active: &str| {
        format!(
            "LoadState=loaded\nActiveState={active}\nSubState=running\nStatusText=telegram ok, 0 turns\n\
             FragmentPath=/etc/systemd/system/adjutant.service\nUnitFileState=enabled\n"
        )
    };
    machine.home.write("shown", &shown("active"));
    let status = machine.run("status");
    assert_eq!((status.status, status.stderr.as_str()), (Some(0), ""));
    insta::assert_snapshot!(status.stdout, @r"
    active (running), enabled: /etc/systemd/system/adjutant.service
    telegram ok, 0 turns
    ");
    machine.home.write("shown", &shown("failed"));
    assert_eq!(machine.run("status").status, Some(1));
    machine.home.write("shown", "LoadState=not-found\nActiveState=inactive\n");
    let status = machine.run("status");
    assert_eq!(status.status, Some(1));
    assert_eq!(status.stdout, "the service is not installed; run `adjutant service install --user`\n");
}

#[test]
fn init_names_the_service_only_where_systemd_can_run_it() {
    let home = Home::new();
    let path = home.path().join(".config/adjutant/config.toml");
    let options = ["init", "--unchecked", "--channel", "telegram", "--token-env", "X", "--config"];
    let ended = home.run(&[&options[..], &[path.to_str().unwrap()]].concat());
    assert_eq!(ended.status, Some(0), "{ended:?}");
    assert!(ended.stdout.contains("  adjutant serve  "), "{ended:?}");
    let has_systemd = Path::new("/run/systemd/system").exists();
    assert_eq!(ended.stdout.contains("adjutant service install --user"), has_systemd, "{ended:?}");
}

#[test]
fn without_a_systemd_nothing_is_written() {
    let machine = Machine::new("#!/bin/sh\necho 'Failed to connect to bus: No medium found' >&2\nexit 1\n");
    let ended = machine.run("install");
    assert_eq!((ended.status, ended.stdout.as_str()), (Some(1), ""));
    insta::assert_snapshot!(ended.stderr, @"adjutant: systemd can't be reached as this user; log in as the user, not with `su` or `sudo`. If this machine doesn't use systemd, have what starts its services run `adjutant serve`");
    assert!(!machine.home.path().join(".config").exists());
    let mut command = machine.home.command(&["service", "install", "--user"]);
    let output = command.env("PATH", machine.home.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    insta::assert_snapshot!(said, @"adjutant: systemctl not found: this machine doesn't use systemd; have what starts its services run `adjutant serve`");
    assert!(!machine.home.path().join(".config").exists());
    let machine = Machine::new("#!/bin/sh\necho 'No space left on device' >&2\nexit 1\n");
    insta::assert_snapshot!(machine.run("install").stderr, @"adjutant: `systemctl --user daemon-reload` failed: No space left on device");
}

/// Runs `systemd-analyze`; if the machine has none, prints that and returns none.
fn analyze(words: &[&str], unit: &Path) -> Option<Output> {
    match Command::new("systemd-analyze").args(words).arg(unit).env("LC_ALL", "C.UTF-8").output() {
        Ok(output) => Some(output),
        Err(error) => {
            let skipped = "the judgement of systemd-analyze: needs the Debian package systemd";
            let must = std::env::var_os(NO_SKIP).is_some_and(|value| value == *"1");
            assert!(!must, "{NO_SKIP} is set, but this machine can't run {skipped}: {error}");
            let _ = writeln!(std::io::stderr(), "SKIPPED: {skipped}");
            None
        }
    }
}

#[test]
fn systemd_finds_no_fault_with_the_unit_and_little_exposed() {
    let home = Home::new();
    // As in the package, except for the program, which must exist.
    let unit = include_str!("../../systemd/adjutant.service");
    let unit = unit.replace("/usr/bin/adjutant", env!("CARGO_BIN_EXE_adjutant"));
    home.write("adjutant.service", &unit);
    let path = home.path().join("adjutant.service");
    let Some(verified) = analyze(&["verify", "--man=no"], &path) else { return };
    let said = String::from_utf8_lossy(&[verified.stdout, verified.stderr].concat()).into_owned();
    // The machine's own units don't matter here.
    let ours: Vec<&str> = said.lines().filter(|line| line.contains("adjutant")).collect();
    assert_eq!((verified.status.code(), ours), (Some(0), vec![]));
    let judged = analyze(&["security", "--offline=true", "--threshold=15"], &path).unwrap();
    let judged_as = String::from_utf8_lossy(&judged.stdout);
    assert_eq!(judged.status.code(), Some(0), "{judged_as}");
    // The check works: without the sandbox the unit is exposed, and a typo in a key is an error.
    home.write("adjutant.service", &unit.replace("Protect", "Portect"));
    let slipped = analyze(&["verify", "--man=no"], &path).unwrap();
    assert!(String::from_utf8_lossy(&slipped.stderr).contains("'PortectSystem'"));
    let judged = analyze(&["security", "--offline=true", "--threshold=15"], &path).unwrap();
    assert_ne!(judged.status.code(), Some(0));
}
