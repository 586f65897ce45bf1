//! What `serve` tells the service manager while it works: that it is up, how it stands, and that it lives.
//!
//! Properties:
//!
//! - It is up when each channel has told how it does, or will not soon: a platform that is away holds nothing up.
//! - It lives while the runtime runs this, every task takes steps and the store takes a write. What a fresh
//!   process would not mend, such as a platform that is away, is told in the status alone.

use std::cell::RefCell;
use std::convert::Infallible;
use std::time::Duration;

use crate::lifecycle::Manager;
use crate::service::Service;

/// How long the channels get to tell how they do, before the service counts as up.
const FIRST_SIGN: Duration = Duration::from_secs(5);

/// How often it is looked how the service stands.
const LOOK: Duration = Duration::from_secs(1);

/// A store that is well answers at once, and a busy one within this time.
pub(super) const ANSWERS: Duration = Duration::from_secs(5);

/// Tells the manager, until the future is dropped.
pub(super) async fn tell(service: &Service, manager: &Manager) -> Infallible {
    let up = async {
        // When none can receive, this is the end and not the beginning.
        while !service.health.all_told() || service.health.all_stopped() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let _ = tokio::time::timeout(FIRST_SIGN, up).await;
    manager.status(&service.status());
    manager.ready();
    tracing::info!("up: {}", service.status());
    let stuck = RefCell::default();
    tokio::join!(tell_status(service, manager, &stuck), tell_life(service, manager, &stuck)).0
}

async fn tell_status(service: &Service, manager: &Manager, stuck: &RefCell<Vec<String>>) -> Infallible {
    loop {
        let mut line = stuck.borrow().clone();
        line.push(service.status());
        manager.status(&line.join(", "));
        tokio::time::sleep(LOOK).await;
    }
}

/// Gives a sign of life at half of the manager's patience. What keeps from it is logged once.
async fn tell_life(service: &Service, manager: &Manager, stuck: &RefCell<Vec<String>>) {
    let Some(patience) = manager.patience() else { return };
    loop {
        let mut is_well = false;
        while !is_well {
            let found = find_stuck(service).await;
            is_well = found.is_empty();
            if !is_well {
                if *stuck.borrow() != found {
                    tracing::error!("no sign of life is given: {}", found.join(", "));
                }
                tokio::time::sleep(LOOK.min(patience / 4)).await;
            }
            stuck.replace(found);
        }
        manager.alive();
        tokio::time::sleep(patience / 2).await;
    }
}

async fn find_stuck(service: &Service) -> Vec<String> {
    let mut stuck = service.stuck()();
    if !matches!(tokio::time::timeout(ANSWERS, service.store_answers()).await, Ok(true)) {
        stuck.push("the store does not answer".to_owned());
    }
    stuck
}
