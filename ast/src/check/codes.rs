//! What can be wrong with a program that reads well.

crate::codes! {
    /// The codes of the checks.
    pub static CODES;

    VARIABLE_TYPE = 300 "a variable cannot have this type",
        "Each kind of variable holds certain types: resources are arguments, builtin variables are `uint` or `uint3`, locals and shared variables hold data.",
        "Correct the variable's tag or type.";
    KERNEL_ONLY = 301 "this may stand in kernels only",
        "Shared variables, block barriers and indirect dispatch belong to a kernel: a callable does not know the block.",
        "Move it into the kernel, or inline the callable.";
    KERNEL_SHAPE = 302 "the kernel's signature is wrong",
        "A kernel returns nothing and takes values and resources, not references.",
        "Return results through a buffer.";
    BLOCK_SIZE = 303 "the block size is not possible",
        "A block has 1 to 1024 threads, of which the third dimension has at most 64.",
        "Give each of the three sizes at least 1, the product at most 1024, the third size at most 64.";
    BINDING = 304 "a binding does not fit its argument",
        "`bound_arguments` describes the first arguments of a kernel, one by one, each of the same kind.",
        "Record the kernel again.";
    NODE_ORDER = 305 "the nodes of a function are out of order",
        "An expression names operands that were made before it, a function calls functions before it, and a statement stands in one place.",
        "This is a mistake of the program that built the AST.";
    NO_BODY = 306 "a function has no body",
        "Every function has a scope as its body.",
        "Give it an empty scope.";
    BREAK = 310 "`BREAK` outside of any loop or switch",
        "`BREAK` leaves the nearest enclosing loop or switch, and there is none. The handlers of a ray query do not count as part of a loop around it.",
        "Remove it, or use `RETURN`.";
    CONTINUE = 311 "`CONTINUE` outside of any loop",
        "`CONTINUE` goes on with the nearest enclosing loop, and there is none. The handlers of a ray query do not count as part of a loop around it.",
        "Remove it.";
    RETURN_IN_QUERY = 312 "`RETURN` inside a handler of a ray query",
        "A handler runs inside the traversal, which cannot be left that way.",
        "Use `RAY_QUERY_TERMINATE`, and return after the query.";
    RETURN_TYPE = 313 "the returned value does not fit the function",
        "The value has the declared return type, or both are scalars; a function without return type returns none.",
        "Correct the value or the return type.";
    CONDITION = 314 "a condition is no truth value",
        "A condition is `bool`, or a number, which is true if it is not zero.",
        "Compare with something; for a vector use `ANY` or `ALL`.";
    SWITCH_SHAPE = 315 "a switch is built wrongly",
        "The body of a switch holds cases, at most one default, and comments; cases stand nowhere else. The selector is an integer.",
        "Correct the switch.";
    DUPLICATE_CASE = 316 "two cases of a switch have the same value",
        "Case values are converted to the selector's width; after that, each may occur once.",
        "Remove one of the cases, or merge their bodies.";
    NESTED_QUERY = 317 "a ray query inside a handler of another",
        "Ray queries do not nest.",
        "Move the inner query out of the handler.";
    MISSING_RETURN = 318 "the end of a callable may be reached without a value",
        "The callable declares a return type, and some way through its statements leads to the end without a `RETURN`. The result is zero there.",
        "Return a value at the end.";
    LEAVES_GRADIENTS = 319 "a jump out of a differentiated scope",
        "A differentiated scope is left at its end: its gradients are computed there. `RETURN` inside of it, and `BREAK` or `CONTINUE` of a loop around it, would pass that by.",
        "Keep what is to be returned in a variable, and return after the scope.";
    NOT_ASSIGNABLE = 320 "this cannot be assigned",
        "What is assigned is a local, shared variable, argument or reference, or an element, member or single component of one.",
        "Assign a local instead; to set several components, assign the whole vector.";
    ASSIGN_TYPE = 321 "the assigned value does not fit",
        "Both sides have the same type, or both are scalars.",
        "Convert the value with a `CAST`.";
    QUERY_TYPE = 322 "this is no ray query object",
        "The object of a ray query is a variable of type `LC_RayQueryAll` or `LC_RayQueryAny`.",
        "Assign the result of `RAY_TRACING_QUERY_ALL` or `_ANY` to a local and use that.";
    OPERAND_TYPE = 330 "an operand has the wrong type",
        "The operation is not defined for the type of this operand.",
        "Convert the operand, or use another operation.";
    OPERAND_SHAPE = 331 "the operands' shapes do not fit",
        "Vectors have the same length, or one operand is a scalar; matrices multiply matrices and vectors of their size.",
        "Make the shapes equal.";
    RESULT_TYPE = 332 "an expression has a type that it cannot have",
        "The recorded type is not the type of what the expression yields.",
        "Record the kernel again, or correct the type.";
    SWIZZLE = 333 "a component does not exist",
        "A vector of N components has those before N only.",
        "Correct the swizzle.";
    MEMBER = 334 "a member does not exist",
        "`MEMBER` with an index names a member of a structure.",
        "Correct the index, or use ACCESS for arrays, vectors and matrices.";
    ACCESS = 335 "an element cannot be taken",
        "`ACCESS` takes an element of an array, vector or matrix, by an integer.",
        "Correct the operands.";
    CAST = 336 "a conversion is not possible",
        "By value: scalar to scalar, scalar to every component, vector to vector of the same or smaller length. By bits: equal numbers of bits, where a `bool` has 8.",
        "Convert in two steps.";
    INDEX_RANGE = 337 "a constant index is out of range",
        "The element does not exist; what such an access yields is undefined, or decided by `--bounds`.",
        "Correct the index.";
    ARGUMENT_COUNT = 340 "a call has the wrong number of arguments",
        "Each operation and callable takes a certain number of arguments.",
        "Give the call the arguments that it takes.";
    ARGUMENT_TYPE = 341 "an argument has the wrong type",
        "The operation or callable is not defined for an argument of this type in this place.",
        "Convert the argument.";
    ARGUMENT_WRITE = 342 "an argument cannot be written",
        "The callable or operation writes through this argument, so it is a variable, or an element, member or component of one.",
        "Pass a local and copy it afterwards.";
    CALLEE = 343 "this function cannot be called",
        "Kernels and raster stages are started from outside; only callables are called.",
        "Move the common part into a callable.";
    ATOMIC = 344 "an atomic operation does not end at a number",
        "The arguments after the first lead through elements, members and components to one integer or float; the index of a member is a literal.",
        "Correct the indices.";
    CONSTANT_SIZE = 345 "a value has the wrong number of bytes",
        "A literal or constant has as many bytes as its type.",
        "Correct the value.";
    PRINT_FORMAT = 346 "a format and its arguments do not fit",
        "Each `{}` of the format stands for one argument.",
        "Add the missing argument or placeholder.";
    UNPORTABLE = 350 "this works on no target",
        "Host callbacks and device source text belong to the process or device that they were recorded for.",
        "Remove it, or replace it by operations of the language.";
}
