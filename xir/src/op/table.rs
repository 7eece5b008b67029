//! Rows of the operations on values: arithmetic, casts, atomics and thread-group operations.

/// Typing rule of an operation; T is the result type. `typing.rs` checks and infers by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// T: numeric scalar or vector; all operands T.
    Numeric,
    /// T: floating-point scalar or vector; all operands T.
    Float,
    /// T: integer or bool scalar or vector; all operands T.
    Bits,
    /// T: integer scalar or vector; the second operand is any integer of the same shape.
    Shift,
    /// Two equal numeric operands; T is the bool of their shape.
    Order,
    /// Two equal numeric or bool operands; T is the bool of their shape.
    Equality,
    /// A bool vector; T is bool.
    BoolReduce,
    /// `(false T, true T, cond)`; T any data type; cond bool, or the bool vector of T's shape.
    Select,
    /// `(T, T, T or element)`, floating point.
    Lerp,
    /// `(T or element, T or element, T)`, floating point.
    Smoothstep,
    /// `(T or element, T)`, floating point.
    Step,
    /// T: integer scalar or vector of 8 to 64 bits, as the operand.
    BitCount,
    /// A floating-point scalar or vector; T is the bool of its shape.
    FloatTest,
    /// `(T float, integer of the same shape or scalar)`.
    PowInt,
    /// T: floating-point vector of three; both operands T.
    Cross,
    /// Floating-point vectors of one type; T is the element.
    FloatReduce,
    /// T: floating-point vector; all operands T.
    FloatVector,
    /// A numeric vector; T is the element.
    Reduce,
    /// Two equal float vectors give the matrix with columns `a * b[j]`; two equal matrices give A * transpose(B).
    OuterProduct,
    /// T: matrix; the operand T.
    Matrix,
    /// T: matrix; the operands T, or one of them its scalar element.
    MatrixComponent,
    /// matrix * matrix, matrix * vector or vector * matrix of one dimension.
    MatrixMultiply,
    /// A matrix; T is its scalar.
    Determinant,
    /// T: vector, matrix, array or structure; one operand an element, column or member.
    Aggregate,
    /// A vector, then one constant in-range index a component of T.
    Shuffle,
    /// `(T aggregate, element value, index+)`.
    Insert,
    /// `(aggregate, index+)`; T is the element named.
    Extract,
    /// No operands, no result.
    Nothing,
    /// No operands or two `uint`s, no result.
    ReorderHint,
    /// No operand; T is bool.
    FlagQuery,
    /// No operand; T is uint.
    CountQuery,
    /// A bool; T is uint.
    BoolToCount,
    /// A bool; T is bool.
    BoolToBool,
    /// A bool; T is uint4.
    BoolToMask,
    /// A numeric or bool scalar or vector; T is the bool of its shape.
    ShapeTest,
    /// T: any scalar, vector or matrix; the operand T.
    AnyValue,
    /// `(T, uint)`; T any scalar, vector or matrix.
    LaneRead,
    /// One operand of any type; checked by the operation itself.
    Cast,
    /// `base, index*, value(s)`: checked by the operation itself.
    Atomic,
}

/// Declares a second-level operation enum from its rows.
macro_rules! operations {
    ($(#[$meta:meta])* $name:ident { $( $(#[$vmeta:meta])* $variant:ident $text:literal $min:literal $max:literal $rule:ident;)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum $name { $( $(#[$vmeta])* $variant, )* }

        impl $name {
            /// All operations, in table order.
            pub const ALL: &'static [$name] = &[$($name::$variant,)*];
            const NAMES: &'static [&'static str] = &[$($text,)*];
            const ARITY: &'static [(usize, usize)] = &[$(($min, $max),)*];
            const RULES: &'static [Rule] = &[$(Rule::$rule,)*];

            /// The name in the text form.
            pub const fn name(self) -> &'static str { Self::NAMES[self as usize] }
            /// Least and greatest number of operands.
            pub const fn arity(self) -> (usize, usize) { Self::ARITY[self as usize] }
            /// The typing rule.
            pub const fn rule(self) -> Rule { Self::RULES[self as usize] }
            /// The operation of that text name.
            pub fn from_name(name: &str) -> Option<Self> {
                Self::NAMES.iter().position(|&n| n == name).map(|i| Self::ALL[i])
            }
        }
    };
}

operations! {
    /// Pure operations on values.
    ArithmeticOp {
        UnaryMinus "unary_minus" 1 1 Numeric;
        /// Logical not on bool.
        UnaryBitNot "unary_bit_not" 1 1 Bits;
        BinaryAdd "binary_add" 2 2 Numeric;
        BinarySub "binary_sub" 2 2 Numeric;
        BinaryMul "binary_mul" 2 2 Numeric;
        /// Integers: x / 0 is x, MIN / -1 is MIN.
        BinaryDiv "binary_div" 2 2 Numeric;
        /// Integers: x % 0 is 0; floats: the truncated remainder (fmod).
        BinaryMod "binary_mod" 2 2 Numeric;
        BinaryBitAnd "binary_bit_and" 2 2 Bits;
        BinaryBitOr "binary_bit_or" 2 2 Bits;
        BinaryBitXor "binary_bit_xor" 2 2 Bits;
        /// The amount is taken modulo the width of T.
        BinaryShiftLeft "binary_shift_left" 2 2 Shift;
        /// Arithmetic if T is signed, else logical; the amount is taken modulo the width of T.
        BinaryShiftRight "binary_shift_right" 2 2 Shift;
        BinaryRotateLeft "binary_rotate_left" 2 2 Shift;
        BinaryRotateRight "binary_rotate_right" 2 2 Shift;
        BinaryLess "binary_less" 2 2 Order;
        BinaryGreater "binary_greater" 2 2 Order;
        BinaryLessEqual "binary_less_equal" 2 2 Order;
        BinaryGreaterEqual "binary_greater_equal" 2 2 Order;
        BinaryEqual "binary_equal" 2 2 Equality;
        BinaryNotEqual "binary_not_equal" 2 2 Equality;
        All "all" 1 1 BoolReduce;
        Any "any" 1 1 BoolReduce;
        /// `select false_value, true_value, cond`.
        Select "select" 3 3 Select;
        /// `min(max(v, lo), hi)`.
        Clamp "clamp" 3 3 Numeric;
        Saturate "saturate" 1 1 Float;
        /// `a + t * (b - a)`.
        Lerp "lerp" 3 3 Lerp;
        Smoothstep "smoothstep" 3 3 Smoothstep;
        /// `x < edge ? 0 : 1`.
        Step "step" 2 2 Step;
        Abs "abs" 1 1 Numeric;
        /// The number wins over NaN; -0 < +0.
        Min "min" 2 2 Numeric;
        Max "max" 2 2 Numeric;
        /// clz(0) is the width.
        Clz "clz" 1 1 BitCount;
        Ctz "ctz" 1 1 BitCount;
        Popcount "popcount" 1 1 BitCount;
        Reverse "reverse" 1 1 BitCount;
        Isinf "isinf" 1 1 FloatTest;
        Isnan "isnan" 1 1 FloatTest;
        Acos "acos" 1 1 Float;
        Acosh "acosh" 1 1 Float;
        Asin "asin" 1 1 Float;
        Asinh "asinh" 1 1 Float;
        Atan "atan" 1 1 Float;
        /// `atan2 y, x`.
        Atan2 "atan2" 2 2 Float;
        Atanh "atanh" 1 1 Float;
        Cos "cos" 1 1 Float;
        Cosh "cosh" 1 1 Float;
        Sin "sin" 1 1 Float;
        Sinh "sinh" 1 1 Float;
        Tan "tan" 1 1 Float;
        Tanh "tanh" 1 1 Float;
        Exp "exp" 1 1 Float;
        Exp2 "exp2" 1 1 Float;
        Exp10 "exp10" 1 1 Float;
        Log "log" 1 1 Float;
        Log2 "log2" 1 1 Float;
        Log10 "log10" 1 1 Float;
        Pow "pow" 2 2 Float;
        /// Exact repeated squaring by the magnitude of the exponent.
        PowInt "pow_int" 2 2 PowInt;
        Sqrt "sqrt" 1 1 Float;
        Rsqrt "rsqrt" 1 1 Float;
        Ceil "ceil" 1 1 Float;
        Floor "floor" 1 1 Float;
        /// `x - floor(x)`.
        Fract "fract" 1 1 Float;
        Trunc "trunc" 1 1 Float;
        /// Half away from zero.
        Round "round" 1 1 Float;
        /// Half to even.
        Rint "rint" 1 1 Float;
        Fma "fma" 3 3 Float;
        /// `copysign magnitude, sign`.
        Copysign "copysign" 2 2 Float;
        Cross "cross" 2 2 Cross;
        Dot "dot" 2 2 FloatReduce;
        Length "length" 1 1 FloatReduce;
        LengthSquared "length_squared" 1 1 FloatReduce;
        Normalize "normalize" 1 1 FloatVector;
        /// `faceforward n, i, n_ref`.
        Faceforward "faceforward" 3 3 FloatVector;
        /// `reflect v, n`.
        Reflect "reflect" 2 2 FloatVector;
        ReduceSum "reduce_sum" 1 1 Reduce;
        ReduceProduct "reduce_product" 1 1 Reduce;
        ReduceMin "reduce_min" 1 1 Reduce;
        ReduceMax "reduce_max" 1 1 Reduce;
        OuterProduct "outer_product" 2 2 OuterProduct;
        MatrixCompNeg "matrix_comp_neg" 1 1 Matrix;
        MatrixCompAdd "matrix_comp_add" 2 2 MatrixComponent;
        MatrixCompSub "matrix_comp_sub" 2 2 MatrixComponent;
        MatrixCompMul "matrix_comp_mul" 2 2 MatrixComponent;
        MatrixCompDiv "matrix_comp_div" 2 2 MatrixComponent;
        MatrixLinalgMul "matrix_linalg_mul" 2 2 MatrixMultiply;
        Determinant "matrix_determinant" 1 1 Determinant;
        Transpose "matrix_transpose" 1 1 Matrix;
        Inverse "matrix_inverse" 1 1 Matrix;
        Aggregate "aggregate" 0 4294967295 Aggregate;
        Shuffle "shuffle" 3 5 Shuffle;
        Insert "insert" 3 4294967295 Insert;
        Extract "extract" 2 4294967295 Extract;
    }
}

operations! {
    /// Conversions.
    CastOp {
        /// By value: scalar to scalar, or vector to vector of one dimension.
        Static "static_cast" 1 1 Cast;
        /// Same logical register width; no bool.
        Bitwise "bitwise_cast" 1 1 Cast;
    }
}

operations! {
    /// Relaxed atomic read-modify-write; the result is the old value.
    AtomicOp {
        Exchange "exchange" 2 4294967295 Atomic;
        /// `base, index*, expected, desired`; bitwise on floats.
        CompareExchange "compare_exchange" 3 4294967295 Atomic;
        FetchAdd "fetch_add" 2 4294967295 Atomic;
        FetchSub "fetch_sub" 2 4294967295 Atomic;
        FetchAnd "fetch_and" 2 4294967295 Atomic;
        FetchOr "fetch_or" 2 4294967295 Atomic;
        FetchXor "fetch_xor" 2 4294967295 Atomic;
        FetchMin "fetch_min" 2 4294967295 Atomic;
        FetchMax "fetch_max" 2 4294967295 Atomic;
    }
}

impl AtomicOp {
    /// How many operands after the index chain are values.
    pub const fn value_count(self) -> usize {
        if matches!(self, AtomicOp::CompareExchange) { 2 } else { 1 }
    }
}

operations! {
    /// Operations over the threads of a wave or block; all are convergent.
    ThreadGroupOp {
        ShaderExecutionReorder "shader_execution_reorder" 0 2 ReorderHint;
        RasterQuadDdx "raster_quad_ddx" 1 1 Float;
        RasterQuadDdy "raster_quad_ddy" 1 1 Float;
        WarpIsFirstActiveLane "warp_is_first_active_lane" 0 0 FlagQuery;
        WarpFirstActiveLane "warp_first_active_lane" 0 0 CountQuery;
        WarpActiveAllEqual "warp_active_all_equal" 1 1 ShapeTest;
        WarpActiveBitAnd "warp_active_bit_and" 1 1 Bits;
        WarpActiveBitOr "warp_active_bit_or" 1 1 Bits;
        WarpActiveBitXor "warp_active_bit_xor" 1 1 Bits;
        WarpActiveCountBits "warp_active_count_bits" 1 1 BoolToCount;
        WarpActiveMax "warp_active_max" 1 1 Numeric;
        WarpActiveMin "warp_active_min" 1 1 Numeric;
        WarpActiveProduct "warp_active_product" 1 1 Numeric;
        WarpActiveSum "warp_active_sum" 1 1 Numeric;
        WarpActiveAll "warp_active_all" 1 1 BoolToBool;
        WarpActiveAny "warp_active_any" 1 1 BoolToBool;
        WarpActiveBitMask "warp_active_bit_mask" 1 1 BoolToMask;
        WarpPrefixCountBits "warp_prefix_count_bits" 1 1 BoolToCount;
        WarpPrefixSum "warp_prefix_sum" 1 1 Numeric;
        WarpPrefixProduct "warp_prefix_product" 1 1 Numeric;
        /// `warp_read_lane value, lane`; 0 from a lane that is not active.
        WarpReadLane "warp_read_lane" 2 2 LaneRead;
        WarpReadFirstActiveLane "warp_read_first_active_lane" 1 1 AnyValue;
        SynchronizeBlock "synchronize_block" 0 0 Nothing;
    }
}

impl ThreadGroupOp {
    /// Whether the operation yields a value.
    pub const fn has_result(self) -> bool {
        !matches!(self, ThreadGroupOp::ShaderExecutionReorder | ThreadGroupOp::SynchronizeBlock)
    }
}
