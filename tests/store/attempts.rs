//! What ends the process is set aside.

use adjutant_store::attempts::counted;

use crate::world::World;

on_both!(what_did_not_end_twice_is_set_aside, a_cancelled_attempt_has_ended);

impl World {
    async fn attempts(&self) -> i64 {
        self.store.count("SELECT count(*) FROM attempts", &[]).await.unwrap()
    }
}

async fn what_did_not_end_twice_is_set_aside(world: World) {
    let store = &world.store;
    let third = || counted(store, "a file", async { "opened" });
    let second = counted(store, "a file", async { (third().await.unwrap(), world.attempts().await) });
    let first = counted(store, "a file", async {
        let other = counted(store, "another file", async { "opened" }).await.unwrap();
        (second.await.unwrap(), other)
    });
    assert_eq!(first.await.unwrap(), Some((Some((None, 1)), Some("opened"))));
    assert_eq!(world.attempts().await, 0);
    assert_eq!(third().await.unwrap(), Some("opened"), "what ended doesn't count");
}

async fn a_cancelled_attempt_has_ended(world: World) {
    let (begun, begins) = tokio::sync::oneshot::channel();
    let work = async {
        begun.send(()).unwrap();
        std::future::pending::<()>().await;
    };
    tokio::select! {
        biased;
        () = async { begins.await.unwrap() } => {}
        _ = counted(&world.store, "a file", work) => unreachable!(),
    }
    for _ in 0..1_000 {
        if world.attempts().await == 0 {
            return;
        }
        // A later write, behind that of the attempt's end.
        counted(&world.store, "another file", async {}).await.unwrap();
    }
    panic!("the attempt is still counted");
}
