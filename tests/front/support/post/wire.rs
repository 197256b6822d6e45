//! The wire to the post office: it can break at a reply, swallow a goodbye, and be encrypted from the first byte.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, split};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use super::{Counter, Fault, Spelling};

/// From a port of its own to the server behind.
pub struct Wire {
    pub port: u16,
}

impl Wire {
    pub(super) fn to(behind: SocketAddr, tls: Option<TlsAcceptor>, counter: Arc<Counter>) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        listener.set_nonblocking(true).unwrap();
        // A thread of its own, so that it outlasts the runtime of whoever opened it.
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = TcpListener::from_std(listener).unwrap();
                loop {
                    let (client, _) = listener.accept().await.unwrap();
                    tokio::spawn(carry(client, behind, tls.clone(), Arc::clone(&counter)));
                }
            });
        });
        Self { port }
    }
}

async fn carry(client: TcpStream, behind: SocketAddr, tls: Option<TlsAcceptor>, counter: Arc<Counter>) {
    let Ok(server) = TcpStream::connect(behind).await else { return };
    match tls {
        None => pump(client, server, &counter).await,
        Some(tls) => {
            if let Ok(client) = tls.accept(client).await {
                pump(client, server, &counter).await;
            }
        }
    }
}

/// Until either side hangs up, or the wire breaks.
async fn pump(client: impl AsyncRead + AsyncWrite, server: TcpStream, counter: &Counter) {
    let ((mut from_client, mut to_client), (mut from_server, mut to_server)) = (split(client), split(server));
    let replies = async {
        let (mut reply, mut taken) = ([0; 4096], counter.taken().len());
        while let Ok(length @ 1..) = from_server.read(&mut reply).await {
            let now_taken = counter.taken().len();
            let fault = *counter.fault();
            if let Some(Fault::HangUp(left)) = fault
                && now_taken > taken
                && counter.once_more(Fault::HangUp, left)
            {
                return;
            }
            taken = now_taken;
            let reply = match fault {
                Some(Fault::Spells(spelling, _)) => spelled(spelling, &reply[..length]),
                _ => reply[..length].to_vec(),
            };
            if to_client.write_all(&reply).await.is_err() {
                return;
            }
        }
    };
    let commands = async {
        let mut command = [0; 4096];
        while let Ok(length @ 1..) = from_client.read(&mut command).await {
            let command = &command[..length];
            let is_heard = command != b"QUIT\r\n" || !counter.deaf.load(Ordering::SeqCst);
            if is_heard && to_server.write_all(command).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = replies => {}
        () = commands => {}
    }
}

/// The reply with its last line spelled in another way.
fn spelled(spelling: Spelling, reply: &[u8]) -> Vec<u8> {
    let line = reply.strip_suffix(b"\r\n").expect("a whole reply");
    let start = line.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let (before, last) = line.split_at(start);
    let (digits, text) = last.split_at(3);
    let is_yes = digits.starts_with(b"2");
    match spelling {
        Spelling::Bare if is_yes && before.is_empty() => [digits, b"\r\n"].concat(),
        Spelling::Bare => reply.to_vec(),
        Spelling::Latin1 => [before, digits, text, b" f\xfcr Sie\r\n"].concat(),
        Spelling::Long => [before, digits, text, &b" more".repeat(20_000), b"\r\n"].concat(),
        Spelling::Twice => [reply, reply].concat(),
        Spelling::LineFeed => [before, digits, text, b"\n"].concat(),
        Spelling::ManyLines => {
            let more = [digits, b"-", &text[1..], b"\r\n"].concat();
            [before, &more.repeat(20_000), last, b"\r\n"].concat()
        }
    }
}

/// A certificate for `localhost`, and the authority that issued it.
pub struct Papers {
    pub authority: PathBuf,
    pub certificate: PathBuf,
    pub key: PathBuf,
    chain: Vec<rustls::pki_types::CertificateDer<'static>>,
    secret: Vec<u8>,
}

impl Papers {
    pub(super) fn issue(folder: &Path) -> Self {
        let mut of_authority = CertificateParams::new(Vec::new()).unwrap();
        of_authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(of_authority, KeyPair::generate().unwrap()).unwrap();
        let key = KeyPair::generate().unwrap();
        let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
        let certificate = CertificateParams::new(names).unwrap().signed_by(&key, &authority).unwrap();
        let write = |name: &str, pem: String| {
            let path = folder.join(name);
            fs::write(&path, pem).unwrap();
            path
        };
        Self {
            authority: write("authority.pem", authority.pem()),
            certificate: write("certificate.pem", certificate.pem()),
            key: write("key.pem", key.serialize_pem()),
            chain: vec![certificate.der().clone()],
            secret: key.serialize_der(),
        }
    }

    pub(super) fn acceptor(&self) -> TlsAcceptor {
        let key = PrivateKeyDer::try_from(self.secret.clone()).unwrap();
        let config = ServerConfig::builder().with_no_client_auth().with_single_cert(self.chain.clone(), key);
        TlsAcceptor::from(Arc::new(config.unwrap()))
    }
}
