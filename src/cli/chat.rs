//! `adjutant chat`: the terminal as a channel.

use std::io::{BufReader, IsTerminal, Write, stdin};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use adjutant_chat::{ChatPort, EventId, Inbound};
use adjutant_config::{Config, Endpoint, is_loopback};
use adjutant_console::input::{self, Event, Source};
use adjutant_console::json::{CONVERSATION, Entry, Line, MAX_LENGTH, parse_text};
use adjutant_console::render::{self, Theme};
use adjutant_console::{ConsolePort, Settings, Style};
use adjutant_l10n::terminal;
use adjutant_store::{Store, turns};
use adjutant_types::clock::{self, SharedClock, SystemClock};
use tokio::net::TcpStream;
use tokio::sync::mpsc::Receiver;

use super::{ChatArgs, CliError, Result};
use crate::service::{self, Channel, Service};

/// The console's name among the channels.
pub(super) const CHANNEL: &str = "console";
/// How long running turns may take to end after the person has left.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);

pub(super) struct Session {
    pub(super) service: Service,
    pub(super) port: Arc<ConsolePort>,
    conversation: String,
}

pub(super) async fn run(config: Config, args: ChatArgs) -> Result<ExitCode> {
    let clock: SharedClock = Arc::new(SystemClock);
    let conversation = args.conversation.unwrap_or_else(|| CONVERSATION.to_owned());
    let ids = clock.clone();
    let source = Source {
        channel: CHANNEL.to_owned(),
        conversation: conversation.clone(),
        new_id: Arc::new(move || clock::new_id(&*ids)),
    };
    match args.once {
        Some(text) => once(&config, clock, conversation, &source, text).await,
        None if args.json => json(&config, clock, conversation, source).await,
        None => interactive(&config, clock, conversation, source).await,
    }
}

async fn once(
    config: &Config,
    clock: SharedClock,
    conversation: String,
    source: &Source,
    text: String,
) -> Result<ExitCode> {
    let length = text.chars().count();
    if text.trim().is_empty() {
        return Err(CliError::Usage("the message is empty; write it after --once".to_owned()));
    } else if length > MAX_LENGTH {
        return Err(CliError::Usage(format!(
            "the message has {length} characters, and {MAX_LENGTH} is the limit; shorten it or split it"
        )));
    }
    let entry = match parse_text(text.as_bytes()) {
        Ok(Line::Entry(entry)) => entry,
        Ok(Line::Blank) => Entry::text(text),
        Err(message) => return Err(CliError::Usage(message)),
    };
    let inbound = source.inbound(Entry { conversation: conversation.clone(), ..entry });
    let event = inbound.event().clone();
    let session = Session::start(config, clock, conversation, Style::Once { event: event.clone() }).await?;
    session.service.holds_no_calls();
    session.service.accept(inbound, async || {}).await?;
    session.while_read(session.wait_for_turns()).await?;
    let code = session.outcome(&event).await?;
    session.service.shut_down(PATIENCE).await?;
    Ok(code)
}

async fn json(config: &Config, clock: SharedClock, conversation: String, source: Source) -> Result<ExitCode> {
    let session = Session::start(config, clock, conversation, Style::Json).await?;
    let mut events = input::json(BufReader::new(stdin()), source).map_err(no_input)?;
    let work = async {
        session.service.deliverer.wait_for_left_over(CHANNEL).await?;
        while let Some(event) = events.recv().await {
            match event {
                Event::Line(inbound) => {
                    let accepted = async || drop(session.port.accepted(&inbound).await);
                    session.service.deliverer.receipts_stored(&inbound).await;
                    session.service.accept(inbound.clone(), accepted).await?;
                }
                Event::Bad { line, message } => drop(session.port.bad_line(line, &message).await),
                Event::Interrupt => {}
                Event::Eof => break,
            }
        }
        session.service.idle().await;
        Ok(())
    };
    session.while_read(work).await?;
    session.service.shut_down(PATIENCE).await?;
    Ok(ExitCode::SUCCESS)
}

async fn interactive(
    config: &Config,
    clock: SharedClock,
    conversation: String,
    source: Source,
) -> Result<ExitCode> {
    let style = Style::Interactive { conversation: conversation.clone() };
    let session = Session::start(config, clock, conversation, style).await?;
    if stdin().is_terminal() {
        session.greet(config)?;
        if let Some(address) = silent_model(&config.model.main.first).await {
            session.port.bad_line(0, &terminal::model_is_down(address)).await;
        }
        let events = input::terminal(session.port.turns(), &config.data_dir, source).map_err(no_input)?;
        session.while_read(session.talk(events)).await?;
    } else {
        let events = input::plain(BufReader::new(stdin()), source).map_err(no_input)?;
        session.while_read(session.read(events)).await?;
    }
    session.service.shut_down(PATIENCE).await?;
    Ok(ExitCode::SUCCESS)
}

impl Session {
    async fn start(config: &Config, clock: SharedClock, conversation: String, style: Style) -> Result<Self> {
        let out =
            adjutant_console::stdout().map_err(|error| CliError::failed("can't write to stdout", error))?;
        Self::start_on(config, clock, conversation, style, Box::new(out), |port, _| port).await
    }

    /// A session that writes to `out`; `wrap` may replace its port.
    pub(super) async fn start_on(
        config: &Config,
        clock: SharedClock,
        conversation: String,
        style: Style,
        out: Box<dyn Write + Send>,
        wrap: impl FnOnce(Arc<ConsolePort>, &Store) -> Arc<dyn ChatPort>,
    ) -> Result<Self> {
        let settings = Settings {
            channel: CHANNEL.to_owned(),
            style: style.clone(),
            data_dir: config.data_dir.clone(),
            theme: Theme::of_stdout(),
        };
        service::private::make_data_dir(config);
        let skill_set = service::load_skills(config)?;
        skill_set.workflows.current().log_problems();
        let models = service::build_models(config, &clock)?;
        let store = service::open_store(config, clock).await?;
        let port = ConsolePort::open(settings, out).map_err(|error| {
            let folder = config.data_dir.display();
            CliError::failed(format!("can't write to the folder {folder}"), error)
        })?;
        let port = Arc::new(port);
        let console = port.clone();
        let channel = Channel {
            place: (style != Style::Json).then(|| conversation.clone()),
            filter: match style {
                Style::Once { .. } => Some(Box::new(move |outbound| console.wants(outbound))),
                _ => None,
            },
            ..Channel::open(wrap(port.clone(), &store))
        };
        let service = Service::start(config, store, skill_set, models, vec![channel]).await;
        Ok(Self { service: service?, port, conversation })
    }

    /// Runs `work` to its end, or until stdout is closed; the next process delivers what is left.
    pub(super) async fn while_read(&self, work: impl Future<Output = Result<()>>) -> Result<()> {
        tokio::select! {
            done = work => done,
            () = self.port.reader_gone() => Ok(()),
        }
    }

    /// Reads a person's lines until they leave.
    async fn talk(&self, mut events: Receiver<Event>) -> Result<()> {
        let mut interrupted = false;
        while let Some(event) = events.recv().await {
            match event {
                Event::Line(inbound) => {
                    interrupted = false;
                    if is_command(&inbound, "/help") {
                        self.port.bad_line(0, &terminal::quit_leaves()).await;
                    }
                    self.accept(inbound).await?;
                }
                Event::Bad { line, message } => drop(self.port.bad_line(line, &message).await),
                Event::Interrupt if interrupted => break,
                Event::Interrupt => {
                    interrupted = true;
                    let stopped = self.service.stop_turns(CHANNEL, &self.conversation).await?;
                    if !stopped {
                        self.port.bad_line(0, &terminal::press_again()).await;
                    }
                }
                Event::Eof => break,
            }
        }
        Ok(())
    }

    /// Reads lines from a pipe, and answers each before it reads the next.
    async fn read(&self, mut events: Receiver<Event>) -> Result<()> {
        self.service.idle().await;
        while let Some(event) = events.recv().await {
            match event {
                Event::Line(inbound) if is_command(&inbound, "/quit") => break,
                Event::Line(inbound) => {
                    self.accept(inbound).await?;
                    self.wait_for_turns().await?;
                }
                Event::Bad { line, message } => drop(self.port.bad_line(line, &message).await),
                Event::Interrupt => {}
                Event::Eof => break,
            }
        }
        Ok(())
    }

    pub(super) async fn accept(&self, inbound: Inbound) -> Result<()> {
        self.service.deliverer.receipts_stored(&inbound).await;
        self.service.accept(inbound, async || {}).await?;
        Ok(())
    }

    /// Waits for the running turns; Ctrl-C stops them, a second one leaves.
    async fn wait_for_turns(&self) -> Result<()> {
        let mut interrupted = false;
        loop {
            tokio::select! {
                () = self.service.idle() => return Ok(()),
                _ = tokio::signal::ctrl_c() => {
                    if interrupted {
                        return Err(CliError::plain("stopped; the next `adjutant chat` resumes what was running"));
                    }
                    interrupted = true;
                    self.service.stop_turns(CHANNEL, &self.conversation).await?;
                }
            }
        }
    }

    /// The exit status for the turn that answered a message.
    async fn outcome(&self, event: &EventId) -> Result<ExitCode> {
        let store = self.service.store();
        let turn = turns::of_event(store, &format!("{CHANNEL} {}", event.0)).await?;
        let bad = turn.is_some_and(|turn| matches!(turn.status.as_str(), "failed" | "dead"));
        Ok(if bad { ExitCode::from(1) } else { ExitCode::SUCCESS })
    }

    fn greet(&self, config: &Config) -> Result<()> {
        let name = &config.assistant.name;
        let model = &config.model.main.first;
        let greeting = match model.provider.as_str() {
            adjutant_config::BUILTIN => terminal::greeting_in_basic_mode(name),
            _ => terminal::greeting(name, &model.name),
        };
        super::out(&format!("{}\n", render::message(&greeting, &[], Theme::of_stdout())))
    }
}

/// Where the model should run on this machine, if nothing answers there.
async fn silent_model(model: &Endpoint) -> Option<String> {
    let usual = (model.provider == "ollama").then_some("http://127.0.0.1:11434/");
    let url = model.base_url.as_deref().or(usual).filter(|url| is_loopback(url))?;
    let url = reqwest::Url::parse(url).ok()?;
    let address = format!("{}:{}", url.host_str()?, url.port_or_known_default()?);
    let connected = tokio::time::timeout(Duration::from_millis(300), TcpStream::connect(&address)).await;
    (!connected.is_ok_and(|connected| connected.is_ok())).then_some(address)
}

fn is_command(inbound: &Inbound, command: &str) -> bool {
    matches!(inbound, Inbound::Message(message) if message.text.trim().eq_ignore_ascii_case(command))
}

fn no_input(error: std::io::Error) -> CliError {
    CliError::failed("can't read stdin", error)
}
