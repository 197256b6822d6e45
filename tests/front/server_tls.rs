//! Postgres over TLS, where who answers must prove who they are.

use std::fs;
use std::path::Path;

use countersign::store::people::Role;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use tempfile::TempDir;

use crate::support::app::SECRET;
use crate::support::cluster::Cluster;
use crate::support::program::Program;
use crate::support::run::{Fixture, run};
use crate::support::shop::refund;
use crate::support::{Backend, Database, TestApp};

#[test]
fn a_server_that_proves_who_it_is() {
    run(Backend::Postgres, async |_: &Backend| {
        let (cluster, folder) = (Authority::new().cluster(), tempfile::tempdir().unwrap());
        let url = cluster.url("localhost", &cluster.authority.file(&folder));
        let app = TestApp::on_database(Database::kept_elsewhere(&url)).await;
        let approver = app.person(Role::Approver).await;
        app.order("#1001", 50_000).await;
        let asked = app.ask("request_refund", refund("#1001", 100)).await;
        assert_eq!(approver.approve(&asked).await.ok()["status"], "executed");
        let encrypted = "SELECT count(*) AS n FROM pg_stat_ssl s JOIN pg_stat_activity a USING (pid)
                         WHERE a.backend_type = 'client backend' AND NOT s.ssl";
        assert_eq!(app.rival().number(encrypted), 0, "nobody is connected without it");
        app.tear_down().await;
    });
}

#[test]
fn a_server_that_does_not_is_refused() {
    run(Backend::Postgres, async |_: &Backend| {
        let (cluster, folder) = (Authority::new().cluster(), tempfile::tempdir().unwrap());
        let good = cluster.authority.file(&folder);
        let stranger = Authority::new().file(&folder);
        for (what, url) in [
            ("certificate verify failed", cluster.url("localhost", &stranger)),
            ("does not match host name", cluster.url("127.0.0.1", &good)),
            ("no encryption", cluster.url("localhost", &good).replace("verify-full", "disable")),
        ] {
            let said = Program::bare()
                .with("DATABASE_URL", &url)
                .with("COUNTERSIGN_SECRET", SECRET)
                .run(&["migrate"]);
            assert_eq!(said.code, Some(1), "{said:?}");
            assert!(said.err.contains(what), "{what}: {}", said.err);
        }
    });
}

/// Somebody who certifies.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, uuid::Uuid::now_v7().to_string());
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    /// Its certificate, for whoever trusts it.
    fn file(&self, folder: &TempDir) -> String {
        let path = folder.path().join(format!("{}.crt", uuid::Uuid::now_v7()));
        fs::write(&path, self.0.pem()).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// A server that it certified as `localhost`, and that talks to nobody without TLS.
    fn cluster(self) -> Certified {
        let prepare = |data: &Path| {
            let key = KeyPair::generate().unwrap();
            let certificate = CertificateParams::new(["localhost".to_owned()])
                .unwrap()
                .signed_by(&key, &self.0)
                .unwrap();
            fs::write(data.join("server.crt"), certificate.pem()).unwrap();
            fs::write(data.join("server.key"), key.serialize_pem()).unwrap();
            std::process::Command::new("chmod")
                .args(["600", data.join("server.key").to_str().unwrap()])
                .status()
                .unwrap();
            fs::write(data.join("pg_hba.conf"), "hostssl all all 127.0.0.1/32 trust\n").unwrap();
            "ssl = on\nssl_cert_file = 'server.crt'\nssl_key_file = 'server.key'".to_owned()
        };
        Certified {
            cluster: Cluster::new(prepare),
            authority: self,
        }
    }
}

struct Certified {
    cluster: Cluster,
    authority: Authority,
}

impl Certified {
    fn url(&self, host: &str, trusted: &str) -> String {
        let port = self.cluster.port;
        let trusted = trusted.replace('/', "%2F");
        format!("postgres://postgres@{host}:{port}/postgres?sslmode=verify-full&sslrootcert={trusted}")
    }
}
