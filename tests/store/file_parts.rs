//! What files contain, for all machines that share a database.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use adjutant_store::files::{self, FileRow, parts};
use adjutant_store::retention::{self, Ages};
use adjutant_store::{StoreError, known};
use adjutant_types::{FileId, FileKind};
use tokio::io::{AsyncRead, ReadBuf};

use crate::world::World;

on_both!(
    a_file_comes_back_byte_for_byte,
    a_file_that_breaks_off_changes_nothing,
    parts_go_with_their_row_and_stay_while_it_may_come,
    a_persons_parts_are_exported_and_erased,
);

fn content(bytes: u32) -> Vec<u8> {
    (0..bytes).map(|at| (at.wrapping_mul(2_654_435_761) >> 13).to_le_bytes()[0]).collect()
}

impl World {
    async fn put(&self, id: &str, bytes: u32) {
        parts::put(&self.store, &id.into(), &mut content(bytes).as_slice()).await.unwrap();
    }

    async fn row(&self, id: &str, bytes: u32) {
        let ada = self.person("ada").await;
        let room = self.room().await;
        let file = FileRow {
            id: id.into(),
            name: "a.bin".into(),
            kind: FileKind::Other,
            media_type: String::new(),
            bytes: bytes.into(),
            pages: None,
            problem: None,
            content: None,
            source: "the file “a.bin” that ada sent".into(),
            created_at: self.store.now(),
        };
        self.write(|batch| files::insert(batch, (&ada.id, &room.id, " x"), 0, &file)).await.unwrap();
    }

    /// What is kept of a file, if all of it is there.
    async fn got(&self, id: &str) -> Option<Vec<u8>> {
        let mut all = Vec::new();
        let id: FileId = id.into();
        parts::get(&self.store, &id, &mut all).await.unwrap().then_some(all)
    }

    async fn parts(&self) -> i64 {
        self.store.count("SELECT count(*) FROM file_parts", &[]).await.unwrap()
    }
}

async fn a_file_comes_back_byte_for_byte(world: World) {
    for (id, bytes) in [("one", 1), ("part", 256 * 1024), ("more", 700_001)] {
        world.put(id, bytes).await;
        world.row(id, bytes).await;
        assert!(world.got(id).await == Some(content(bytes)), "{id}");
    }
    assert_eq!(world.parts().await, 1 + 1 + 3);
    world.put("more", 5).await;
    assert_eq!(world.got("more").await, None, "it isn't what its row says");
    assert_eq!(world.parts().await, 3, "nothing of the longer one is left");
    world.by_hand("DELETE FROM file_parts WHERE file_id = 'one'").await;
    assert_eq!(world.got("one").await, None);
    assert_eq!(world.got("unknown").await, None);
}

/// Gives some bytes, and then fails.
struct Breaks(usize);

impl AsyncRead for Breaks {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        to: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.0 == 0 {
            return Poll::Ready(Err(io::Error::other("the disk is gone")));
        }
        let some = to.remaining().min(self.0);
        to.put_slice(&vec![7; some]);
        self.0 -= some;
        Poll::Ready(Ok(()))
    }
}

async fn a_file_that_breaks_off_changes_nothing(world: World) {
    world.put("a", 700_001).await;
    world.row("a", 700_001).await;
    let broken = parts::put(&world.store, &"a".into(), &mut Breaks(600_000)).await;
    assert!(matches!(broken, Err(StoreError::Database(_))), "{broken:?}");
    assert!(world.got("a").await == Some(content(700_001)));
}

async fn parts_go_with_their_row_and_stay_while_it_may_come(world: World) {
    let ages = Ages { files: Some(Duration::from_hours(24)), ..Ages::default() };
    let pass = async || retention::pass(&world.store, &ages).await.unwrap().files;
    world.put("old", 300_000).await;
    world.row("old", 300_000).await;
    world.put("never", 300_000).await;
    assert_eq!((pass().await, world.parts().await), (0, 4), "a row may follow");
    world.clock.advance(Duration::from_hours(2));
    let left = if world.store.shares_files() { 2 } else { 4 };
    assert_eq!((pass().await, world.parts().await), (0, left), "no row has followed");
    world.clock.advance(Duration::from_hours(23));
    world.put("new", 300_000).await;
    let left = if world.store.shares_files() { 2 } else { 6 };
    assert_eq!((pass().await, world.parts().await), (1, left));
}

async fn a_persons_parts_are_exported_and_erased(world: World) {
    let ada = world.person("ada").await;
    world.put("mine", 300_000).await;
    world.row("mine", 300_000).await;
    world.put("unfinished", 10).await;
    let all = known::export(&world.store, &ada.id).await.unwrap();
    let sizes: Vec<_> = all["file_parts"].as_array().unwrap().iter().map(|part| &part["bytes"]).collect();
    assert_eq!(sizes, [262_144, 37_856]);
    known::erase(&world.store, &ada.id).await.unwrap();
    assert_eq!(world.parts().await, 0, "nobody knows whose an unfinished one is");
}
