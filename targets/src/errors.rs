//! The codes of this crate.

luisac_ast::codes! {
    /// All codes of this crate.
    pub static CODES;
    UNSUPPORTED_OPERATION = 900 "the target does not hold an operation",
        "A kernel uses an operation that this target cannot do, and that no pass lowers to ones that it can.",
        "Choose another target, or avoid the operation.";
    UNSUPPORTED_TYPE = 901 "the target does not hold a type",
        "A kernel computes with a type that this target has no form for, such as an 8-bit float.",
        "Convert to another type.";
    UNKNOWN_DETAIL = 902 "the detail of a target is not known",
        "What follows the colon after a target's name is not in the list of the target.",
        "Use one of the details that the message lists.";
    WRONG_FORM = 903 "the code is not in the form that the target takes",
        "A target takes code in one form: flat or structured, with phis or without. The pipeline did not leave that form.",
        "Use a canned pipeline, or end yours with the passes that the target asks for.";
    LOCAL_MEMORY = 904 "too much local memory",
        "The local variables of a thread together take more memory than the target gives a thread.",
        "Move large arrays into a buffer.";
    SHARED_MEMORY = 905 "too much shared memory",
        "The shared variables of a block together take more memory than the target gives a block.",
        "Use less shared memory, or move it into a buffer.";
    PARAMETERS = 906 "the parameters are too large",
        "The arguments of a kernel together take more bytes than the target passes.",
        "Pass large values in a buffer.";
    LANES = 907 "the number of lanes is not possible yet",
        "The emitter runs one thread at a time per lane group; wider groups are not built yet.",
        "Use one lane.";
    UNKNOWN_TARGET = 908 "there is no such target",
        "The word before the colon is not the name of a target of this build.",
        "See `luisac targets`.";
    INTERNAL = 909 "the emitter made code that LLVM refuses",
        "This is a mistake in the compiler.",
        "Report it, with the input and the options.";
    UNDEFINED_SYMBOL = 911 "an object needs a function from outside",
        "Objects for `cpu` stand alone. LLVM made this one call a library function, which is a mistake in the compiler.",
        "Report it, with the input and the options; another detail of the target, such as `x86-64-v3`, may work.";
    EXTERNAL_FUNCTION = 912 "a kernel calls a function that has no body",
        "A native function, a host callback and the address of a variable exist only in the process that recorded the kernel; compiled code stands alone.",
        "Write the function as a callable; print values or write them to a buffer instead of calling back; pass an index instead of an address.";
    TOO_LARGE = 913 "loops are nested too deep",
        "LLVM takes memory that grows with the square of the nesting of loops. What would take more than a few hundred megabytes is refused before.",
        "Nest loops at most 2000 deep.";
    OUT_OF_MEMORY = 914 "there is not enough memory",
        "LLVM asked for memory that the system did not give.",
        "Split the kernel, compile it with -O0, or give the process more memory.";
    NO_FUNCTIONS = 915 "the target holds no callable by itself",
        "`--callable` compiles a function that is no kernel. Some targets hold entry points only: their files are complete programs that nothing is linked to.",
        "Take a target that holds functions (`ptx`, `cpu`, `hlsl`, `msl`), or compile a kernel that calls the callable.";
    NEEDS_LAUNCH = 916 "a callable by itself asks for a launch",
        "A callable that is compiled by itself is called by code that luisac does not know, so that it has no log to print into, and knows the launch only as far as the target tells every function.",
        "Pass as an argument what the callable needs, or compile a kernel that calls it.";
    LOG_RECORD = 910 "a log record is too large",
        "A printed line takes more bytes than a record of the log may have.",
        "Print less in one line.";
    NO_DXC = 930 "DXC is not here",
        "DXIL is made by Microsoft's compiler DXC, a library that is loaded when it is needed. It is looked for where `--dxc` or `LUISAC_DXC` says; else beside the program, among the project's tools, in the Vulkan SDK, in Python's packages, and by the system's loader.",
        "Install DXC from its releases on GitHub and name its library with `--dxc PATH` or in `LUISAC_DXC`, or install the Python package `compushady-lrtu`, which carries it; or take `--target hlsl`, which needs none.";
    BAD_DXC = 931 "DXC cannot be used",
        "The library that was found or named is no DXC, is for another machine, or failed without saying why.",
        "Install another version of DXC, 1.7 or later, and name its library with `--dxc PATH` or in `LUISAC_DXC`.";
    NAGA_REFUSED = 940 "naga refuses a kernel",
        "WGSL and GLSL are written by naga, which validates the kernel first. What it refuses is mostly something that the language does not have; it may also be a mistake in luisac.",
        "Choose another target, or report it with the input and the options.";
    DXC_REFUSED = 932 "DXC refuses the HLSL of a kernel",
        "DXC or its validator does not accept the text that luisac wrote. Mostly this is a mistake in luisac; a kernel may also be larger than DXC can take.",
        "Report it, with the input and the options; another shader model such as `dxil:6.6` may help.";
}
