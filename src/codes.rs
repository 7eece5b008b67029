//! Diagnostic codes of the driver and the command line, and the table of all codes there are.

mod runtime;

use luisac_ast::diagnostic::{Code, CodeInfo};

luisac_ast::codes! {
    /// Codes of the driver and the command line.
    pub static CODES;
    UNREADABLE = 1200 "an input cannot be read", "The file or folder does not exist, or the system does not let this process read it.", "Check the path and its rights.";
    NO_INPUT = 1201 "there is nothing to compile", "A folder was given that holds no input, or the inputs hold no kernel.", "Give files that LuisaCompute serialized, or folders that hold some.";
    UNKNOWN_CONTENT = 1202 "the content is no input of luisac", "Inputs are told apart by content: a JSON AST starts with `{`, XIR text with `module` or a comment, a callable library with its own header.", "Check that the file is what LuisaCompute serialized and is complete.";
    NO_SUCH_ENTRY = 1203 "there is no such kernel", "`--entry` names a kernel that the input does not hold.", "Use one of the names that `luisac inspect` lists.";
    BAD_ARGUMENT = 1204 "an argument does not fit the kernel", "The value or file given for an argument cannot be converted to the argument's type.", "`luisac inspect` lists the arguments with their types.";
    NO_SUCH_ARGUMENT = 1205 "there is no such argument", "Arguments go by position, from 0, captured resources first, or by name where the input has names.", "`luisac inspect` lists the arguments.";
    MISSING_ARGUMENT = 1206 "an argument is missing", "Every argument of the kernel needs a value.", "Add `--arg POSITION=VALUE`.";
    CANNOT_WRITE = 1207 "a file cannot be written", "The system refused to write an output; nothing was left behind.", "Check the path, its rights and the free space.";
    BLOCK_SIZE = 1208 "the block size is out of range", "A block has 1 to 1024 threads, and at most 64 along z.", "Choose a smaller block.";
    BAD_REPORT = 1209 "a report cannot be made", "The path given to `--report` has no known ending.", "Use a path that ends in `.json`, or `-` for a table.";
    MANY_KERNELS = 1210 "one kernel is needed", "`run` takes an input with one kernel, or the name of one.", "Add `--entry NAME`.";
    OUTPUT_CLASH = 1211 "two outputs would have the same name", "Several kernels or targets would be written to the same file.", "Give a folder as `-o`, or other names to the kernels.";
    RUN_FAILED = 1212 "the run failed", "The device stopped the kernel or refused to start it.", "The message says what happened and where.";
    NO_DEVICE = 1213 "the device is not available", "This build or machine does not have the device that was asked for.", "Use `--device cpu` or `--device interp`.";
    UNKNOWN_CODE = 1214 "there is no such code", "Codes look like L0001.", "Copy the code from a diagnostic.";
    NOT_VERIFIED = 1215 "the XIR is not valid", "The verifier found that the module breaks an invariant of XIR.", "Mend the XIR text; if luisac wrote it, report a bug with the input.";
    BAD_FLAG = 1216 "a flag's value cannot be read", "The value of a flag does not have the form that the flag takes.", "`luisac help COMMAND` shows the form.";
    NO_SUCH_CALLABLE = 1217 "there is no such callable", "`--callable` names a callable that the input does not hold.", "Use one of the names that `luisac inspect` lists.";
    KERNELS_ONLY = 1218 "this is for kernels only", "A callable by itself is a function that other code calls. An archive holds kernels, `--block` and `--define` change kernels, and passes keep the signature of a callable only in a module without kernels.", "Leave the flag away, or compile a kernel that calls the callable.";
    UNKNOWN_LINT = 1219 "there is no such lint", "`-W`, `-A` and `-D` take the name of a lint, of a group of lints, `all`, or `warnings`.", "`luisac explain lints` lists them.";
    NO_TARGET = 1220 "a target is needed", "Everything but pseudo-code and XIR as lowered depends on the target.", "Add `--target T`; `luisac targets` lists what there is.";
    NOT_FAILING = 1240 "the input does not fail", "`reduce` makes an input smaller as long as it fails, so it must fail as it is.", "Check the command or the passes, and the number of threads and the seed that the interpreter uses.";
    CANNOT_START = 1241 "a command cannot be started", "The command given to `--keep` is run by the system's shell, which cannot be started.", "Check that there is a shell.";
    NOT_A_REPORT = 1242 "this is no pass report", "`luisac report` reads the JSON that `--report FILE.json` writes.", "Write the report again with this version.";
    MANIFEST = 1250 "the manifest cannot be used", "`luisac.toml` says what is baked. It has `[bake]`, or `[[bake]]` for each archive, with `kernels`, `exclude`, `targets`, `output`, `options`, `lints` and `lib`, any number of `[[permute]]` with `kernels`, `define`, `exclude` and `plain`, and of `[[override]]` with `kernels`, `options` and `targets`.", "Correct the place that the message shows.";
    NO_MANIFEST = 1251 "there is no manifest", "`luisac bake` reads `luisac.toml`, in the folder that it is given or the current one.", "Write one, or give its path.";
    CHANGED = 1252 "an input changed during the bake", "The file was read for its hash when the bake began, and was another one when it was compiled.", "Bake again.";
    CACHE = 1253 "there is trouble with the cache", "Entries are checked when they are read; a folder that cannot be read or written, a store that does not answer or a damaged entry only make a bake slower.", "Choose another cache with `--cache`, or `--cache off`.";
    BAD_CASE = 1260 "the recorded case cannot be read", "The file `NAME.expect.json` beside the kernel does not fit it, or is not of the form that `verify` reads.", "Correct or remove the file; `docs/verification.md` shows the form.";
    DIFFERS = 1261 "a device gives another result", "A kernel that ran on a device left other numbers than the interpreter, or than its recorded case says, or it stopped.", "Make the case smaller with `luisac reduce`, and report a bug with it.";
    TOO_LONG = 1230 "the kernel is too long for code generation", "After the passes, a kernel with all that it calls may have 4,194,304 instructions: LLVM takes up to two kilobytes of memory for each.", "Compile with `-O1` or more, which removes most of an unrolled kernel; or keep loops as loops where the recording program unrolls them.";
}

/// The tables of all crates.
pub fn tables() -> Vec<&'static [CodeInfo]> {
    let mut tables = luisac_ast::code_tables();
    tables.extend(luisac_xir::code_tables());
    tables.extend([luisac_passes::CODES, luisac_targets::CODES, runtime::CODES, CODES]);
    tables
}

/// Whether a code is about the command line and not about an input: such a call ends with the exit code of wrong use.
pub fn is_usage(code: Code) -> bool {
    use luisac_passes::codes::{
        FORM_MISMATCH, OPTION_VALUE, PIPELINE_SYNTAX, UNKNOWN_OPTION, UNKNOWN_PASS,
        UNKNOWN_PIPELINE,
    };
    use luisac_targets::errors::{UNKNOWN_DETAIL, UNKNOWN_TARGET};
    [
        PIPELINE_SYNTAX,
        UNKNOWN_PASS,
        UNKNOWN_PIPELINE,
        UNKNOWN_OPTION,
        OPTION_VALUE,
        FORM_MISMATCH,
        UNKNOWN_TARGET,
        UNKNOWN_DETAIL,
        BLOCK_SIZE,
        BAD_REPORT,
        UNKNOWN_CODE,
        BAD_FLAG,
        UNKNOWN_LINT,
        NO_TARGET,
    ]
    .contains(&code)
}

/// Whether a code says that a tool or library is missing, which no change of the input mends.
pub fn is_missing(code: Code) -> bool {
    use luisac_targets::errors::{BAD_DXC, NO_DXC};
    [NO_DXC, BAD_DXC].contains(&code)
}

/// What there is to say about a code.
pub fn find(code: Code) -> Option<&'static CodeInfo> {
    tables().into_iter().flatten().find(|info| info.code == code)
}
