//! Kinds of targets as data: their URLs, operations, options and properties. The protocols define the values and hand
//! them in ([`Settings::kinds`](crate::Settings)).

use metrics::OpKind;

use crate::option::OptionHelp;
use crate::plan::WeightedOp;

/// The URL form of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UrlForm {
    /// `scheme:///path`: an absolute path on this machine.
    Path,
    /// `scheme://host[:port]/export`.
    HostAndPath,
    /// `scheme://host[:port]/volume[/path]`.
    HostAndVolume,
    /// `scheme://host:port`.
    HostAndPort,
    /// `scheme://host[:port]`.
    Host,
    /// `scheme://[user@]host[:port]/target/number`: a logical unit. The user has no password here.
    LogicalUnit,
    /// `scheme://bucket?endpoint=http…`: a name, with the service in the query.
    Bucket,
    /// `scheme://name`: a name that is no host, such as a pool's.
    Name,
    /// `scheme://name/name`: a name within another, such as an image's in a pool; the second may be missing.
    NameInName,
    /// `scheme:`, with nothing but a query.
    Bare,
}

/// A kind of target.
#[derive(Clone, Copy, Debug)]
pub struct TargetKind {
    /// The URL's scheme.
    pub scheme: &'static str,
    /// A valid URL.
    pub example: &'static str,
    /// The form of its URLs.
    pub form: UrlForm,
    /// The supported operations.
    pub ops: &'static [OpKind],
    /// Those of them that need an option.
    pub op_needs: &'static [OpNeed],
    /// The supported options.
    pub options: &'static [OptionHelp],
    /// Whether it stores objects that are put and fetched whole.
    pub objects: bool,
    /// Default object size in bytes.
    pub usual_object_bytes: u64,
    /// Default number of files, of those that `ranges` refers to.
    pub usual_files: u64,
    /// Default size of these files in bytes.
    pub usual_file_bytes: u64,
    /// Whether it has ranges that can be written in place.
    pub ranges: bool,
    /// Whether it is one device, used as a whole: nothing is created or removed (but by `created_by`), and its content is
    /// overwritten only if that is allowed.
    pub device: bool,
    /// The option with which a device is created for the run and removed with it; without it, one that exists is used.
    pub created_by: Option<&'static str>,
    /// Whether its data can be reached from every host: if a host is lost, another can remove what it left.
    pub remote: bool,
    /// Whether reads may come from this machine's page cache; the option `direct` bypasses it.
    pub page_cache: bool,
    /// Whether it stores nothing: reads succeed without preparation.
    pub imaginary: bool,
    /// Whether its stages run on a virtual clock and take no real time.
    pub virtual_clock: bool,
    /// Whether data goes to a place of the run's own, unless the option `directory` names a permanent one.
    pub own_place: bool,
    /// Whether this place is a prefix of names, which exists once something bears it.
    pub prefix_place: bool,
    /// Whether a mix may use files that the user named, such as existing ones.
    pub user_files: bool,
    /// Whether passes over numbered files can be carried out on it.
    pub passes: bool,
    /// Whether the kernel can discard received data (`sink: discard`).
    pub sink_discard: bool,
    /// Whether files of a job are laid out right before the job, not before all jobs: this avoids writing the data of
    /// an earlier job of the run over the network twice.
    pub late_layout: bool,
    /// Operations for which `manometer calibrate` measures a host's maximum.
    pub calibrated: &'static [CalibratedOp],
    /// What lies between this program and the target's service.
    pub transport: Transport,
}

/// An operation for which `manometer calibrate` measures a host's maximum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CalibratedOp {
    /// The operation.
    pub op: OpKind,
    /// Its name in a calibration's machine-readable output; never changes.
    pub name: &'static str,
    /// Its human-readable name including the protocol: `NFS read`. Append `s` for the plural.
    pub title: &'static str,
}

impl CalibratedOp {
    /// An operation with its names.
    pub const fn new(op: OpKind, name: &'static str, title: &'static str) -> Self {
        Self { op, name, title }
    }
}

/// An operation that needs an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpNeed {
    /// The operation.
    pub op: OpKind,
    /// Name of the option.
    pub option: &'static str,
    /// The value that it needs.
    pub value: NeededValue,
}

/// The value of an option that an operation needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NeededValue {
    /// Any.
    Any {
        /// An example.
        such_as: &'static str,
    },
    /// This one.
    This {
        /// The value.
        value: &'static str,
        /// What does not have the operation otherwise, as in `NFS version 3 has no "open"`.
        otherwise: &'static str,
    },
}

/// What lies between this program and the target's service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// A network.
    Network,
    /// Local disks.
    Disk,
    /// Nothing.
    None,
}

impl TargetKind {
    /// A kind without any of the optional properties.
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
            op_needs: &[],
            options,
            objects: false,
            usual_object_bytes: 8 << 20,
            usual_files: 1,
            usual_file_bytes: 1 << 30,
            ranges: false,
            device: false,
            created_by: None,
            remote: false,
            page_cache: false,
            imaginary: false,
            virtual_clock: false,
            own_place: false,
            prefix_place: false,
            user_files: false,
            passes: false,
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

    /// Whether a device is created for the run, if options of these names are given.
    pub fn creates_device(&self, is_given: impl FnOnce(&str) -> bool) -> bool {
        self.created_by.is_some_and(is_given)
    }

    /// Whether a load's data are objects: if it uses object operations, or the target stores nothing else. Imaginary
    /// targets hold whatever the operations need.
    pub fn holds_objects(&self, ops: &[WeightedOp]) -> bool {
        self.objects && (!self.ranges || ops.iter().any(|weighted| weighted.op.is_for_objects()))
    }
}

/// Whether a text is meant as a URL rather than a file name: it starts with the scheme of a kind, or with any scheme
/// and `://`. `./sim:notes.yaml` is a file name.
pub fn is_url(kinds: &[&'static TargetKind], text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let begins = scheme.starts_with(|c: char| c.is_ascii_alphabetic());
    let is_scheme = begins && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    is_scheme && (rest.starts_with("//") || kind_of(kinds, text).is_some())
}

/// The kind of a URL, determined by its scheme.
pub fn kind_of(kinds: &[&'static TargetKind], url: &str) -> Option<&'static TargetKind> {
    let (scheme, _) = url.split_once(':')?;
    kinds.iter().copied().find(|kind| kind.scheme.eq_ignore_ascii_case(scheme))
}
