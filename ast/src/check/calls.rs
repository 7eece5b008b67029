//! Calls: number and types of arguments, what is written, results, by the table of operations.

use super::rules::{assignable, is_index, with_scalar};
use super::{Checker, codes};
use crate::callops::{CallOp, CallOpInfo, Class, Group, Out, Param, Stage};
use crate::model::{Callee, ExprId, ExprList, ExternalId, FunctionId, FunctionTag, VariableTag};
use crate::place::Node;
use crate::types::{Scalar, TypeId, TypeKind, TypeTable};

/// A builtin call while it is checked.
struct Call<'a> {
    id: ExprId,
    info: &'static CallOpInfo,
    arguments: &'a [ExprId],
    result: TypeId,
    /// What `T` stands for in the signature.
    t: TypeId,
}

impl<'a> Checker<'a> {
    pub(super) fn check_call(
        &mut self,
        id: ExprId,
        op: CallOp,
        callee: Callee,
        arguments: ExprList,
        ty: TypeId,
    ) {
        let function = self.function;
        let arguments = function.exprs_in(arguments);
        match callee {
            Callee::Function(callee) => self.check_custom(id, callee, arguments, ty),
            Callee::External(callee) => self.check_external(id, callee, arguments, ty),
            Callee::Builtin => self.check_builtin(id, op, arguments, ty),
        }
    }

    fn argument_type(&self, argument: ExprId) -> TypeId {
        self.function.exprs[argument].ty
    }

    fn check_count(
        &mut self,
        id: ExprId,
        what: &str,
        min: usize,
        max: Option<usize>,
        given: usize,
    ) -> bool {
        let fits = given >= min && max.is_none_or(|max| given <= max);
        if !fits {
            let wanted = match max {
                Some(max) if max == min => format!("{min}"),
                Some(max) => format!("{min} to {max}"),
                None => format!("at least {min}"),
            };
            let message = format!("{what} takes {wanted} arguments, but has {given}");
            self.error(codes::ARGUMENT_COUNT, Node::Expr(id), message);
        }
        fits
    }

    fn check_custom(&mut self, id: ExprId, callee: FunctionId, arguments: &[ExprId], ty: TypeId) {
        let library = self.library;
        let target = &library.functions[callee];
        let name = library.function_name(callee);
        if target.tag != FunctionTag::Callable {
            let message = format!("{name} is a `{}` and cannot be called", target.tag.name());
            self.error(codes::CALLEE, Node::Expr(id), message);
            return;
        }
        let wanted = target.arguments.len();
        if !self.check_count(id, &name, wanted, Some(wanted), arguments.len()) {
            return;
        }
        for (i, (argument, parameter)) in arguments.iter().zip(&target.arguments).enumerate() {
            let parameter = &target.variables[*parameter];
            let given = self.argument_type(*argument);
            let fits = given == parameter.ty
                || (self.is_kernel_id(*argument) && parameter.ty == TypeId::U32);
            if !fits {
                let message = format!(
                    "argument {i} of {name} must be `{}`, but is `{}`",
                    self.name(parameter.ty),
                    self.name(given)
                );
                self.error(codes::ARGUMENT_TYPE, Node::Expr(*argument), message);
            } else if parameter.tag == VariableTag::Reference
                && let Some(why) = self.why_no_reference(*argument, given)
            {
                let message = format!("argument {i} of {name} is passed by reference: {why}");
                self.error(codes::ARGUMENT_WRITE, Node::Expr(*argument), message);
            }
        }
        // The value may be dropped.
        if ty != target.return_type && ty != TypeId::VOID {
            let message = format!(
                "{name} returns `{}`, not `{}`",
                self.name(target.return_type),
                self.name(ty)
            );
            self.error(codes::RESULT_TYPE, Node::Expr(id), message);
        }
    }

    /// Why an argument cannot be passed by reference. An indirect dispatch buffer is a resource that some recorders
    /// pass so.
    fn why_no_reference(&self, argument: ExprId, ty: TypeId) -> Option<String> {
        let resource = self.library.types.is_custom_named(ty, "LC_IndirectDispatchBuffer");
        if resource { None } else { self.why_not_assignable(argument) }
    }

    fn check_external(&mut self, id: ExprId, callee: ExternalId, arguments: &[ExprId], ty: TypeId) {
        let library = self.library;
        let target = &library.externals[callee];
        let name = format!("`{}`", target.name);
        let wanted = target.argument_types.len();
        if !self.check_count(id, &name, wanted, Some(wanted), arguments.len()) {
            return;
        }
        for (i, (argument, wanted)) in arguments.iter().zip(&target.argument_types).enumerate() {
            let given = self.argument_type(*argument);
            if !assignable(&library.types, *wanted, given) {
                let message = format!(
                    "argument {i} of {name} must be `{}`, but is `{}`",
                    self.name(*wanted),
                    self.name(given)
                );
                self.error(codes::ARGUMENT_TYPE, Node::Expr(*argument), message);
            }
        }
        // The value may be dropped.
        if ty != target.return_type && ty != TypeId::VOID {
            let message = format!(
                "{name} returns `{}`, not `{}`",
                self.name(target.return_type),
                self.name(ty)
            );
            self.error(codes::RESULT_TYPE, Node::Expr(id), message);
        }
    }

    fn check_builtin(&mut self, id: ExprId, op: CallOp, arguments: &'a [ExprId], result: TypeId) {
        let info = op.info();
        let (min, max) = op.arity();
        if !self.check_count(id, &format!("`{op}`"), min, max, arguments.len()) {
            return;
        }
        if info.stage == Stage::Kernel && self.function.tag != FunctionTag::Kernel {
            let message = format!("`{op}` can only stand in a kernel");
            self.error(codes::KERNEL_ONLY, Node::Expr(id), message);
        }
        let by_result = matches!(info.out, Out::T);
        let first = arguments.first().map_or(TypeId::VOID, |a| self.argument_type(*a));
        let call = Call { id, info, arguments, result, t: if by_result { result } else { first } };
        if !op.is_atomic() && !class_holds(&self.library.types, info.class, call.t) {
            let message = format!("`{op}` is not defined for `{}`", self.name(call.t));
            self.error(codes::OPERAND_TYPE, Node::Expr(id), message);
            return;
        }
        if !self.out_holds(&call) {
            let message = format!("`{op}` cannot yield `{}`", self.name(result));
            self.error(codes::RESULT_TYPE, Node::Expr(id), message);
            return;
        }
        match info.params {
            [Param::AtomicBase, Param::Chain, operands @ ..] => {
                self.check_atomic(&call, operands.len())
            }
            [Param::Components] => self.check_components(&call),
            [Param::Columns] => self.check_columns(&call),
            [Param::Rest] => {
                let message = format!("`{op}` has no callee");
                self.error(codes::CALLEE, Node::Expr(id), message);
            }
            params => {
                for (i, param) in
                    params.iter().chain(info.optional).enumerate().take(arguments.len())
                {
                    self.check_param(&call, i, *param);
                }
            }
        }
    }

    fn check_param(&mut self, call: &Call<'_>, i: usize, param: Param) {
        let argument = call.arguments[i];
        let given = self.argument_type(argument);
        let op = call.info.op;
        if !self.param_holds(call, given, param) {
            let message = format!("argument {i} of `{op}` cannot be `{}`", self.name(given));
            self.error(codes::ARGUMENT_TYPE, Node::Expr(argument), message);
            return;
        }
        if matches!(param, Param::Ref | Param::Query)
            && let Some(why) = self.why_not_assignable(argument)
        {
            let message = format!("argument {i} of `{op}` is written: {why}");
            self.error(codes::ARGUMENT_WRITE, Node::Expr(argument), message);
        }
    }

    fn param_holds(&self, call: &Call<'_>, ty: TypeId, param: Param) -> bool {
        let types = &self.library.types;
        let first = call.arguments.first().map_or(TypeId::VOID, |a| self.argument_type(*a));
        let int_vector = |dim| types.is_integer(ty) && types.dim(ty) == dim;
        let float_vector = |dim| types.is_float(ty) && types.dim(ty) == dim;
        match param {
            Param::T => self.fits(call.t, ty),
            Param::TOrScalar => {
                self.fits(call.t, ty) || (types.is_scalar(ty) && types.is_arithmetic(ty))
            }
            Param::Condition => {
                types.is_bool(ty) && (types.is_scalar(ty) || types.dim(ty) == types.dim(call.t))
            }
            Param::Bool => types.is_scalar(ty),
            Param::Index => is_index(types, ty),
            Param::Float => types.is_scalar(ty) && types.is_arithmetic(ty),
            Param::Float2 => float_vector(2),
            Param::Float3 => float_vector(3),
            Param::Uint2 => int_vector(2),
            Param::Uint3 => int_vector(3),
            Param::Uint4 => int_vector(4),
            Param::Matrix4 => ty == TypeId::matrix(4),
            Param::Struct | Param::Ray => types.is_struct(ty),
            Param::Data | Param::Ref => types.is_data(ty),
            Param::Buffer => matches!(types.kind(ty), TypeKind::Buffer { .. }),
            Param::TypedBuffer => buffer_element(types, ty).is_some_and(|e| e != TypeId::VOID),
            Param::UintBuffer => {
                buffer_element(types, ty).is_some_and(|e| e == TypeId::U32 || e == TypeId::VOID)
            }
            Param::BufferElem => {
                buffer_element(types, first).is_some_and(|e| assignable(types, e, ty))
            }
            Param::Texture => matches!(types.kind(ty), TypeKind::Texture { .. }),
            Param::Coord => int_vector(types.dim(first)),
            Param::Texel => types.is_arithmetic(ty) && types.dim(ty) == 4,
            Param::Bindless => matches!(types.kind(ty), TypeKind::BindlessArray),
            Param::Accel => matches!(types.kind(ty), TypeKind::Accel),
            Param::Query => types.is_ray_query(ty),
            Param::Dispatch => types.is_custom_named(ty, "LC_IndirectDispatchBuffer"),
            Param::Message => is_index(types, ty),
            Param::CoopVec => matches!(types.kind(ty), TypeKind::CoopVec { .. }),
            Param::CoopVecRef => matches!(types.kind(ty), TypeKind::CoopVecRef { .. }),
            Param::CoopMatRef => matches!(types.kind(ty), TypeKind::CoopMatRef { .. }),
            // Checked as a whole.
            Param::AtomicBase | Param::Chain | Param::Components | Param::Columns | Param::Rest => {
                true
            }
        }
    }

    fn out_holds(&self, call: &Call<'_>) -> bool {
        let types = &self.library.types;
        let (ty, t) = (call.result, call.t);
        if ty == TypeId::VOID && may_be_dropped(call.info) {
            return true;
        }
        let first = call.arguments.first().map_or(TypeId::VOID, |a| self.argument_type(*a));
        let vector = |dim| types.is_vector(ty) && types.dim(ty) == dim;
        let is = |wanted| ty == wanted;
        let uint = |dim| is(TypeId::vector(Scalar::U32, dim));
        match call.info.out {
            Out::Void => is(TypeId::VOID),
            Out::Any | Out::T => true,
            Out::Data => types.is_data(ty),
            Out::ElemOfT => types.is_scalar(ty) && types.is_arithmetic(ty),
            Out::BoolOfT => is(TypeId::BOOL) || Some(ty) == with_scalar(types, t, Scalar::Bool),
            Out::MatOfT => is(TypeId::matrix(types.dim(t).max(2))),
            Out::Bool => is(TypeId::BOOL),
            Out::Int | Out::Uint | Out::Ulong | Out::Integer => is_index(types, ty),
            Out::Float => is(TypeId::F32),
            Out::Uint2 => uint(2),
            Out::Uint3 => uint(3),
            Out::Uint4 => uint(4),
            Out::Float4 => is(TypeId::vector(Scalar::F32, 4)),
            Out::Matrix2 => is(TypeId::matrix(2)),
            Out::Matrix3 => is(TypeId::matrix(3)),
            Out::Matrix4 => is(TypeId::matrix(4)),
            // Some recorders write the maker of halves where they mean floats, of any length: the type counts.
            Out::Vector2 | Out::Vector3 | Out::Vector4
                if call.info.name.starts_with("MAKE_HALF") =>
            {
                types.is_vector(ty)
            }
            Out::Vector2 => vector(2),
            Out::Vector3 => vector(3),
            Out::Vector4 => vector(4),
            Out::Struct => types.is_struct(ty),
            Out::Query => types.is_ray_query(ty),
            Out::BufferElem => {
                buffer_element(types, first).is_some_and(|e| assignable(types, e, ty))
            }
            Out::Texel => types.is_arithmetic(ty) && types.dim(ty) == 4,
            Out::UintOfDim => types.is_integer(ty) && types.dim(ty) == types.dim(first),
            Out::CoopVec => matches!(types.kind(ty), TypeKind::CoopVec { .. }),
        }
    }

    /// Base, indices that lead to a number, operands.
    fn check_atomic(&mut self, call: &Call<'_>, operands: usize) {
        let types = &self.library.types;
        let op = call.info.op;
        let (chain, operands) = call.arguments.split_at(call.arguments.len() - operands);
        let base = self.argument_type(chain[0]);
        let mut at = base;
        for (i, index) in chain.iter().enumerate().skip(1) {
            let index_type = self.argument_type(*index);
            let literal = self.function.case_value(*index).and_then(|v| u32::try_from(v).ok());
            let next = match types.kind(at) {
                TypeKind::Buffer { elem, .. } if i == 1 => {
                    Some(*elem).filter(|e| *e != TypeId::VOID)
                }
                TypeKind::Struct { .. } => {
                    literal.and_then(|literal| types.element_type(at, literal))
                }
                _ => types.element_type(at, 0),
            };
            let Some(next) = next.filter(|_| is_index(types, index_type)) else {
                let message =
                    format!("index {i} of `{op}` does not name a part of `{}`", self.name(at));
                self.error(codes::ATOMIC, Node::Expr(*index), message);
                return;
            };
            at = next;
        }
        if !types.is_scalar(at) || !class_holds(types, call.info.class, at) {
            let message = format!("`{op}` is not defined for `{}`", self.name(at));
            self.error(codes::ATOMIC, Node::Expr(call.id), message);
            return;
        }
        for operand in operands {
            let given = self.argument_type(*operand);
            if !self.fits(at, given) {
                let message =
                    format!("`{op}` of a `{}` cannot take a `{}`", self.name(at), self.name(given));
                self.error(codes::ARGUMENT_TYPE, Node::Expr(*operand), message);
            }
        }
        // The old value may be dropped.
        if call.result != at && call.result != TypeId::VOID {
            let message = format!(
                "`{op}` of a `{}` cannot yield `{}`",
                self.name(at),
                self.name(call.result)
            );
            self.error(codes::RESULT_TYPE, Node::Expr(call.id), message);
        }
        let shared_or_buffer = matches!(types.kind(base), TypeKind::Buffer { .. });
        if !shared_or_buffer && let Some(why) = self.why_not_assignable(chain[0]) {
            let message = format!("argument 0 of `{op}` is written: {why}");
            self.error(codes::ARGUMENT_WRITE, Node::Expr(chain[0]), message);
        }
    }

    /// Components that add up, one scalar for all, or one vector to cut.
    fn check_components(&mut self, call: &Call<'_>) {
        let types = &self.library.types;
        let wanted = u32::from(types.dim(call.result));
        let mut given = 0;
        for argument in call.arguments {
            let ty = self.argument_type(*argument);
            if !types.is_scalar_or_vector(ty) {
                let message = format!("`{}` cannot take a `{}`", call.info.op, self.name(ty));
                self.error(codes::ARGUMENT_TYPE, Node::Expr(*argument), message);
                return;
            }
            given += u32::from(types.dim(ty));
        }
        let single = call.arguments.len() == 1 && (given == 1 || given > wanted);
        if given != wanted && !single {
            let message = format!("`{}` has {given} components instead of {wanted}", call.info.op);
            self.error(codes::ARGUMENT_COUNT, Node::Expr(call.id), message);
        }
    }

    /// Columns of the result, or one matrix.
    fn check_columns(&mut self, call: &Call<'_>) {
        let types = &self.library.types;
        if !types.is_matrix(call.result) {
            return;
        }
        let dim = types.dim(call.result);
        if let [single] = call.arguments
            && types.is_matrix(self.argument_type(*single))
        {
            return;
        }
        if call.arguments.len() != usize::from(dim) {
            let message =
                format!("`{}` has {} columns instead of {dim}", call.info.op, call.arguments.len());
            self.error(codes::ARGUMENT_COUNT, Node::Expr(call.id), message);
            return;
        }
        for argument in call.arguments {
            let ty = self.argument_type(*argument);
            if !self.fits(TypeId::vector(Scalar::F32, dim), ty) {
                let message =
                    format!("a column of `{}` cannot be `{}`", call.info.op, self.name(ty));
                self.error(codes::ARGUMENT_TYPE, Node::Expr(*argument), message);
            }
        }
    }
}

/// Whether a call may be recorded without its value, because it is of use, or at least harmless, without.
fn may_be_dropped(info: &CallOpInfo) -> bool {
    use Group::{Atomic, Bindless, Buffer, SampledTexture, Texture};
    let group = matches!(info.group, Atomic | Bindless | Buffer | SampledTexture | Texture);
    (group && info.out != Out::Data) || info.op == CallOp::RayQueryProceed
}

fn buffer_element(types: &TypeTable, ty: TypeId) -> Option<TypeId> {
    match types.kind(ty) {
        TypeKind::Buffer { elem, .. } => Some(*elem),
        _ => None,
    }
}

fn class_holds(types: &TypeTable, class: Class, t: TypeId) -> bool {
    match class {
        Class::Any => true,
        Class::BoolN => types.is_bool(t),
        Class::Num => types.is_arithmetic(t),
        Class::NumVec => types.is_arithmetic(t) && types.is_vector(t),
        Class::Int => types.is_integer(t),
        Class::Float => types.is_float(t),
        Class::FloatVec => types.is_float(t) && types.is_vector(t),
        Class::Mat => types.is_matrix(t),
        Class::VecOrMat => types.is_matrix(t) || (types.is_float(t) && types.is_vector(t)),
        Class::ScalarOrVec => types.is_scalar_or_vector(t),
    }
}
