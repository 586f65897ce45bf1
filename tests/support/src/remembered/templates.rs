//! What the set is made of.

/// Something that may be known of a person: how it is said, asked for, and asked for in other words.
pub struct Fact {
    pub statements: &'static [&'static str],
    pub question: &'static str,
    pub other_words: &'static str,
    pub values: &'static [&'static str],
}

pub const NAMES: [&str; 60] = [
    "Agata", "Bruno", "Celia", "Denis", "Edith", "Frida", "Gerda", "Hector", "Ingrid", "Julius", "Kasia",
    "Leon", "Maite", "Noah", "Orsolya", "Pavel", "Ramon", "Selma", "Tibor", "Ursula", "Dana", "Bob", "Carla",
    "Emil", "Fatima", "Goran", "Hanna", "Ivo", "Jana", "Karim", "Lena", "Marek", "Nadia", "Oskar", "Paula",
    "Quentin", "Rosa", "Stefan", "Tamar", "Ulla", "Viktor", "Wanda", "Xenia", "Yusuf", "Zoe", "Anton",
    "Beatriz", "Cyril", "Dora", "Elias", "Flora", "Gustav", "Helga", "Iris", "Jonas", "Klara", "Luis",
    "Mona", "Nils", "Olga",
];

/// Nobody ever speaks of them.
pub const STRANGERS: [&str; 4] = ["Ptolemy", "Zebulon", "Hildegund", "Anaximander"];

pub const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

pub const PLACES: [&str; 16] = [
    "Lyon", "Porto", "Gdansk", "Bergen", "Trieste", "Leeds", "Utrecht", "Graz", "Turku", "Brno", "Cork",
    "Split", "Ghent", "Malaga", "Riga", "Basel",
];

const FOODS: &[&str] =
    &["coriander", "peanuts", "oysters", "celery", "mushrooms", "liver", "olives", "shrimp"];
const DAYS: &[&str] = &["4 May", "17 June", "23 October", "2 December", "30 January", "11 August", "9 March"];

pub const FACTS: &[Fact] = &[
    Fact {
        statements: &["{n}'s favourite restaurant is {v}", "{n} loves the restaurant {v}"],
        question: "What is {n}'s favourite restaurant?",
        other_words: "Where does {n} like to dine out?",
        values: &["Osteria Blu", "The Copper Pot", "Chez Louise", "Kanteen"],
    },
    Fact {
        statements: &["{n} is allergic to {v}"],
        question: "What is {n} allergic to?",
        other_words: "Which ingredient makes {n} ill?",
        values: FOODS,
    },
    Fact {
        statements: &["{n} works at {v}", "{n} started to work at {v}"],
        question: "Where does {n} work?",
        other_words: "Which company employs {n}?",
        values: &["Siemens", "the town hall", "a bakery", "the university"],
    },
    Fact {
        statements: &["{n} lives in {v}", "{n} moved and lives in {v}"],
        question: "Where does {n} live?",
        other_words: "Which town is {n}'s home?",
        values: &PLACES,
    },
    Fact {
        statements: &["{n} has a dog called {v}"],
        question: "What is {n}'s dog called?",
        other_words: "What's the name of {n}'s pet?",
        values: &["Biscuit", "Rex", "Waffle", "Luna"],
    },
    Fact {
        statements: &["{n} drives a {v}"],
        question: "What does {n} drive?",
        other_words: "Which car does {n} own?",
        values: &["Fiat Panda", "blue Volvo", "Skoda", "van"],
    },
    Fact {
        statements: &["{n} plays the {v}"],
        question: "What does {n} play?",
        other_words: "Which musical instrument has {n} learned?",
        values: &["cello", "trumpet", "harp", "accordion"],
    },
    Fact {
        statements: &["{n} doesn't eat {v}", "{n} won't eat {v}"],
        question: "What won't {n} eat?",
        other_words: "What food should I avoid when cooking for {n}?",
        values: FOODS,
    },
    Fact {
        statements: &["{n} would like {v} as a present"],
        question: "What would {n} like as a present?",
        other_words: "What gift could make {n} happy?",
        values: &["a kite", "a fountain pen", "a tent", "concert tickets"],
    },
    Fact {
        statements: &["{n} is reading {v}"],
        question: "What is {n} reading?",
        other_words: "Which book has {n} got on the bedside table?",
        values: &["Middlemarch", "Dune", "Emma", "Ulysses"],
    },
    Fact {
        statements: &["{n}'s dentist is Dr {v}"],
        question: "Who is {n}'s dentist?",
        other_words: "Who looks after {n}'s teeth?",
        values: &["Weiss", "Okafor", "Lindqvist", "Moreau"],
    },
    Fact {
        statements: &["{n} goes {v} every weekend"],
        question: "Where does {n} go every weekend?",
        other_words: "Which hobby does {n} have?",
        values: &["climbing", "rowing", "fencing", "skating"],
    },
    Fact {
        statements: &["{n} leads the {v} project"],
        question: "Which project does {n} lead?",
        other_words: "What is {n} in charge of?",
        values: &["Falcon", "Heron", "Osprey", "Kestrel"],
    },
    Fact {
        statements: &["{n} speaks {v}"],
        question: "Which languages does {n} speak?",
        other_words: "In what tongue could I write to {n}?",
        values: &["Basque", "Latvian", "Welsh", "Maltese"],
    },
    Fact {
        statements: &["{n} takes coffee with {v}"],
        question: "How does {n} take coffee?",
        other_words: "What do I put into {n}'s cup?",
        values: &["oat milk", "two sugars", "cinnamon", "cream"],
    },
    Fact {
        statements: &["{n}'s shoe size is {v}"],
        question: "What is {n}'s shoe size?",
        other_words: "How big are {n}'s feet?",
        values: &["38", "41", "44", "46"],
    },
    Fact {
        statements: &["{n}'s birthday is on {v}"],
        question: "When is {n}'s birthday?",
        other_words: "When was {n} born?",
        values: DAYS,
    },
    Fact {
        statements: &["The wifi password at {n}'s is on the {v}"],
        question: "Where is the wifi password at {n}'s?",
        other_words: "How do I get online when visiting {n}?",
        values: &["fridge", "router", "blackboard", "door"],
    },
    Fact {
        statements: &["{n} married {v} years ago"],
        question: "When did {n} marry?",
        other_words: "How long has {n} had a spouse?",
        values: &["three", "seven", "twelve", "twenty"],
    },
    Fact {
        statements: &["{n} keeps the spare key {v}"],
        question: "Where does {n} keep the spare key?",
        other_words: "How do I get into {n}'s flat when nobody is in?",
        values: &["under the pot", "at the kiosk", "in the shed", "with the caretaker"],
    },
];

pub const CHAT: [&str; 14] = [
    "Lunch with {n} was nice",
    "Call {n} tomorrow at nine",
    "What's the weather in {p}?",
    "{n} sends regards",
    "Add milk and bread to the list",
    "Move the meeting with {n} to Tuesday",
    "The train from {p} was late again",
    "Is {n} coming on Sunday?",
    "Remind me to write to {n}",
    "{n} was at the office in {p}",
    "Thanks, that helps",
    "Mail {n} the minutes of yesterday",
    "The restaurant in {p} was full",
    "{n} talked about work all evening",
];

pub const DONE: [&str; 8] = [
    "kayaking",
    "to the theatre",
    "bowling",
    "to the flea market",
    "swimming",
    "to the zoo",
    "hiking",
    "to a concert",
];

pub const ANSWERS: [&str; 6] =
    ["OK.", "Noted.", "Done.", "Sounds good.", "Is there anything else?", "I've put it on the list."];
