//! A login as a dialogue without I/O (RFC 7143, 6): requests out, responses in, until the full feature phase.

use super::chap::{ChapAlgorithm, ChapSecret, binary, chap_response, hex_text, small};
use super::text::{TextKeys, push_key};
use super::{LoginRequest, LoginResponse, LoginStatus, NegotiationError, Offer, Operational};

const SECURITY: u8 = 0;
const OPERATIONAL: u8 = 1;
const FULL_FEATURE: u8 = 3;
/// Responses of one login: a target that never finishes is given up.
const ROUNDS_MAX: u32 = 24;
/// Bytes of text that a target may send in one login.
const TEXT_MAX: usize = 64 << 10;

/// Who logs in, and where.
#[derive(Clone, Debug)]
pub struct LoginIdentity {
    /// The initiator's name, such as `iqn.2026-01.example:host`.
    pub initiator: String,
    /// The target's name; `None` for discovery.
    pub target: Option<String>,
    /// The initiator's part of the session's name.
    pub isid: [u8; 6],
    /// What the target is told, if it asks.
    pub secret: Option<ChapSecret>,
    /// What the target must prove to know (mutual CHAP).
    pub target_secret: Option<ChapSecret>,
    /// The challenge to the target: different for each login.
    pub challenge: [u8; 16],
}

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoginStep {
    /// Send this request with this text.
    Send(LoginRequest, Vec<u8>),
    /// The login is complete.
    Done(Operational),
    /// Log in at this address instead, written `address:port,group`.
    Redirected(String),
}

/// Why a login failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoginFailure {
    /// The target refuses.
    #[error("the target refuses the login: {0}")]
    Refused(LoginStatus),
    /// It wants CHAP, and no name and secret are known.
    #[error("the target wants CHAP, and no name and secret are given")]
    NoSecret,
    /// It offers another way to authenticate.
    #[error("the target wants authentication by {0}, which is not supported; it must accept CHAP or None")]
    Method(String),
    /// It was to prove that it knows a secret, and did not.
    #[error("the target could not be authenticated: {0}")]
    Target(&'static str),
    /// No common hash.
    #[error("the target wants CHAP algorithm {0}; only 5 (MD5) and 7 (SHA-256) are supported")]
    Algorithm(String),
    /// The sides do not agree on a parameter.
    #[error(transparent)]
    Negotiation(#[from] NegotiationError),
    /// The dialogue does not follow the protocol.
    #[error("the target's login response cannot be understood: {0}")]
    Malformed(&'static str),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Phase {
    /// The method was offered.
    Method,
    /// The algorithm was offered.
    Algorithm,
    /// The response was sent.
    Proof(ChapAlgorithm),
    /// Parameters were offered.
    Parameters,
}

/// The initiator's side of one login.
#[derive(Clone, Debug)]
pub struct LoginDialog {
    identity: LoginIdentity,
    offer: Offer,
    agreed: Operational,
    phase: Phase,
    tag: u32,
    cmd_sn: u32,
    rounds: u32,
    /// Text of responses that announced more.
    text: Vec<u8>,
    /// The stage that this side is in.
    stage: u8,
}

impl LoginDialog {
    /// A login with this tag and first command number.
    pub fn new(identity: LoginIdentity, offer: Offer, tag: u32, cmd_sn: u32) -> Self {
        Self {
            identity,
            agreed: Operational::new(offer.receive_bytes),
            offer,
            phase: Phase::Method,
            tag,
            cmd_sn,
            rounds: 0,
            text: Vec::new(),
            stage: SECURITY,
        }
    }

    /// The first request.
    pub fn start(&self) -> LoginStep {
        let LoginIdentity { initiator, target, secret, target_secret, .. } = &self.identity;
        let mut text = Vec::new();
        push_key(&mut text, "InitiatorName", initiator);
        match target {
            Some(target) => {
                push_key(&mut text, "SessionType", "Normal");
                push_key(&mut text, "TargetName", target);
            }
            None => push_key(&mut text, "SessionType", "Discovery"),
        }
        let method = match (secret, target_secret) {
            (None, _) => "None",
            (Some(_), None) => "CHAP,None",
            (Some(_), Some(_)) => "CHAP",
        };
        push_key(&mut text, "AuthMethod", method);
        self.send(0, secret.is_none().then_some(OPERATIONAL), text)
    }

    fn send(&self, exp_stat_sn: u32, next_stage: Option<u8>, text: Vec<u8>) -> LoginStep {
        let request = LoginRequest {
            immediate: true,
            transit: next_stage.is_some(),
            stage: self.stage,
            next_stage: next_stage.unwrap_or(0),
            data_bytes: text.len() as u32,
            isid: self.identity.isid,
            tag: self.tag,
            cmd_sn: self.cmd_sn,
            exp_stat_sn,
            ..LoginRequest::default()
        };
        LoginStep::Send(request, text)
    }

    /// Takes a response with its text.
    ///
    /// # Errors
    /// The login failed.
    pub fn answer(&mut self, response: &LoginResponse, text: &[u8]) -> Result<LoginStep, LoginFailure> {
        let status = LoginStatus(response.status);
        if status.is_redirection() {
            let address = TextKeys::get(text, "TargetAddress");
            let missing = LoginFailure::Malformed("a redirection without an address");
            return Ok(LoginStep::Redirected(address.ok_or(missing)?.to_owned()));
        }
        if status != LoginStatus::SUCCESS {
            return Err(match self.phase {
                // Nothing that could be wrong was offered.
                Phase::Method if status == LoginStatus::AUTHENTICATION && self.identity.secret.is_none() => {
                    LoginFailure::NoSecret
                }
                _ => LoginFailure::Refused(status),
            });
        }
        self.rounds += 1;
        if self.rounds > ROUNDS_MAX || self.text.len() + text.len() > TEXT_MAX {
            return Err(LoginFailure::Malformed("it does not end"));
        }
        if response.tag != self.tag || response.stage != self.stage {
            return Err(LoginFailure::Malformed("it is for another request or stage"));
        }
        self.text.extend_from_slice(text);
        let next_stat_sn = response.stat_sn.wrapping_add(1);
        if response.more {
            return Ok(self.send(next_stat_sn, None, Vec::new()));
        }
        let text = std::mem::take(&mut self.text);
        match self.phase.clone() {
            Phase::Method => self.method(response, &text, next_stat_sn),
            Phase::Algorithm => self.challenged(&text, next_stat_sn),
            Phase::Proof(algorithm) => {
                self.proven(algorithm, &text)?;
                self.after_security(response, next_stat_sn)
            }
            Phase::Parameters => self.parameters(response, &text, next_stat_sn),
        }
    }

    fn method(
        &mut self,
        response: &LoginResponse,
        text: &[u8],
        stat_sn: u32,
    ) -> Result<LoginStep, LoginFailure> {
        let LoginIdentity { secret, target_secret, .. } = &self.identity;
        match TextKeys::get(text, "AuthMethod") {
            None | Some("None") if target_secret.is_none() => {
                if secret.is_some() && !response.transit {
                    // CHAP was offered, so this side has yet to ask for the next stage.
                    self.phase = Phase::Proof(ChapAlgorithm::Md5);
                    return Ok(self.send(stat_sn, Some(OPERATIONAL), Vec::new()));
                }
                self.after_security(response, stat_sn)
            }
            None | Some("None") => Err(LoginFailure::Target("it does not take part in CHAP")),
            Some("CHAP") if secret.is_some() => {
                self.phase = Phase::Algorithm;
                let mut text = Vec::new();
                push_key(&mut text, "CHAP_A", ChapAlgorithm::OFFER);
                Ok(self.send(stat_sn, None, text))
            }
            Some("CHAP") => Err(LoginFailure::NoSecret),
            Some("Reject") if secret.is_none() => Err(LoginFailure::NoSecret),
            Some(other) => Err(LoginFailure::Method(other.to_owned())),
        }
    }

    fn challenged(&mut self, text: &[u8], stat_sn: u32) -> Result<LoginStep, LoginFailure> {
        let LoginIdentity { secret, target_secret, challenge: own, .. } = &self.identity;
        let secret = secret.as_ref().ok_or(LoginFailure::NoSecret)?;
        let number = TextKeys::get(text, "CHAP_A").ok_or(LoginFailure::Malformed("CHAP without CHAP_A"))?;
        let algorithm =
            ChapAlgorithm::of(number).ok_or_else(|| LoginFailure::Algorithm(number.to_owned()))?;
        let id = TextKeys::get(text, "CHAP_I").and_then(small);
        let id = id.ok_or(LoginFailure::Malformed("CHAP without CHAP_I"))?;
        let challenge = TextKeys::get(text, "CHAP_C").and_then(binary).filter(|bytes| !bytes.is_empty());
        let challenge = challenge.ok_or(LoginFailure::Malformed("CHAP without CHAP_C"))?;
        if target_secret.is_some() && challenge == own {
            // Our own challenge sent back: answering it would prove us to ourselves (RFC 7143, 9.2.1).
            return Err(LoginFailure::Target("it sends back our own challenge"));
        }
        let response = chap_response(algorithm, id, &secret.secret, &challenge);
        let mut answer = Vec::new();
        push_key(&mut answer, "CHAP_N", &secret.name);
        push_key(&mut answer, "CHAP_R", &hex_text(&response));
        if target_secret.is_some() {
            push_key(&mut answer, "CHAP_I", &own[0].to_string());
            push_key(&mut answer, "CHAP_C", &hex_text(own));
        }
        self.phase = Phase::Proof(algorithm);
        Ok(self.send(stat_sn, Some(OPERATIONAL), answer))
    }

    /// Checks the target's own proof, if one was asked for.
    fn proven(&self, algorithm: ChapAlgorithm, text: &[u8]) -> Result<(), LoginFailure> {
        let LoginIdentity { target_secret: Some(expected), challenge: own, .. } = &self.identity else {
            return Ok(());
        };
        let name = TextKeys::get(text, "CHAP_N");
        let response = TextKeys::get(text, "CHAP_R").and_then(binary);
        let (Some(name), Some(response)) = (name, response) else {
            return Err(LoginFailure::Target("it proves nothing"));
        };
        if name != expected.name {
            return Err(LoginFailure::Target("it has another name"));
        }
        if response != chap_response(algorithm, own[0], &expected.secret, own) {
            return Err(LoginFailure::Target("it does not know the secret"));
        }
        Ok(())
    }

    fn after_security(&mut self, response: &LoginResponse, stat_sn: u32) -> Result<LoginStep, LoginFailure> {
        if !response.transit || response.next_stage != OPERATIONAL {
            return Err(LoginFailure::Malformed("it does not go on to the operational stage"));
        }
        self.stage = OPERATIONAL;
        self.phase = Phase::Parameters;
        let mut text = Vec::new();
        self.offer.push(&mut text, self.identity.target.is_none());
        Ok(self.send(stat_sn, Some(FULL_FEATURE), text))
    }

    fn parameters(
        &mut self,
        response: &LoginResponse,
        text: &[u8],
        stat_sn: u32,
    ) -> Result<LoginStep, LoginFailure> {
        for (key, value) in TextKeys::new(text) {
            self.offer.agree(&mut self.agreed, key, value)?;
        }
        if !response.transit {
            return Ok(self.send(stat_sn, Some(FULL_FEATURE), Vec::new()));
        }
        if response.next_stage != FULL_FEATURE {
            return Err(LoginFailure::Malformed("it goes on to another stage than was asked for"));
        }
        self.offer.conclude(&mut self.agreed)?;
        Ok(LoginStep::Done(self.agreed))
    }
}
