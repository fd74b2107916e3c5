//! What a stored message costs: CPU and time per message in batches of several sizes, then starting, reading and searching with all of them stored.
//!
//! `cargo run --release -p folkmoot-store --example append [messages] [channels]`

use std::sync::Arc;
use std::time::{Duration, Instant};

use folkmoot_core::ids::*;
use folkmoot_core::model::*;
use folkmoot_core::{Event, Record};
use folkmoot_store::{Page, Store, StoreError};

fn main() -> Result<(), StoreError> {
    let mut numbers = std::env::args().skip(1).filter_map(|number| number.parse().ok());
    let total: usize = numbers.next().unwrap_or(100_000);
    let channels: usize = numbers.next().unwrap_or(100);
    let folder = std::env::temp_dir().join(format!("folkmoot-append-{}", std::process::id()));
    let outcome = measure(&folder, total, channels);
    let _ = std::fs::remove_dir_all(&folder);
    outcome
}

fn measure(folder: &std::path::Path, total: usize, channels: usize) -> Result<(), StoreError> {
    let mut source = Source::new(channels);
    let mut store = folkmoot_store::open(folder)?;
    source.make_channels(store.as_mut())?;
    println!("{:>9} {:>7} {:>9} {:>9} {:>9} {:>9}", "messages", "batch", "µs CPU", "µs", "p50 ms", "p99 ms");
    for batch in [1, 16, 128] {
        append(store.as_mut(), &mut source, (total / 10).min(20_000), batch, false)?;
    }
    println!("filling up to {total}");
    let missing = total.saturating_sub(source.made);
    append(store.as_mut(), &mut source, missing, 1000, false)?;
    for batch in [1, 16, 128] {
        append(store.as_mut(), &mut source, 20_000, batch, false)?;
    }
    println!("and with a look for the key before each, as a send does");
    append(store.as_mut(), &mut source, 20_000, 128, true)?;
    index(store.as_mut())?;
    drop(store);
    read(folder, &source)
}

fn append(
    store: &mut dyn Store,
    source: &mut Source,
    count: usize,
    batch: usize,
    looks: bool,
) -> Result<(), StoreError> {
    let events: Vec<_> = (0..count).map(|_| source.message()).collect();
    let mut commits = Vec::with_capacity(count / batch + 1);
    let (began, cpu) = (Instant::now(), cpu_time());
    for batch in events.chunks(batch) {
        let began = Instant::now();
        let mut transaction = store.begin()?;
        for event in batch {
            if let (true, Event::MessageSent(message)) = (looks, event) {
                let known = transaction.message_by_key(message.sender, message.key.as_deref().unwrap_or_default());
                assert_eq!(known, Ok(None));
            }
            transaction.append(event)?;
        }
        transaction.commit()?;
        commits.push(began.elapsed());
    }
    let (time, cpu) = (began.elapsed(), cpu_time().saturating_sub(cpu));
    commits.sort_unstable();
    let at = |part: usize| commits.get(commits.len() * part / 100).map_or(0.0, |time| time.as_secs_f64() * 1e3);
    let each = |time: Duration| time.as_secs_f64() * 1e6 / count.max(1) as f64;
    println!("{count:>9} {batch:>7} {:>9.2} {:>9.2} {:>9.3} {:>9.3}", each(cpu), each(time), at(50), at(99));
    Ok(())
}

fn index(store: &mut dyn Store) -> Result<(), StoreError> {
    let (began, cpu) = (Instant::now(), cpu_time());
    let mut longest = Duration::ZERO;
    loop {
        let step = Instant::now();
        let more = store.catch_up(500)?;
        longest = longest.max(step.elapsed());
        if !more {
            break;
        }
    }
    println!("catching up: {:?}, CPU {:?}, longest step {longest:?}", began.elapsed(), cpu_time().saturating_sub(cpu));
    Ok(())
}

fn read(folder: &std::path::Path, source: &Source) -> Result<(), StoreError> {
    let began = Instant::now();
    let store = folkmoot_store::open(folder)?;
    println!("open: {:?}", began.elapsed());
    let began = Instant::now();
    let directory = store.directory()?;
    println!("directory: {:?} for {} channels", began.elapsed(), directory.heads.len());
    let reader = store.reader()?;
    let timed = |what: &str, found: &dyn Fn() -> usize| {
        let began = Instant::now();
        let first = found();
        let first_time = began.elapsed();
        let began = Instant::now();
        found();
        println!("{what}: {first} found, {first_time:?} at first, {:?} again", began.elapsed());
    };
    let page = Page { limit: 50, ..Page::default() };
    let count = |found: Result<Vec<Message>, _>| found.map_or(0, |messages| messages.len());
    timed("history page", &|| count(reader.messages(source.channels[0], page)));
    timed("replay of 200", &|| reader.replay(source.channels[0], 0, 200).map_or(0, |events| events.len()));
    timed("rare words, all channels", &|| count(reader.search("message 77777", &source.channels, 50)));
    timed("common word, all channels", &|| count(reader.search("lorem", &source.channels, 50)));
    timed("common word, one channel", &|| count(reader.search("lorem", &source.channels[..1], 50)));
    timed("common word, no channel of ours", &|| count(reader.search("lorem", &[ChannelId(7)], 50)));
    let strangers: Vec<_> = (0..5000).map(ChannelId).collect();
    timed("common word, 5000 other channels", &|| count(reader.search("lorem", &strangers, 50)));
    timed("counting messages", &|| usize::try_from(reader.message_count().unwrap_or(0)).unwrap_or(0));
    Ok(())
}

/// Makes messages as a busy hub would: channels and senders at random, an idempotency key each.
struct Source {
    ids: IdSource,
    random: u64,
    channels: Vec<ChannelId>,
    heads: Vec<u64>,
    senders: Vec<MemberId>,
    made: usize,
}

impl Source {
    fn new(channels: usize) -> Self {
        let mut ids = IdSource::new(42);
        let made = (0..channels).map(|_| ChannelId(ids.next(1_700_000_000_000))).collect();
        let senders = (0..128).map(|_| MemberId(ids.next(1_700_000_000_000))).collect();
        Self { ids, random: 9, channels: made, heads: vec![0; channels], senders, made: 0 }
    }

    fn make_channels(&mut self, store: &mut dyn Store) -> Result<(), StoreError> {
        let mut transaction = store.begin()?;
        for id in &self.channels {
            let channel = Channel {
                id: *id,
                workspace: WorkspaceId(1),
                kind: ChannelKind::Channel,
                name: format!("channel {id}"),
                topic: String::new(),
                created_by: self.senders[0],
                created_at: 0,
                archived: false,
            };
            transaction.append(&Event::Saved(Record::Channel(channel)))?;
        }
        transaction.commit()
    }

    fn random(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }

    fn message(&mut self) -> Event {
        self.made += 1;
        let at = 1_700_000_000_000 + self.made as i64;
        let (which, who, word) = (self.random() as usize, self.random() as usize, self.random() % 5000);
        let (which, who, made) = (which % self.channels.len(), who % self.senders.len(), self.made);
        let key = format!("{:016x}-{:019x}", self.random(), self.random());
        self.heads[which] += 1;
        Event::MessageSent(Arc::new(Message {
            id: MessageId(self.ids.next(at)),
            channel: self.channels[which],
            seq: self.heads[which],
            version: self.heads[which],
            sender: self.senders[who],
            thread: None,
            content: format!("message {made} with lorem ipsum and word{word} in it, about as long as people write"),
            content_type: ContentType::Text,
            kind: "user".into(),
            file: None,
            metadata: None,
            door: Door::Lark,
            created_at: at,
            updated_at: at,
            edited_at: None,
            edit_count: 0,
            reply_count: 0,
            reactions: Vec::new(),
            deleted: false,
            key: Some(key),
            root: None,
            depth: 0,
        }))
    }
}

/// Time this thread has spent computing, as the kernel counts it.
fn cpu_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = text.split_whitespace().next().and_then(|number| number.parse().ok()).unwrap_or(0);
    Duration::from_nanos(nanoseconds)
}
