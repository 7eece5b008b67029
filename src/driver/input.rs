//! Inputs: files, folders and standard input, told apart by content.

use crate::codes;
use luisac_ast::diagnostic::{Diagnostic, Diagnostics};
use luisac_ast::model::{FunctionId, FunctionTag, StmtId};
use luisac_ast::{Library, Place, json};
use luisac_xir::{Module, SourceLoc, verify};
use memmap2::Mmap;
use std::cell::Cell;
use std::io::Read;
use std::ops::Deref;
use std::path::{Path, PathBuf};

/// Files from this size on are mapped instead of read.
const MAP_FROM: u64 = 16 << 20;

enum Bytes {
    Owned(Vec<u8>),
    Mapped(Mmap),
}

impl Bytes {
    /// Gives the pages of a part of the content back to the system; they are read from the file again if they are needed.
    /// So a mapped file, which counts as memory of the process, is never resident as a whole.
    fn let_go(&self, part: std::ops::Range<usize>) {
        #[cfg(unix)]
        if let Bytes::Mapped(map) = self
            && part.end > part.start
        {
            // SAFETY: the mapping is of a file and is never written, so a page that is read again is the same.
            // Advice that the system does not take is no error.
            let _ = unsafe {
                map.unchecked_advise_range(
                    memmap2::UncheckedAdvice::DontNeed,
                    part.start,
                    part.end - part.start,
                )
            };
        }
    }
}

impl Deref for Bytes {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match self {
            Bytes::Owned(bytes) => bytes,
            Bytes::Mapped(map) => map,
        }
    }
}

/// One input with its content.
pub struct Input {
    /// As the user named it; `<stdin>` for `-`.
    pub name: String,
    /// The name of a kernel that has none.
    pub stem: String,
    bytes: Bytes,
}

impl Input {
    /// Reads a file, or standard input for `-`.
    ///
    /// # Errors
    /// `L1200`.
    pub fn read(path: &Path) -> Result<Input, Diagnostic> {
        if path == Path::new("-") {
            let mut bytes = Vec::new();
            std::io::stdin().lock().read_to_end(&mut bytes).map_err(|e| unreadable(path, &e))?;
            return Ok(Input {
                name: "<stdin>".into(),
                stem: "kernel".into(),
                bytes: Bytes::Owned(bytes),
            });
        }
        let bytes = read_file(path).map_err(|e| unreadable(path, &e))?;
        let stem =
            path.file_stem().map_or_else(|| "kernel".into(), |s| s.to_string_lossy().into_owned());
        Ok(Input { name: path.display().to_string(), stem, bytes })
    }

    /// An input that is in memory already.
    pub fn from_bytes(name: impl Into<String>, bytes: Vec<u8>) -> Input {
        let name = name.into();
        let stem = Path::new(&name)
            .file_stem()
            .map_or_else(|| name.clone(), |s| s.to_string_lossy().into_owned());
        Input { name, stem, bytes: Bytes::Owned(bytes) }
    }

    /// The content.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Reads the AST, and gives what has no name the name of the file: kernels, and a callable that the file is about.
    pub(super) fn syntax_tree(&self) -> Result<Library, Diagnostics> {
        if matches!(self.kind(), json::InputKind::XirText | json::InputKind::Unknown) {
            return Err(self.unknown_content().into());
        }
        let kept = Cell::new(0);
        let let_go = |end| self.bytes.let_go(kept.replace(end)..end);
        let mut library = luisac_ast::read_with(&self.bytes, &let_go)?;
        let_go(self.bytes.len());
        self.give_names(&mut library);
        Ok(library)
    }

    /// The JSON pointer of the statement that an instruction comes from.
    pub fn pointer_of(&self, loc: SourceLoc) -> Option<String> {
        let is_json =
            matches!(json::detect(self.bytes()), json::InputKind::JsonD0 | json::InputKind::JsonV1);
        if loc == SourceLoc::NONE || !is_json {
            return None;
        }
        let library = json::read(self.bytes()).ok()?;
        let place =
            Place::stmt(FunctionId::from_u32(loc.function), StmtId::from_u32(loc.statement));
        Some(luisac_ast::locate(&library, place))
    }

    pub(super) fn give_names(&self, library: &mut Library) {
        let entry = library.entry;
        for (id, function) in library.functions.iter_mut() {
            let is_meant = function.tag == FunctionTag::Kernel || entry == Some(id);
            if is_meant && function.name.as_deref().is_none_or(str::is_empty) {
                function.name = Some(self.stem.clone());
            }
        }
    }

    /// What the content looks like.
    pub fn kind(&self) -> json::InputKind {
        json::detect(self.bytes())
    }

    pub(super) fn unknown_content(&self) -> Diagnostic {
        let message = if self.bytes().is_empty() {
            "the input is empty".to_owned()
        } else if self.kind() == json::InputKind::XirText {
            "a syntax tree is needed, and this is XIR text".to_owned()
        } else if self.bytes().starts_with(b"\xff\xfe") || self.bytes().starts_with(b"\xfe\xff") {
            "the content is UTF-16, and inputs are UTF-8".to_owned()
        } else {
            "the content is neither a JSON AST, nor a callable library, nor XIR text".to_owned()
        };
        Diagnostic::error(codes::UNKNOWN_CONTENT, message)
            .with_help("give a file that LuisaCompute's serializer wrote, or XIR text")
            .at_offset(0)
    }
}

/// The verifier's findings as diagnostics.
///
/// # Errors
/// `L1215`, once for each broken invariant.
pub fn verified(module: &Module) -> Result<(), Diagnostics> {
    verify::verify(module).map_err(|errors| {
        Diagnostics(
            errors
                .into_iter()
                .map(|e| Diagnostic::error(codes::NOT_VERIFIED, e.to_string()))
                .collect(),
        )
    })
}

fn read_file(path: &Path) -> std::io::Result<Bytes> {
    let mut file = std::fs::File::open(path)?;
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        return Err(std::io::Error::from(std::io::ErrorKind::IsADirectory));
    }
    if metadata.is_file() && metadata.len() >= MAP_FROM {
        // SAFETY: the mapping is only read. If another process shortens the file meanwhile, the system ends this one by a signal;
        // nothing else can come of it, and copying the file would double the memory that a large input needs.
        return Ok(Bytes::Mapped(unsafe { Mmap::map(&file)? }));
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(Bytes::Owned(bytes))
}

fn unreadable(path: &Path, error: &std::io::Error) -> Diagnostic {
    Diagnostic::error(codes::UNREADABLE, format!("cannot read `{}`: {error}", path.display()))
}

/// The files that the paths name: folders are all inputs under them, in name order.
///
/// # Errors
/// `L1200` for a folder that cannot be read, `L1201` for one without inputs.
pub fn expand(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Diagnostic> {
    let mut files = Vec::new();
    for path in paths {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let before = files.len();
        let mut pending = vec![path.clone()];
        while let Some(folder) = pending.pop() {
            let entries = std::fs::read_dir(&folder).map_err(|e| unreadable(&folder, &e))?;
            for entry in entries {
                let entry = entry.map_err(|e| unreadable(&folder, &e))?;
                let kind = entry.file_type().map_err(|e| unreadable(&entry.path(), &e))?;
                if kind.is_dir() {
                    pending.push(entry.path());
                } else if is_input(&entry.path()) {
                    files.push(entry.path());
                }
            }
        }
        files[before..].sort();
        if files.len() == before {
            let message = format!("the folder `{}` holds no input", path.display());
            return Err(Diagnostic::error(codes::NO_INPUT, message));
        }
    }
    Ok(files)
}

/// Whether a file of a folder is an input: by content, read as little as that takes. A document of another kind, such as the
/// metadata that lies beside an artifact, is none.
fn is_input(path: &Path) -> bool {
    let Ok(file) = std::fs::File::open(path) else { return false };
    let mut head = Vec::new();
    if file.take(4096).read_to_end(&mut head).is_err() {
        return false;
    }
    starts_like_input(&head)
}

/// Whether a content is that of an input, by its first bytes.
pub(super) fn starts_like_input(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(4096)];
    match json::detect(head) {
        json::InputKind::Unknown => false,
        json::InputKind::JsonD0 | json::InputKind::JsonV1 => starts_like_ast(head),
        json::InputKind::BinaryLibrary | json::InputKind::XirText => true,
    }
}

/// Whether the first member of a document is one that an AST has.
fn starts_like_ast(head: &[u8]) -> bool {
    const MEMBERS: [&str; 7] =
        ["types", "functions", "entry", "constants", "external_functions", "version", "root"];
    let text = String::from_utf8_lossy(head);
    let mut strings = text.split('"').skip(1).step_by(2);
    match strings.next() {
        Some("schema") => strings.next() == Some("luisa.compute.ast"),
        Some(member) => MEMBERS.contains(&member),
        None => false,
    }
}
