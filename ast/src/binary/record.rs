//! One function: declarations, sets of operations, flags, body.

use cranelift_entity::{PrimaryMap, SecondaryMap};
use rustc_hash::{FxHashMap, FxHashSet};

use super::cursor::{Cursor, Read, Wrong};
use super::{Layout, Record, codes};
use crate::callops::CallOp;
use crate::layout;
use crate::model::{
    Constant, ConstantId, CurveBases, Function, FunctionId, FunctionTag, Library, Usage, Variable,
    VariableId, VariableTag,
};
use crate::types::TypeId;

/// A function as it was read, with the offset of the first call of each callable.
pub(super) struct Made {
    pub function: Function,
    pub record: Record,
    pub calls: Vec<(FunctionId, usize)>,
}

/// The state of reading one file in one layout.
pub(super) struct Reader<'a> {
    pub cursor: Cursor<'a>,
    pub layout: Layout,
    /// Types and constants; functions come when their order is known.
    pub library: Library,
    /// Functions in the order of the file, each named by its position.
    pub functions: PrimaryMap<FunctionId, Made>,
    /// Position of each function that the file lists.
    pub positions: FxHashMap<u64, FunctionId>,
    types: FxHashMap<&'a [u8], TypeId>,
    constants: FxHashMap<Constant, ConstantId>,
    /// Variable of each number of the function that is being read.
    pub variables: FxHashMap<u32, VariableId>,
    /// Operations that the function lists as used.
    pub direct_ops: FxHashSet<CallOp>,
    /// Callables that the function names, and where it does so first.
    calls: Vec<(FunctionId, usize)>,
    called: FxHashSet<FunctionId>,
}

impl<'a> Reader<'a> {
    pub fn new(cursor: Cursor<'a>, layout: Layout, hashes: &[u64]) -> Self {
        let mut positions = FxHashMap::default();
        for hash in hashes {
            let next = FunctionId::from_u32(positions.len() as u32);
            positions.entry(*hash).or_insert(next);
        }
        Self {
            cursor,
            layout,
            library: Library::new(),
            functions: PrimaryMap::new(),
            positions,
            types: FxHashMap::default(),
            constants: FxHashMap::default(),
            variables: FxHashMap::default(),
            direct_ops: FxHashSet::default(),
            calls: Vec::new(),
            called: FxHashSet::default(),
        }
    }

    /// Reads a function. A hash that was there before gives the function another name.
    pub fn record(&mut self, hash: u64, name: Option<&str>) -> Read<()> {
        let known = self.positions[&hash];
        let (mut function, mut record) = self.function()?;
        let calls = std::mem::take(&mut self.calls);
        if let Some(Made { function, record, .. }) = self.functions.get_mut(known) {
            record.names.extend(name.map(str::to_owned));
            function.name = function.name.take().or(name.map(str::to_owned));
            return Ok(());
        }
        function.name = name.map(str::to_owned);
        record.hash = hash;
        record.names.extend(name.map(str::to_owned));
        self.functions.push(Made { function, record, calls });
        Ok(())
    }

    fn function(&mut self) -> Read<(Function, Record)> {
        let mut function = Function::new(FunctionTag::Callable);
        let mut record = Record { uids: SecondaryMap::with_default(u32::MAX), ..Record::default() };
        self.variables.clear();
        self.calls.clear();
        self.called.clear();
        if self.layout.modern {
            let at = self.cursor.at;
            let bases = self.cursor.u64()?;
            function.curve_bases = curve_bases(bases, at)?;
        }
        function.return_type = self.ty()?;
        record.builtins =
            self.variable_list(&mut function, &mut record, VariableTag::is_builtin)?;
        for _ in 0..self.cursor.count(8)? {
            let constant = self.constant()?;
            function.listed_constants.push(constant);
        }
        function.arguments = self.argument_list(&mut function, &mut record)?;
        for _ in 0..self.cursor.count(8)? {
            let callee = self.callee()?;
            record.callees.push(callee);
        }
        record.locals =
            self.variable_list(&mut function, &mut record, |t| t == VariableTag::Local)?;
        record.shared =
            self.variable_list(&mut function, &mut record, |t| t == VariableTag::Shared)?;
        self.usages(&mut function, &mut record)?;
        record.direct_ops = self.op_set(true)?;
        record.all_ops = self.op_set(false)?;
        self.tag_and_flags(&mut function, &mut record)?;
        let body = self.body(&mut function, &mut record)?;
        function.body = body.into();
        function.shrink_to_fit();
        Ok((function, record))
    }

    pub fn ty(&mut self) -> Read<TypeId> {
        let at = self.cursor.at;
        // What is known was found to be text when it came first.
        let (start, len) = (self.cursor.at + 8, self.cursor.count(1)?);
        let bytes = self.cursor.take(len)?;
        if let Some(ty) = self.types.get(bytes) {
            return Ok(*ty);
        }
        let description = std::str::from_utf8(bytes).map_err(|e| {
            Wrong::new(codes::VALUE, start + e.valid_up_to(), "the text is not UTF-8")
        })?;
        let ty = self
            .library
            .types
            .parse(description)
            .map_err(|e| Wrong::new(codes::TYPE, at, e.to_string()))?;
        self.types.insert(bytes, ty);
        Ok(ty)
    }

    pub fn constant(&mut self) -> Read<ConstantId> {
        let ty = self.ty()?;
        let at = self.cursor.at;
        let types = &self.library.types;
        if !types.is_data(ty) {
            let message = format!("a constant cannot be of type `{}`", types.description(ty));
            return Err(Wrong::new(codes::TYPE, at, message));
        }
        let size = usize::try_from(types.size(ty)).unwrap_or(usize::MAX);
        let mut bytes = self.cursor.take(size)?.to_vec();
        layout::clear_padding(types, ty, &mut bytes);
        let constant = Constant { ty, bytes };
        if let Some(id) = self.constants.get(&constant) {
            return Ok(*id);
        }
        let id = self.library.constants.push(constant.clone());
        self.constants.insert(constant, id);
        Ok(id)
    }

    pub fn callee(&mut self) -> Read<FunctionId> {
        let at = self.cursor.at;
        let hash = self.cursor.u64()?;
        let Some(callee) = self.positions.get(&hash).copied() else {
            let message = format!(
                "the callable with the hash {hash:#018x} is called, but is not in the library"
            );
            return Err(Wrong::new(codes::MISSING_CALLEE, at, message));
        };
        if self.called.insert(callee) {
            self.calls.push((callee, at));
        }
        Ok(callee)
    }

    /// Type, number and tag of a variable.
    pub fn variable(&mut self) -> Read<(TypeId, u32, VariableTag)> {
        let ty = self.ty()?;
        let uid = self.cursor.u32()?;
        let at = self.cursor.at;
        let number = self.cursor.u32()?;
        let tag = VariableTag::ALL.get(number as usize).filter(|t| **t != VariableTag::Argument);
        match tag {
            Some(tag) => Ok((ty, uid, *tag)),
            None => Err(Wrong::new(codes::VALUE, at, format!("{number} is no tag of a variable"))),
        }
    }

    fn variable_list(
        &mut self,
        function: &mut Function,
        record: &mut Record,
        allowed: impl Fn(VariableTag) -> bool,
    ) -> Read<Vec<VariableId>> {
        let mut list = Vec::new();
        for _ in 0..self.cursor.count(16)? {
            let at = self.cursor.at;
            let (ty, uid, tag) = self.variable()?;
            if !allowed(tag) {
                let message =
                    format!("a variable of tag `{}` does not belong into this list", tag.name());
                return Err(Wrong::new(codes::VARIABLE, at, message));
            }
            list.push(self.declare(function, record, ty, uid, tag, at)?);
        }
        Ok(list)
    }

    fn argument_list(
        &mut self,
        function: &mut Function,
        record: &mut Record,
    ) -> Read<Vec<VariableId>> {
        let mut list = Vec::new();
        let mut listed = FxHashSet::default();
        for _ in 0..self.cursor.count(16)? {
            let at = self.cursor.at;
            let (ty, uid, tag) = self.variable()?;
            let tag = if tag == VariableTag::Local { VariableTag::Argument } else { tag };
            // A builtin argument is among the builtins too.
            let known = self.variables.get(&uid).copied().filter(|_| tag.is_builtin());
            let id = match known {
                Some(id)
                    if function.variables[id].tag == tag && function.variables[id].ty == ty =>
                {
                    id
                }
                _ => self.declare(function, record, ty, uid, tag, at)?,
            };
            if tag == VariableTag::Shared || !listed.insert(id) {
                return Err(Wrong::new(
                    codes::VARIABLE,
                    at,
                    format!("variable {uid} cannot be an argument here"),
                ));
            }
            list.push(id);
        }
        Ok(list)
    }

    fn declare(
        &mut self,
        function: &mut Function,
        record: &mut Record,
        ty: TypeId,
        uid: u32,
        tag: VariableTag,
        at: usize,
    ) -> Read<VariableId> {
        if self.variables.contains_key(&uid) {
            return Err(Wrong::new(
                codes::VARIABLE,
                at,
                format!("variable {uid} is declared twice"),
            ));
        }
        let id = function.variables.push(Variable { tag, ty, usage: Usage::NONE, name: None });
        self.variables.insert(uid, id);
        record.uids[id] = uid;
        Ok(id)
    }

    fn usages(&mut self, function: &mut Function, record: &mut Record) -> Read<()> {
        let at = self.cursor.at;
        let len = self.cursor.count(1)?;
        if !len.is_multiple_of(4) {
            return Err(Wrong::new(
                codes::LENGTH,
                at,
                format!("{len} bytes are no list of usages of 4 bytes each"),
            ));
        }
        for _ in 0..len / 4 {
            let at = self.cursor.at;
            let bits = self.cursor.u32()?;
            if Usage::from_bits(bits).is_none() {
                return Err(Wrong::new(codes::VALUE, at, format!("{bits} is no usage")));
            }
            record.usages.push(bits);
        }
        for (uid, id) in &self.variables {
            match record.usages.get(*uid as usize).copied().and_then(Usage::from_bits) {
                Some(usage) => function.variables[*id].usage = usage,
                None => {
                    let message = format!("there is no usage for variable {uid}");
                    return Err(Wrong::new(codes::VARIABLE, at, message));
                }
            }
        }
        Ok(())
    }

    fn op_set(&mut self, direct: bool) -> Read<Vec<u8>> {
        let count = self.layout.numbering.len();
        let at = self.cursor.at;
        let set = self.cursor.take(count.div_ceil(8))?;
        let unused = set.len() * 8 - count;
        if set.last().is_some_and(|last| u32::from(*last) >> (8 - unused) != 0) {
            let message = "the set of operations holds operations that do not exist";
            return Err(Wrong::new(codes::VALUE, at, message));
        }
        if direct {
            let held = (0..count as u32).filter(|i| set[*i as usize / 8] >> (i % 8) & 1 == 1);
            self.direct_ops = held.filter_map(|i| self.layout.numbering.op(i)).collect();
        }
        Ok(set.to_vec())
    }

    fn tag_and_flags(&mut self, function: &mut Function, record: &mut Record) -> Read<()> {
        let at = self.cursor.at;
        let tag = self.cursor.u32()?;
        function.tag = match FunctionTag::ALL.get(tag as usize) {
            Some(tag) if self.layout.modern || *tag == FunctionTag::Callable => *tag,
            _ => {
                return Err(Wrong::new(codes::VALUE, at, format!("{tag} is no tag of a function")));
            }
        };
        record.float_atomics = self.cursor.bool()?;
        if !self.layout.modern {
            return Ok(());
        }
        record.printing = self.cursor.bool()?;
        if self.layout.noinline {
            record.noinline = self.cursor.bool()?;
        }
        let at = self.cursor.at;
        for size in &mut function.block_size {
            *size = self.cursor.u32()?;
        }
        // Padding, of any content.
        self.cursor.u32()?;
        let [x, y, z] = function.block_size.map(u64::from);
        let unset = function.block_size == [0; 3];
        let fits = [x, y, z].iter().all(|s| (1..=1024).contains(s)) && x * y * z <= 1024 && z <= 64;
        if !unset && !fits && x.saturating_mul(y).saturating_mul(z) != 0 {
            return Err(Wrong::new(
                codes::VALUE,
                at,
                format!("a block of {x} x {y} x {z} threads is not possible"),
            ));
        }
        Ok(())
    }
}

/// A set of curve bases from its bits.
pub(super) fn curve_bases(bits: u64, at: usize) -> Read<CurveBases> {
    match u8::try_from(bits) {
        Ok(bits) if bits < 16 => Ok(CurveBases(bits)),
        _ => Err(Wrong::new(codes::VALUE, at, format!("{bits:#x} is no set of curve bases"))),
    }
}
