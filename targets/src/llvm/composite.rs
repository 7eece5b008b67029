//! Composite values: taking apart and putting together.

use luisac_ast::types::TypeId;
use luisac_xir::{InstId, ValueId};

use super::Emit;
use super::bounds::Subject;
use super::function::FnEmit;
use super::ir::Val;
use super::module::internal;
use super::value::{Leaves, Value};

/// Most elements that a dynamic index picks by selects; more go through memory.
const MAX_SELECTS: u32 = 16;

impl FnEmit<'_, '_, '_> {
    /// `extract aggregate, index+`
    pub fn extract(&mut self, inst: InstId) -> Emit<Value> {
        let args = self.func.args(inst).to_vec();
        let Some((&base, indices)) = args.split_first() else {
            return Err(internal("an extract without an aggregate"));
        };
        let ty = self.func.value_type(base);
        let v = self.value(base)?;
        if let Value::Leaves(leaves) = &v
            && let Some(picked) = self.pick(leaves, ty, indices)?
        {
            return Ok(Value::Leaves(picked));
        }
        let ptr = self.in_memory(ty, &v)?;
        let (ptr, inner) = self.element_place(ptr, ty, indices)?;
        match self.cx.types.flat(inner) {
            // Nothing writes the memory of a value: a part of it may stay where it is.
            None => Ok(Value::Memory(ptr)),
            Some(flat) => {
                let align = self.cx.module.types.align(inner);
                Ok(Value::Leaves(self.cx.load_flat(&flat, ptr, align, false, false)))
            }
        }
    }

    /// The leaves of an element: constant indices choose, dynamic ones into few elements select. `None` if it needs memory.
    fn pick(&mut self, leaves: &Leaves, ty: TypeId, indices: &[ValueId]) -> Emit<Option<Leaves>> {
        let (mut leaves, mut ty) = (leaves.clone(), ty);
        let types = &self.cx.module.types;
        for &index in indices {
            let count = types.member_count(ty);
            let constant = self.func.constant_bits(index).filter(|&i| i < u64::from(count));
            let Some((_, inner)) = self.cx.types.leaf_of(ty, constant.unwrap_or(0) as u32) else {
                return Err(internal("an index into something without elements"));
            };
            let width = self.cx.types.count(inner) as usize;
            if let Some(i) = constant {
                let first =
                    self.cx.types.leaf_of(ty, i as u32).map_or(0, |(first, _)| first as usize);
                leaves = leaves.iter().skip(first).take(width).copied().collect();
            } else {
                if types.is_struct(ty) || count > MAX_SELECTS {
                    return Ok(None);
                }
                let i = self.checked_index(index, count)?;
                leaves = self.select_element(&leaves, i, width, count as usize);
            }
            ty = inner;
        }
        Ok(Some(leaves))
    }

    fn checked_index(&mut self, index: ValueId, count: u32) -> Emit<Val> {
        let wide = self.wide_index(index)?;
        let limit = self.cx.ir.const_u64(count.into());
        self.check_index(wide, self.is_signed(index), limit, Subject::Local)
    }

    fn select_element(&self, leaves: &Leaves, index: Val, width: usize, count: usize) -> Leaves {
        let ir = &self.cx.ir;
        let mut result: Leaves = leaves.iter().take(width).copied().collect();
        for e in 1..count {
            let here = ir.eq(index, ir.const_u64(e as u64));
            for (k, r) in result.iter_mut().enumerate() {
                if let Some(&v) = leaves.get(e * width + k) {
                    *r = ir.select(here, v, *r);
                }
            }
        }
        result
    }

    /// `insert aggregate, element, index+`
    pub fn insert(&mut self, inst: InstId) -> Emit<Value> {
        let args = self.func.args(inst).to_vec();
        let (Some(&base), Some(&element)) = (args.first(), args.get(1)) else {
            return Err(internal("an insert without operands"));
        };
        let indices = args.get(2..).unwrap_or(&[]);
        let ty = self.func.value_type(base);
        let (v, new) = (self.value(base)?, self.value(element)?);
        if let (Value::Leaves(leaves), Value::Leaves(new)) = (&v, &new)
            && let Some(changed) = self.replace(leaves, new, ty, indices)?
        {
            return Ok(Value::Leaves(changed));
        }
        let place = self.temporary(ty);
        self.store_value(ty, place, &v, false)?;
        let (to, inner) = self.element_place(place, ty, indices)?;
        self.store_value(inner, to, &new, false)?;
        match self.cx.types.flat(ty) {
            None => Ok(Value::Memory(place)),
            Some(flat) => {
                let align = self.cx.module.types.align(ty);
                Ok(Value::Leaves(self.cx.load_flat(&flat, place, align, false, false)))
            }
        }
    }

    /// The leaves with an element replaced; a dynamic index may only be the last. `None` if it needs memory.
    fn replace(
        &mut self,
        leaves: &Leaves,
        new: &Leaves,
        ty: TypeId,
        indices: &[ValueId],
    ) -> Emit<Option<Leaves>> {
        let types = &self.cx.module.types;
        let (mut ty, mut start) = (ty, Some(0));
        let mut result = leaves.clone();
        for (position, &index) in indices.iter().enumerate() {
            let count = types.member_count(ty);
            let Some(first_leaf) = start else { return Ok(None) };
            match self.func.constant_bits(index).filter(|&i| i < u64::from(count)) {
                Some(i) => {
                    let Some((first, inner)) = self.cx.types.leaf_of(ty, i as u32) else {
                        return Err(internal("an index into something without elements"));
                    };
                    start = Some(first_leaf + first as usize);
                    ty = inner;
                }
                None => {
                    let last = position + 1 == indices.len();
                    if !last || types.is_struct(ty) || count > MAX_SELECTS {
                        return Ok(None);
                    }
                    let i = self.checked_index(index, count)?;
                    start = None;
                    let ir = &self.cx.ir;
                    for e in 0..count as usize {
                        let here = ir.eq(i, ir.const_u64(e as u64));
                        for (k, &n) in new.iter().enumerate() {
                            if let Some(r) = result.get_mut(first_leaf + e * new.len() + k) {
                                *r = ir.select(here, n, *r);
                            }
                        }
                    }
                }
            }
        }
        if let Some(start) = start {
            for (r, &n) in result.iter_mut().skip(start).zip(new) {
                *r = n;
            }
        }
        Ok(Some(result))
    }

    /// `aggregate element*`
    pub fn aggregate(&mut self, inst: InstId) -> Emit<Value> {
        let ty = self.func.inst(inst).ty;
        let args = self.func.args(inst).to_vec();
        let types = &self.cx.module.types;
        if self.cx.types.flat(ty).is_some() {
            let mut leaves = Leaves::new();
            for &a in &args {
                leaves.extend(self.leaves(a)?);
            }
            return Ok(Value::Leaves(leaves));
        }
        let place = self.temporary(ty);
        for (i, &a) in args.iter().enumerate() {
            let Some(inner) = types.element_type(ty, i as u32) else {
                return Err(internal("an aggregate with too many elements"));
            };
            let v = self.value(a)?;
            let to = self.cx.ir.offset_const(place, types.member_offset(ty, i as u32));
            self.store_value(inner, to, &v, false)?;
        }
        Ok(Value::Memory(place))
    }

    /// `shuffle vector, index+`
    pub fn shuffle(&mut self, inst: InstId) -> Emit<Value> {
        let args = self.func.args(inst).to_vec();
        let Some((&vector, indices)) = args.split_first() else {
            return Err(internal("a shuffle without a vector"));
        };
        let leaves = self.leaves(vector)?;
        let mut result = Leaves::new();
        for &i in indices {
            let index = self.func.constant_bits(i).and_then(|i| usize::try_from(i).ok());
            match index.and_then(|i| leaves.get(i)) {
                Some(&v) => result.push(v),
                None => return Err(internal("a shuffle whose index is out of range")),
            }
        }
        Ok(Value::Leaves(result))
    }
}
