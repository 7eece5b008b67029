//! Metal source as C++: shared variables become static, functions that differ in address spaces only are kept once, and a
//! function calls the kernel with what its parameters name.

use std::collections::BTreeSet;
use std::fmt::Write;

/// The source with what calls it. `entry` is the kernel's name.
pub fn as_cpp(metal: &str, entry: &str) -> Result<String, String> {
    let call = call(&parameters(metal, entry)?, entry)?;
    let text = swizzled_once(&counted_loops(&without_doubles(&shared_variables(metal))));
    Ok(format!(
        "{text}\n#include \"call.h\"\n\nextern \"C\" void metal_thread(const metal_job *job) {{\n{call}}}\n"
    ))
}

/// The parameters between the parentheses after a kernel's name.
fn parameters<'a>(metal: &'a str, entry: &str) -> Result<Vec<&'a str>, String> {
    let head = format!("{entry}(");
    let start = metal.rfind(&head).ok_or_else(|| format!("no kernel `{entry}`"))? + head.len();
    let (mut depth, mut from, mut found) = (0, start, Vec::new());
    for (i, c) in metal[start..].char_indices() {
        match c {
            '(' | '[' | '<' | '{' => depth += 1,
            ')' if depth == 0 => {
                found.push(metal[from..start + i].trim());
                return Ok(found.into_iter().filter(|p| !p.is_empty()).collect());
            }
            ')' | ']' | '>' | '}' => depth -= 1,
            ',' if depth == 0 => {
                found.push(metal[from..start + i].trim());
                from = start + i + 1;
            }
            _ => {}
        }
    }
    Err("the kernel's parameters do not end".into())
}

fn call(parameters: &[&str], entry: &str) -> Result<String, String> {
    let arguments: Result<Vec<String>, String> = parameters.iter().map(|p| argument(p)).collect();
    let mut text = String::new();
    let _ = writeln!(text, "  metal_call(&{entry}, {});", arguments?.join(", "));
    Ok(text)
}

/// What the attribute of a parameter stands for.
fn argument(parameter: &str) -> Result<String, String> {
    let attribute = parameter
        .rfind("[[")
        .and_then(|i| parameter[i + 2..].split("]]").next())
        .ok_or_else(|| format!("no attribute in `{parameter}`"))?
        .trim();
    if let Some((name, index)) = attribute.split_once('(') {
        let index: u32 = index.trim_end_matches(')').trim().parse().map_err(|_| "no index")?;
        return match name {
            "buffer" => Ok(format!("metal_bound{{job->buffers[{index}]}}")),
            "texture" => Ok(format!("metal_seen{{job->images[{index}]}}")),
            _ => Err(format!("an attribute `{attribute}`")),
        };
    }
    let source = match attribute {
        "thread_position_in_grid" => "job->position",
        "thread_position_in_threadgroup" => "job->in_block",
        "threadgroup_position_in_grid" => "job->block",
        "threads_per_threadgroup" | "dispatch_threads_per_threadgroup" => "job->block_size",
        "threadgroups_per_grid" => "job->blocks",
        "thread_index_in_threadgroup" => "job->index",
        "thread_index_in_simdgroup" => "job->lane",
        "simdgroup_index_in_threadgroup" => "job->simdgroup",
        "threads_per_simdgroup" | "thread_execution_width" => "32u",
        other => return Err(format!("an attribute `{other}`")),
    };
    Ok(source.into())
}

/// Declarations of variables in `threadgroup` memory, which are the statements that start with the word, become static.
fn shared_variables(metal: &str) -> String {
    const WORD: &str = "threadgroup ";
    let mut text = String::with_capacity(metal.len());
    let mut depth = 0;
    for line in metal.split_inclusive('\n') {
        let start = line.len() - line.trim_start().len();
        match line[start..].strip_prefix(WORD) {
            Some(rest) if depth == 0 && line.contains(';') => {
                text.push_str(&line[..start]);
                text.push_str("static ");
                text.push_str(rest);
            }
            _ => text.push_str(line),
        }
        let code = line.split("//").next().unwrap_or_default();
        depth += code.matches('(').count() as i32 - code.matches(')').count() as i32;
    }
    text
}

/// Loops count their rounds, so that lanes in different rounds are told apart.
fn counted_loops(metal: &str) -> String {
    let mut text = String::with_capacity(metal.len());
    for line in metal.split_inclusive('\n') {
        let start = line.len() - line.trim_start().len();
        let condition =
            line[start..].strip_prefix("while (").and_then(|l| l.trim_end().strip_suffix(") {"));
        match condition {
            Some(condition) => {
                let _ = writeln!(
                    text,
                    "{}for (metal_loop metal_rounds; {condition}; metal_rounds.next()) {{",
                    &line[..start]
                );
            }
            None => text.push_str(line),
        }
    }
    text
}

/// A swizzle of a swizzle as one: `v.zyx.xy` is `v.zy`. Our swizzles have no components.
fn swizzled_once(metal: &str) -> String {
    let mut text = String::with_capacity(metal.len());
    for (i, part) in metal.split('.').enumerate() {
        let letters = part.len() - part.trim_start_matches(['x', 'y', 'z', 'w']).len();
        let ends = !part[letters..].starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        let before = text.rsplit('.').next().unwrap_or_default();
        let is_swizzle = |s: &str| s.len() > 1 && s.bytes().all(|b| b"xyzw".contains(&b));
        if i > 0 && letters > 0 && ends && text.contains('.') && is_swizzle(before) {
            let outer = before.as_bytes().to_vec();
            let picked = part[..letters].bytes().filter_map(|b| {
                let lane = b"xyzw".iter().position(|l| *l == b)?;
                outer.get(lane).map(|&l| char::from(l))
            });
            let picked: String = picked.collect();
            text.truncate(text.len() - outer.len());
            text.push_str(&picked);
            text.push_str(&part[letters..]);
            continue;
        }
        if i > 0 {
            text.push('.');
        }
        text.push_str(part);
    }
    text
}

#[test]
fn swizzles_of_swizzles_are_one() {
    let text = "a.zyx.xy + b.x.m + 1.0f; v.xy.x = w.zw.yx; f(a.wzyx.wzyx.x); s.xx.at";
    let once = "a.zy + b.x.m + 1.0f; v.x = w.wz; f(a.x); s.xx.at";
    assert_eq!(swizzled_once(text), once);
}

/// Overloads for several address spaces are the same function where there are none.
fn without_doubles(metal: &str) -> String {
    let (mut text, mut seen) = (String::with_capacity(metal.len()), BTreeSet::new());
    let mut rest = metal;
    while !rest.is_empty() {
        // What stands at the margin ends with a brace there, or is a line.
        let line = rest.find('\n').map_or(rest.len(), |i| i + 1);
        let closes =
            ["\n}\n", "\n};\n"].into_iter().filter_map(|c| rest.find(c).map(|i| i + c.len()));
        let end = match rest[..line].ends_with("{\n") {
            true => closes.min().unwrap_or(rest.len()),
            false => line,
        };
        let (part, after) = rest.split_at(end);
        let plain: String = ["device ", "threadgroup ", "thread ", "constant "]
            .iter()
            .fold(part.to_owned(), |text, word| text.replace(word, ""));
        if !part.contains('{') || seen.insert(plain) {
            text.push_str(part);
        }
        rest = after;
    }
    text
}

#[test]
fn functions_for_several_address_spaces_are_kept_once() {
    let of = |space: &str| format!("uint f({space} uint* p) {{\n    return *p;\n}}\n\n");
    let both = of("device") + &of("threadgroup");
    assert_eq!(without_doubles(&both), of("device") + "\n");
    let lines = "struct A {\n    int x;\n};\nconstant int a = 1;\nconstant int b = 1;\n";
    assert_eq!(without_doubles(lines), lines);
}

#[test]
fn a_kernel_is_called_with_what_its_parameters_name() {
    let metal = "static float f(threadgroup float* s) { return s[0]; }\n\
        [[max_total_threads_per_threadgroup(64)]]\nkernel void kernel_k(constant Params& params [[buffer(0)]],\n  \
        texture2d<float, access::read_write> image [[texture(1)]],\n  uint3 tid [[thread_position_in_grid]]) {\n  \
        threadgroup float tile[64];\n  f(\n  threadgroup_value);\n  while (tid.x < 1) {\n  }\n}\n";
    let cpp = as_cpp(metal, "kernel_k").expect("a kernel");
    assert!(cpp.contains("\n  static float tile[64];"), "{cpp}");
    assert!(cpp.contains("f(threadgroup float* s)"), "{cpp}");
    assert!(
        cpp.contains("for (metal_loop metal_rounds; tid.x < 1; metal_rounds.next()) {"),
        "{cpp}"
    );
    let call = "metal_call(&kernel_k, metal_bound{job->buffers[0]}, metal_seen{job->images[1]}, job->position);";
    assert!(cpp.contains(call), "{cpp}");
}
