//! Functions: everything but the nodes of their bodies.

use cranelift_entity::EntityRef;
use rustc_hash::FxHashSet;

use super::codes;
use super::lexer::Lexed;
use super::reader::Reader;
use crate::model::{
    Binding, CurveBases, Function, FunctionId, FunctionTag, Usage, Variable, VariableId,
    VariableTag,
};
use crate::types::TypeId;

#[rustfmt::skip]
const KEYS: [&str; 11] = [
    "tag", "variables", "arguments", "body", "curve_bases", "constants", "block_size", "bound_arguments", "return_type",
    "name", "allowed_warp_size",
];
const ALWAYS: u64 = 0b1111;
const VERSIONED: u64 = 0b11_1111;
const BLOCK_SIZE: u64 = 1 << 6;
const BOUND_ARGUMENTS: u64 = 1 << 7;
const RETURN_TYPE: u64 = 1 << 8;

impl Reader<'_> {
    /// Reads the array of functions; types, constants and external functions are known by then.
    pub fn function_table(&mut self) -> Lexed<()> {
        if !self.enter_array("`functions`")? {
            return Ok(());
        }
        let mut first = true;
        while self.lexer.item(&mut first)? {
            let id = self.library.functions.next_key();
            self.report.function = Some(id.as_u32());
            let function = self.function(id)?;
            self.library.functions.push(function);
            self.go_on()?;
        }
        self.report.function = None;
        Ok(())
    }

    fn function(&mut self, id: FunctionId) -> Lexed<Function> {
        let mut function = Function::new(FunctionTag::Callable);
        self.lexer.peek();
        let at = self.lexer.at;
        if !self.enter_object("a function")? {
            return Ok(function);
        }
        self.nodes.start(id);
        let mut arguments_at = at;
        let seen = self.members(&KEYS, |reader, key| {
            match KEYS[key] {
                "tag" => {
                    if let Some(tag) = reader.named("tag of a function", FunctionTag::from_name)? {
                        function.tag = tag;
                    }
                }
                "variables" => reader.variables(&mut function)?,
                "arguments" => {
                    reader.lexer.peek();
                    arguments_at = reader.lexer.at;
                    reader.arguments(&mut function)?;
                }
                "body" => function.body = reader.body(&mut function)?.into(),
                "curve_bases" => function.curve_bases = reader.curve_bases()?,
                "constants" => reader.listed_constants(&mut function)?,
                "block_size" => reader.block_size(&mut function)?,
                "bound_arguments" => reader.bindings(&mut function)?,
                "return_type" => function.return_type = reader.type_ref("`return_type`")?,
                "name" => function.name = reader.string("`name`")?.map(|n| n.into_owned()),
                _ => reader.allowed_warp_size(&mut function)?,
            }
            Ok(())
        })?;
        if self.ahead.on {
            let given = seen & RETURN_TYPE != 0;
            self.ahead.return_types.push(given.then(|| function.return_type.as_u32()));
        }
        self.check_members(&function, seen, at);
        self.check_variables(&mut function, arguments_at);
        function.shrink_to_fit();
        Ok(function)
    }

    fn check_members(&mut self, function: &Function, seen: u64, at: usize) {
        let kernel = function.tag == FunctionTag::Kernel;
        let of_kind = if kernel { BLOCK_SIZE } else { RETURN_TYPE };
        let strict = if kernel { VERSIONED | BOUND_ARGUMENTS } else { VERSIONED };
        let required = of_kind | if self.versioned { strict } else { ALWAYS };
        self.require(&KEYS, required, seen, at, "the function");
        if self.versioned {
            let other = if kernel { RETURN_TYPE } else { BLOCK_SIZE | BOUND_ARGUMENTS };
            for (i, key) in KEYS.iter().enumerate() {
                if (seen & other) >> i & 1 == 1 {
                    let message = format!(
                        "a function of tag `{}` has no member `{key}`",
                        function.tag.name()
                    );
                    self.report.error(codes::UNKNOWN_MEMBER, at, message);
                }
            }
            if !matches!(function.tag, FunctionTag::Kernel | FunctionTag::Callable) {
                let message =
                    format!("`{}` is not allowed in a versioned document", function.tag.name());
                self.report.error(codes::UNPORTABLE, at, message);
            }
        }
    }

    /// Checks what names variables, now that all are known, whatever order the members came in.
    fn check_variables(&mut self, function: &mut Function, arguments_at: usize) {
        let count = function.variables.len();
        if let Some((index, at)) = self.nodes.largest_variable
            && index as usize >= count
        {
            let message = format!("there is no variable {index}: the function has {count}");
            self.report.error(codes::VARIABLE_INDEX, at, message);
        }
        let mut seen = FxHashSet::default();
        let mut wrong = None;
        for (i, argument) in function.arguments.iter().enumerate() {
            if argument.index() >= count {
                wrong = Some((
                    codes::VARIABLE_INDEX,
                    format!(
                        "argument {i} is variable {}, but the function has {count}",
                        argument.index()
                    ),
                ));
            } else if !seen.insert(*argument) {
                wrong = Some((
                    codes::ARGUMENTS,
                    format!("variable {} is an argument twice", argument.index()),
                ));
            } else if self.versioned && argument.index() != i {
                wrong = Some((
                    codes::ARGUMENTS,
                    format!("argument {i} is variable {}", argument.index()),
                ));
            }
        }
        for (id, variable) in &function.variables {
            let passed = matches!(variable.tag, VariableTag::Argument | VariableTag::Reference)
                || variable.tag.is_resource();
            if passed && !seen.contains(&id) && wrong.is_none() {
                let message = format!(
                    "variable {} has the tag `{}`, but is not among the arguments",
                    id.index(),
                    variable.tag.name()
                );
                wrong = Some((codes::ARGUMENTS, message));
            }
        }
        if let Some((code, message)) = wrong {
            self.report.error(code, arguments_at, message);
            function.arguments.retain(|a| a.index() < count);
        }
    }

    fn variables(&mut self, function: &mut Function) -> Lexed<()> {
        const KEYS: [&str; 4] = ["tag", "type", "usage", "name"];
        if !self.enter_array("`variables`")? {
            return Ok(());
        }
        let mut first = true;
        while self.lexer.item(&mut first)? {
            let mut variable = Variable {
                tag: VariableTag::Local,
                ty: TypeId::VOID,
                usage: Usage::NONE,
                name: None,
            };
            self.lexer.peek();
            let at = self.lexer.at;
            if self.enter_object("a variable")? {
                let seen = self.members(&KEYS, |reader, key| {
                    match key {
                        0 => variable.tag = reader.variable_tag()?,
                        1 => variable.ty = reader.type_ref("a variable's `type`")?,
                        2 => {
                            variable.usage =
                                reader.named("usage", Usage::from_name)?.unwrap_or_default()
                        }
                        _ => variable.name = reader.string("`name`")?.map(|n| n.into()),
                    }
                    Ok(())
                })?;
                self.require(
                    &KEYS,
                    if self.versioned { 0b111 } else { 0b11 },
                    seen,
                    at,
                    "the variable",
                );
            }
            function.variables.push(variable);
            self.go_on()?;
        }
        Ok(())
    }

    fn variable_tag(&mut self) -> Lexed<VariableTag> {
        self.lexer.peek();
        let at = self.lexer.at;
        let tag =
            self.named("tag of a variable", VariableTag::from_name)?.unwrap_or(VariableTag::Local);
        if self.versioned
            && (VariableTag::ObjectId..=VariableTag::RasterBaseInstance).contains(&tag)
        {
            let message = format!("`{}` is not allowed in a versioned document", tag.name());
            self.report.error(codes::UNPORTABLE, at, message);
        }
        Ok(tag)
    }

    fn arguments(&mut self, function: &mut Function) -> Lexed<()> {
        if self.enter_array("`arguments`")? {
            let mut first = true;
            while self.lexer.item(&mut first)? {
                if let Some(index) = self.integer("an argument", u64::from(u32::MAX) - 1)? {
                    function.arguments.push(VariableId::new(index as usize));
                }
            }
        }
        Ok(())
    }

    fn listed_constants(&mut self, function: &mut Function) -> Lexed<()> {
        if self.enter_array("`constants`")? {
            let mut first = true;
            while self.lexer.item(&mut first)? {
                if let Some((index, at)) = self.signed_integer("a constant's index")? {
                    function.listed_constants.extend(self.constant_index(index, at));
                }
            }
        }
        Ok(())
    }

    /// An array of curve bases without duplicates.
    pub fn curve_bases(&mut self) -> Lexed<CurveBases> {
        let mut bases = CurveBases::default();
        if self.enter_array("`curve_bases`")? {
            let mut first = true;
            while self.lexer.item(&mut first)? {
                self.lexer.peek();
                let at = self.lexer.at;
                let position = |name: &str| CurveBases::NAMES.iter().position(|n| *n == name);
                let Some(bit) = self.named("curve basis", position)? else {
                    continue;
                };
                if bases.0 >> bit & 1 == 1 {
                    let message =
                        format!("the curve basis `{}` stands twice", CurveBases::NAMES[bit]);
                    self.report.error(codes::DUPLICATE_MEMBER, at, message);
                }
                bases.0 |= 1 << bit;
            }
        }
        Ok(bases)
    }

    fn block_size(&mut self, function: &mut Function) -> Lexed<()> {
        self.lexer.peek();
        let at = self.lexer.at;
        if !self.enter_array("`block_size`")? {
            return Ok(());
        }
        let mut sizes = Vec::new();
        let mut first = true;
        while self.lexer.item(&mut first)? {
            let size = self.integer("a block size", 1024)?;
            if sizes.len() < 4 {
                sizes.push(size.unwrap_or(1) as u32);
            }
        }
        match <[u32; 3]>::try_from(sizes) {
            Ok(size) => function.block_size = size,
            Err(_) => {
                self.report.error(codes::WRONG_TYPE, at, "`block_size` must be three numbers")
            }
        }
        Ok(())
    }

    fn allowed_warp_size(&mut self, function: &mut Function) -> Lexed<()> {
        self.lexer.peek();
        let at = self.lexer.at;
        if let Some(size) = self.integer("`allowed_warp_size`", u64::from(u32::MAX))? {
            if !size.is_power_of_two() || size > 128 {
                let message =
                    format!("`allowed_warp_size` is {size}, but must be a power of two up to 128");
                self.report.error(codes::BAD_NUMBER, at, message);
            }
            function.allowed_warp_size = Some(size as u32);
        }
        Ok(())
    }

    fn bindings(&mut self, function: &mut Function) -> Lexed<()> {
        if !self.enter_array("`bound_arguments`")? {
            return Ok(());
        }
        let mut first = true;
        while self.lexer.item(&mut first)? {
            function.bindings.extend(self.binding()?);
            self.go_on()?;
        }
        Ok(())
    }

    fn binding(&mut self) -> Lexed<Option<Binding>> {
        const KEYS: [&str; 5] = ["tag", "handle", "offset", "size", "level"];
        self.lexer.peek();
        let at = self.lexer.at;
        if !self.enter_object("a bound argument")? {
            return Ok(None);
        }
        let mut tag = None;
        let mut values = [0u64; 5];
        let seen = self.members(&KEYS, |reader, key| {
            match key {
                0 => tag = reader.named("tag of a bound argument", VariableTag::from_name)?,
                _ => values[key] = reader.decimal(&format!("`{}`", KEYS[key]))?,
            }
            Ok(())
        })?;
        let [_, handle, offset, size, level] = values;
        let (binding, needed) = match tag {
            Some(VariableTag::Buffer) => (Binding::Buffer { handle, offset, size }, 0b1111),
            Some(VariableTag::Texture) => (Binding::Texture { handle, level }, 0b1_0011),
            Some(VariableTag::BindlessArray) => (Binding::BindlessArray { handle }, 0b11),
            Some(VariableTag::Accel) => (Binding::Accel { handle }, 0b11),
            Some(other) => {
                let message = format!("`{}` is no tag of a bound argument", other.name());
                self.report.error(codes::UNKNOWN_NAME, at, message);
                return Ok(None);
            }
            None => {
                self.require(&KEYS, 1, seen, at, "the bound argument");
                return Ok(None);
            }
        };
        self.require(&KEYS, needed, seen, at, "the bound argument");
        if self.versioned && seen & !needed != 0 {
            self.report.error(
                codes::UNKNOWN_MEMBER,
                at,
                "the bound argument has members that are not its own",
            );
        }
        Ok(Some(binding))
    }
}
