//! TLS to the database, as `sslmode` and `sslrootcert` ask for it: rustls with aws-lc-rs.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::StoreError;

/// How much of the server's certificate must be right; the meanings are Postgres's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Disable,
    Prefer,
    Require,
    VerifyCa,
    VerifyFull,
}

pub type Tls = MakeRustlsConnect;

impl Mode {
    pub fn parse(word: &str) -> Result<Self, StoreError> {
        Ok(match word {
            "disable" => Self::Disable,
            "prefer" | "allow" => Self::Prefer,
            "require" => Self::Require,
            "verify-ca" => Self::VerifyCa,
            "verify-full" => Self::VerifyFull,
            _ => {
                let sentence = format!("`sslmode` cannot be `{word}`");
                let hint = "use disable, prefer, require, verify-ca or verify-full";
                return Err(StoreError::setup(sentence, hint));
            }
        })
    }
}

/// Makes connections safe as far as the mode asks for; `root` is a file with certificates of authorities, or `system`.
pub fn connector(mode: Mode, root: Option<&str>) -> Result<Tls, StoreError> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    // As libpq has it: whoever names an authority wants it asked.
    let mode = if mode == Mode::Require && root.is_some() { Mode::VerifyCa } else { mode };
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| StoreError::Other(format!("TLS cannot be set up: {error}")))?;
    let config = match mode {
        Mode::Disable | Mode::Prefer | Mode::Require => {
            builder.dangerous().with_custom_certificate_verifier(Arc::new(AnyCertificate(provider)))
        }
        Mode::VerifyCa => {
            let chain = WebPkiServerVerifier::builder_with_provider(Arc::new(roots(root)?), provider).build();
            let chain = chain.map_err(|error| no_roots(&error.to_string()))?;
            builder.dangerous().with_custom_certificate_verifier(Arc::new(AnyName(chain)))
        }
        Mode::VerifyFull => builder.with_root_certificates(roots(root)?),
    };
    Ok(MakeRustlsConnect::new(config.with_no_client_auth()))
}

fn roots(root: Option<&str>) -> Result<RootCertStore, StoreError> {
    let mut store = RootCertStore::empty();
    match root.filter(|name| *name != "system") {
        Some(path) => {
            let problem = |error: rustls::pki_types::pem::Error| no_roots(&format!("`{path}`: {error}"));
            for certificate in CertificateDer::pem_file_iter(path).map_err(problem)? {
                store.add(certificate.map_err(problem)?).map_err(|error| no_roots(&format!("`{path}`: {error}")))?;
            }
        }
        None => drop(store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs)),
    }
    if store.is_empty() {
        return Err(no_roots(root.map_or("this machine has none", |_| "the file holds none")));
    }
    Ok(store)
}

fn no_roots(cause: &str) -> StoreError {
    let sentence = format!("the certificates of authorities cannot be read: {cause}");
    StoreError::setup(sentence, "name a PEM file with `sslrootcert=FILE` in the address of the database")
}

/// Encrypts and asks nothing: what `prefer` and `require` mean.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

/// Asks the authority, and not for whom the certificate is: what `verify-ca` means.
#[derive(Debug)]
struct AnyName(Arc<WebPkiServerVerifier>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        rustls::crypto::verify_tls12_signature(
            message,
            certificate,
            signature,
            &self.0.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        rustls::crypto::verify_tls13_signature(
            message,
            certificate,
            signature,
            &self.0.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

impl ServerCertVerifier for AnyName {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        chain: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match self.0.verify_server_cert(certificate, chain, name, ocsp, now) {
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}
