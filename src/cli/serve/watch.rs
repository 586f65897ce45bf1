//! Tells the service manager that `serve` is up, its status, and that it is alive.
//!
//! - It is up when each channel has reported a state, or after a few seconds: an unreachable platform doesn't delay it.
//! - It is alive while every task makes steps and the store takes a write. Problems that a restart wouldn't fix, such as
//!   an unreachable platform, appear in the status only.

use std::cell::RefCell;
use std::convert::Infallible;
use std::time::Duration;

use crate::lifecycle::ServiceManager;
use crate::service::Service;

/// How long to wait for the channels' first reports.
const STARTUP: Duration = Duration::from_secs(5);

const INTERVAL: Duration = Duration::from_secs(1);

/// The longest that a healthy store takes to answer, even when it is busy.
pub(super) const STORE_TIMEOUT: Duration = Duration::from_secs(5);

/// Reports until the future is dropped.
pub(super) async fn report(service: &Service, manager: &ServiceManager) -> Infallible {
    let _ = tokio::time::timeout(STARTUP, service.health.wait_until_up()).await;
    manager.status(&service.status());
    manager.ready();
    tracing::info!("up: {}", service.status());
    let stuck = RefCell::default();
    tokio::join!(report_status(service, manager, &stuck), report_alive(service, manager, &stuck)).0
}

async fn report_status(
    service: &Service,
    manager: &ServiceManager,
    stuck: &RefCell<Vec<String>>,
) -> Infallible {
    loop {
        let mut line = stuck.borrow().clone();
        line.push(service.status());
        manager.status(&line.join(", "));
        tokio::time::sleep(INTERVAL).await;
    }
}

/// Sends the watchdog signal at half of the manager's timeout, unless something is stuck, which is logged once.
async fn report_alive(service: &Service, manager: &ServiceManager, stuck: &RefCell<Vec<String>>) {
    let Some(patience) = manager.watchdog_timeout() else { return };
    loop {
        let found = find_stuck(service).await;
        let is_alive = found.is_empty();
        if !is_alive && *stuck.borrow() != found {
            tracing::error!("not alive: {}", found.join(", "));
        }
        stuck.replace(found);
        if is_alive {
            manager.alive();
        }
        tokio::time::sleep(if is_alive { patience / 2 } else { INTERVAL.min(patience / 4) }).await;
    }
}

async fn find_stuck(service: &Service) -> Vec<String> {
    let mut stuck = service.stuck_tasks()();
    if !matches!(tokio::time::timeout(STORE_TIMEOUT, service.store_takes_writes()).await, Ok(true)) {
        stuck.push("the store does not answer".to_owned());
    }
    stuck
}
