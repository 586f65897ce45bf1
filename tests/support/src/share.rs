//! A part of a processor for a process, by a control group of the system.

use std::path::{Path, PathBuf};
use std::{fs, io};

/// How often the system looks at what a process has used, in microseconds.
const PERIOD: u64 = 20_000;

/// A control group. It is removed when no process is in it any more.
#[derive(Debug)]
pub struct CpuShare {
    folder: PathBuf,
}

impl CpuShare {
    /// A new group whose processes have so many hundredths of a processor together.
    pub fn new(name: &str, percent: u64) -> io::Result<Self> {
        let quota = PERIOD * percent / 100;
        let unified = Path::new("/sys/fs/cgroup");
        if unified.join("cgroup.controllers").exists() {
            fs::write(unified.join("cgroup.subtree_control"), "+cpu")?;
            let group = Self::make(unified, name)?;
            fs::write(group.folder.join("cpu.max"), format!("{quota} {PERIOD}"))?;
            return Ok(group);
        }
        let group = Self::make(&unified.join("cpu"), name)?;
        fs::write(group.folder.join("cpu.cfs_period_us"), PERIOD.to_string())?;
        fs::write(group.folder.join("cpu.cfs_quota_us"), quota.to_string())?;
        Ok(group)
    }

    fn make(parent: &Path, name: &str) -> io::Result<Self> {
        let folder = parent.join(format!("adjutant-{}-{name}", std::process::id()));
        fs::create_dir(&folder)?;
        Ok(Self { folder })
    }

    /// Puts a process into it.
    pub fn take(&self, pid: u32) -> io::Result<()> {
        fs::write(self.folder.join("cgroup.procs"), pid.to_string())
    }
}

impl Drop for CpuShare {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.folder);
    }
}

/// The processor time that a process has used, in milliseconds.
pub fn used(pid: u32) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name before may contain spaces.
    let numbers = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: f64 = numbers.skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum();
    // Linux counts in hundredths of a second.
    ticks * 10.0
}

/// What share of the machine's time was not idle between two readings of `/proc/stat`.
pub fn busy(before: &[f64], after: &[f64]) -> f64 {
    let spent: Vec<f64> = after.iter().zip(before).map(|(after, before)| after - before).collect();
    let idle: f64 = spent.iter().skip(3).take(2).sum();
    1.0 - idle / spent.iter().sum::<f64>()
}

/// How the machine has spent its time so far: the first line of `/proc/stat`.
pub fn machine() -> Vec<f64> {
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    let numbers = stat.lines().next().unwrap_or_default().split_whitespace();
    numbers.filter_map(|number| number.parse().ok()).collect()
}
