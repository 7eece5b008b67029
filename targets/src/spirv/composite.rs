//! Vectors, matrices, arrays and structures as values. What an index at run time reaches into goes through a variable of the thread,
//! except the components of a vector.

use luisac_ast::types::TypeId;
use luisac_xir::{InstId, ValueDef, ValueId};
use rspirv::spirv::{Op, StorageClass};

use super::function::FnEmit;
use super::memory::Place;
use super::module::Id;
use super::types::Form;
use super::{Emit, internal};

impl FnEmit<'_> {
    /// `aggregate element*`: a vector may be made of elements only, everything else of its members.
    pub fn aggregate(&mut self, inst: InstId) -> Emit<Id> {
        let func = self.func;
        let ty = self.ty(func.inst(inst).ty)?;
        let mut parts = Vec::with_capacity(func.args(inst).len());
        for &a in func.args(inst) {
            parts.push(self.value(a)?);
        }
        if parts.is_empty() {
            return Ok(self.m.null(ty));
        }
        Ok(self.op(Op::CompositeConstruct, ty, &parts))
    }

    /// `shuffle vector, index+`
    pub fn shuffle(&mut self, inst: InstId) -> Emit<Id> {
        let func = self.func;
        let Some((&vector, indices)) = func.args(inst).split_first() else {
            return Err(internal("a shuffle without a vector"));
        };
        let id = self.value(vector)?;
        let ty = self.ty(func.inst(inst).ty)?;
        let mut operands = vec![id, id];
        for &index in indices {
            match func.constant_bits(index) {
                Some(i) => operands.push(i as u32),
                None => return Err(internal("a shuffle by an index at run time")),
            }
        }
        Ok(self.op(Op::VectorShuffle, ty, &operands))
    }

    /// `select false, true, condition`
    pub fn select(&mut self, inst: InstId) -> Emit<Id> {
        let func = self.func;
        let (no, yes) = (self.value(func.arg(inst, 0))?, self.value(func.arg(inst, 1))?);
        let condition = self.value(func.arg(inst, 2))?;
        let condition_ty = func.value_type(func.arg(inst, 2));
        self.select_value(func.inst(inst).ty, condition, condition_ty, yes, no)
    }

    /// Selects between values of any type; before SPIR-V 1.4 composites are taken apart. Types are nested to a bounded depth.
    pub fn select_value(
        &mut self,
        ty: TypeId,
        condition: Id,
        condition_ty: TypeId,
        yes: Id,
        no: Id,
    ) -> Emit<Id> {
        let table = self.table();
        let register = self.ty(ty)?;
        if table.is_vector(ty) && table.is_scalar(condition_ty) && self.m.minor < 4 {
            let truth = self.m.bool();
            let count = u32::from(table.dim(ty));
            let wide = self.m.vector(truth, count);
            let all = self.op(Op::CompositeConstruct, wide, &vec![condition; count as usize]);
            return Ok(self.op(Op::Select, register, &[all, yes, no]));
        }
        if self.m.minor >= 4 || table.is_scalar_or_vector(ty) {
            return Ok(self.op(Op::Select, register, &[condition, yes, no]));
        }
        // A choice of a composite is a choice of control flow: code that does not grow with its members.
        let (then, after) = (self.m.id(), self.m.id());
        let before = self.blocks.label();
        self.blocks.selection(after);
        self.blocks.branch_if(condition, then, after);
        self.blocks.begin(then);
        self.blocks.branch(after);
        self.blocks.begin(after);
        let id = self.m.id();
        self.blocks.phi(after, register, id, vec![yes, then, no, before]);
        Ok(id)
    }

    /// `extract aggregate, index+`
    pub fn extract(&mut self, inst: InstId) -> Emit<Id> {
        let func = self.func;
        let Some((&base, indices)) = func.args(inst).split_first() else {
            return Err(internal("an extract without a base"));
        };
        let result = self.ty(func.inst(inst).ty)?;
        if let Some(path) = self.constant_path(func.value_type(base), indices) {
            let id = self.value(base)?;
            let mut operands = vec![id];
            operands.extend(path);
            return Ok(self.op(Op::CompositeExtract, result, &operands));
        }
        // All but the last index are known, and the last one names a component.
        let (&last, front) = indices.split_last().unwrap_or((&base, &[]));
        if let Some(path) = self.constant_path(func.value_type(base), front) {
            let inner = self.element_type_of(func.value_type(base), &path)?;
            if self.table().is_vector(inner) {
                let mut id = self.value(base)?;
                if !path.is_empty() {
                    let ty = self.ty(inner)?;
                    let mut operands = vec![id];
                    operands.extend(path);
                    id = self.op(Op::CompositeExtract, ty, &operands);
                }
                let index = self.index(last)?;
                return Ok(self.op(Op::VectorExtractDynamic, result, &[id, index]));
            }
        }
        let place = self.in_memory(base)?;
        let element = self.element(place, indices)?;
        self.load(element)
    }

    /// `insert aggregate, element, index+`
    pub fn insert(&mut self, inst: InstId) -> Emit<Id> {
        let func = self.func;
        let args = func.args(inst);
        let (Some(&base), Some(&element)) = (args.first(), args.get(1)) else {
            return Err(internal("an insert without operands"));
        };
        let indices = args.get(2..).unwrap_or(&[]);
        let ty = func.value_type(base);
        let result = self.ty(ty)?;
        let new = self.value(element)?;
        if let Some(path) = self.constant_path(ty, indices) {
            let id = self.value(base)?;
            let mut operands = vec![new, id];
            operands.extend(path);
            return Ok(self.op(Op::CompositeInsert, result, &operands));
        }
        if let [index] = indices
            && self.table().is_vector(ty)
        {
            let id = self.value(base)?;
            let index = self.index(*index)?;
            return Ok(self.op(Op::VectorInsertDynamic, result, &[id, new, index]));
        }
        let temporary = self.local(result, false);
        let id = self.value(base)?;
        let place = self.thread_place(temporary, ty);
        self.store(place, id)?;
        let inner = self.element(place, indices)?;
        self.store(inner, new)?;
        self.load(place)
    }

    /// Indices that are all known and in range.
    fn constant_path(&self, ty: TypeId, indices: &[ValueId]) -> Option<Vec<u32>> {
        let table = self.table();
        let mut ty = ty;
        let mut path = Vec::with_capacity(indices.len());
        for &index in indices {
            let i = u32::try_from(self.func.constant_bits(index)?).ok()?;
            ty = table.element_type(ty, i)?;
            path.push(i);
        }
        Some(path)
    }

    fn element_type_of(&self, ty: TypeId, path: &[u32]) -> Emit<TypeId> {
        let table = self.table();
        let mut ty = ty;
        for &i in path {
            let Some(inner) = table.element_type(ty, i) else {
                return Err(internal("an index into something without elements"));
            };
            ty = inner;
        }
        Ok(ty)
    }

    /// A value in memory that is only read: a constant lies in a variable of its own, made once.
    fn in_memory(&mut self, value: ValueId) -> Emit<Place> {
        if let Some(&place) = self.places.get(&value) {
            return Ok(place);
        }
        let ty = self.func.value_type(value);
        let register = self.ty(ty)?;
        let id = self.value(value)?;
        if matches!(self.func.value_def(value), ValueDef::Constant(_)) {
            let pointer = self.m.variable(StorageClass::Private, register, id);
            let place = Place {
                pointer,
                class: StorageClass::Private,
                ty,
                form: Form::REGISTER,
                volatile: false,
            };
            self.places.insert(value, place);
            return Ok(place);
        }
        let temporary = self.local(register, false);
        let place = self.thread_place(temporary, ty);
        self.store(place, id)?;
        Ok(place)
    }
}
