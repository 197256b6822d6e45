//! A post office: a real SMTP server in this process, that takes mail, refuses it, hangs, or hangs up.

mod mail;
mod wire;

use std::io;
use std::net::{IpAddr, TcpListener};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use countersign::config::Config;
use mailin_embedded::{AuthMechanism, Handler, Response, Server, SslConfig, response};
use tempfile::TempDir;

pub use mail::Mail;
use wire::Wire;

/// Signs in at a post office that asks for it.
pub const USER: &str = "gate@example.com";
pub const PASSWORD: &str = "p@ss/word";

/// What the post office does instead of taking mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Knows nobody of that name: 550 5.1.1.
    UnknownRecipient,
    /// Knows nobody of these names alone.
    Unknown(&'static [&'static str]),
    /// Refuses every recipient in these words: 550.
    Refuses(&'static str),
    /// Asks to come back: 452 to so many mails, then it takes them.
    Busy(usize),
    /// Takes one mail and does not say so until it is let go.
    Hang,
    /// Takes the mail and breaks the connection before it says so, so many times.
    HangUp(usize),
    /// Knows everybody or nobody, and spells its replies in its own way.
    Spells(Spelling, bool),
}

/// How a reply is spelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spelling {
    /// Its digits alone, where there is nothing more to say.
    Bare,
    /// In Latin-1.
    Latin1,
    /// A line of more characters than anybody reads.
    Long,
    /// A line feed alone ends the line.
    LineFeed,
    /// In more lines than anybody reads.
    ManyLines,
    /// Twice, so that from then on each is taken for the answer to the next command.
    Twice,
}

/// How the line to it is secured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line {
    Open,
    StartTls,
    Tls,
}

/// The post office.
pub struct Post {
    /// As `SMTP_URL` takes it.
    pub url: String,
    /// As `COUNTERSIGN_SMTP_CA` takes it, on a secured line.
    pub authority: Option<PathBuf>,
    counter: Arc<Counter>,
    _folder: TempDir,
}

/// What is behind every connection.
#[derive(Default)]
struct Counter {
    taken: Mutex<Vec<Mail>>,
    arrived: Condvar,
    fault: Mutex<Option<Fault>>,
    held: AtomicBool,
    turned_away: AtomicBool,
    deaf: AtomicBool,
}

impl Post {
    /// Without encryption.
    pub fn open() -> Self {
        Self::on(Line::Open)
    }

    /// On such a line. One that becomes secure asks for user and password too.
    pub fn on(line: Line) -> Self {
        let folder = tempfile::Builder::new().prefix("countersign-test.").tempdir().unwrap();
        let papers = wire::Papers::issue(folder.path());
        let counter = Arc::new(Counter::default());
        let desk = Desk {
            counter: Arc::clone(&counter),
            from: String::new(),
            to: Vec::new(),
            text: Vec::new(),
        };
        let mut server = Server::new(desk);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let behind = listener.local_addr().unwrap();
        server.with_name("post.example.com").with_num_threads(16).with_tcp_listener(listener);
        if line == Line::StartTls {
            server.with_ssl(papers.for_server()).unwrap().with_auth(AuthMechanism::Plain);
        }
        thread::spawn(move || server.serve().expect("it serves"));
        let wire = Wire::to(behind, (line == Line::Tls).then(|| papers.acceptor()), Arc::clone(&counter));
        let account =
            format!("{}:{}@", USER.replace('@', "%40"), PASSWORD.replace('@', "%40").replace('/', "%2F"));
        let url = match line {
            Line::Open => format!("smtp://127.0.0.1:{}?tls=none", wire.port),
            Line::StartTls => format!("smtp://{account}localhost:{}", wire.port),
            Line::Tls => format!("smtps://localhost:{}", wire.port),
        };
        Self {
            url,
            authority: (line != Line::Open).then_some(papers.authority),
            counter,
            _folder: folder,
        }
    }

    /// Has a server send its mail here.
    pub fn set_in(&self, config: &mut Config) {
        config.smtp_url = Some(self.url.parse().unwrap());
        config.smtp_ca = self.authority.as_ref().map(|path| path.to_str().unwrap().parse().unwrap());
    }

    /// What it does from now on.
    pub fn does(&self, fault: impl Into<Option<Fault>>) {
        *self.counter.fault() = fault.into();
    }

    /// Has it confirm the mail that it hangs at.
    pub fn let_go(&self) {
        self.counter.held.store(false, Ordering::SeqCst);
    }

    /// Has it refuse the mail that it hangs at, for the time being.
    pub fn turn_away(&self) {
        self.counter.turned_away.store(true, Ordering::SeqCst);
        self.let_go();
    }

    /// Has it answer no goodbye from now on, and keep the line.
    pub fn is_deaf_to_goodbyes(&self) {
        self.counter.deaf.store(true, Ordering::SeqCst);
    }

    /// Forgets what it has taken.
    pub fn forget(&self) {
        self.counter.taken().clear();
    }

    /// What it has taken.
    pub fn mails(&self) -> Vec<Mail> {
        self.counter.taken().clone()
    }

    /// Waits until it has taken so many mails, and answers them all.
    pub async fn mails_when(&self, count: usize) -> Vec<Mail> {
        let counter = Arc::clone(&self.counter);
        tokio::task::spawn_blocking(move || {
            let (taken, patience) = counter
                .arrived
                .wait_timeout_while(counter.taken(), Duration::from_secs(60), |taken| taken.len() < count)
                .unwrap();
            assert!(!patience.timed_out(), "{} of {count} mails: {taken:#?}", taken.len());
            taken.clone()
        })
        .await
        .unwrap()
    }
}

impl Counter {
    fn taken(&self) -> MutexGuard<'_, Vec<Mail>> {
        self.taken.lock().unwrap()
    }

    fn fault(&self) -> MutexGuard<'_, Option<Fault>> {
        self.fault.lock().unwrap()
    }

    /// Whether a fault that happens so many times happens once more.
    fn once_more(&self, of: impl Fn(usize) -> Fault, left: usize) -> bool {
        *self.fault() = left.checked_sub(1).filter(|left| *left > 0).map(of);
        left > 0
    }
}

/// One conversation.
#[derive(Clone)]
struct Desk {
    counter: Arc<Counter>,
    from: String,
    to: Vec<String>,
    text: Vec<u8>,
}

impl Handler for Desk {
    fn mail(&mut self, _: IpAddr, _: &str, from: &str) -> Response {
        from.clone_into(&mut self.from);
        self.to.clear();
        self.text.clear();
        response::OK
    }

    fn rcpt(&mut self, to: &str) -> Response {
        let fault = *self.counter.fault();
        let refused = match fault {
            Some(Fault::UnknownRecipient | Fault::Spells(_, false)) => Some("5.1.1 No such mailbox here"),
            Some(Fault::Unknown(names)) if names.contains(&to) => Some("5.1.1 No such mailbox here"),
            Some(Fault::Refuses(words)) => Some(words),
            _ => None,
        };
        if let Some(words) = refused {
            return Response::custom(550, words.to_owned());
        }
        if let Some(Fault::Busy(left)) = fault
            && self.counter.once_more(Fault::Busy, left)
        {
            return response::OUT_OF_SPACE;
        }
        self.to.push(to.to_owned());
        response::OK
    }

    fn data(&mut self, text: &[u8]) -> io::Result<()> {
        self.text.extend_from_slice(text);
        Ok(())
    }

    fn data_end(&mut self) -> Response {
        let fault = *self.counter.fault();
        let mail = Mail::read(&self.from, &self.to, &self.text);
        if fault == Some(Fault::Hang) {
            *self.counter.fault() = None;
            self.counter.held.store(true, Ordering::SeqCst);
        }
        self.counter.taken().push(mail);
        self.counter.arrived.notify_all();
        while fault == Some(Fault::Hang) && self.counter.held.load(Ordering::SeqCst) {
            thread::sleep(Duration::from_millis(5));
        }
        if self.counter.turned_away.swap(false, Ordering::SeqCst) {
            return response::OUT_OF_SPACE;
        }
        response::OK
    }

    fn auth_plain(&mut self, _: &str, user: &str, password: &str) -> Response {
        if (user, password) == (USER, PASSWORD) {
            response::AUTH_OK
        } else {
            response::INVALID_CREDENTIALS
        }
    }
}

impl wire::Papers {
    fn for_server(&self) -> SslConfig {
        SslConfig::SelfSigned {
            cert_path: self.certificate.to_str().unwrap().to_owned(),
            key_path: self.key.to_str().unwrap().to_owned(),
        }
    }
}
