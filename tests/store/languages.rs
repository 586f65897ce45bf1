//! What was said in any language is found: with the same results in the same order on both databases.

use adjutant_store::memories::{self, MemoryRow};
use adjutant_store::people::Conversation;

use crate::memories::recall;
use crate::world::World;

on_both!(
    every_language_is_found,
    a_part_of_a_word_comes_behind_words,
    texts_of_a_former_version_are_read_again
);

/// What is remembered, each with its id.
const TEXTS: [(&str, &str); 25] = [
    ("compound", "Das Gartenhausdach muss gestrichen werden"),
    ("word", "Am Dach vom Büro fehlt ein Ziegel"),
    ("flat", "Die Wohnung in der Köpenicker Straße hat zwei Balkone"),
    ("mueller", "Frau Mueller bringt morgen den Schlüssel"),
    ("loeffler", "Herr Löffler hat den Termin beim Zahnarzt"),
    ("address", "Η διεύθυνση του γραφείου είναι Ερμού 5"),
    ("george", "Ο Γιώργος λατρεύει τους κήπους"),
    ("cat", "好きな動物は黒猫"),
    ("tower", "会議は東京タワーの近くで行います"),
    ("sasaki", "佐々木さんはﾘﾖﾝに住んでいます"),
    ("gas", "ガスの契約は三月に終わる"),
    ("chinese", "我们上个月搬到了里昂"),
    ("korean", "우리 집은 부산에 있어요"),
    ("thai", "เราย้ายไปเชียงใหม่แล้ว"),
    ("hebrew", "אנחנו גרים בירושלים ליד הים"),
    ("points", "שָׁלוֹם הוא החבר שלי"),
    ("arabic", "انتقلنا إلى المكتب الجديد في ليون"),
    ("office", "Новый офис находится в Москве"),
    ("tree", "Ёлка стоит в углу"),
    ("polish", "Babcia mieszka w Łodzi"),
    ("turkish", "Işık mutfakta bozuk"),
    ("hindi", "मेरा घर दिल्ली में है"),
    ("vietnamese", "Nhà tôi ở Đà Nẵng"),
    ("norwegian", "Vi spiser smørrebrød hver fredag"),
    ("french", "L'œuf et le cœur coûtent 3 €"),
];

/// What is looked for, and what is found, in order.
const QUESTIONS: [(&str, &[&str]); 46] = [
    ("Dach", &["word", "compound"]),
    ("Hausdach", &["compound"]),
    ("Gartenhaus", &["compound"]),
    ("wo ist das Gartenhausdach?", &["compound"]),
    ("Gartenhausdächer", &["compound"]),
    ("Dächer", &["word"]),
    ("Arzt", &["loeffler"]),
    ("Wohnungen", &["flat"]),
    ("STRASSE", &["flat"]),
    ("Köpenickerstr", &[]),
    ("Balkon", &["flat"]),
    ("Müller", &["mueller"]),
    ("Schluessel", &["mueller"]),
    ("Loeffler", &["loeffler"]),
    ("ach", &[]),
    ("ΔΙΕΥΘΥΝΣΗ", &["address"]),
    ("διευθυνσεις", &["address"]),
    ("γραφειο", &["address"]),
    ("ΓΙΩΡΓΟΣ", &["george"]),
    ("Γιώργο", &["george"]),
    ("κήπος", &["george"]),
    ("猫", &["cat"]),
    ("黒猫", &["cat"]),
    ("東京", &["tower"]),
    ("会議はどこ?", &["tower"]),
    ("佐々木", &["sasaki"]),
    ("リヨン", &["sasaki"]),
    ("ｶﾞｽ", &["gas"]),
    ("里昂", &["chinese"]),
    ("집", &["korean"]),
    ("부산", &["korean"]),
    ("เชียงใหม่", &["thai"]),
    ("ירושלים", &["hebrew"]),
    ("שלום", &["points"]),
    ("مكتب", &["arabic"]),
    ("الى ليون", &["arabic"]),
    ("нового офиса", &["office"]),
    ("МОСКВА", &["office"]),
    ("елка", &["tree"]),
    ("Lodz", &["polish"]),
    ("IŞIK", &["turkish"]),
    ("दिल्ली", &["hindi"]),
    ("da nang", &["vietnamese"]),
    ("smorrebrod", &["norwegian"]),
    ("oeuf", &["french"]),
    ("COEUR", &["french"]),
];

async fn keep(world: &World, here: &Conversation, texts: &[(&str, &str)]) {
    for (id, text) in texts {
        let memory = MemoryRow {
            id: (*id).into(),
            kind: "fact".into(),
            scope: "private".into(),
            text: (*text).into(),
            tags: "[]".into(),
            topic: String::new(),
            created_at: 5,
        };
        world.write(|batch| memories::insert(batch, &here.person_id, &here.id, &memory)).await.unwrap();
    }
}

async fn found(world: &World, here: &Conversation, question: &str) -> Vec<String> {
    let found = recall(&world.store, here, question, "", 9).await;
    found.into_iter().map(|memory| memory.id.to_string()).collect()
}

async fn every_language_is_found(world: World) {
    let here = world.room().await;
    keep(&world, &here, &TEXTS).await;
    let mut wrong = Vec::new();
    for (question, expected) in QUESTIONS {
        let found = found(&world, &here, question).await;
        if found != expected {
            wrong.push(format!("{question}: {found:?}, not {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

async fn a_part_of_a_word_comes_behind_words(world: World) {
    let here = world.room().await;
    keep(
        &world,
        &here,
        &[
            ("inside", "Die Hausdachrinne ist verstopft"),
            ("end", "Das Hausdach ist neu"),
            ("beginning", "Die Dachrinne ist verstopft"),
            ("word", "Das Dach ist neu"),
        ],
    )
    .await;
    assert_eq!(found(&world, &here, "Dach").await, ["word", "beginning", "end", "inside"]);
}

async fn texts_of_a_former_version_are_read_again(world: World) {
    let here = world.room().await;
    keep(&world, &here, &[("compound", "Das Gartenhausdach muss gestrichen werden")]).await;
    assert_eq!(found(&world, &here, "Dach").await, ["compound"]);
    // As the former version left it.
    world.by_hand("DELETE FROM search_words WHERE word LIKE '~%'").await;
    assert_eq!(found(&world, &here, "Dach").await, [""; 0]);
    world.by_hand("UPDATE memories SET indexed = 0").await;
    assert_eq!(found(&world, &here, "Dach").await, ["compound"]);
    assert_eq!(found(&world, &here, "Gartenhausdach").await, ["compound"], "once");
}
