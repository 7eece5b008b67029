//! Faults of a run, L0700 to L0799.

luisac_ast::codes! {
    /// Codes of the interpreter.
    pub static CODES;
    OUT_OF_RANGE = 701 "an index is out of range",
        "An access of a buffer, or of a local or shared array, vector or matrix, names an element that does not exist. That is undefined; the interpreter reports it instead of guessing.",
        "Compare the index with the size first, or run with `--bounds clamp`.";
    UNINITIALISED = 702 "shared memory is read before anything was written there",
        "Shared memory has no content at the start of a block.",
        "Write it and pass a barrier before reading.";
    RACE = 703 "a data race",
        "Two threads touch the same memory, at least one of them writes, not both by atomic operations, and no barrier of their block lies between. What comes out depends on the device.",
        "Put a barrier between the accesses, or make them atomic.";
    UNREACHABLE_REACHED = 704 "`unreachable` was reached",
        "A place that the kernel declares unreachable was reached; compiled code may do anything then.",
        "Mend the kernel or its input: what was promised to the compiler is not so.";
    ASSUMPTION_FALSE = 705 "an assumption does not hold",
        "The condition of an `assume` is false; compiled code may do anything then.",
        "Mend the kernel or its input: what was promised to the compiler is not so.";
    DIVERGENT_BARRIER = 706 "a barrier is not reached by all threads of the block",
        "A barrier must be reached by all threads of the block that have not ended, in uniform control flow.",
        "Move the barrier to where all threads come along.";
    ASSERTION_FAILED = 707 "an assertion failed",
        "The kernel itself found its input or state wrong. The thread stopped there; the others went on.",
        "Look at the assertion and at what the thread was given.";
    STEP_LIMIT = 708 "the kernel was stopped after too many steps",
        "The run was given a limit on the number of instructions, and reached it.",
        "Raise the limit if the kernel does not loop for ever.";
    NOT_HELD = 709 "the interpreter does not hold the operation yet",
        "Ray tracing, derivatives across pixels, cooperative matrices and external functions are not interpreted.",
        "Run the kernel on another device.";
    WRONG_ARGUMENT = 710 "an argument does not fit the kernel",
        "Arguments go by position, captured resources first, and must have the kind and size that the kernel declares.",
        "Give an argument of that kind and size.";
    ARGUMENT_COUNT = 711 "the number of arguments is wrong",
        "Every argument of the kernel, captured resources included, must be given.",
        "Give the arguments by position, captured resources first.";
    WRONG_LAUNCH = 712 "the launch is not possible",
        "Only kernels can be launched; a block has 1 to 1024 threads, a wave a power of two up to 128.",
        "Choose another kernel, block size or wave width.";
    TOO_LARGE = 713 "the variables of a block take too much memory",
        "The interpreter keeps all registers and variables of all threads of a block.",
        "Use smaller local arrays or smaller blocks.";
    MALFORMED = 714 "the function is malformed",
        "The module breaks a rule that the verifier checks.",
        "Run the verifier to see what is wrong.";
    EMPTY_SLOT = 715 "a slot of a bindless array holds no such resource",
        "The kernel asks a slot for a buffer, a 2-D texture or a 3-D texture that was not put there.",
        "Put the resource into the slot before the dispatch, or mend the slot's number.";
    NO_SAMPLER = 716 "there is no such sampler",
        "A sampler is given by the codes of its filter (0 to 3) and its address mode (0 to 3).",
        "Give codes that exist.";
    WILD_ADDRESS = 717 "a device address names no memory",
        "A value was read or written through an address that is not aligned or lies in no buffer of the run.",
        "Take addresses from buffers only, and keep them aligned to the type that is read.";
}
