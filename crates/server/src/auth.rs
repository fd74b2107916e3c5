//! Proving who somebody is: tokens, API keys, passwords. What they may do is the core's business.

use std::sync::Arc;

use argon2::Argon2;
use argon2::password_hash::{PasswordHasher, PasswordVerifier, phc::PasswordHash};
use folkmoot_core::ids::MemberId;
use folkmoot_core::model::{KeyHash, Machine, Member};
use folkmoot_core::refusal::{self, Code, Refusal};
use folkmoot_core::{Millis, State, access};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use rand::Rng;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tokio::sync::Semaphore;

/// How long a token counts.
pub const TOKEN_LIFE_S: i64 = 24 * 60 * 60;
const ISSUER: &str = "lark";
const KEY_PREFIX: &str = "lr_";
/// What the keys of machines begin with.
pub const MACHINE_PREFIX: &str = "lm_";
/// Each password hash takes 19 MiB; more at once than this would be a way to exhaust the machine.
const CONCURRENT_HASHES: usize = 2;

#[derive(Serialize, Deserialize)]
struct Claims {
    member_id: String,
    workspace_id: String,
    jti: String,
    iss: String,
    iat: i64,
    /// To the millisecond: a password may be changed in the second in which a token was made.
    #[serde(default)]
    iat_ms: Option<Millis>,
    exp: i64,
}

/// Somebody proven.
#[derive(Clone, Debug)]
pub struct Identity {
    pub member: MemberId,
    /// Whose proof it is: the member's own, or that of who carries it.
    pub prover: MemberId,
    pub proof: Proof,
}

impl Identity {
    pub fn own(member: MemberId, proof: Proof) -> Self {
        Self { member, prover: member, proof }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proof {
    Token(TokenInfo),
    Key(KeyHash),
    Password,
    /// Programs on this machine need none.
    None,
}

impl Proof {
    pub fn token(&self) -> Option<&TokenInfo> {
        match self {
            Self::Token(token) => Some(token),
            Self::Key(_) | Self::Password | Self::None => None,
        }
    }

    /// Whether what was proven at that time would no longer be believed: signed out, another password, another key.
    fn has_ended(&self, state: &State, prover: &Member, at: Millis) -> bool {
        let is_old = at < prover.secrets.valid_after;
        match self {
            Self::Token(token) => is_old || state.is_revoked(&token.jti),
            Self::Key(hash) => prover.secrets.key_hash.as_ref() != Some(hash),
            Self::Password => is_old,
            Self::None => false,
        }
    }
}

/// How somebody who is connected got in, and when.
#[derive(Clone, Debug)]
pub struct Login {
    pub prover: MemberId,
    pub proof: Proof,
    pub at: Millis,
}

impl Login {
    /// Whether the same would be refused now: the proof has ended, or whoever gave it may no longer carry the member.
    pub fn has_ended(&self, state: &State, member: MemberId) -> bool {
        let is_carried = self.prover != member;
        if is_carried && access::speaks_for(state, self.prover, member).is_err() {
            return true;
        }
        match state.machine_behind(self.prover) {
            Some(machine) => self.proof != Proof::Key(machine.key_hash),
            None => state.member(self.prover).is_none_or(|prover| self.proof.has_ended(state, prover, self.at)),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenInfo {
    pub jti: String,
    pub expires_at: Millis,
}

pub struct Auth {
    encoding: EncodingKey,
    decoding: DecodingKey,
    validation: Validation,
    hashing: Arc<Semaphore>,
    /// Compared against when the account is unknown, so that both answers take the same time.
    decoy: String,
}

const INVALID_TOKEN: Refusal = Refusal::new(Code::InvalidToken, "invalid credentials");

impl Auth {
    pub fn new(secret: &[u8]) -> Self {
        let mut validation = Validation::new(Algorithm::HS256);
        validation.set_issuer(&[ISSUER]);
        validation.set_required_spec_claims(&["exp", "iss"]);
        validation.leeway = 0;
        // The time is an argument of `identify`, so the library must not look at its own clock.
        validation.validate_exp = false;
        Self {
            encoding: EncodingKey::from_secret(secret),
            decoding: DecodingKey::from_secret(secret),
            validation,
            hashing: Arc::new(Semaphore::new(CONCURRENT_HASHES)),
            decoy: hash("a password nobody has").unwrap_or_default(),
        }
    }

    /// Who a bearer is: an API key (`lr_…`), the key of a machine (`lm_…`) or a token.
    pub fn identify(&self, state: &State, bearer: &str, now: Millis) -> Result<Identity, Refusal> {
        if bearer.starts_with(KEY_PREFIX) {
            let hash = Self::hash_key(bearer);
            let member = state.member_by_key(&hash).ok_or(INVALID_TOKEN)?;
            return Ok(Identity::own(member.id, Proof::Key(hash)));
        }
        if bearer.starts_with(MACHINE_PREFIX) {
            let hash = Self::hash_key(bearer);
            let machine = state.machine_by_key(&hash).map(Machine::as_member);
            let machine = machine.filter(|machine| access::carrier(state, *machine).is_ok()).ok_or(INVALID_TOKEN)?;
            return Ok(Identity::own(machine, Proof::Key(hash)));
        }
        let claims = self.claims(bearer, now)?;
        if state.is_revoked(&claims.jti) {
            return Err(INVALID_TOKEN);
        }
        let member = state
            .member(MemberId::parse(&claims.member_id))
            .ok_or(Refusal { code: Code::InvalidToken, ..refusal::MEMBER_GONE })?;
        if claims.iat_ms.unwrap_or(claims.iat * 1000) < member.secrets.valid_after {
            return Err(INVALID_TOKEN);
        }
        let token = TokenInfo { jti: claims.jti, expires_at: claims.exp * 1000 };
        Ok(Identity::own(member.id, Proof::Token(token)))
    }

    fn claims(&self, token: &str, now: Millis) -> Result<Claims, Refusal> {
        let decoded = jsonwebtoken::decode::<Claims>(token, &self.decoding, &self.validation);
        let claims = decoded.map_err(|_| INVALID_TOKEN)?.claims;
        if claims.exp * 1000 <= now { Err(INVALID_TOKEN) } else { Ok(claims) }
    }

    pub fn issue_token(&self, member: &Member, now: Millis) -> String {
        let iat = now / 1000;
        let claims = Claims {
            member_id: member.id.to_string(),
            workspace_id: member.workspace.to_string(),
            jti: random_hex(16),
            iss: ISSUER.to_owned(),
            iat,
            iat_ms: Some(now),
            exp: iat + TOKEN_LIFE_S,
        };
        // HS256 with a key in memory has nothing that can fail.
        jsonwebtoken::encode(&Header::new(Algorithm::HS256), &claims, &self.encoding).unwrap_or_default()
    }

    /// Signs a short text for a purpose. A login token is signed over letters and dots only, so none of these passes for one.
    pub fn sign(&self, purpose: &str, text: &str) -> String {
        let message = format!("{purpose}\n{text}");
        jsonwebtoken::crypto::sign(message.as_bytes(), &self.encoding, Algorithm::HS256).unwrap_or_default()
    }

    /// Whether [`Self::sign`] made this signature; compared in constant time.
    pub fn is_signed(&self, purpose: &str, text: &str, signature: &str) -> bool {
        let message = format!("{purpose}\n{text}");
        let verdict = jsonwebtoken::crypto::verify(signature, message.as_bytes(), &self.decoding, Algorithm::HS256);
        verdict.unwrap_or(false)
    }

    /// argon2id, off the async threads and few at a time.
    pub async fn hash_password(&self, password: String) -> Result<String, Refusal> {
        let _turn = self.hashing.clone().acquire_owned().await.map_err(|_| hashing_failed())?;
        let hashed = tokio::task::spawn_blocking(move || hash(&password)).await;
        hashed.ok().flatten().ok_or_else(hashing_failed)
    }

    /// Takes as long for an unknown account as for a wrong password.
    pub async fn verify_password(&self, hash: Option<String>, password: String) -> bool {
        let known = hash.is_some();
        let hash = hash.unwrap_or_else(|| self.decoy.clone());
        let Ok(_turn) = self.hashing.clone().acquire_owned().await else { return false };
        let fits = move || {
            let parsed = PasswordHash::new(&hash);
            parsed.is_ok_and(|parsed| Argon2::default().verify_password(password.as_bytes(), &parsed).is_ok())
        };
        tokio::task::spawn_blocking(fits).await.unwrap_or(false) && known
    }

    /// A fresh key (`lr_`, `lpt_`, … and 64 hex digits) and what is stored of it.
    pub fn new_key(prefix: &str) -> (String, KeyHash) {
        let key = format!("{prefix}_{}", random_hex(32));
        let hash = Self::hash_key(&key);
        (key, hash)
    }

    pub fn hash_key(key: &str) -> KeyHash {
        KeyHash(Sha256::digest(key.as_bytes()).into())
    }
}

fn hashing_failed() -> Refusal {
    Refusal::unavailable("the password could not be hashed")
}

fn hash(password: &str) -> Option<String> {
    Argon2::default().hash_password(password.as_bytes()).ok().map(|hash| hash.to_string())
}

pub fn random_hex(bytes: usize) -> String {
    let mut buffer = vec![0; bytes];
    rand::rng().fill_bytes(&mut buffer);
    buffer.iter().map(|byte| format!("{byte:02x}")).collect()
}
