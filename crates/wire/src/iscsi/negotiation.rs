//! Operational parameters: what is offered, and what both sides agree on (RFC 7143, 13).

use super::text::push_key;
use super::{DEFAULT_SEGMENT_BYTES, MAX_SEGMENT_BYTES};

/// Whether a digest is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DigestUse {
    /// No digest.
    #[default]
    None,
    /// CRC32C if the target can.
    Preferred,
    /// CRC32C, or no session.
    Required,
}

impl DigestUse {
    const fn offer(self) -> &'static str {
        match self {
            Self::None => "None",
            Self::Preferred => "CRC32C,None",
            Self::Required => "CRC32C",
        }
    }
}

/// What an initiator offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer {
    /// Digests of headers.
    pub header_digest: DigestUse,
    /// Digests of data.
    pub data_digest: DigestUse,
    /// The largest data segment that the initiator receives, in bytes.
    pub receive_bytes: u32,
    /// The largest sequence of data of one R2T, in bytes.
    pub burst_bytes: u32,
    /// Most unsolicited data of a command, in bytes.
    pub first_burst_bytes: u32,
    /// Commands may carry data.
    pub immediate_data: bool,
    /// Data other than immediate waits for R2T.
    pub initial_r2t: bool,
    /// R2Ts of a command that may be outstanding.
    pub outstanding_r2t: u16,
}

impl Default for Offer {
    fn default() -> Self {
        Self {
            header_digest: DigestUse::None,
            data_digest: DigestUse::None,
            receive_bytes: 256 << 10,
            burst_bytes: 4 << 20,
            first_burst_bytes: 256 << 10,
            immediate_data: true,
            initial_r2t: false,
            outstanding_r2t: 16,
        }
    }
}

/// What both sides agreed on; before that, the protocol's defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operational {
    /// Headers carry digests.
    pub header_digest: bool,
    /// Data segments carry digests.
    pub data_digest: bool,
    /// The largest data segment that the target receives, in bytes.
    pub send_bytes: u32,
    /// The largest data segment that the initiator receives, in bytes.
    pub receive_bytes: u32,
    /// The largest sequence of data, in bytes.
    pub burst_bytes: u32,
    /// Most unsolicited data of a command, in bytes.
    pub first_burst_bytes: u32,
    /// Commands may carry data.
    pub immediate_data: bool,
    /// Data other than immediate waits for R2T.
    pub initial_r2t: bool,
    /// R2Ts of a command that may be outstanding.
    pub outstanding_r2t: u16,
}

impl Operational {
    /// The protocol's defaults, with what this side receives.
    pub const fn new(receive_bytes: u32) -> Self {
        Self {
            header_digest: false,
            data_digest: false,
            send_bytes: DEFAULT_SEGMENT_BYTES,
            receive_bytes,
            burst_bytes: 262_144,
            first_burst_bytes: 65_536,
            immediate_data: true,
            initial_r2t: true,
            outstanding_r2t: 1,
        }
    }

    /// Immediate data of a command that writes `len` bytes.
    #[inline]
    pub fn immediate_bytes(&self, len: u32) -> u32 {
        if self.immediate_data { len.min(self.send_bytes).min(self.first_burst_bytes) } else { 0 }
    }

    /// Unsolicited data of a command that writes `len` bytes, immediate data included.
    #[inline]
    pub fn unsolicited_bytes(&self, len: u32) -> u32 {
        if self.initial_r2t { self.immediate_bytes(len) } else { len.min(self.first_burst_bytes) }
    }
}

/// Why the sides do not agree.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NegotiationError {
    /// The target refuses a key that is needed.
    #[error("the target refuses {key}={offered}: it answers {answer}")]
    Refused {
        /// The key.
        key: String,
        /// What was offered.
        offered: String,
        /// Its answer.
        answer: String,
    },
    /// An answer that the key cannot have.
    #[error("the target answers {key}={answer}, which the offer {offered} does not allow")]
    Outside {
        /// The key.
        key: String,
        /// What was offered.
        offered: String,
        /// Its answer.
        answer: String,
    },
}

impl Offer {
    /// Appends the pairs of a normal session, or of one for discovery.
    pub fn push(&self, text: &mut Vec<u8>, discovery: bool) {
        for key in KEYS.iter().filter(|key| !(discovery && key.io_only)) {
            push_key(text, key.name, &(key.offer)(self));
        }
    }

    /// Takes the target's answer for a key into what is agreed; keys that are no operational ones are ignored.
    ///
    /// # Errors
    /// The target refuses, or its answer is outside what the offer allows.
    pub fn agree(&self, agreed: &mut Operational, name: &str, answer: &str) -> Result<(), NegotiationError> {
        let Some(key) = KEYS.iter().find(|key| key.name == name) else { return Ok(()) };
        if matches!(answer, "Irrelevant" | "NotUnderstood") {
            return Ok(());
        }
        let parts = || (name.to_owned(), (key.offer)(self), answer.to_owned());
        if answer == "Reject" {
            let (key, offered, answer) = parts();
            return Err(NegotiationError::Refused { key, offered, answer });
        }
        (key.take)(self, agreed, answer).ok_or_else(|| {
            let (key, offered, answer) = parts();
            NegotiationError::Outside { key, offered, answer }
        })
    }

    /// Checks what is agreed as a whole, after the last answer.
    ///
    /// # Errors
    /// A digest is required and the target did not agree to it.
    pub fn conclude(&self, agreed: &mut Operational) -> Result<(), NegotiationError> {
        agreed.first_burst_bytes = agreed.first_burst_bytes.min(agreed.burst_bytes);
        for (key, wanted, got) in [
            ("HeaderDigest", self.header_digest, agreed.header_digest),
            ("DataDigest", self.data_digest, agreed.data_digest),
        ] {
            if wanted == DigestUse::Required && !got {
                let (key, offered) = (key.to_owned(), wanted.offer().to_owned());
                return Err(NegotiationError::Refused { key, offered, answer: "nothing".to_owned() });
            }
        }
        Ok(())
    }
}

/// A key: how it is offered, and how an answer is taken; `None` for an answer outside the offer.
struct Key {
    name: &'static str,
    /// Of no use without commands.
    io_only: bool,
    offer: fn(&Offer) -> String,
    take: fn(&Offer, &mut Operational, &str) -> Option<()>,
}

fn digest(wanted: DigestUse, answer: &str) -> Option<bool> {
    match (answer, wanted) {
        ("None", DigestUse::None | DigestUse::Preferred) => Some(false),
        ("CRC32C", DigestUse::Preferred | DigestUse::Required) => Some(true),
        _ => None,
    }
}

fn yes_or_no(value: bool) -> String {
    (if value { "Yes" } else { "No" }).to_owned()
}

fn flag(answer: &str) -> Option<bool> {
    match answer {
        "Yes" => Some(true),
        "No" => Some(false),
        _ => None,
    }
}

fn number(answer: &str, least: u32, most: u32) -> Option<u32> {
    let value = match answer.strip_prefix("0x").or_else(|| answer.strip_prefix("0X")) {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => answer.parse().ok(),
    };
    value.filter(|value| (least..=most).contains(value))
}

const SEGMENT_MIN: u32 = 512;

const KEYS: &[Key] = &[
    Key {
        name: "HeaderDigest",
        io_only: false,
        offer: |offer| offer.header_digest.offer().to_owned(),
        take: |offer, agreed, answer| {
            agreed.header_digest = digest(offer.header_digest, answer)?;
            Some(())
        },
    },
    Key {
        name: "DataDigest",
        io_only: false,
        offer: |offer| offer.data_digest.offer().to_owned(),
        take: |offer, agreed, answer| {
            agreed.data_digest = digest(offer.data_digest, answer)?;
            Some(())
        },
    },
    Key {
        name: "MaxRecvDataSegmentLength",
        io_only: false,
        offer: |offer| offer.receive_bytes.to_string(),
        // Each side declares its own.
        take: |_, agreed, answer| {
            agreed.send_bytes = number(answer, SEGMENT_MIN, MAX_SEGMENT_BYTES)?;
            Some(())
        },
    },
    Key {
        name: "DefaultTime2Wait",
        io_only: false,
        offer: |_| "0".to_owned(),
        take: |_, _, answer| number(answer, 0, 3600).map(drop),
    },
    Key {
        name: "DefaultTime2Retain",
        io_only: false,
        offer: |_| "0".to_owned(),
        take: |_, _, answer| number(answer, 0, 0).map(drop),
    },
    Key {
        name: "ErrorRecoveryLevel",
        io_only: false,
        offer: |_| "0".to_owned(),
        take: |_, _, answer| number(answer, 0, 0).map(drop),
    },
    Key {
        name: "MaxConnections",
        io_only: true,
        offer: |_| "1".to_owned(),
        take: |_, _, answer| number(answer, 1, 1).map(drop),
    },
    Key {
        name: "InitialR2T",
        io_only: true,
        offer: |offer| yes_or_no(offer.initial_r2t),
        take: |offer, agreed, answer| {
            let answer = flag(answer)?;
            agreed.initial_r2t = answer;
            (answer || !offer.initial_r2t).then_some(())
        },
    },
    Key {
        name: "ImmediateData",
        io_only: true,
        offer: |offer| yes_or_no(offer.immediate_data),
        take: |offer, agreed, answer| {
            let answer = flag(answer)?;
            agreed.immediate_data = answer;
            (!answer || offer.immediate_data).then_some(())
        },
    },
    Key {
        name: "MaxBurstLength",
        io_only: true,
        offer: |offer| offer.burst_bytes.to_string(),
        take: |offer, agreed, answer| {
            agreed.burst_bytes = number(answer, SEGMENT_MIN, offer.burst_bytes)?;
            Some(())
        },
    },
    Key {
        name: "FirstBurstLength",
        io_only: true,
        offer: |offer| offer.first_burst_bytes.to_string(),
        take: |offer, agreed, answer| {
            agreed.first_burst_bytes = number(answer, SEGMENT_MIN, offer.first_burst_bytes)?;
            Some(())
        },
    },
    Key {
        name: "MaxOutstandingR2T",
        io_only: true,
        offer: |offer| offer.outstanding_r2t.to_string(),
        take: |offer, agreed, answer| {
            agreed.outstanding_r2t = number(answer, 1, offer.outstanding_r2t.into())? as u16;
            Some(())
        },
    },
    Key {
        name: "DataPDUInOrder",
        io_only: true,
        offer: |_| "Yes".to_owned(),
        take: |_, _, answer| flag(answer)?.then_some(()),
    },
    Key {
        name: "DataSequenceInOrder",
        io_only: true,
        offer: |_| "Yes".to_owned(),
        take: |_, _, answer| flag(answer)?.then_some(()),
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::iscsi::TextKeys;

    #[test]
    fn answers_are_taken_within_the_offer() {
        let offer = Offer { data_digest: DigestUse::Preferred, ..Offer::default() };
        let mut agreed = Operational::new(offer.receive_bytes);
        for (key, answer) in [
            ("HeaderDigest", "None"),
            ("DataDigest", "CRC32C"),
            ("MaxRecvDataSegmentLength", "65536"),
            ("MaxBurstLength", "0x8000"),
            ("FirstBurstLength", "65536"),
            ("InitialR2T", "Yes"),
            ("ImmediateData", "No"),
            ("MaxOutstandingR2T", "4"),
            ("TargetAlias", "whatever"),
            ("MaxConnections", "1"),
        ] {
            offer.agree(&mut agreed, key, answer).unwrap();
        }
        offer.conclude(&mut agreed).unwrap();
        let expected = Operational {
            header_digest: false,
            data_digest: true,
            send_bytes: 65_536,
            receive_bytes: 256 << 10,
            burst_bytes: 32_768,
            first_burst_bytes: 32_768,
            immediate_data: false,
            initial_r2t: true,
            outstanding_r2t: 4,
        };
        assert_eq!(agreed, expected);
        assert_eq!((agreed.immediate_bytes(4096), agreed.unsolicited_bytes(4096)), (0, 0));
    }

    #[test]
    fn answers_outside_the_offer_are_refused() {
        let offer = Offer { immediate_data: false, initial_r2t: true, ..Offer::default() };
        for (key, answer) in [
            ("HeaderDigest", "CRC32C"),
            ("HeaderDigest", "SHA1"),
            ("MaxRecvDataSegmentLength", "511"),
            ("MaxRecvDataSegmentLength", "16777216"),
            ("MaxBurstLength", "8388608"),
            ("FirstBurstLength", "x"),
            ("ImmediateData", "Yes"),
            ("InitialR2T", "No"),
            ("InitialR2T", "yes"),
            ("MaxOutstandingR2T", "0"),
            ("MaxOutstandingR2T", "17"),
            ("MaxConnections", "2"),
            ("ErrorRecoveryLevel", "1"),
            ("DataPDUInOrder", "No"),
            ("DefaultTime2Retain", "20"),
        ] {
            let mut agreed = Operational::new(8192);
            let error = offer.agree(&mut agreed, key, answer).unwrap_err();
            assert!(matches!(error, NegotiationError::Outside { .. }), "{key}={answer}: {error}");
        }
        let mut agreed = Operational::new(8192);
        let refused = offer.agree(&mut agreed, "ErrorRecoveryLevel", "Reject").unwrap_err();
        assert_eq!(refused.to_string(), "the target refuses ErrorRecoveryLevel=0: it answers Reject");
        offer.agree(&mut agreed, "FirstBurstLength", "Irrelevant").unwrap();
        assert_eq!(agreed, Operational::new(8192));
        let required = Offer { header_digest: DigestUse::Required, ..offer };
        assert!(required.conclude(&mut agreed).unwrap_err().to_string().contains("HeaderDigest=CRC32C"));
    }

    #[test]
    fn discovery_offers_what_concerns_it() {
        let names = |discovery| {
            let mut text = Vec::new();
            Offer::default().push(&mut text, discovery);
            TextKeys::new(&text).map(|(key, _)| key.to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(names(false).len(), KEYS.len());
        assert!(!names(true).contains(&"MaxBurstLength".to_owned()));
        assert!(names(true).contains(&"MaxRecvDataSegmentLength".to_owned()));
    }

    #[test]
    fn unsolicited_data_follow_from_what_is_agreed() {
        let agreed = Operational {
            send_bytes: 8192,
            first_burst_bytes: 65_536,
            initial_r2t: false,
            ..Operational::new(8192)
        };
        assert_eq!((agreed.immediate_bytes(4096), agreed.unsolicited_bytes(4096)), (4096, 4096));
        assert_eq!((agreed.immediate_bytes(1 << 20), agreed.unsolicited_bytes(1 << 20)), (8192, 65_536));
        let waits = Operational { initial_r2t: true, ..agreed };
        assert_eq!(waits.unsolicited_bytes(1 << 20), 8192);
    }
}
