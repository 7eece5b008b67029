//! The document as a whole: envelope, order of its parts, entry, call graph.
//!
//! Its members come in any order, and LuisaCompute's writer puts `functions` first. What is right is read in the order in
//! which it is written ([`super::ahead`]). Everything else, and what comes in an odd order, is looked through once for where
//! each member of the top level is, counting brackets only, and the members are then read in the order that they need.

use std::fmt::Write;

use cranelift_entity::{EntityRef, SecondaryMap};

use super::codes;
use super::lexer::Lexed;
use super::reader::{Reader, shorten};
use crate::model::{FunctionId, FunctionTag};

/// Members of the top level, in the order in which they are read.
const MEMBERS: [&str; 8] =
    ["schema", "version", "types", "constants", "external_functions", "functions", "entry", "root"];
const SCHEMA: usize = 0;
const VERSION: usize = 1;
const TYPES: usize = 2;
const CONSTANTS: usize = 3;
const EXTERNALS: usize = 4;
const FUNCTIONS: usize = 5;
const ENTRY: usize = 6;
const ROOT: usize = 7;

/// Where the value of each member starts and ends.
type Outline = [Option<(usize, usize)>; MEMBERS.len()];

impl Reader<'_> {
    /// Reads the whole document in the order in which it is written. False, or an error, or something reported, if it is
    /// not right or not in an order that allows it: [`Self::document`] finds out.
    pub fn as_written(&mut self) -> Lexed<bool> {
        self.report.stop_at_first();
        let mut seen = [false; MEMBERS.len()];
        let mut first = true;
        if !self.lexer.eat(b'{') {
            return Ok(false);
        }
        while let Some(key) = self.lexer.key(&mut first)? {
            let name = self.lexer.raw(key);
            let Some(member) = MEMBERS.iter().position(|m| m.as_bytes() == name) else {
                return Ok(false);
            };
            let before = seen;
            if std::mem::replace(&mut seen[member], true) || !self.member(member, &before)? {
                return Ok(false);
            }
            self.go_on()?;
        }
        let complete =
            seen[TYPES] && seen[FUNCTIONS] && seen[ENTRY] && seen[SCHEMA] == seen[VERSION];
        if !complete || self.lexer.peek().is_some() || !self.report.is_empty() {
            return Ok(false);
        }
        if self.ahead.on && !self.resolve() {
            return Ok(false);
        }
        self.check_calls();
        Ok(true)
    }

    /// Reads a member of the top level after those in `seen`; false if it has to wait for others.
    fn member(&mut self, member: usize, seen: &[bool; MEMBERS.len()]) -> Lexed<bool> {
        self.lexer.peek();
        let at = self.lexer.at;
        match member {
            // They decide how all the rest is read.
            SCHEMA | VERSION if seen[TYPES..].contains(&true) => return Ok(false),
            SCHEMA | VERSION => {
                self.versioned = true;
                return self.envelope_member(member);
            }
            TYPES => {
                let ahead = std::mem::take(&mut self.ahead.on);
                self.type_table()?;
                self.ahead.on = ahead;
            }
            CONSTANTS | EXTERNALS if !seen[TYPES] => return Ok(false),
            CONSTANTS | EXTERNALS => {
                let ahead = std::mem::take(&mut self.ahead.on);
                if member == CONSTANTS {
                    self.constant_table()?
                } else {
                    self.external_table()?
                }
                self.ahead.on = ahead;
            }
            FUNCTIONS => {
                // Constants and external functions may be left out, so only the end of the document tells that all are there.
                self.ahead.on = !(seen[TYPES] && seen[CONSTANTS] && seen[EXTERNALS]);
                self.function_table()?;
            }
            ENTRY if seen[FUNCTIONS] => self.entry(at)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Reads the whole document, tables first.
    pub fn document(&mut self) -> Lexed<()> {
        let Some(places) = self.outline()? else {
            return Ok(());
        };
        self.versioned = places[0].is_some() || places[1].is_some();
        if self.versioned {
            self.envelope(places)?;
        }
        for (member, place) in places.iter().enumerate().skip(TYPES) {
            let Some((start, end)) = *place else { continue };
            self.lexer.at = start;
            match MEMBERS[member] {
                "types" => self.type_table()?,
                "constants" => self.constant_table()?,
                "external_functions" => self.external_table()?,
                "functions" => self.function_table()?,
                "entry" => self.entry(start)?,
                _ => drop(self.type_ref("`root`")?),
            }
            self.lexer.peek();
            if self.lexer.at < end {
                return self.lexer.error("`,` or `}`");
            }
        }
        // Without functions there is nothing more to say, and with wrong nodes there is no graph to walk.
        if self.report.is_empty() {
            self.check_calls();
        }
        Ok(())
    }

    /// Where the value of each member of the top level starts and ends.
    fn outline(&mut self) -> Lexed<Option<Outline>> {
        let mut places = [None; MEMBERS.len()];
        let mut unknown = Vec::new();
        self.lexer.peek();
        let start = self.lexer.at;
        if !self.enter_object("the input")? {
            return Ok(None);
        }
        let mut first = true;
        while let Some(key) = self.lexer.key(&mut first)? {
            let name = self.lexer.decode(key)?;
            let position = MEMBERS.iter().position(|m| *m == name);
            self.lexer.peek();
            let at = self.lexer.at;
            match position {
                Some(i) if places[i].is_none() => {
                    self.lexer.skip_unchecked()?;
                    self.lexer.peek();
                    places[i] = Some((at, self.lexer.at));
                }
                Some(_) => {
                    self.stray_member(key, &name, true);
                    self.lexer.skip_unchecked()?;
                }
                None => {
                    self.lexer.skip_value()?;
                    unknown.push((key, shorten(&name)));
                }
            }
        }
        if self.lexer.peek().is_some() {
            return self.lexer.error("the end of the input");
        }
        self.versioned = places[0].is_some() || places[1].is_some();
        for (key, name) in unknown {
            self.stray_member(key, &name, false);
        }
        let wanted =
            if places[ROOT].is_some() { &[TYPES, ROOT][..] } else { &[TYPES, FUNCTIONS, ENTRY] };
        for member in wanted.iter().filter(|m| places[**m].is_none()) {
            self.report.error(
                codes::NOT_AN_AST,
                start,
                format!("the input has no `{}`", MEMBERS[*member]),
            );
        }
        let found = wanted.iter().any(|m| places[*m].is_some());
        Ok(found.then_some(places))
    }

    /// Whether `schema` or `version`, at which the lexer stands, is the known one; else it may not be consumed.
    fn envelope_member(&mut self, member: usize) -> Lexed<bool> {
        Ok(match self.lexer.peek() {
            Some(b'"') if member == SCHEMA => {
                self.string("`schema`")?.as_deref() == Some("luisa.compute.ast")
            }
            Some(b'-' | b'0'..=b'9') if member == VERSION => {
                self.signed_integer("`version`")?.is_some_and(|v| v.0 == 1)
            }
            _ => false,
        })
    }

    fn envelope(&mut self, places: Outline) -> Lexed<()> {
        for (member, place) in places.iter().enumerate().take(TYPES) {
            let Some((start, _)) = *place else {
                let message = format!("the input has no `{}`", MEMBERS[member]);
                self.report.error(codes::VERSION, 0, message);
                continue;
            };
            self.lexer.at = start;
            if !self.envelope_member(member)? {
                let wanted = if member == SCHEMA { "`\"luisa.compute.ast\"`" } else { "1" };
                self.report.error(
                    codes::VERSION,
                    start,
                    format!("`{}` must be {wanted}", MEMBERS[member]),
                );
            }
        }
        Ok(())
    }

    fn entry(&mut self, at: usize) -> Lexed<()> {
        let Some((index, _)) = self.signed_integer("`entry`")? else {
            return Ok(());
        };
        let functions = &self.library.functions;
        let count = functions.len();
        let Some(entry) = usize::try_from(index).ok().filter(|i| *i < count).map(FunctionId::new)
        else {
            let message =
                format!("the entry is function {index}, but the input has {count} functions");
            self.report.error(codes::ENTRY, at, message);
            return Ok(());
        };
        if self.versioned {
            let kernels = functions.values().filter(|f| f.tag == FunctionTag::Kernel).count();
            if entry.index() + 1 != count
                || functions[entry].tag != FunctionTag::Kernel
                || kernels != 1
            {
                let message = "the entry of a versioned document must be the last function and the only kernel";
                self.report.error(codes::ENTRY, at, message);
            }
        }
        self.library.entry = Some(entry);
        Ok(())
    }

    /// Checks that calls name functions that exist and come before, which excludes recursion.
    fn check_calls(&mut self) {
        let count = self.library.functions.len();
        let calls = std::mem::take(&mut self.calls);
        let mut backward = true;
        for (caller, callee, at) in &calls {
            self.report.function = Some(caller.as_u32());
            if callee.index() >= count {
                let message =
                    format!("there is no function {}: the input has {count}", callee.index());
                self.report.error(codes::FUNCTION_INDEX, *at, message);
            } else if callee >= caller {
                backward = false;
            }
        }
        if !backward && self.report.is_empty() {
            match find_cycle(count, &calls) {
                Some((cycle, at)) => self.report_cycle(&cycle, at),
                None => self.report_forward_calls(&calls),
            }
        }
        self.report.function = None;
    }

    fn report_cycle(&mut self, cycle: &[FunctionId], at: usize) {
        let mut message = "callables call each other in a circle: ".to_owned();
        let shown = cycle.len().min(16);
        for function in &cycle[..shown] {
            let _ = write!(message, "{} -> ", self.library.function_name(*function));
        }
        if shown < cycle.len() {
            let _ = write!(message, "{} more -> ", cycle.len() - shown);
        }
        message.push_str(&self.library.function_name(cycle[0]));
        self.report.function = cycle.last().map(|f| f.as_u32());
        self.report.error_with_help(
            codes::RECURSION,
            at,
            message,
            "rewrite the recursion as a loop",
        );
    }

    fn report_forward_calls(&mut self, calls: &[(FunctionId, FunctionId, usize)]) {
        for (caller, callee, at) in calls.iter().filter(|(caller, callee, _)| callee >= caller) {
            let (caller_name, callee_name) =
                (self.library.function_name(*caller), self.library.function_name(*callee));
            self.report.function = Some(caller.as_u32());
            self.report.error_with_help(
                codes::FORWARD_CALL,
                *at,
                format!("{caller_name} calls {callee_name}, which comes after it"),
                "callees must come before their callers",
            );
        }
    }
}

/// A circle in the call graph, if there is one, and where its last call stands. Depth-first search with its own stack;
/// cost linear in functions and calls.
fn find_cycle(
    count: usize,
    calls: &[(FunctionId, FunctionId, usize)],
) -> Option<(Vec<FunctionId>, usize)> {
    let mut callees: SecondaryMap<FunctionId, Vec<(FunctionId, usize)>> = SecondaryMap::new();
    for (caller, callee, at) in calls {
        callees[*caller].push((*callee, *at));
    }
    #[derive(Clone, Copy, Default, PartialEq)]
    enum State {
        #[default]
        New,
        Open,
        Done,
    }
    let mut states: SecondaryMap<FunctionId, State> = SecondaryMap::new();
    for start in (0..count).map(FunctionId::new) {
        if states[start] != State::New {
            continue;
        }
        states[start] = State::Open;
        let mut path = vec![(start, 0)];
        while let Some((function, next)) = path.last_mut() {
            let Some((callee, at)) = callees[*function].get(*next).copied() else {
                states[*function] = State::Done;
                path.pop();
                continue;
            };
            *next += 1;
            match states[callee] {
                State::Done => {}
                State::New => {
                    states[callee] = State::Open;
                    path.push((callee, 0));
                }
                State::Open => {
                    let from = path.iter().position(|(f, _)| *f == callee).unwrap_or(0);
                    return Some((path[from..].iter().map(|(f, _)| *f).collect(), at));
                }
            }
        }
    }
    None
}
