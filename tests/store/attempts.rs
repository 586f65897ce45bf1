//! What ends the process is set aside.

use adjutant_store::attempts::counted;
use adjutant_store::leases::Instance;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio::sync::oneshot;

use crate::leases::find_dead;
use crate::world::World;

on_both!(
    whoever_opens_it_at_once_can,
    what_two_processes_died_of_is_set_aside,
    what_an_earlier_version_set_aside_stays_so,
    who_leaves_has_not_died_of_it,
    a_cancelled_attempt_has_ended,
);

impl World {
    async fn attempts(&self) -> i64 {
        self.store.count("SELECT count(*) FROM attempts", &[]).await.unwrap()
    }

    async fn opens(&self, instance: &Instance, what: &str) -> bool {
        counted(&self.store, &instance.id, what, async {}).await.unwrap().is_some()
    }

    /// How many of these have the file open at once, each while those before it still have.
    fn open_at_once<'a>(&'a self, instances: &'a [&'a Instance]) -> BoxFuture<'a, usize> {
        async move {
            let Some((first, others)) = instances.split_first() else { return 0 };
            let opened = counted(&self.store, &first.id, "a file", self.open_at_once(others)).await;
            opened.unwrap().map_or(0, |others| others + 1)
        }
        .boxed()
    }

    /// Four readers of an instance who don't end.
    async fn opens_without_end(&self, instance: &Instance) {
        for _ in 0..4 {
            let (begun, begins) = oneshot::channel();
            let (store, id) = (self.store.clone(), instance.id.clone());
            tokio::spawn(async move {
                let work = async {
                    begun.send(()).unwrap();
                    std::future::pending::<()>().await;
                };
                counted(&store, &id, "a file", work).await
            });
            begins.await.expect("it isn't set aside");
        }
    }

    async fn dies_of_it(&self, watching: &Instance) {
        let dying = self.instance().await;
        self.opens_without_end(&dying).await;
        assert!(self.opens(watching, "a file").await, "whoever lives hasn't died of it");
        drop(dying);
        find_dead(watching, &self.store).await;
    }
}

async fn whoever_opens_it_at_once_can(world: World) {
    let (ours, theirs) = (world.instance().await, world.instance().await);
    assert_eq!(world.open_at_once(&[&ours; 4]).await, 4);
    assert_eq!(world.open_at_once(&[&theirs, &theirs, &theirs, &ours, &ours, &ours]).await, 6);
    assert_eq!(world.attempts().await, 0, "every attempt ended");
}

async fn what_two_processes_died_of_is_set_aside(world: World) {
    let (ours, theirs) = (world.instance().await, world.instance().await);
    world.dies_of_it(&ours).await;
    assert_eq!(world.open_at_once(&[&ours; 4]).await, 4, "its readers died once");
    world.dies_of_it(&ours).await;
    for instance in [&ours, &theirs] {
        assert!(!world.opens(instance, "a file").await);
        assert!(world.opens(instance, "another file").await);
    }
    assert_eq!(world.attempts().await, 2);
}

async fn what_an_earlier_version_set_aside_stays_so(world: World) {
    let ours = world.instance().await;
    world.dies_of_it(&ours).await;
    world.by_hand("UPDATE attempts SET what = substr(what, 1, 32), number = 2").await;
    assert!(!world.opens(&ours, "a file").await);
}

async fn who_leaves_has_not_died_of_it(world: World) {
    let (ours, theirs) = (world.instance().await, world.instance().await);
    world.opens_without_end(&ours).await;
    world.opens_without_end(&theirs).await;
    theirs.leave(&world.store).await.unwrap();
    assert_eq!(world.attempts().await, 1, "those of others go on");
    ours.leave(&world.store).await.unwrap();
    assert_eq!(world.attempts().await, 0);
}

async fn a_cancelled_attempt_has_ended(world: World) {
    let ours = world.instance().await;
    let (begun, begins) = oneshot::channel();
    let work = async {
        begun.send(()).unwrap();
        std::future::pending::<()>().await;
    };
    tokio::select! {
        biased;
        () = async { begins.await.unwrap() } => {}
        _ = counted(&world.store, &ours.id, "a file", work) => unreachable!(),
    }
    for _ in 0..1_000 {
        if world.attempts().await == 0 {
            return;
        }
        // A later write, behind that of the attempt's end.
        world.opens(&ours, "another file").await;
    }
    panic!("the attempt is still counted");
}
