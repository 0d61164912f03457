//! What `parse` is given: the file's text, and what stands outside of it.

/// An experiment file's text and the name by which messages call it.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The file's name for messages; its stem is the experiment's name unless the file says otherwise.
    pub file: &'a str,
    /// The whole text.
    pub text: &'a str,
}

/// What the command line and the environment say.
#[derive(Clone, Copy)]
pub struct Settings<'a> {
    /// `--set KEY=VALUE`, in the order given: a parameter's name or a dotted path of the file, and its value.
    pub set: &'a [(String, String)],
    /// Looks up an environment variable: `MANOMETER_SET_name` for parameters, `NAME` for `${env:NAME}`.
    pub environment: &'a dyn Fn(&str) -> Option<String>,
}

impl Settings<'static> {
    /// Nothing is set and the environment is empty.
    pub fn none() -> Self {
        Self { set: &[], environment: &|_| None }
    }
}

impl std::fmt::Debug for Settings<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settings").field("set", &self.set).finish_non_exhaustive()
    }
}
