//! Outcomes of a login step (RFC 7143, 11.13.5).

/// Class and detail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoginStatus(pub u16);

impl LoginStatus {
    /// The step succeeded.
    pub const SUCCESS: Self = Self(0x0000);
    /// The target has moved for now.
    pub const MOVED: Self = Self(0x0101);
    /// The target has moved for good.
    pub const MOVED_PERMANENTLY: Self = Self(0x0102);
    /// The initiator could not be authenticated.
    pub const AUTHENTICATION: Self = Self(0x0201);
    /// The initiator is not allowed on this target.
    pub const FORBIDDEN: Self = Self(0x0202);
    /// There is no such target.
    pub const NOT_FOUND: Self = Self(0x0203);
    /// The target is not available at the moment.
    pub const UNAVAILABLE: Self = Self(0x0301);

    /// True when the target is at another address, which comes as `TargetAddress`.
    pub const fn is_redirection(self) -> bool {
        self.0 >> 8 == 1
    }

    /// The RFC's words for it.
    pub const fn words(self) -> &'static str {
        match self.0 {
            0x0000 => "success",
            0x0101 => "target moved temporarily",
            0x0102 => "target moved permanently",
            0x0200 => "initiator error",
            0x0201 => "authentication failure",
            0x0202 => "authorization failure: this initiator may not use the target",
            0x0203 => "target not found",
            0x0204 => "target removed",
            0x0205 => "unsupported version",
            0x0206 => "too many connections",
            0x0207 => "missing parameter",
            0x0208 => "cannot include in session",
            0x0209 => "session type not supported",
            0x020a => "session does not exist",
            0x020b => "invalid request during login",
            0x0300 => "target error",
            0x0301 => "service unavailable",
            0x0302 => "out of resources",
            _ => "unknown status",
        }
    }
}

impl std::fmt::Display for LoginStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} (status {:#06x})", self.words(), self.0)
    }
}
