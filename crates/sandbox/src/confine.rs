//! What the kernel keeps from a program: files and signals by Landlock, TCP by Landlock and other networks by seccomp.

use std::io;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError,
    RulesetStatus, Scope, path_beneath_rules,
};
use rustix::thread::{CapabilitySet, remove_capability_from_bounding_set};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};

use super::Permissions;

/// The newest of Landlock that we use; of an older kernel's, whatever it has.
const ABI: ABI = ABI::V7;
/// What the system has installed: everybody may read it.
const SYSTEM: [&str; 12] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/opt",
    "/nix/store",
    "/gnu/store",
    "/proc",
    "/sys",
    "/etc/alternatives",
];
/// What programs look for in `/etc`; the rest may hold secrets, ours for example.
const ETC: [&str; 30] = [
    "ca-certificates",
    "ca-certificates.conf",
    "crypto-policies",
    "fonts",
    "gai.conf",
    "group",
    "host.conf",
    "hostname",
    "hosts",
    "inputrc",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "locale.alias",
    "locale.conf",
    "localtime",
    "magic",
    "mime.types",
    "nsswitch.conf",
    "os-release",
    "passwd",
    "pki/ca-trust",
    "pki/tls/certs",
    "protocols",
    "resolv.conf",
    "services",
    "ssl/certs",
    "ssl/openssl.cnf",
    "terminfo",
    "timezone",
];
/// What begins so is the configuration of an interpreter.
const INTERPRETERS: [&str; 4] = ["python", "perl", "java", "ImageMagick"];
const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// How far the kernel can confine a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confinement {
    /// As far as we want.
    Full,
    /// It is older, and lacks some of it.
    Partial,
    /// It has no Landlock: a program may read and write whatever we may.
    None,
}

/// What this kernel can do, tried with a thread.
pub fn confinement() -> Confinement {
    let tried = std::thread::spawn(|| restrict(&Permissions::default(), &[]).ok()).join();
    match tried.ok().flatten() {
        Some(RulesetStatus::FullyEnforced) => Confinement::Full,
        Some(RulesetStatus::PartiallyEnforced) => Confinement::Partial,
        _ => Confinement::None,
    }
}

/// Limits this thread, and what it starts, to what the system has installed and to what is permitted.
pub(super) fn confine(may: &Permissions) -> io::Result<()> {
    rustix::thread::set_no_new_privs(true)?;
    // With one of them, root's programs could read the memory of ours all the same.
    for right in [CapabilitySet::SYS_PTRACE, CapabilitySet::PERFMON, CapabilitySet::SYS_ADMIN] {
        // Nobody but root has it, or may give it up.
        let _ = remove_capability_from_bounding_set(right);
    }
    restrict(may, &installed()).map_err(io::Error::other)?;
    if may.network { Ok(()) } else { cut_off().map_err(io::Error::other) }
}

/// Leaves this thread what it has open, and nothing else.
pub fn allow_nothing() -> io::Result<()> {
    restrict(&Permissions::default(), &[]).map_err(io::Error::other)?;
    cut_off().map_err(io::Error::other)
}

/// Not what other kernels lack; `adjutant doctor` says so.
fn restrict(may: &Permissions, installed: &[PathBuf]) -> Result<RulesetStatus, RulesetError> {
    let (read, all) = (AccessFs::from_read(ABI), AccessFs::from_all(ABI));
    let devices: &[&str] = if installed.is_empty() { &[] } else { &DEVICES };
    let mut rules = Ruleset::default().handle_access(all)?.scope(BitFlags::<Scope>::all())?;
    if !may.network {
        rules = rules.handle_access(AccessNet::from_all(ABI))?;
    }
    let rules = rules.create()?.add_rules(path_beneath_rules(installed, read))?;
    let rules =
        rules.add_rules(path_beneath_rules(devices, all))?.add_rules(path_beneath_rules(&may.read, read))?;
    Ok(rules.add_rules(path_beneath_rules(&may.write, all))?.restrict_self()?.ruleset)
}

fn installed() -> Vec<PathBuf> {
    let etc = Path::new("/etc");
    let names = std::fs::read_dir(etc).into_iter().flatten().filter_map(Result::ok);
    let of_interpreter = |name: &str| INTERPRETERS.iter().any(|begin| name.starts_with(begin));
    let interpreters = names.filter(|entry| entry.file_name().to_str().is_some_and(of_interpreter));
    let system = SYSTEM.iter().map(PathBuf::from).chain(ETC.iter().map(|name| etc.join(name)));
    system.chain(interpreters.map(|entry| entry.path())).collect()
}

/// Allows no socket but local ones: Landlock knows of TCP alone. The second way to make one, a ring of requests, isn't
/// there either.
fn cut_off() -> Result<(), seccompiler::Error> {
    let isnt = |family: i32| {
        SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, family.cast_unsigned().into())
    };
    let other = SeccompRule::new(vec![isnt(libc::AF_UNIX)?, isnt(libc::AF_NETLINK)?])?;
    let rules = [(libc::SYS_socket, vec![other]), (libc::SYS_io_uring_setup, Vec::new())];
    let denied = SeccompAction::Errno(libc::EACCES.cast_unsigned());
    let arch = std::env::consts::ARCH.try_into()?;
    let filter: BpfProgram =
        SeccompFilter::new(rules.into(), SeccompAction::Allow, denied, arch)?.try_into()?;
    seccompiler::apply_filter(&filter)
}
