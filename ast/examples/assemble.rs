//! Makes a callable library of JSON: `cargo run -p luisac-ast --example assemble -- IN.json OUT.bin`.
//!
//! The input is one object, callable name -> document of that callable, or a single document, the functions of which
//! have names.

use std::error::Error;
use std::process::ExitCode;

use luisac_ast::binary::{self, Layout};
use luisac_ast::builder::Builder;
use luisac_ast::json::{self, InputKind};
use luisac_ast::model::{FunctionId, Library};

fn main() -> ExitCode {
    let paths: Vec<_> = std::env::args_os().skip(1).collect();
    let [input, output] = paths.as_slice() else {
        eprintln!("usage: assemble IN.json OUT.bin");
        return ExitCode::from(2);
    };
    let made = std::fs::read(input).map_err(Into::into).and_then(|text| assembled(&text));
    match made.and_then(|bytes| Ok(std::fs::write(output, bytes)?)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("error: {e}");
            ExitCode::FAILURE
        }
    }
}

fn assembled(text: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
    let (library, named) = match serde_json::from_slice(text)? {
        serde_json::Value::Object(members) if !members.contains_key("functions") => {
            collected(&members)?
        }
        _ => {
            let library = json::read(text)?;
            let named = named(&library);
            (library, named)
        }
    };
    let named: Vec<(FunctionId, &str)> =
        named.iter().map(|(id, name)| (*id, name.as_str())).collect();
    let layout = match json::detect(text) {
        InputKind::JsonV1 => Layout::C,
        _ => Layout::B,
    };
    Ok(binary::write(&binary::assemble(library, layout, &named)?)?)
}

type Named = Vec<(FunctionId, String)>;

/// The callables of an object, each with a document of its own; equal ones are kept once.
fn collected(
    members: &serde_json::Map<String, serde_json::Value>,
) -> Result<(Library, Named), Box<dyn Error>> {
    let builder = Builder::new();
    let mut named = Named::new();
    for (name, document) in members {
        let library = json::read(&serde_json::to_vec(document)?)?;
        let entry = library.entry.ok_or_else(|| format!("`{name}` has no entry"))?;
        named.push((builder.import(&library, entry)?, name.clone()));
    }
    Ok((builder.finish()?, named))
}

/// The functions of a document that have names; its entry at least.
fn named(library: &Library) -> Named {
    let mut named: Named = library
        .functions
        .iter()
        .filter_map(|(id, function)| Some((id, function.name.clone()?)))
        .collect();
    if let Some(entry) = library.entry.filter(|_| named.is_empty()) {
        named.push((entry, "main".to_owned()));
    }
    named
}
