//! What can be wrong with a serialized callable library.

crate::codes! {
    /// The codes of the binary reader and writer.
    pub static CODES;

    TRUNCATED = 50 "the library ends too early",
        "A field reaches past the end of the file.",
        "Serialize the library again; the file was cut, or is no callable library.";
    TRAILING = 51 "something follows the library",
        "All functions have been read, and bytes are left.",
        "Serialize the library again.";
    LENGTH = 52 "a length does not fit into the file",
        "A list or text claims more items than the rest of the file can hold.",
        "Serialize the library again; the file is damaged, or is no callable library.";
    VALUE = 53 "a value is out of range",
        "Tags, operations, usages and flags are small numbers with a meaning each.",
        "Serialize the library again; the file is damaged, or was written by a version that is not known.";
    HASH = 54 "the hashes of the functions do not fit together",
        "The file lists the hash of each function first, and repeats it before the function.",
        "Serialize the library again.";
    MISSING_CALLEE = 55 "a callable that is called is not in the library",
        "Only direct callees of named callables are stored; a callee of a callee is missing unless it is named too.",
        "Give the missing callable a name in the library, so that it is stored, or name the library that has it with `--lib`.";
    RECURSION = 56 "callables call each other in a circle",
        "Recursion is not supported: kernels have no call stack that could grow.",
        "Rewrite the recursion as a loop.";
    TYPE = 57 "a type is wrong",
        "Types are written as descriptions, such as `vector<float,3>`.",
        "Serialize the library again; the file is damaged.";
    VARIABLE = 58 "a variable is not what it was declared to be",
        "Each use of a variable repeats its type and tag, which are those of its declaration.",
        "Serialize the library again; the file is damaged.";
    LITERAL = 59 "a literal is not of the type that it is declared to have",
        "A literal names its type by a number, which fits the type of the expression and the number of bytes.",
        "Serialize the library again; the file is damaged.";
    OPERATION = 60 "an operation is not in the set of operations used",
        "A function lists the operations that it uses; one that is not listed shows that the numbers were misread.",
        "Serialize the library again; the file is damaged, or was written by a version that is not known.";
    TOO_DEEP = 62 "nodes are nested too deeply",
        "Expressions and statements of a function may be nested 1,048,576 levels deep.",
        "Let the recording program keep intermediate values in variables.";
    TOO_LARGE = 63 "the library is too large",
        "One library may have up to 4 GiB.",
        "Split the library.";
    UNWRITABLE = 61 "a function cannot be stored in a library",
        "Libraries hold no texts other than formats, no host callbacks, no external functions, no bound arguments and no coroutines.",
        "Write JSON instead.";
}
