//! Callable libraries made of JSON: what they hold is what LuisaCompute stored of the same callables.

#[path = "support/dump.rs"]
mod dump;
mod support;

use dump::dumps;
use luisac_ast::binary::{self, CallableLibrary, Layout};
use luisac_ast::builder::Builder;
use luisac_ast::check::check;
use luisac_ast::model::{Function, FunctionId};
use luisac_ast::testing::{self, Form, Options};
use luisac_ast::types::TypeId;
use luisac_ast::{hash, json};

/// The callables of a JSON object by name, through one builder, which keeps equal ones once.
fn assembled(text: &[u8], layout: Layout) -> CallableLibrary {
    let modules: serde_json::Map<String, serde_json::Value> =
        serde_json::from_slice(text).expect("is JSON");
    let builder = Builder::new();
    let mut named = Vec::new();
    for (name, module) in &modules {
        let module = serde_json::to_vec(module).expect("can be written");
        let library = json::read(&module).unwrap_or_else(|e| panic!("{name}: {e}"));
        let entry = library.entry.expect("there is an entry");
        named.push((builder.import(&library, entry).expect("is there"), name.as_str()));
    }
    binary::assemble(builder.finish().expect("is right"), layout, &named)
        .unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn libraries_are_made_of_json() {
    let Some(corpus) = support::corpus() else { return };
    let folder = std::fs::read_dir(corpus.join("callable-libraries")).expect("can be read");
    let mut count = 0;
    for path in
        folder.flatten().map(|e| e.path()).filter(|p| p.extension().is_some_and(|e| e == "bin"))
    {
        // One is there that lacks a callable.
        let Ok(stored) = binary::read(&std::fs::read(&path).expect("can be read")) else {
            continue;
        };
        let text = std::fs::read(path.with_extension("json")).expect("can be read");
        for layout in [Layout::B, Layout::C] {
            let bytes = binary::write(&assembled(&text, layout)).unwrap_or_else(|e| panic!("{e}"));
            let again = binary::read(&bytes).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            assert_eq!(again.layout, layout);
            assert_eq!(again.named.len(), stored.named.len(), "{}", path.display());
            for id in &again.named {
                compare(&again, *id, &stored);
            }
        }
        count += 1;
    }
    assert!(count >= 15);
}

/// A function of `ours` against the one of the same name in `theirs`: content, and what the record says about it.
fn compare(ours: &CallableLibrary, id: FunctionId, theirs: &CallableLibrary) {
    let record = &ours.records[id];
    let name = &record.names[0];
    let other = theirs.named.iter().find(|id| theirs.records[**id].names.contains(name));
    let other = *other.unwrap_or_else(|| panic!("`{name}` is missing"));
    let text = |file: &CallableLibrary, id: FunctionId| {
        dumps(&file.library).swap_remove(id.as_u32() as usize)
    };
    assert_eq!(text(ours, id), text(theirs, other), "{name}");
    let hash = |file: &CallableLibrary, id: FunctionId| hash::functions(&file.library)[id].function;
    assert_eq!(hash(ours, id), hash(theirs, other), "{name}: structural hashes");
    let stored = &theirs.records[other];
    if ours.layout == theirs.layout {
        assert_eq!(record.direct_ops, stored.direct_ops, "{name}: operations");
        assert_eq!(record.all_ops, stored.all_ops, "{name}: operations of callees too");
    }
    assert_eq!(record.float_atomics, stored.float_atomics, "{name}: float atomics");
    assert_eq!(record.printing, stored.printing, "{name}: printing");
    assert_eq!(record.callees.len(), stored.callees.len(), "{name}: callees");
    let usages = |file: &CallableLibrary, id: FunctionId| {
        let function: &Function = &file.library.functions[id];
        function.arguments.iter().map(|a| function.variables[*a].usage).collect::<Vec<_>>()
    };
    assert_eq!(usages(ours, id), usages(theirs, other), "{name}: usages");
}

#[test]
fn equal_functions_are_stored_once_and_the_rest_is_refused() {
    let builder = Builder::new();
    let make = |name, body: &dyn Fn(&luisac_ast::builder::FunctionBuilder<'_>)| {
        builder.id(builder.callable(name, |f| body(f)).expect("is right")).expect("was built")
    };
    let one = make("one", &|f| f.return_value(f.argument(TypeId::F32) + 1.0f32));
    let two = make("two", &|f| f.return_value(f.argument(TypeId::F32) + 1.0f32));
    let text = make("text", &|f| f.return_value(f.string_id("text")));
    let later = make("later", &|f| {
        f.return_value(f.call_as(TypeId::F32, luisac_ast::CallOp::Undefined, &[]))
    });
    let library = builder.finish().expect("is right");
    let file =
        binary::assemble(library.clone(), Layout::B, &[(one, "one"), (two, "two")]).expect("fits");
    assert_eq!(file.named, [one, one]);
    let again = binary::read(&binary::write(&file).expect("fits")).expect("reads");
    assert_eq!((again.library.functions.len(), again.named.len()), (1, 2));
    for (id, layout, fits) in
        [(text, Layout::B, false), (later, Layout::B, false), (later, Layout::C, true)]
    {
        let file = binary::assemble(library.clone(), layout, &[(id, "f")]);
        assert_eq!(file.and_then(|file| binary::write(&file)).is_ok(), fits, "{id}");
    }
}

#[test]
fn random_functions_are_copied_and_stored_as_they_are() {
    for (form, layout) in [(Form::BinaryB, Layout::B), (Form::BinaryC, Layout::C)] {
        for seed in 0..40 {
            let options = Options { seed, size: 1 + seed as usize, form };
            let library = testing::library(&options);
            let hashes = hash::functions(&library);
            // Into another library, one by one, from the last on.
            let builder = Builder::new();
            let ids: Vec<FunctionId> = library.functions.keys().collect();
            let copies: Vec<FunctionId> = ids
                .iter()
                .rev()
                .map(|id| {
                    builder.import(&library, *id).unwrap_or_else(|e| panic!("{options:?}: {e}"))
                })
                .collect();
            let copy = builder.finish().expect("is right");
            assert!(!check(&copy).has_errors(), "{options:?}: {}", check(&copy));
            let copied = hash::functions(&copy);
            for (id, copy) in ids.iter().rev().zip(&copies) {
                assert_eq!(copied[*copy].function, hashes[*id].function, "{options:?}: {id}");
            }
            // Into a file, and back.
            let names: Vec<String> = ids.iter().map(|id| format!("f{}", id.as_u32())).collect();
            let named: Vec<_> =
                ids.iter().zip(&names).map(|(id, name)| (*id, name.as_str())).collect();
            let file = binary::assemble(library.clone(), layout, &named)
                .unwrap_or_else(|e| panic!("{options:?}: {e}"));
            let bytes = binary::write(&file).unwrap_or_else(|e| panic!("{options:?}: {e}"));
            let again = binary::read(&bytes).unwrap_or_else(|e| panic!("{options:?}: {e}"));
            let read = hash::functions(&again.library);
            for id in &again.named {
                for name in &again.records[*id].names {
                    let position = names.iter().position(|n| n == name).expect("is a name");
                    let original = &hashes[ids[position]];
                    assert_eq!(again.records[*id].hash, original.function, "{options:?}: {name}");
                    assert_eq!(read[*id].function, original.function, "{options:?}: {name}");
                }
            }
        }
    }
}
