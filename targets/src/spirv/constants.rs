//! Constants of the input: bytes in memory layout, as constants of the module.

use luisac_ast::types::{Scalar, TypeId};
use rspirv::spirv::Op;

use super::function::FnEmit;
use super::module::Id;
use super::{Emit, internal};

impl FnEmit<'_> {
    /// A constant in register form. Nesting of types is bounded where they are made, so is the recursion.
    pub fn constant(&mut self, ty: TypeId, bytes: &[u8]) -> Emit<Id> {
        let table = self.table();
        if let Some(scalar) = table.scalar_of(ty).filter(|_| table.is_scalar(ty)) {
            return self.scalar_constant(scalar, bits_of(bytes));
        }
        let id = self.ty(ty)?;
        if bytes.iter().all(|&b| b == 0) {
            return Ok(self.m.null(id));
        }
        let count = table.member_count(ty);
        let mut parts = Vec::with_capacity(count as usize);
        for i in 0..count {
            let Some(inner) = table.element_type(ty, i) else { continue };
            let start = table.member_offset(ty, i) as usize;
            let end = start + table.size(inner) as usize;
            let Some(part) = bytes.get(start..end) else {
                return Err(internal("a constant that is shorter than its type"));
            };
            parts.push(self.constant(inner, part)?);
        }
        Ok(self.m.intern(Op::ConstantComposite, id, &parts))
    }

    /// A scalar constant of these bits.
    pub fn scalar_constant(&mut self, scalar: Scalar, bits: u64) -> Emit<Id> {
        let ty = self.types.scalar(&mut self.m, scalar)?;
        Ok(match scalar {
            Scalar::Bool => self.m.bool_constant(bits & 0xff != 0),
            _ if scalar.bits() == 64 => {
                self.m.intern(Op::Constant, ty, &[bits as u32, (bits >> 32) as u32])
            }
            _ => {
                let mask = if scalar.bits() == 32 { u32::MAX } else { (1 << scalar.bits()) - 1 };
                self.m.intern(Op::Constant, ty, &[bits as u32 & mask])
            }
        })
    }
}

fn bits_of(bytes: &[u8]) -> u64 {
    let mut buffer = [0; 8];
    let n = bytes.len().min(8);
    buffer[..n].copy_from_slice(&bytes[..n]);
    u64::from_le_bytes(buffer)
}
