//! The unit's text, and where it and what it stands on lie.

use std::path::{Path, PathBuf};

use super::CliError;
use crate::config::Env;

/// The unit, as the Debian package has it.
const UNIT: &str = include_str!("../../../systemd/adjutant.service");
/// The program that it names.
const PROGRAM: &str = "/usr/bin/adjutant";
/// From here to the last section it is for a service of the machine.
const OF_THE_MACHINE: &str = "# The rest is for a system service";

/// Whose service.
pub(super) struct Place {
    /// A user's, and not the machine's.
    pub(super) is_users: bool,
    /// Where our unit is written.
    pub(super) unit: PathBuf,
    /// Where the Debian package has its own.
    pub(super) packaged: Option<PathBuf>,
    /// The folder of the configuration and the credentials.
    pub(super) config: PathBuf,
    /// What makes the user that the service runs as.
    pub(super) sysusers: Option<PathBuf>,
}

impl Place {
    /// A service of the machine.
    pub(super) fn of_machine() -> Self {
        Self {
            is_users: false,
            unit: "/etc/systemd/system/adjutant.service".into(),
            packaged: Some("/usr/lib/systemd/system/adjutant.service".into()),
            config: "/etc/adjutant".into(),
            sysusers: Some("/etc/sysusers.d/adjutant.conf".into()),
        }
    }

    /// A service of this user.
    pub(super) fn of_user(env: &Env) -> Result<Self, CliError> {
        let Some(config) = env.xdg("XDG_CONFIG_HOME", ".config") else {
            return Err(CliError::plain("there is no place for a unit, because $HOME is not set; set it"));
        };
        Ok(Self {
            is_users: true,
            unit: config.join("systemd/user/adjutant.service"),
            packaged: None,
            config: config.join("adjutant"),
            sysusers: None,
        })
    }

    /// The unit that runs this program.
    ///
    /// # Errors
    /// When systemd could not run it.
    pub(super) fn text(&self, program: &Path) -> Result<String, CliError> {
        let hidden = ["/home", "/root", "/run/user"];
        if !self.is_users && hidden.iter().any(|folder| program.starts_with(folder)) {
            return Err(CliError::plain(format!(
                "a service of the machine can't see {}; copy it to /usr/local/bin/adjutant, and run that with \
                 `service install`, or install it for yourself alone with --user",
                program.display()
            )));
        }
        let plain = program.to_str().filter(|path| !path.contains(char::is_control)).ok_or_else(|| {
            CliError::plain(format!("{program:?} is no path that a unit can hold; move the program"))
        })?;
        let escaped = plain.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%");
        let quoted =
            if escaped == plain && !plain.contains(' ') { escaped } else { format!("\"{escaped}\"") };
        let unit = UNIT.replace(&format!("={PROGRAM} "), &format!("={quoted} "));
        if !self.is_users {
            return Ok(unit);
        }
        let (common, rest) = unit.split_once(OF_THE_MACHINE).unwrap_or((&unit, ""));
        let install = rest.find("[Install]").map_or("", |at| &rest[at..]);
        Ok(format!("{common}{}", install.replace("multi-user.target", "default.target")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_units_program_is_this_one() {
        let place = Place::of_machine();
        assert_eq!(place.text(Path::new(PROGRAM)).unwrap(), UNIT);
        let line = |path: &str| {
            let unit = place.text(Path::new(path)).unwrap();
            unit.lines().find(|line| line.starts_with("ExecStart=")).unwrap().to_owned()
        };
        assert_eq!(line("/opt/adjutant"), "ExecStart=/opt/adjutant serve");
        assert_eq!(line("/opt/a b/100%"), "ExecStart=\"/opt/a b/100%%\" serve");
        assert_eq!(line("/opt/a\"\\"), "ExecStart=\"/opt/a\\\"\\\\\" serve");
        assert!(place.text(Path::new("/opt/a\nUser=root")).is_err());
        assert!(place.text(Path::new("/home/ada/adjutant")).is_err());
    }

    #[test]
    fn a_users_unit_needs_no_rights() {
        let env = Env::made_up([("HOME", "/home/ada")], "/home/ada");
        let place = Place::of_user(&env).unwrap();
        assert_eq!(place.unit, Path::new("/home/ada/.config/systemd/user/adjutant.service"));
        let unit = place.text(Path::new("/home/ada/adjutant")).unwrap();
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
