//! Identity of callers, and what permission bits allow them.

use wire::nfs3::AccessArgs;
use wire::rpc::{AUTH_SYS, Auth, AuthSys, Gids};
use wire::xdr;

/// The caller of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caller {
    /// User.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Further groups.
    pub gids: Gids,
}

/// The user and group of anonymous callers.
const NOBODY: u32 = 65_534;

/// Permission to read, as a bit of a mode's last digit.
pub(super) const READ: u32 = 4;
/// Permission to write.
pub(super) const WRITE: u32 = 2;
/// Permission to execute, or to look names up.
pub(super) const EXECUTE: u32 = 1;

impl Caller {
    /// The superuser, who is exempt from permission checks.
    pub fn root() -> Self {
        Self { uid: 0, gid: 0, gids: Gids::default() }
    }

    /// The caller of an RPC. Without `AUTH_SYS`, it is nobody.
    ///
    /// # Errors
    /// The credential cannot be decoded.
    pub fn of(credential: &Auth<'_>) -> Result<Self, xdr::DecodeError> {
        if credential.flavor != AUTH_SYS {
            return Ok(Self { uid: NOBODY, gid: NOBODY, gids: Gids::default() });
        }
        let sys: AuthSys<'_> = xdr::decode_all(credential.body)?;
        Ok(Self { uid: sys.uid, gid: sys.gid, gids: sys.gids })
    }

    fn in_group(&self, gid: u32) -> bool {
        self.gid == gid || self.gids.as_slice().contains(&gid)
    }

    /// Whether all of `wanted` ([`READ`], [`WRITE`], [`EXECUTE`]) is permitted on a file with this mode and owner.
    pub(super) fn may(&self, wanted: u32, mode: u32, uid: u32, gid: u32) -> bool {
        if self.uid == 0 {
            return true;
        }
        let shift = match () {
            () if self.uid == uid => 6,
            () if self.in_group(gid) => 3,
            () => 0,
        };
        (mode >> shift) & wanted == wanted
    }

    /// Which of the bits of an ACCESS call (RFC 1813 section 3.3.4) are permitted.
    pub(super) fn access(&self, asked: u32, directory: bool, mode: u32, uid: u32, gid: u32) -> u32 {
        let may = |wanted| self.may(wanted, mode, uid, gid);
        let mut granted = 0;
        if may(READ) {
            granted |= AccessArgs::READ;
        }
        if may(WRITE) {
            granted |= AccessArgs::MODIFY | AccessArgs::EXTEND;
            if directory {
                granted |= AccessArgs::DELETE;
            }
        }
        if may(EXECUTE) {
            granted |= if directory { AccessArgs::LOOKUP } else { AccessArgs::EXECUTE };
        }
        granted & asked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(uid: u32, gid: u32, gids: &[u32]) -> Caller {
        Caller { uid, gid, gids: Gids::new(gids) }
    }

    #[test]
    fn owner_group_and_others_have_their_own_bits() {
        let mode = 0o640;
        assert!(user(1, 9, &[]).may(READ | WRITE, mode, 1, 2));
        assert!(user(3, 2, &[]).may(READ, mode, 1, 2));
        assert!(user(3, 9, &[8, 2]).may(READ, mode, 1, 2));
        assert!(!user(3, 2, &[]).may(WRITE, mode, 1, 2));
        assert!(!user(3, 9, &[]).may(READ, mode, 1, 2));
        assert!(!user(1, 9, &[]).may(READ, 0o077, 1, 2), "the owner's bits hold for the owner");
        assert!(Caller::root().may(READ | WRITE | EXECUTE, 0, 1, 2));
    }

    #[test]
    fn access_names_what_is_permitted_and_nothing_else() {
        let all = 0x3f;
        assert_eq!(user(5, 5, &[]).access(all, true, 0o755, 0, 0), AccessArgs::READ | AccessArgs::LOOKUP);
        assert_eq!(user(5, 5, &[]).access(AccessArgs::READ, true, 0o755, 0, 0), AccessArgs::READ);
        assert_eq!(
            user(0, 0, &[]).access(all, false, 0o644, 9, 9),
            AccessArgs::READ | AccessArgs::MODIFY | AccessArgs::EXTEND | AccessArgs::EXECUTE
        );
    }

    #[test]
    fn a_credential_of_another_kind_is_nobody() {
        assert_eq!(Caller::of(&Auth::NONE).unwrap().uid, NOBODY);
        assert!(Caller::of(&Auth { flavor: AUTH_SYS, body: &[1, 2, 3] }).is_err());
    }
}
