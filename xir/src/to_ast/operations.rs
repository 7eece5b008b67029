//! Which call operation lowers to an XIR operation: the table of the lowering, read backwards.

use crate::from_ast::translation::{self, Translation};
use crate::op::{BindlessAccess, ResourceQueryOp, ResourceReadOp, ResourceWriteOp};
use luisac_ast::callops::CallOp;
use luisac_ast::types::{Scalar, TypeId, TypeKind, TypeTable};
use rustc_hash::FxHashMap;
use std::sync::LazyLock;

/// The first call operation that lowers to this.
pub(super) fn call_op(translation: Translation) -> Option<CallOp> {
    static TABLE: LazyLock<FxHashMap<Translation, CallOp>> = LazyLock::new(|| {
        let mut table = FxHashMap::default();
        for op in CallOp::all() {
            table.entry(translation::of(op)).or_insert(op);
        }
        table
    });
    by_hand(translation).or_else(|| TABLE.get(&translation).copied()).or_else(|| {
        // What is known of the slots is a hint, which some operations have no name for.
        let plain = without_hints(translation);
        if plain == translation { None } else { TABLE.get(&plain).copied() }
    })
}

/// Operations that one call operation lowers to by the types of its operands.
fn by_hand(translation: Translation) -> Option<CallOp> {
    Some(match translation {
        Translation::Query(ResourceQueryOp::BufferSize, _) => CallOp::BufferSize,
        Translation::Query(ResourceQueryOp::ByteBufferSize, _) => CallOp::ByteBufferSize,
        Translation::Query(ResourceQueryOp::Texture2dSize | ResourceQueryOp::Texture3dSize, _) => {
            CallOp::TextureSize
        }
        Translation::Read(ResourceReadOp::Texture2dRead | ResourceReadOp::Texture3dRead, _) => {
            CallOp::TextureRead
        }
        Translation::Write(
            ResourceWriteOp::Texture2dWrite | ResourceWriteOp::Texture3dWrite,
            _,
        ) => CallOp::TextureWrite,
        _ => return None,
    })
}

fn without_hints(translation: Translation) -> Translation {
    let none = BindlessAccess::default();
    match translation {
        Translation::Query(op, _) => Translation::Query(op, none),
        Translation::Read(op, _) => Translation::Read(op, none),
        Translation::Write(op, _) => Translation::Write(op, none),
        other => other,
    }
}

/// The operation that makes a vector or matrix of its components or columns.
pub(super) fn maker(types: &TypeTable, ty: TypeId) -> Option<CallOp> {
    let name = match *types.kind(ty) {
        TypeKind::Vector { elem, dim } => {
            format!("MAKE_{}{dim}", Scalar::name(elem).to_ascii_uppercase())
        }
        TypeKind::Matrix { dim } => format!("MAKE_FLOAT{dim}X{dim}"),
        _ => return None,
    };
    CallOp::from_name(&name)
}
