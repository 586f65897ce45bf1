//! What owners have accepted of what others wrote.

use adjutant_store::pins::{self, PinRow};
use adjutant_types::PinKind;

use crate::world::World;

on_both!(a_newer_acceptance_takes_the_place_of_the_older_and_kinds_are_apart);

async fn a_newer_acceptance_takes_the_place_of_the_older_and_kinds_are_apart(world: World) {
    let pin = |owner: &str, item: &str, digest: &str| PinRow {
        owner: owner.into(),
        item: item.into(),
        digest: digest.into(),
        definition: format!("{{\"of\": \"{digest}\"}}"),
        approved_at: 1,
    };
    let write = async |kind, pin: PinRow| world.write(|batch| pins::put(batch, kind, &pin)).await.unwrap();
    write(PinKind::McpTool, pin("github", "search", "a")).await;
    write(PinKind::McpTool, pin("github", "get", "b")).await;
    write(PinKind::McpTool, pin("github", "search", "c")).await;
    write(PinKind::Instructions, pin("github", "", "d")).await;
    let tools = pins::of_kind(&world.store, PinKind::McpTool).await.unwrap();
    assert_eq!(tools, [pin("github", "get", "b"), pin("github", "search", "c")]);
    world.write(|batch| pins::remove(batch, PinKind::McpTool, "github", "get")).await.unwrap();
    let digests = pins::digests(&world.store, PinKind::McpTool).await.unwrap();
    assert_eq!(digests, [("github".into(), "search".into(), "c".into())]);
    assert_eq!(pins::of_kind(&world.store, PinKind::Instructions).await.unwrap().len(), 1);
}
