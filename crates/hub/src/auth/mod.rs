//! Proving who somebody is: tokens, API keys, passwords. What they may do is the core's business.

pub mod hashing;
pub mod limits;

use data_encoding::HEXLOWER;
use folkmoot_core::access::{self, SessionToken};
use folkmoot_core::ids::MemberId;
use folkmoot_core::model::{KeyHash, Machine, Member};
use folkmoot_core::refusal::{self, Code, Refusal};
use folkmoot_core::{Millis, State};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use rand::Rng;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use self::hashing::{Hashing, NotHashed, Standing};
use self::limits::Attempt;

/// How long a token counts.
pub const TOKEN_LIFE_S: i64 = 24 * 60 * 60;
const ISSUER: &str = "lark";
const KEY_PREFIX: &str = "lr_";
/// What the keys of machines begin with.
pub const MACHINE_PREFIX: &str = "lm_";
/// No token or key of ours is longer.
const MAX_BEARER_BYTES: usize = 2048;
const DEVICE: &str = "device";

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
    /// The generation of the member's secrets; tokens of earlier versions have none.
    #[serde(default, rename = "gen", skip_serializing_if = "Option::is_none")]
    generation: Option<u64>,
    /// The `jti` of the session's first token, in those that renewed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sid: Option<String>,
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
    Password {
        generation: u64,
    },
    /// Programs on this machine need none.
    None,
}

impl Proof {
    pub fn token(&self) -> Option<&TokenInfo> {
        match self {
            Self::Token(token) => Some(token),
            Self::Key(_) | Self::Password { .. } | Self::None => None,
        }
    }

    /// Whether what was proven at that time would no longer be believed: signed out, another password, another key.
    fn has_ended(&self, state: &State, prover: &Member, at: Millis) -> bool {
        match self {
            Self::Token(token) => !access::token_counts(state, prover, &token.token, at),
            Self::Key(hash) => prover.secrets.key_hash.as_ref() != Some(hash),
            Self::Password { generation } => prover.secrets.generation != *generation,
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
    pub token: SessionToken,
    pub expires_at: Millis,
}

/// A token that was just made.
pub struct Issued {
    pub token: String,
    /// The name of its session.
    pub session: String,
    pub expires_at: Millis,
}

pub struct Auth {
    encoding: EncodingKey,
    decoding: DecodingKey,
    validation: Validation,
    hashing: Hashing,
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
            hashing: Hashing::default(),
        }
    }

    /// Who a bearer is: an API key (`lr_…`), the key of a machine (`lm_…`) or a token.
    pub fn identify(&self, state: &State, bearer: &str, now: Millis) -> Result<Identity, Refusal> {
        if bearer.len() > MAX_BEARER_BYTES {
            return Err(INVALID_TOKEN);
        }
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
        let member = state
            .member(MemberId::parse(&claims.member_id))
            .ok_or(Refusal { code: Code::InvalidToken, ..refusal::MEMBER_GONE })?;
        let token = SessionToken {
            session: claims.sid.unwrap_or_else(|| claims.jti.clone()),
            jti: claims.jti,
            generation: claims.generation,
            issued_at: claims.iat_ms.unwrap_or(claims.iat.saturating_mul(1000)),
        };
        if !access::token_counts(state, member, &token, now) {
            return Err(INVALID_TOKEN);
        }
        Ok(Identity::own(member.id, Proof::Token(TokenInfo { token, expires_at: claims.exp.saturating_mul(1000) })))
    }

    fn claims(&self, token: &str, now: Millis) -> Result<Claims, Refusal> {
        let decoded = jsonwebtoken::decode::<Claims>(token, &self.decoding, &self.validation);
        let claims = decoded.map_err(|_| INVALID_TOKEN)?.claims;
        if claims.exp.saturating_mul(1000) <= now { Err(INVALID_TOKEN) } else { Ok(claims) }
    }

    /// A token of a new session, or another one of a session that goes on.
    pub fn issue(&self, member: &Member, now: Millis, session: Option<String>) -> Issued {
        let iat = now / 1000;
        let jti = random_hex(16);
        let claims = Claims {
            member_id: member.id.to_string(),
            workspace_id: member.workspace.to_string(),
            jti: jti.clone(),
            iss: ISSUER.to_owned(),
            iat,
            iat_ms: Some(now),
            generation: Some(member.secrets.generation),
            sid: session.clone(),
            exp: iat + TOKEN_LIFE_S,
        };
        // HS256 with a key in memory has nothing that can fail.
        let token = jsonwebtoken::encode(&Header::new(Algorithm::HS256), &claims, &self.encoding).unwrap_or_default();
        Issued { token, session: session.unwrap_or(jti), expires_at: claims.exp * 1000 }
    }

    /// What a device that has logged in may show later, so that it is told from those that guess. It proves nothing else,
    /// and counts until everything before is ended.
    pub fn new_device(&self, member: &Member) -> String {
        let text = format!("{}.{}.{}", member.id, member.secrets.generation, random_hex(16));
        let signature = self.sign(DEVICE, &text);
        format!("{text}.{signature}")
    }

    /// The name of a device that has logged in as this member before.
    pub fn device_of<'a>(&self, device: &'a str, member: &Member) -> Option<&'a str> {
        let (text, signature) = device.rsplit_once('.').filter(|_| device.len() <= MAX_BEARER_BYTES)?;
        let (whose, name) = text.rsplit_once('.')?;
        let own = whose == format!("{}.{}", member.id, member.secrets.generation);
        (own && self.is_signed(DEVICE, text, signature)).then_some(name)
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

    /// argon2id, in turn with everybody else.
    pub async fn hash_password(&self, password: String, standing: Standing) -> Result<String, NotHashed> {
        self.hashing.hash(password, standing).await
    }

    /// Takes as long for an unknown account as for a wrong password; the attempt counts unless it was right.
    pub async fn verify_password(
        &self,
        hash: Option<String>,
        password: String,
        attempt: Attempt,
    ) -> Result<bool, NotHashed> {
        self.hashing.verify(hash, password, attempt).await
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

pub fn random_hex(bytes: usize) -> String {
    let mut buffer = vec![0; bytes];
    rand::rng().fill_bytes(&mut buffer);
    HEXLOWER.encode(&buffer)
}
