//! The one declaration of the command line: help, completions and man pages come from it.

use clap::{Args, Parser, Subcommand, ValueEnum};
use luisac::driver::bake::plan::Shard;
use luisac_ast::lint::Level;
use std::path::PathBuf;

/// Ahead-of-time compiler for LuisaCompute kernels.
#[derive(Debug, Parser)]
#[command(name = "luisac", version, propagate_version = true, subcommand_required = true)]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Command,
}

/// How messages are shown; holds for every command.
#[derive(Debug, Args)]
pub struct Global {
    /// Form of diagnostics on standard error.
    #[arg(long, global = true, value_enum, default_value_t = MessageFormat::Human)]
    pub message_format: MessageFormat,
    /// Write diagnostics to this file too, as a SARIF 2.1.0 log for code hosts and editors.
    #[arg(long, global = true, value_name = "FILE")]
    pub sarif: Option<PathBuf>,
    /// When to use colour. NO_COLOR is respected.
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto)]
    pub color: Color,
    /// Say nothing but errors.
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// Say more.
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MessageFormat {
    /// Pictures with the source lines.
    Human,
    /// One JSON object a line.
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Color {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Compile kernels.
    Compile(CompileCommand),
    /// Compile many kernels for many targets into archives, in parallel, only what changed.
    Bake(BakeCommand),
    /// Compile for a device here and run it once.
    Run(RunCommand),
    /// Run a kernel on every device here and compare the results.
    Verify(VerifyCommand),
    /// Read and validate, emit nothing.
    Check(CheckCommand),
    /// Show what is in an input or an artifact.
    Inspect(InspectCommand),
    /// Run passes on XIR.
    Opt(OptCommand),
    /// Make an input smaller that passes or a command fail on.
    Reduce(ReduceCommand),
    /// Show pass reports.
    Report(ReportCommand),
    /// Join archives into one.
    Pack(PackCommand),
    /// Look after the cache of compiled kernels.
    Cache(CacheCommand),
    /// Explain a diagnostic code.
    Explain(ExplainCommand),
    /// List the passes and canned pipelines.
    Passes(ListCommand),
    /// List the targets.
    Targets(ListCommand),
    /// List the devices of this machine.
    Devices(ListCommand),
    /// Write a completion script.
    Completions {
        /// The shell to write it for.
        shell: clap_complete::Shell,
    },
    /// Write the manual page.
    Man,
}

/// What is read, and how the functions in it are chosen.
#[derive(Debug, Args)]
pub struct InputOptions {
    /// Files or folders; `-` is standard input. JSON ASTs, callable libraries or XIR text, told apart by content.
    #[arg(required = true, value_name = "INPUT")]
    pub inputs: Vec<PathBuf>,
    /// Take this kernel only; may be repeated.
    #[arg(long, value_name = "NAME")]
    pub entry: Vec<String>,
    /// Take this callable instead of the kernels, by its name, or by its number where it has none; may be repeated.
    #[arg(long, value_name = "NAME", conflicts_with = "entry")]
    pub callable: Vec<String>,
    #[command(flatten)]
    pub read: ReadOptions,
}

/// What belongs to an input beside its own content.
#[derive(Debug, Args)]
pub struct ReadOptions {
    /// Link the callables of this input, by name and by hash; may be repeated.
    #[arg(long, value_name = "FILE")]
    pub lib: Vec<PathBuf>,
    #[command(flatten)]
    pub lints: LintFlags,
}

/// `-W`, `-A` and `-D` in the order in which they stand: later ones win.
#[derive(Clone, Debug, Default)]
pub struct LintFlags(pub Vec<(Level, String)>);

/// Identifier, letter, level and help of each flag.
const LINT_FLAGS: [(&str, char, Level, &str); 3] = [
    ("warn", 'W', Level::Warn, "Warn of this lint or group; `luisac explain lints` lists them"),
    ("allow", 'A', Level::Allow, "Say nothing of this lint or group"),
    ("deny", 'D', Level::Deny, "Make an error of this lint or group, such as `warnings`"),
];

impl Args for LintFlags {
    fn augment_args(command: clap::Command) -> clap::Command {
        LINT_FLAGS.into_iter().fold(command, |command, (name, letter, _, help)| {
            command.arg(
                clap::Arg::new(name)
                    .short(letter)
                    .long(name)
                    .value_name("LINT")
                    .action(clap::ArgAction::Append)
                    .help(help),
            )
        })
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

impl clap::FromArgMatches for LintFlags {
    fn from_arg_matches(matches: &clap::ArgMatches) -> Result<Self, clap::Error> {
        let mut found = Vec::new();
        for (name, _, level, _) in LINT_FLAGS {
            let words = matches.get_many::<String>(name).into_iter().flatten();
            let places = matches.indices_of(name).into_iter().flatten();
            found.extend(places.zip(words).map(|(place, word)| (place, level, word.clone())));
        }
        found.sort_by_key(|(place, ..)| *place);
        Ok(Self(found.into_iter().map(|(_, level, word)| (level, word)).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &clap::ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// How a kernel is compiled.
#[derive(Clone, Debug, Args)]
pub struct CodeOptions {
    /// Optimisation level, 0 to 3.
    #[arg(short = 'O', value_name = "LEVEL", default_value_t = 2, value_parser = clap::value_parser!(u8).range(0..=3))]
    pub opt_level: u8,
    /// Pipeline that replaces the canned one: `a,b,fix(c,d;max=8),e{option=value}`.
    #[arg(long, value_name = "PIPELINE")]
    pub passes: Option<String>,
    /// Floating-point rules: `precise` keeps every bit, `fast` is within stated bounds.
    #[arg(long, value_enum, default_value_t = MathOption::Fast)]
    pub math: MathOption,
    /// What an index out of range does.
    #[arg(long, value_enum, default_value_t = BoundsOption::Off)]
    pub bounds: BoundsOption,
    /// Line information, in terms of the pseudo-code that `--emit ast` writes; it is written too.
    #[arg(short = 'g')]
    pub debug_info: bool,
    /// Block size instead of the kernel's own.
    #[arg(long, value_name = "X,Y,Z", value_parser = parse_size)]
    pub block: Option<[u32; 3]>,
    /// Specialise a uniform argument, by position or name; may be repeated.
    #[arg(long, value_name = "ARG=VALUE")]
    pub define: Vec<String>,
    /// Verify the module after every pass.
    #[arg(long)]
    pub verify_each: bool,
    /// Print the XIR after this pass, or after `all`, on standard error.
    #[arg(long, value_name = "PASS")]
    pub print_after: Option<String>,
    /// Print what each pass took on standard error.
    #[arg(long)]
    pub time_passes: bool,
    /// Stop transforming after this many changes.
    #[arg(long, value_name = "N")]
    pub fuel: Option<u64>,
    /// Write a report of all passes: `.json`, `.html` (a page to look at), or `-` for a table on standard error.
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Write what the passes start from, with the command that repeats them.
    #[arg(long, value_name = "FILE")]
    pub repro: Option<PathBuf>,
    /// The library of DXC, or its folder, for the target `dxil`; LUISAC_DXC and the usual places without.
    #[arg(long, value_name = "PATH")]
    pub dxc: Option<PathBuf>,
}

impl CodeOptions {
    /// The flags that look at the passes while they run.
    pub fn watch(&self) -> super::watch::Flags<'_> {
        super::watch::Flags {
            print_after: self.print_after.as_deref(),
            time_passes: self.time_passes,
            report: self.report.as_deref(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MathOption {
    Fast,
    Precise,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BoundsOption {
    Off,
    Clamp,
    Trap,
}

#[derive(Debug, Args)]
pub struct CompileCommand {
    #[command(flatten)]
    pub input: InputOptions,
    /// Targets, such as `ptx:sm_90` or `cpu:x86-64-v3`; needed for all but `--emit ast,xir`.
    #[arg(long, required_unless_present = "emit", value_name = "T", value_delimiter = ',')]
    pub target: Vec<String>,
    /// A file if there is one output, a folder otherwise, `-` for standard output.
    #[arg(short, long, value_name = "PATH")]
    pub output: Option<PathBuf>,
    /// Further files on the way.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "KIND")]
    pub emit: Vec<Emit>,
    #[command(flatten)]
    pub code: CodeOptions,
    /// Take kernels from this folder if they were compiled before, and keep them there; or `off`.
    #[arg(long, value_name = "DIR|URL|off", default_value = "off")]
    pub cache: String,
    /// Write the inputs each output depends on, in make syntax.
    #[arg(long, value_name = "FILE")]
    pub dep_file: Option<PathBuf>,
    /// Number of threads; 0 for all cores.
    #[arg(short, long, value_name = "N", default_value_t = 0)]
    pub jobs: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Emit {
    /// The input as pseudo-code.
    Ast,
    /// XIR as lowered.
    Xir,
    /// XIR after the pipeline.
    XirOpt,
    /// The module after the pipeline as an AST in JSON.
    AstOpt,
    /// LLVM IR.
    LlvmIr,
    /// Assembly.
    Asm,
    /// SPIR-V as text.
    SpirvAsm,
    /// HLSL, where the target is made from it.
    Hlsl,
    /// The artifact itself, the default.
    Artifact,
}

impl Emit {
    /// What the emitter of a target makes.
    pub fn is_code(self) -> bool {
        matches!(self, Emit::LlvmIr | Emit::Asm | Emit::SpirvAsm | Emit::Hlsl | Emit::Artifact)
    }
}

#[derive(Debug, Args)]
pub struct BakeCommand {
    /// The manifest, or the folder that it lies in.
    #[arg(value_name = "MANIFEST|DIR", default_value = ".")]
    pub path: PathBuf,
    /// Fail if anything is out of date, and write nothing.
    #[arg(long, conflicts_with_all = ["watch", "dry_run", "emit"])]
    pub check: bool,
    /// Say what would be compiled, and write nothing.
    #[arg(long, conflicts_with_all = ["watch", "emit"])]
    pub dry_run: bool,
    /// Bake again whenever something changes.
    #[arg(long, conflicts_with = "emit")]
    pub watch: bool,
    /// Take a part of the work that does not depend on what else there is; the archive is `NAME.I-of-N.luisa`.
    #[arg(long, value_name = "I/N", value_parser = crate::cli::bake::parse_shard)]
    pub shard: Option<Shard>,
    /// Write a build file instead of building.
    #[arg(long, value_enum, value_name = "KIND")]
    pub emit: Option<BakeEmit>,
    /// Where the build file goes; `build.ninja` beside the manifest by default, `-` is standard output.
    #[arg(short, long, value_name = "FILE", requires = "emit")]
    pub output: Option<PathBuf>,
    /// Write what the archives depend on, in make syntax.
    #[arg(long, value_name = "FILE")]
    pub dep_file: Option<PathBuf>,
    /// Number of threads; 0 for all cores.
    #[arg(short, long, value_name = "N", default_value_t = 0)]
    pub jobs: usize,
    /// At most so many jobs of a target at once; may be repeated.
    #[arg(long, value_name = "TARGET=N")]
    pub target_jobs: Vec<String>,
    /// Where compiled kernels are kept: a folder, the address of a remote store, or `off`.
    #[arg(long, value_name = "DIR|URL|off")]
    pub cache: Option<String>,
    #[command(flatten)]
    pub lints: LintFlags,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BakeEmit {
    /// A file for Ninja, a step a kernel and target.
    Ninja,
}

#[derive(Debug, Args)]
pub struct PackCommand {
    /// Where the archive goes.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// The archives to join; `@FILE` is a list of them, one a line.
    #[arg(required = true, value_name = "ARCHIVE")]
    pub parts: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub struct CacheCommand {
    #[command(subcommand)]
    pub action: CacheAction,
    /// The folder; the user's own by default.
    #[arg(long, global = true, value_name = "DIR")]
    pub cache: Option<String>,
}

#[derive(Clone, Debug, Subcommand)]
pub enum CacheAction {
    /// Number of entries and their size.
    Stats {
        /// JSON instead of a table.
        #[arg(long)]
        json: bool,
    },
    /// Remove the least recently used entries.
    Gc {
        /// Bytes that may stay, such as `500M` or `2G`.
        #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
        limit: Option<u64>,
    },
    /// Read every entry and remove those that are damaged.
    Verify {
        /// JSON instead of a table.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
pub struct RunCommand {
    /// The kernel's file; `-` is standard input.
    #[arg(value_name = "INPUT")]
    pub input: PathBuf,
    /// Take this kernel.
    #[arg(long, value_name = "NAME")]
    pub entry: Option<String>,
    #[command(flatten)]
    pub read: ReadOptions,
    /// Number of threads on each axis.
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = parse_dispatch)]
    pub dispatch: [u32; 3],
    /// An argument by position or name: a value, or a file, `zeros:N`, `iota:N`, `random:N:SEED`; may be repeated.
    #[arg(long, value_name = "ARG=VALUE")]
    pub arg: Vec<String>,
    /// Write an argument back after the run: `.npy`, `.png`, `.exr`, or `-` for text; may be repeated.
    #[arg(long, value_name = "ARG=FILE")]
    pub out: Vec<String>,
    /// Where to run.
    #[arg(long, value_enum, default_value_t = DeviceOption::Cpu)]
    pub device: DeviceOption,
    /// What the device is given, with a detail where needed; only `vulkan` has a choice: `spirv` or `wgsl`.
    #[arg(long, value_name = "T")]
    pub target: Option<String>,
    /// Wave width of the interpreter.
    #[arg(long, value_name = "LANES", default_value_t = 8)]
    pub wave: u32,
    /// Print compile, first and median run time.
    #[arg(long)]
    pub time: bool,
    #[command(flatten)]
    pub code: CodeOptions,
}

#[derive(Debug, Args)]
pub struct VerifyCommand {
    /// The kernel's file; `-` is standard input. If `NAME.expect.json` lies beside `NAME.json`, its arguments and results are taken.
    #[arg(value_name = "INPUT")]
    pub input: PathBuf,
    /// Take this kernel.
    #[arg(long, value_name = "NAME")]
    pub entry: Option<String>,
    #[command(flatten)]
    pub read: ReadOptions,
    /// Targets to run, such as `cpu,spirv`; by default all that this build has and a device here runs.
    #[arg(long, value_name = "T", value_delimiter = ',')]
    pub targets: Vec<String>,
    /// Number of threads on each axis; a few blocks by default.
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = parse_dispatch)]
    pub dispatch: Option<[u32; 3]>,
    /// An argument as `run` takes it; those that are not given are made from the seed.
    #[arg(long, value_name = "ARG=VALUE")]
    pub arg: Vec<String>,
    /// What arguments are made from.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Relative difference that floats may have; by default 0 under `--math precise` and 0.001 under `--math fast`.
    #[arg(long, value_name = "X")]
    pub tolerance: Option<f64>,
    /// Wave width of the interpreter.
    #[arg(long, value_name = "LANES", default_value_t = 8)]
    pub wave: u32,
    /// JSON instead of a table.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub code: CodeOptions,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DeviceOption {
    /// This machine's processor.
    Cpu,
    /// The XIR interpreter.
    Interp,
    /// NVIDIA GPUs.
    Cuda,
    /// The first Vulkan device.
    Vulkan,
    /// The first Vulkan device, through wgpu (only with the feature `wgpu`, as the next two).
    Wgpu,
    /// The first device of Direct3D 12.
    Dx12,
    /// The first device of Metal.
    Metal,
}

impl DeviceOption {
    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Interp => "interp",
            Self::Cuda => "cuda",
            Self::Vulkan => "vulkan",
            Self::Wgpu => "wgpu",
            Self::Dx12 => "dx12",
            Self::Metal => "metal",
        }
    }
}

#[derive(Debug, Args)]
pub struct CheckCommand {
    #[command(flatten)]
    pub input: InputOptions,
}

#[derive(Debug, Args)]
pub struct InspectCommand {
    /// An input, an artifact's metadata or an archive.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// A second archive, to compare with.
    #[arg(value_name = "OTHER")]
    pub other: Option<PathBuf>,
    /// JSON instead of a table.
    #[arg(long)]
    pub json: bool,
    /// Assemble all PTX of an archive for registers and spills, however many kernels there are; needs `ptxas`.
    #[arg(long)]
    pub registers: bool,
    #[command(flatten)]
    pub read: ReadOptions,
}

#[derive(Debug, Args)]
pub struct OptCommand {
    /// XIR text or any other input; `-` is standard input.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Where the XIR goes; standard output by default. A name that ends in `.json` gets the module as an AST.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Take this callable instead of the kernels; may be repeated.
    #[arg(long, value_name = "NAME")]
    pub callable: Vec<String>,
    #[command(flatten)]
    pub read: ReadOptions,
    #[command(flatten)]
    pub pipeline: OptPipeline,
}

/// The pipeline of `opt`; none by default.
#[derive(Debug, Args)]
pub struct OptPipeline {
    /// The passes: `a,b,fix(c,d;max=8),e{option=value}`.
    #[arg(long, value_name = "PIPELINE")]
    pub passes: Option<String>,
    /// Verify the module after every pass.
    #[arg(long)]
    pub verify_each: bool,
    /// Print the XIR after this pass, or after `all`, on standard error.
    #[arg(long, value_name = "PASS")]
    pub print_after: Option<String>,
    /// Print what each pass took on standard error.
    #[arg(long)]
    pub time_passes: bool,
    /// Stop transforming after this many changes.
    #[arg(long, value_name = "N")]
    pub fuel: Option<u64>,
    /// Write a report of all passes: `.json`, `.html` (a page to look at), or `-` for a table on standard error.
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Write what the passes start from, with the command that repeats them.
    #[arg(long, value_name = "FILE")]
    pub repro: Option<PathBuf>,
}

impl OptPipeline {
    /// The flags that look at the passes while they run.
    pub fn watch(&self) -> super::watch::Flags<'_> {
        super::watch::Flags {
            print_after: self.print_after.as_deref(),
            time_passes: self.time_passes,
            report: self.report.as_deref(),
        }
    }
}

#[derive(Debug, Args)]
pub struct ReduceCommand {
    /// The input; `-` is standard input.
    #[arg(value_name = "INPUT")]
    pub input: PathBuf,
    /// Keep what this command fails on: run by the shell with the file in place of `{}`, or at the end. Without it, what the
    /// passes compute wrongly is kept, by the interpreter.
    #[arg(long, value_name = "CMD")]
    pub keep: Option<String>,
    /// The passes, which are reduced too; a command finds them in LUISAC_PASSES.
    #[arg(long, value_name = "PIPELINE", default_value = "@O2-flat-scalar")]
    pub passes: String,
    /// Where the XIR goes; standard output by default. A name that ends in `.json` gets the module as an AST.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// At most so many candidates are tried.
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub tests: u64,
    /// Number of threads on each axis, for the interpreter.
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = parse_dispatch, default_value = "64")]
    pub dispatch: [u32; 3],
    /// What the arguments are made from, for the interpreter.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    #[command(flatten)]
    pub read: ReadOptions,
}

#[derive(Debug, Args)]
pub struct ReportCommand {
    #[command(subcommand)]
    pub action: ReportAction,
}

#[derive(Debug, Subcommand)]
pub enum ReportAction {
    /// Show a report as a table.
    Show {
        /// A report that `--report FILE.json` wrote.
        #[arg(value_name = "REPORT")]
        report: PathBuf,
        /// JSON instead of a table.
        #[arg(long)]
        json: bool,
    },
    /// Write a report as a page of HTML that needs nothing else.
    Html {
        /// A report that `--report FILE.json` wrote.
        #[arg(value_name = "REPORT")]
        report: PathBuf,
        /// The page; `-` for standard output.
        #[arg(short, long, value_name = "FILE", default_value = "report.html")]
        output: PathBuf,
    },
    /// Show what differs between two reports.
    Diff {
        /// The first report.
        #[arg(value_name = "FIRST")]
        first: PathBuf,
        /// The second report.
        #[arg(value_name = "SECOND")]
        second: PathBuf,
        /// JSON instead of a table.
        #[arg(long, conflicts_with = "html")]
        json: bool,
        /// Write a page that shows both side by side.
        #[arg(long, value_name = "FILE")]
        html: Option<PathBuf>,
    },
}

#[derive(Debug, Args)]
pub struct ExplainCommand {
    /// A code such as `L0123`, the name of a lint, or `lints` for a list of them.
    pub code: String,
}

#[derive(Debug, Args)]
pub struct ListCommand {
    /// JSON instead of a table.
    #[arg(long)]
    pub json: bool,
}

/// Reads `500M`.
fn parse_bytes(text: &str) -> Result<u64, String> {
    let (digits, shift) = match text.trim_end_matches(['B', 'b']) {
        t if t.ends_with(['K', 'k']) => (&t[..t.len() - 1], 10),
        t if t.ends_with(['M', 'm']) => (&t[..t.len() - 1], 20),
        t if t.ends_with(['G', 'g']) => (&t[..t.len() - 1], 30),
        t => (t, 0),
    };
    let number: Option<u64> = digits.parse().ok();
    number
        .and_then(|n| n.checked_mul(1 << shift))
        .ok_or_else(|| "a number of bytes is needed, such as 500M or 2G".into())
}

fn numbers(text: &str) -> Result<Vec<u32>, String> {
    text.split(',')
        .map(|part| part.trim().parse().map_err(|_| format!("`{part}` is not a number below 2^32")))
        .collect()
}

fn parse_size(text: &str) -> Result<[u32; 3], String> {
    match numbers(text)?.as_slice() {
        &[x, y, z] => Ok([x, y, z]),
        _ => Err("three numbers are needed: X,Y,Z".into()),
    }
}

fn parse_dispatch(text: &str) -> Result<[u32; 3], String> {
    match numbers(text)?.as_slice() {
        [x] => Ok([*x, 1, 1]),
        [x, y] => Ok([*x, *y, 1]),
        [x, y, z] => Ok([*x, *y, *z]),
        _ => Err("one to three numbers are needed: X[,Y[,Z]]".into()),
    }
}
