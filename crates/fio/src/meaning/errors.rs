//! errno(3) errors, by name and number as on Linux.

/// Names and numbers.
const ERRORS: [(&str, u32); 48] = [
    ("EPERM", 1),
    ("ENOENT", 2),
    ("ESRCH", 3),
    ("EINTR", 4),
    ("EIO", 5),
    ("ENXIO", 6),
    ("E2BIG", 7),
    ("ENOEXEC", 8),
    ("EBADF", 9),
    ("ECHILD", 10),
    ("EAGAIN", 11),
    ("EWOULDBLOCK", 11),
    ("ENOMEM", 12),
    ("EACCES", 13),
    ("EFAULT", 14),
    ("ENOTBLK", 15),
    ("EBUSY", 16),
    ("EEXIST", 17),
    ("EXDEV", 18),
    ("ENODEV", 19),
    ("ENOTDIR", 20),
    ("EISDIR", 21),
    ("EINVAL", 22),
    ("ENFILE", 23),
    ("EMFILE", 24),
    ("ENOTTY", 25),
    ("ETXTBSY", 26),
    ("EFBIG", 27),
    ("ENOSPC", 28),
    ("ESPIPE", 29),
    ("EROFS", 30),
    ("EMLINK", 31),
    ("EPIPE", 32),
    ("EDOM", 33),
    ("ERANGE", 34),
    ("ENODATA", 61),
    ("EILSEQ", 84),
    ("EOPNOTSUPP", 95),
    ("ENETDOWN", 100),
    ("ENETUNREACH", 101),
    ("ECONNABORTED", 103),
    ("ECONNRESET", 104),
    ("ETIMEDOUT", 110),
    ("ECONNREFUSED", 111),
    ("EHOSTUNREACH", 113),
    ("ESTALE", 116),
    ("EREMOTEIO", 121),
    ("EDQUOT", 122),
];

/// No error has this name or number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} (names and numbers of errno(3))", how(*.near))]
pub(crate) struct UnknownErrno {
    /// The name that was probably meant.
    near: Option<&'static str>,
}

fn how(near: Option<&str>) -> String {
    near.map_or_else(
        || "write a name such as EIO or its number".to_owned(),
        |near| format!("did you mean {near}?"),
    )
}

/// The name of an error given by name or number.
pub(crate) fn name_of_error(text: &str) -> Result<String, UnknownErrno> {
    let number = text.parse::<u32>().ok();
    match ERRORS.iter().find(|known| known.0 == text || Some(known.1) == number) {
        Some(known) => Ok(known.0.to_owned()),
        None => Err(UnknownErrno { near: experiment::nearest(text, ERRORS.iter().map(|known| known.0)) }),
    }
}
