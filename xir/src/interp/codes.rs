//! Codes of the interpreter's faults.

luisac_ast::codes! {
    /// Codes of the interpreter's faults.
    pub static CODES;
    OUT_OF_RANGE = 701 "an index is out of range", "A buffer, image, array, vector or matrix was indexed where it has no element. Without `--bounds` that is undefined, and the interpreter reports it instead of guessing.", "Compare the index with the size first, or run with `--bounds clamp`.";
    UNINITIALISED = 702 "shared memory is read before it is written", "Shared memory holds nothing until a thread of the block writes it.", "Write it and pass a barrier before reading.";
    RACE = 703 "two threads race", "Two threads touch the same memory, one of them writes, and no barrier of their block lies between.", "Put a barrier between the accesses, or make them atomic.";
    UNREACHABLE = 704 "`unreachable` was reached", "The kernel promised that this place is never reached.", "Mend the kernel or its input.";
    ASSUMPTION = 705 "an assumption does not hold", "The kernel promised the compiler something that is not so.", "Mend the kernel or its input.";
    DIVERGENT_BARRIER = 706 "a barrier is not reached by all threads", "All running threads of a block have to come to a barrier together.", "Move the barrier to where all threads of the block come along.";
    ASSERTION = 707 "an assertion failed", "The kernel itself found its input or state wrong; its thread stopped.", "The message says what the kernel expected.";
    STEP_LIMIT = 708 "the kernel took too many steps", "The run was limited, and the kernel had not ended by then.", "Raise the limit if the kernel does end.";
    NOT_HELD = 709 "the interpreter does not hold an operation", "Ray traversal, bindless arrays and some others are not interpreted.", "Run the kernel on another device.";
    WRONG_ARGUMENT = 710 "an argument does not fit the kernel", "Its kind or size is not the one the kernel takes.", "`luisac inspect` lists the arguments.";
    ARGUMENT_COUNT = 711 "the number of arguments is wrong", "Every argument needs a value, captured resources included.", "`luisac inspect` lists the arguments.";
    WRONG_LAUNCH = 712 "the launch is not possible", "The function is no kernel, or size or wave width is out of range.", "Choose another kernel, dispatch size or wave width.";
    TOO_LARGE = 713 "the variables of a block are too large", "The interpreter keeps all variables of a block at once.", "Use smaller local arrays or smaller blocks.";
    MALFORMED = 714 "the function is malformed", "The module breaks an invariant that the verifier checks.", "Run `luisac check` to see which.";
}
