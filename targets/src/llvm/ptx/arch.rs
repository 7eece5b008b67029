//! The GPUs that PTX can be made for, and the PTX version for each.

use luisac_ast::diagnostic::Diagnostic;

use crate::errors;

/// One detail of the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arch {
    /// `sm_90`
    pub name: &'static str,
    /// 90
    pub sm: u32,
    /// PTX version times ten: the smallest that knows the GPU and `activemask`.
    pub ptx: u32,
}

macro_rules! architectures {
    ($($name:literal $sm:literal $ptx:literal;)*) => {
        /// Names of all, the default first.
        pub(crate) const NAMES: &[&str] = &[$($name),*];
        const ALL: &[Arch] = &[$(Arch { name: $name, sm: $sm, ptx: $ptx }),*];
    };
}

architectures! {
    "sm_75" 75 63;
    "sm_50" 50 62; "sm_52" 52 62; "sm_53" 53 62; "sm_60" 60 62; "sm_61" 61 62; "sm_62" 62 62;
    "sm_70" 70 62; "sm_72" 72 62; "sm_80" 80 70; "sm_86" 86 71; "sm_87" 87 74; "sm_89" 89 78;
    "sm_90" 90 78; "sm_100" 100 86; "sm_101" 101 86; "sm_103" 103 88; "sm_120" 120 87;
}

impl Arch {
    /// The GPU of a detail, or the default.
    pub fn parse(detail: Option<&str>) -> Result<Arch, Diagnostic> {
        let wanted = detail.unwrap_or(NAMES[0]);
        ALL.iter().find(|a| a.name == wanted).copied().ok_or_else(|| {
            let mut names: Vec<&Arch> = ALL.iter().collect();
            names.sort_by_key(|a| a.sm);
            let names: Vec<&str> = names.into_iter().map(|a| a.name).collect();
            Diagnostic::error(errors::UNKNOWN_DETAIL, format!("`ptx` has no detail `{wanted}`"))
                .with_help(format!("the details are {}", names.join(", ")))
        })
    }

    /// The PTX version as it is written.
    pub fn version(self) -> String {
        format!("{}.{}", self.ptx / 10, self.ptx % 10)
    }

    /// Most bytes of a kernel's parameters.
    pub fn parameter_limit(self) -> u32 {
        use luisac_artifact::abi::{PTX_PARAM_BYTES_NEW, PTX_PARAM_BYTES_OLD};
        if self.sm >= 70 && self.ptx >= 81 { PTX_PARAM_BYTES_NEW } else { PTX_PARAM_BYTES_OLD }
    }
}
