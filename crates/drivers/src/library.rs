//! Shared libraries loaded at run time, for protocols whose client is a library: the program starts without it, and
//! only a target that needs it reports that it is missing.
//!
//! A library stays loaded until the program ends, because most start threads of their own. A program that is linked
//! statically cannot load any (dlopen(3)).

use std::ffi::{CStr, CString, c_void};
use std::path::Path;
use std::ptr::NonNull;
use std::sync::OnceLock;

/// A shared library.
#[derive(Clone, Copy, Debug)]
pub struct Library {
    handle: NonNull<c_void>,
    name: &'static str,
    package: &'static str,
}

// SAFETY: the handle is only passed to dlsym(3), which any thread may call, and is never closed.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}

/// Why a library cannot be used: one line, with the next step.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LibraryError {
    /// It is missing, or cannot be loaded.
    #[error("{name} cannot be loaded: {reason}; next: install the package {package}")]
    Missing {
        /// File name of the library.
        name: &'static str,
        /// What dlopen(3) reports.
        reason: String,
        /// Package that contains it.
        package: &'static str,
    },
    /// It lacks a function: it is older than required.
    #[error("{name} has no function {function}; next: install a newer version of the package {package}")]
    Function {
        /// File name of the library.
        name: &'static str,
        /// Name of the function.
        function: String,
        /// Package that contains it.
        package: &'static str,
    },
    /// This program cannot load libraries.
    #[error(
        "{name} cannot be loaded, because this manometer is linked statically; next: build one that is not \
         (`cargo build --release`), and install the package {package}"
    )]
    Static {
        /// File name of the library.
        name: &'static str,
        /// Package that contains it.
        package: &'static str,
    },
}

impl Library {
    /// Loads the first of these files that can be loaded; dlopen(3) describes where it looks for them. `package` is the
    /// name of the package that contains it, for the error.
    ///
    /// # Errors
    /// None of them can be loaded: the error is that of the first.
    pub fn open(names: &[&'static str], package: &'static str) -> Result<Self, LibraryError> {
        let mut first = None;
        for &name in names {
            match load(name) {
                Ok(handle) => return Ok(Self { handle, name, package }),
                Err(reason) => drop(first.get_or_insert((name, reason))),
            }
        }
        let (name, reason) = first.unwrap_or_default();
        Err(match reason {
            Some(reason) => LibraryError::Missing { name, reason, package },
            None => LibraryError::Static { name, package },
        })
    }

    /// File name under which it was loaded.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// A function of the library; `F` is the type of a pointer to it. If the library has several versions of it, `version`
    /// says which (dlvsym(3)). [`library_functions!`](crate::library_functions) declares many at once.
    ///
    /// # Errors
    /// The library has no such function.
    ///
    /// # Safety
    /// `F` must be the type of a function pointer that matches the function's declaration in C.
    pub unsafe fn function<F: Copy>(&self, function: &str, version: Option<&str>) -> Result<F, LibraryError> {
        const { assert!(size_of::<F>() == size_of::<*mut c_void>(), "F is a function pointer") };
        let address = self.address(function, version);
        if address.is_null() {
            let (name, package) = (self.name, self.package);
            let version = version.map_or_else(String::new, |version| format!("@{version}"));
            return Err(LibraryError::Function { name, function: format!("{function}{version}"), package });
        }
        // SAFETY: the caller vouches for the type, and POSIX for function pointers fitting into a `void *`.
        Ok(unsafe { std::mem::transmute_copy::<*mut c_void, F>(&address) })
    }

    fn address(&self, function: &str, version: Option<&str>) -> *mut c_void {
        let symbol = CString::new(function).unwrap_or_default();
        #[cfg(target_env = "gnu")]
        if let Some(version) = version {
            let version = CString::new(version).unwrap_or_default();
            // SAFETY: the handle is from dlopen(3) and was never closed; the texts end with zero bytes.
            return unsafe { libc::dlvsym(self.handle.as_ptr(), symbol.as_ptr(), version.as_ptr()) };
        }
        // Other C libraries know one version, the default one.
        let _ = version;
        // SAFETY: as above.
        unsafe { libc::dlsym(self.handle.as_ptr(), symbol.as_ptr()) }
    }
}

/// The functions of a library that a protocol calls, loaded when first needed.
pub struct ClientLibrary<F: 'static> {
    names: &'static [&'static str],
    package: &'static str,
    functions: fn(&Library) -> Result<F, LibraryError>,
    loaded: OnceLock<Result<F, LibraryError>>,
}

impl<F> ClientLibrary<F> {
    /// A library by the names of its file, which are tried in this order, and the package that contains it.
    pub const fn new(
        names: &'static [&'static str],
        package: &'static str,
        functions: fn(&Library) -> Result<F, LibraryError>,
    ) -> Self {
        Self { names, package, functions, loaded: OnceLock::new() }
    }

    /// The functions of the system's library.
    ///
    /// # Errors
    /// It is missing or too old.
    pub fn get(&'static self) -> Result<&'static F, LibraryError> {
        let load = || (self.functions)(&Library::open(self.names, self.package)?);
        self.loaded.get_or_init(load).as_ref().map_err(LibraryError::clone)
    }

    /// Those of the library in this file, for tests: what they need stays allocated.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn in_file(&self, file: &Path) -> Result<&'static F, LibraryError> {
        let name: &'static str = Box::leak(file.to_string_lossy().into_owned().into_boxed_str());
        let functions = (self.functions)(&Library::open(&[name], self.package)?)?;
        Ok(Box::leak(Box::new(functions)))
    }
}

/// Loads a library. An error without text means that this program cannot load any.
fn load(name: &str) -> Result<NonNull<c_void>, Option<String>> {
    if cfg!(target_feature = "crt-static") {
        return Err(None);
    }
    let path = CString::new(name).map_err(|error| Some(error.to_string()))?;
    // SAFETY: the name ends with a zero byte. The library's initialisers run, as for a library linked the usual way.
    let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    NonNull::new(handle).ok_or_else(|| {
        // SAFETY: dlerror(3) returns a string that is valid until this thread calls it again, or null.
        let text = unsafe { libc::dlerror() };
        // SAFETY: as above.
        let reason =
            NonNull::new(text).map(|text| unsafe { CStr::from_ptr(text.as_ptr()) }.to_string_lossy());
        let reason = reason.as_deref().unwrap_or("dlopen(3) does not say why");
        // The name is said already.
        Some(reason.strip_prefix(name).map_or(reason, |rest| rest.trim_start_matches([':', ' '])).to_owned())
    })
}

/// Declares a table of a library's functions, looked up together by `load`. A version of a function stands behind its name:
/// `fn cos @ "GLIBC_2.2.5" (angle: f64) -> f64`.
///
/// ```ignore
/// library_functions! {
///     /// What we call of libm.
///     struct Math {
///         fn cos(angle: f64) -> f64;
///     }
/// }
/// // SAFETY: as math.h declares them.
/// let math = unsafe { Math::load(&library)? };
/// let one = unsafe { (math.cos)(0.0) };
/// ```
#[macro_export]
macro_rules! library_functions {
    (@version) => { None };
    (@version $version:literal) => { Some($version) };
    ($(#[$meta:meta])* $vis:vis struct $name:ident {
        $(fn $function:ident $(@ $version:literal)? ($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)?;)*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy)]
        $vis struct $name { $($vis $function: unsafe extern "C" fn($($argument: $type),*) $(-> $result)?,)* }

        impl $name {
            /// Looks up all functions.
            ///
            /// # Errors
            /// The first that the library lacks.
            ///
            /// # Safety
            /// The declarations must match those of the library.
            $vis unsafe fn load(library: &$crate::library::Library) -> Result<Self, $crate::library::LibraryError> {
                $(
                    let version: Option<&str> = $crate::library_functions!(@version $($version)?);
                    // SAFETY: the caller vouches for the declarations.
                    let $function = unsafe { library.function(stringify!($function), version)? };
                )*
                Ok(Self { $($function,)* })
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    crate::library_functions! {
        struct Math {
            fn cos(angle: f64) -> f64;
        }
    }

    #[test]
    fn a_function_is_called() {
        let library = Library::open(&["libmissing.so.9", "libm.so.6"], "libc6").unwrap();
        assert_eq!(library.name(), "libm.so.6");
        // SAFETY: as math.h declares it.
        let math = unsafe { Math::load(&library).unwrap() };
        // SAFETY: it takes any number.
        assert_eq!(unsafe { (math.cos)(0.0) }, 1.0);
    }

    #[test]
    fn an_error_names_the_library_and_its_package() {
        let missing = Library::open(&["libmissing.so.9", "libmissing.so.8"], "libmissing9").unwrap_err();
        assert_eq!(
            missing.to_string(),
            "libmissing.so.9 cannot be loaded: cannot open shared object file: No such file or directory; \
             next: install the package libmissing9"
        );
        let library = Library::open(&["libm.so.6"], "libc6").unwrap();
        // SAFETY: there is no such function.
        let found =
            unsafe { library.function::<unsafe extern "C" fn(f64) -> f64>("cosine_of_the_future", None) };
        let error = found.unwrap_err();
        assert_eq!(
            error.to_string(),
            "libm.so.6 has no function cosine_of_the_future; next: install a newer version of the package libc6"
        );
    }
}
