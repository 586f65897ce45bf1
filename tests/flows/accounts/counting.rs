//! How much accounts cost: requests to their providers, and questions to the database.

use adjutant_config::Secret;
use adjutant_fakes::graph::FakeGraph;
use adjutant_fakes::postgres::{self, counted};
use adjutant_store::connected::AccountRow;
use adjutant_types::{AccountService, ProviderKind};
use serde_json::json;

use super::providers::microsoft;
use super::world::{World, account_row};
use crate::counts::{PLAIN, WITH_A_SKILL, chatter, cost};
use crate::groupware::{call, skill_caller};

#[tokio::test]
async fn what_is_on_asks_each_account_once_and_two_at_a_time() {
    let graph = FakeGraph::start();
    let world = World::with(skill_caller(), |config| microsoft(config, &graph)).await;
    let day = || json!({"start": "2026-11-22", "end": "2026-11-22"});
    for accounts in 1..=3_usize {
        let (id, label) = (format!("m{accounts}"), format!("account {accounts}"));
        graph.state().person(&format!("token-{id}"), &format!("{id}@example.test"));
        let services = vec![AccountService::Calendar];
        let row = AccountRow { provider: ProviderKind::Microsoft, services, ..account_row(&id, &label) };
        world.connect_at("ada", row, None).await;
        // The first time, the calendars are discovered.
        call(&world.app, "calendar.list_events", day()).await;
        let at_once = accounts.min(2);
        {
            let mut state = graph.state();
            state.requests.clear();
            (state.most_at_once, state.gate) = (0, at_once);
        }
        call(&world.app, "calendar.list_events", day()).await;
        let state = graph.state();
        assert_eq!(state.requests, vec!["GET /me/calendars/cal-main/calendarView"; accounts]);
        assert_eq!(state.most_at_once, at_once, "of {accounts}");
    }
    assert_eq!(graph.state().complaints, [""; 0]);
    world.ends_well().await;
}

/// How often a turn looks up what its person has: for what the model is told, for the skills that are listed and those that
/// agents are offered, and for what the answer shows.
const LOOKS: usize = 4;

#[tokio::test]
async fn a_turn_that_needs_no_account_only_looks_up_what_its_person_has() {
    let Some(server) = postgres::shared().unwrap() else { return };
    for accounts in [0, 2] {
        let (url, sent) = counted(&server.database().unwrap()).unwrap();
        let world = World::with(chatter(), |config| config.store.url = Secret::new(url)).await;
        for number in 0..accounts {
            let (id, label) = (format!("a{number}"), format!("account {number}"));
            world.connect(&id, &label, &["ada"]).await;
        }
        for (what, said, most) in [("plain", "hello", PLAIN), ("with a skill", "add a task", WITH_A_SKILL)] {
            let each = cost(&world.app, &sent, (what, said)).await;
            let most = (most.0 + LOOKS, most.1);
            assert!(each.0 <= most.0 && each.1 <= most.1, "{what}, {accounts}: {each:?} instead of {most:?}");
        }
        assert_eq!(world.cloud.state().asked, [], "no provider was asked");
    }
}
