//! The COMPOUNDs of operations on names and attributes (RFC 8881 sections 18.1, 18.4, 18.9, 18.24, 18.26 and 18.30).

use wire::nfs3::{
    AccessArgs, DirArgs, FileHandle, LinkArgs, MkdirArgs, RenameArgs, SetattrArgs, SymlinkArgs,
};
use wire::nfs4::{
    Attribute, Bitmap, Create4Args, CreateWhat, Fattr, OpArgument, Rename4Args, SetAttrArgs, StateId,
};

use super::compound::{CompoundWriter, MODE};

pub(in super::super) fn access(arguments: &AccessArgs, to: &mut CompoundWriter<'_>) {
    to.at(arguments.file, &OpArgument::Access(arguments.access));
}

/// Sets the size and the mode: operations set no other attribute. A size needs a stateid, and the anonymous one is allowed
/// (section 18.30.3).
pub(in super::super) fn setattr(arguments: &SetattrArgs, to: &mut CompoundWriter<'_>) {
    let (size, mode) = (arguments.attributes.size, arguments.attributes.mode);
    let size_bytes = size.unwrap_or(0).to_be_bytes();
    let mode_bytes = mode.unwrap_or(0).to_be_bytes();
    let mut all = [0; 12];
    all[..8].copy_from_slice(&size_bytes);
    all[8..].copy_from_slice(&mode_bytes);
    // Values are in the order of the attributes' numbers.
    let (mask, values) = match (size, mode) {
        (Some(_), Some(_)) => (Bitmap::of(&[Attribute::SIZE, Attribute::MODE]), &all[..]),
        (Some(_), None) => (Bitmap::of(&[Attribute::SIZE]), &all[..8]),
        (None, Some(_)) => (MODE, &all[8..]),
        (None, None) => (Bitmap::EMPTY, &[][..]),
    };
    let attributes = Fattr { mask, values };
    to.at(arguments.file, &OpArgument::SetAttr(SetAttrArgs { state: StateId::ANONYMOUS, attributes }));
}

pub(in super::super) fn rename(arguments: &RenameArgs<'_>, to: &mut CompoundWriter<'_>) {
    to.once();
    to.at(arguments.from.directory, &OpArgument::SaveFh(()));
    let names = Rename4Args { from: arguments.from.name, to: arguments.to.name };
    to.at(arguments.to.directory, &OpArgument::Rename(names));
}

pub(in super::super) fn link(arguments: &LinkArgs<'_>, to: &mut CompoundWriter<'_>) {
    to.once();
    to.at(arguments.file, &OpArgument::SaveFh(()));
    to.at(arguments.link.directory, &OpArgument::Link(arguments.link.name));
}

pub(in super::super) fn symlink(arguments: &SymlinkArgs<'_>, to: &mut CompoundWriter<'_>) {
    let DirArgs { directory, name } = arguments.place;
    let what = CreateWhat::Symlink(arguments.target);
    to.once();
    to.at(directory, &OpArgument::Create(Create4Args { what, name, attributes: Fattr::default() }));
}

pub(in super::super) fn readlink(link: &FileHandle, to: &mut CompoundWriter<'_>) {
    to.at(*link, &OpArgument::ReadLink(()));
}

pub(in super::super) fn mkdir(arguments: &MkdirArgs<'_>, to: &mut CompoundWriter<'_>) {
    let DirArgs { directory, name } = arguments.place;
    let mode = arguments.attributes.mode.unwrap_or(reactor::DIRECTORY_MODE).to_be_bytes();
    let attributes = Fattr { mask: MODE, values: &mode };
    to.once();
    to.at(directory, &OpArgument::Create(Create4Args { what: CreateWhat::Directory, name, attributes }));
}
