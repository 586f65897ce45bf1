//! The systemd unit: its text, and the paths that belong to it.

use std::path::{Path, PathBuf};

use adjutant_config::Env;

use super::{CliError, Result};

/// The unit in the Debian package.
const UNIT: &str = include_str!("../../../../systemd/adjutant.service");
/// The program in that unit.
const PROGRAM: &str = "/usr/bin/adjutant";
/// From here to the last section, it is for the machine's service only.
const MACHINE_ONLY: &str = "# The rest is for a system service";

/// A systemd unit, of the machine or of a user.
pub(super) struct Unit {
    pub(super) is_users: bool,
    /// The path that we write the unit to.
    pub(super) path: PathBuf,
    /// The path that the Debian package installs the unit to.
    pub(super) packaged: Option<PathBuf>,
    /// The folder of the configuration and the credentials.
    pub(super) config: PathBuf,
    /// The sysusers file that creates the service's user.
    pub(super) sysusers: Option<PathBuf>,
}

impl Unit {
    pub(super) fn for_machine() -> Self {
        Self {
            is_users: false,
            path: "/etc/systemd/system/adjutant.service".into(),
            packaged: Some("/usr/lib/systemd/system/adjutant.service".into()),
            config: "/etc/adjutant".into(),
            sysusers: Some("/etc/sysusers.d/adjutant.conf".into()),
        }
    }

    pub(super) fn for_user(env: &Env) -> Result<Self> {
        let Some(config) = env.xdg("XDG_CONFIG_HOME", ".config") else {
            return Err(CliError::plain("$HOME isn't set, so there is no folder for a unit; set it"));
        };
        Ok(Self {
            is_users: true,
            path: config.join("systemd/user/adjutant.service"),
            packaged: None,
            config: config.join("adjutant"),
            sysusers: None,
        })
    }

    pub(super) fn text(&self, program: &Path) -> Result<String> {
        let hidden = ["/home", "/root", "/run/user"];
        if !self.is_users && hidden.iter().any(|folder| program.starts_with(folder)) {
            return Err(CliError::plain(format!(
                "the machine's service can't see {}; copy it to /usr/local/bin/adjutant and run \
                 `/usr/local/bin/adjutant service install`, or install a service of your own with --user",
                program.display()
            )));
        }
        let plain = program.to_str().filter(|path| !path.contains(char::is_control)).ok_or_else(|| {
            CliError::plain(format!("a unit can't contain the path {program:?}; move the program"))
        })?;
        let escaped = plain.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%");
        let quoted =
            if escaped == plain && !plain.contains(' ') { escaped } else { format!("\"{escaped}\"") };
        let unit = UNIT.replace(&format!("={PROGRAM} "), &format!("={quoted} "));
        if !self.is_users {
            return Ok(unit);
        }
        let (common, rest) = unit.split_once(MACHINE_ONLY).unwrap_or((&unit, ""));
        let install = rest.find("[Install]").map_or("", |at| &rest[at..]);
        Ok(format!("{common}{}", install.replace("multi-user.target", "default.target")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_units_program_is_this_one() {
        let unit = Unit::for_machine();
        assert_eq!(unit.text(Path::new(PROGRAM)).unwrap(), UNIT);
        let line = |path: &str| {
            let text = unit.text(Path::new(path)).unwrap();
            text.lines().find(|line| line.starts_with("ExecStart=")).unwrap().to_owned()
        };
        assert_eq!(line("/opt/adjutant"), "ExecStart=/opt/adjutant serve");
        assert_eq!(line("/opt/a b/100%"), "ExecStart=\"/opt/a b/100%%\" serve");
        assert_eq!(line("/opt/a\"\\"), "ExecStart=\"/opt/a\\\"\\\\\" serve");
        assert!(unit.text(Path::new("/opt/a\nUser=root")).is_err());
        assert!(unit.text(Path::new("/home/ada/adjutant")).is_err());
    }

    #[test]
    fn a_users_unit_needs_no_rights() {
        let env = Env::made_up([("HOME", "/home/ada")], "/home/ada");
        let user_unit = Unit::for_user(&env).unwrap();
        assert_eq!(user_unit.path, Path::new("/home/ada/.config/systemd/user/adjutant.service"));
        let unit = user_unit.text(Path::new("/home/ada/adjutant")).unwrap();
        assert!(
            unit.contains("ExecStart=/home/ada/adjutant serve") && unit.contains("WatchdogSec="),
            "{unit}"
        );
        assert!(unit.ends_with("[Install]\nWantedBy=default.target\n"), "{unit}");
        for word in ["User=", "ProtectHome", "PrivateUsers", "network-online", "multi-user"] {
            assert!(!unit.contains(word), "{word} in {unit}");
        }
    }
}
