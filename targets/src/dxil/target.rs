//! The target `dxil`.

use luisac_artifact::metadata::{self, MathMode, Signer};
use luisac_ast::diagnostic::{Diagnostic, Diagnostics};
use luisac_ast::types::Scalar;
use luisac_xir::op::ArithmeticOp;
use luisac_xir::{FunctionId, Module, Op};

use super::{Source, compile};
use crate::clike::hlsl::{self, Hlsl};
use crate::{Artifact, EmitOptions, ExtraText, InputForm, Support, Target};

/// The target: the text of [`Hlsl`], compiled.
pub struct Dxil;

impl Target for Dxil {
    fn name(&self) -> &'static str {
        "dxil"
    }
    fn summary(&self) -> &'static str {
        "DXIL for Direct3D 12, through DXC"
    }
    fn details(&self) -> &'static [&'static str] {
        Hlsl.details()
    }
    fn form(&self) -> InputForm {
        Hlsl.form()
    }
    fn lanes_meet_where_paths_meet(&self) -> bool {
        Hlsl.lanes_meet_where_paths_meet()
    }
    fn supports(&self, op: Op) -> Support {
        Hlsl.supports(op)
    }
    fn keeps_native(&self, op: ArithmeticOp, scalar: Scalar, math: MathMode, detail: &str) -> bool {
        Hlsl.keeps_native(op, scalar, math, detail)
    }
    fn last_passes(&self, options: &EmitOptions) -> String {
        Hlsl.last_passes(options)
    }
    fn canonical_detail(&self, detail: Option<&str>) -> Result<String, Diagnostic> {
        Hlsl.canonical_detail(detail)
    }
    fn tool_version(&self, dxc: Option<&std::path::Path>) -> Option<String> {
        super::version(dxc)
    }
    fn emit(
        &self,
        module: &Module,
        kernel: FunctionId,
        options: &EmitOptions,
    ) -> Result<Artifact, Diagnostics> {
        let made = hlsl::text(module, kernel, options).map_err(|e| Diagnostics(vec![*e]))?;
        let source = Source {
            text: &made.code,
            entry: &made.metadata.entry,
            shader_model: made.model,
            math: options.math,
            kernel: &made.metadata.kernel,
        };
        let compiled = compile(source, options.dxc.as_deref())?;
        let mut metadata = made.metadata;
        metadata.target = format!("dxil:6.{}", made.model);
        metadata.dxil = Some(metadata::Dxil {
            validator: compiled.validator,
            signed_by: if compiled.signed_by_dxc { Signer::Dxc } else { Signer::Luisac },
        });
        let hlsl = ExtraText { kind: "hlsl", extension: "hlsl", text: made.code };
        Ok(Artifact {
            code: compiled.container,
            extension: "dxil",
            metadata,
            texts: if options.hlsl { vec![hlsl] } else { Vec::new() },
        })
    }
}
