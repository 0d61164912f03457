//! How a command ended: its status, and sense data in both formats (SPC-5, 4.4; SAM-5, 5.3).

use super::sense_names;

/// A SCSI status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScsiStatus(pub u8);

impl ScsiStatus {
    /// The command succeeded.
    pub const GOOD: Self = Self(0x00);
    /// Sense data say what is wrong.
    pub const CHECK_CONDITION: Self = Self(0x02);
    /// The unit cannot take the command now.
    pub const BUSY: Self = Self(0x08);
    /// Another initiator has reserved the unit.
    pub const RESERVATION_CONFLICT: Self = Self(0x18);
    /// The unit's queue is full.
    pub const TASK_SET_FULL: Self = Self(0x28);
    /// The command was aborted.
    pub const TASK_ABORTED: Self = Self(0x40);

    /// The standard's name.
    pub const fn name(self) -> &'static str {
        match self.0 {
            0x00 => "GOOD",
            0x02 => "CHECK CONDITION",
            0x04 => "CONDITION MET",
            0x08 => "BUSY",
            0x18 => "RESERVATION CONFLICT",
            0x28 => "TASK SET FULL",
            0x30 => "ACA ACTIVE",
            0x40 => "TASK ABORTED",
            _ => "unknown status",
        }
    }
}

/// A sense key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SenseKey(pub u8);

impl SenseKey {
    /// The unit is not ready.
    pub const NOT_READY: Self = Self(0x2);
    /// The medium has an error.
    pub const MEDIUM_ERROR: Self = Self(0x3);
    /// The unit has an error.
    pub const HARDWARE_ERROR: Self = Self(0x4);
    /// The command is wrong.
    pub const ILLEGAL_REQUEST: Self = Self(0x5);
    /// Something about the unit has changed.
    pub const UNIT_ATTENTION: Self = Self(0x6);
    /// Protected against writing.
    pub const DATA_PROTECT: Self = Self(0x7);
    /// The unit aborted the command.
    pub const ABORTED_COMMAND: Self = Self(0xb);

    /// The standard's name.
    pub const fn name(self) -> &'static str {
        match self.0 {
            0x0 => "NO SENSE",
            0x1 => "RECOVERED ERROR",
            0x2 => "NOT READY",
            0x3 => "MEDIUM ERROR",
            0x4 => "HARDWARE ERROR",
            0x5 => "ILLEGAL REQUEST",
            0x6 => "UNIT ATTENTION",
            0x7 => "DATA PROTECT",
            0x8 => "BLANK CHECK",
            0xa => "COPY ABORTED",
            0xb => "ABORTED COMMAND",
            0xd => "VOLUME OVERFLOW",
            0xe => "MISCOMPARE",
            0xf => "COMPLETED",
            _ => "VENDOR SPECIFIC",
        }
    }
}

/// Sense data: what went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sense {
    /// The kind of problem.
    pub key: SenseKey,
    /// Additional sense code.
    pub code: u8,
    /// Its qualifier.
    pub qualifier: u8,
    /// The information field, such as the first block that failed.
    pub information: Option<u64>,
}

impl Sense {
    /// Reads sense data in fixed or descriptor format; `None` when it is neither, or too short.
    pub fn decode(data: &[u8]) -> Option<Self> {
        let format = data.first()? & 0x7f;
        match format {
            0x70 | 0x71 => {
                let valid = data[0] & 0x80 != 0;
                let information: Option<[u8; 4]> = data.get(3..7).and_then(|bytes| bytes.try_into().ok());
                Some(Self {
                    key: SenseKey(data.get(2)? & 0xf),
                    code: data.get(12).copied().unwrap_or(0),
                    qualifier: data.get(13).copied().unwrap_or(0),
                    information: information.filter(|_| valid).map(|bytes| u32::from_be_bytes(bytes).into()),
                })
            }
            0x72 | 0x73 => Some(Self {
                key: SenseKey(data.get(1)? & 0xf),
                code: *data.get(2)?,
                qualifier: *data.get(3)?,
                information: described(data.get(8..).unwrap_or_default()),
            }),
            _ => None,
        }
    }

    /// The sense data in a response's data segment, which begins with their length (RFC 7143, 11.4.7.2).
    pub fn in_response(segment: &[u8]) -> Option<Self> {
        let (len, rest) = segment.split_at_checked(2)?;
        let len = usize::from(u16::from_be_bytes([len[0], len[1]]));
        Self::decode(&rest[..len.min(rest.len())])
    }

    /// Sense data in fixed format, with their length before them, as in a response's data segment.
    pub fn encode(&self) -> [u8; 20] {
        let mut data = [0; 20];
        data[1] = 18;
        data[2] = if self.information.is_some() { 0xf0 } else { 0x70 };
        data[4] = self.key.0;
        data[5..9].copy_from_slice(&(self.information.unwrap_or(0) as u32).to_be_bytes());
        data[9] = 10;
        data[14] = self.code;
        data[15] = self.qualifier;
        data
    }

    /// The standard's words for the code and its qualifier, where known.
    pub fn words(&self) -> Option<&'static str> {
        sense_names::words(self.code, self.qualifier)
    }
}

/// The information descriptor among others.
fn described(mut rest: &[u8]) -> Option<u64> {
    while let [kind, len, ..] = rest {
        let end = 2 + usize::from(*len);
        let descriptor = rest.get(..end)?;
        if *kind == 0 && descriptor.len() >= 12 {
            let valid = descriptor[2] & 0x80 != 0;
            let value: [u8; 8] = descriptor[4..12].try_into().ok()?;
            return valid.then_some(u64::from_be_bytes(value));
        }
        rest = &rest[end..];
    }
    None
}

impl std::fmt::Display for Sense {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { key, code, qualifier, information } = self;
        write!(f, "{}", key.name())?;
        match self.words() {
            Some(words) => write!(f, ", {words} ({code:02X}h/{qualifier:02X}h)")?,
            None => write!(f, " ({code:02X}h/{qualifier:02X}h)")?,
        }
        information.map_or(Ok(()), |block| write!(f, " at block {block}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_formats_are_read() {
        let mut fixed = [0; 18];
        (fixed[0], fixed[2], fixed[12], fixed[13]) = (0xf0, 0x03, 0x11, 0x00);
        fixed[3..7].copy_from_slice(&77_u32.to_be_bytes());
        let sense = Sense::decode(&fixed).unwrap();
        assert_eq!(sense.to_string(), "MEDIUM ERROR, unrecovered read error (11h/00h) at block 77");
        let mut described = vec![0x72, 0x05, 0x21, 0x00, 0, 0, 0, 16, 1, 2, 0, 0, 0, 10, 0x80, 0];
        described.extend(9_u64.to_be_bytes());
        let sense = Sense::decode(&described).unwrap();
        let text = "ILLEGAL REQUEST, logical block address out of range (21h/00h) at block 9";
        assert_eq!(sense.to_string(), text);
        let other = Sense { key: SenseKey(9), code: 0x99, qualifier: 1, information: None };
        assert_eq!(other.to_string(), "VENDOR SPECIFIC (99h/01h)");
        assert_eq!(Sense::in_response(&other.encode()), Some(other));
        for short in [&[][..], &[0x70, 0], &[0x72, 5, 1], &[0x00; 18]] {
            assert_eq!(Sense::decode(short), None);
        }
    }
}
