//! Diagnostics of the lowering, L0500 to L0599.

luisac_ast::codes! {
    /// Codes of the lowering from AST to XIR.
    pub static CODES;
    NATIVE_SOURCE = 502 "embedded device source cannot be compiled",
        "The expression holds source text of one device language, which no other target understands.",
        "Write the code with the operations of the DSL.";
    COOPERATIVE = 503 "cooperative vectors are not supported",
        "No target holds cooperative vectors and matrices yet.",
        "Write the product as loops over buffers.";
    ASYNC = 504 "asynchronous copies and clusters are not supported",
        "Asynchronous copies, memory barrier objects and cluster control exist on some devices only.",
        "Copy through registers and synchronize the block.";
    UNSUPPORTED = 505 "the operation has no form in XIR",
        "The operation was removed from the language or belongs to a pipeline that is not compiled.",
        "Remove the operation.";
    UNSUPPORTED_STATEMENT = 506 "the statement has no form in XIR",
        "Coroutines and debugger breaks are not compiled.",
        "Remove the statement.";
    UNSUPPORTED_FUNCTION = 507 "the function is of a kind that is not compiled",
        "Only kernels and callables are compiled.",
        "Write the function as a kernel or callable.";
    TYPE_MISMATCH = 520 "a value has a type that its place cannot take",
        "The operation has no conversion from the type of the value to the type that it needs.",
        "Convert the value first.";
    NOT_ASSIGNABLE = 521 "something that is no variable is assigned or passed by reference",
        "Only variables, their members and their elements can be assigned.",
        "Assign to a variable.";
    JUMP_OUTSIDE = 522 "`break` or `continue` outside of a loop",
        "`break` needs an enclosing loop or switch, `continue` an enclosing loop.",
        "Remove the statement, or put it into a loop.";
    JUMP_ACROSS = 523 "a jump leaves a ray query or differentiation scope",
        "The handlers of a ray query and the scope of differentiation run to their end.",
        "Set a flag and test it after the scope.";
    DUPLICATE_CASE = 524 "a switch has the same case twice",
        "Case values are converted to the width of the value that is switched on; two of them are equal then.",
        "Remove one of the cases.";
    SWITCH_BODY = 525 "a switch body holds more than cases",
        "The body of a switch holds cases, at most one default, and comments.",
        "Move the statement into a case.";
    RECURSION = 526 "callables call each other in a circle",
        "A callable that calls itself, directly or through others, has no bounded stack.",
        "Write the recursion as a loop.";
    BAD_ENTRY = 527 "the entry is no kernel of the library",
        "The function asked for does not exist or is not a kernel.",
        "Name a kernel.";
    BLOCK_SIZE = 528 "the block size is not possible",
        "A block has 1 to 1024 threads, and at most 64 in z.",
        "Choose another block size.";
    TOO_LARGE = 529 "a value is too large",
        "The value would be written out piece by piece, or held whole in the program.",
        "Use a buffer.";
    MALFORMED = 530 "the program is not well formed",
        "A node lacks a part that its kind has, or names something that does not exist.",
        "Check the input with `luisac check`.";
    SHARED_IN_CALLABLE = 531 "shared memory in a callable",
        "Shared variables belong to a block of threads, hence to a kernel.",
        "Declare the variable in the kernel and pass it by reference.";
    NESTED_QUERY = 532 "a ray query inside of a handler of a ray query",
        "The handlers of a ray query cannot run another one.",
        "Collect the candidates and trace again after the query.";
}
