//! Kinds of targets as data: their URLs, the operations they have, the options they know, and what holds of them. The values are those of
//! the protocols, which hand them in ([`Settings::kinds`](crate::Settings)).

use metrics::OpKind;

use crate::option::OptionHelp;
use crate::plan::WeightedOp;

/// How the URLs of a kind are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UrlForm {
    /// `scheme:///path`: an absolute path of this machine.
    Path,
    /// `scheme://host[:port]/export`.
    HostAndPath,
    /// `scheme://host:port`.
    HostAndPort,
    /// `scheme://host[:port]`.
    Host,
    /// `scheme://bucket?endpoint=http…`: a name, and the service in the query.
    Bucket,
    /// `scheme:`, and a query alone.
    Bare,
}

/// A kind of target.
#[derive(Clone, Copy, Debug)]
pub struct TargetKind {
    /// The URL's scheme.
    pub scheme: &'static str,
    /// A right URL.
    pub example: &'static str,
    /// How its URLs are written.
    pub form: UrlForm,
    /// The operations it has.
    pub ops: &'static [OpKind],
    /// The options it knows.
    pub options: &'static [OptionHelp],
    /// It stores objects that are put and fetched whole.
    pub objects: bool,
    /// Size of each object where an experiment does not say.
    pub usual_object_bytes: u64,
    /// It has ranges that can be written in place.
    pub ranges: bool,
    /// It is one device, used as a whole: nothing is made or removed, and what it holds is overwritten only where that is allowed.
    pub device: bool,
    /// Its data is reached from every host alike: what a lost host left, another can remove.
    pub remote: bool,
    /// Reads may come from this machine's page cache; the option `direct` goes past it.
    pub page_cache: bool,
    /// Nothing is stored: reads find something without preparation.
    pub imaginary: bool,
    /// Its stages run on a virtual clock and take no time.
    pub virtual_clock: bool,
    /// Data lies in a place of the run's own unless the option `directory` names one that stays.
    pub own_place: bool,
    /// Received data can be dropped by the kernel (`sink: discard`).
    pub sink_discard: bool,
    /// Files of a job are laid out right before the job, not before all jobs: what an earlier job of the run writes over the network
    /// is not written twice.
    pub late_layout: bool,
    /// Operations for which `manometer calibrate` measures what a host can drive.
    pub calibrated: &'static [CalibratedOp],
    /// What lies between this program and what answers.
    pub transport: Transport,
}

/// An operation for which `manometer calibrate` measures what a host can drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CalibratedOp {
    /// The operation.
    pub op: OpKind,
    /// Its name in a calibration's machine output; the same for ever.
    pub name: &'static str,
    /// Its name for people, with the protocol's: `NFS read`. An `s` makes it several.
    pub title: &'static str,
}

impl CalibratedOp {
    /// An operation with its names.
    pub const fn new(op: OpKind, name: &'static str, title: &'static str) -> Self {
        Self { op, name, title }
    }
}

/// What lies between this program and what answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// A network.
    Network,
    /// Disks of this machine.
    Disk,
    /// Nothing.
    None,
}

impl TargetKind {
    /// A kind with none of the traits.
    pub const fn new(
        scheme: &'static str,
        example: &'static str,
        form: UrlForm,
        ops: &'static [OpKind],
        options: &'static [OptionHelp],
    ) -> Self {
        Self {
            scheme,
            example,
            form,
            ops,
            options,
            objects: false,
            usual_object_bytes: 8 << 20,
            ranges: false,
            device: false,
            remote: false,
            page_cache: false,
            imaginary: false,
            virtual_clock: false,
            own_place: false,
            sink_discard: false,
            late_layout: false,
            calibrated: &[],
            transport: Transport::None,
        }
    }

    /// The option with this name.
    pub fn option(&self, name: &str) -> Option<&'static OptionHelp> {
        self.options.iter().find(|help| help.name == name)
    }

    /// True when a load's data are objects: it is for them, or there is nothing else. Imaginary targets hold what the operations
    /// are about.
    pub fn holds_objects(&self, ops: &[WeightedOp]) -> bool {
        self.objects && (!self.ranges || ops.iter().any(|weighted| weighted.op.is_for_objects()))
    }
}

/// Whether a text is meant as a URL and not as a file's name: it begins with the scheme of a kind, or with any scheme and `://`.
/// `./sim:notes.yaml` is a file's name.
pub fn is_url(kinds: &[&'static TargetKind], text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let begins = scheme.starts_with(|c: char| c.is_ascii_alphabetic());
    let is_scheme = begins && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    is_scheme && (rest.starts_with("//") || kind_of(kinds, text).is_some())
}

/// The kind of a URL, by its scheme.
pub fn kind_of(kinds: &[&'static TargetKind], url: &str) -> Option<&'static TargetKind> {
    let (scheme, _) = url.split_once(':')?;
    kinds.iter().copied().find(|kind| kind.scheme.eq_ignore_ascii_case(scheme))
}
