//! From a launch to blocks of threads: what is given is checked, then each block runs.

use super::code::Program;
use super::compile::compile;
use super::fault::{Fault, FaultKind};
use super::machine::Machine;
use super::race::Shadow;
use super::{Arg, Launch, Outcome};
use crate::eval::flat::Flat;
use crate::{
    ArgumentKind, Function, FunctionId, FunctionKind, Module, TypeId, TypeKind, TypeTable,
};

/// Elements of more scalars get records for every byte.
const MAX_PARTS: u64 = 1 << 12;

pub(super) fn run(
    module: &Module,
    kernel: FunctionId,
    args: &mut [Arg],
    launch: &Launch,
) -> Result<Outcome, Box<Fault>> {
    let function = module.functions.get(kernel).ok_or_else(|| {
        Fault::outside(FaultKind::WrongLaunch("there is no such function".into()))
    })?;
    let block_size = check_launch(function, launch).map_err(|kind| within(function, kind))?;
    check_arguments(&module.types, function, args).map_err(|kind| within(function, kind))?;
    let mut program = compile(module, kernel)?;
    set_values(module, function, &mut program, args)?;
    if launch.dispatch.contains(&0) {
        return Ok(Outcome::default());
    }
    // The first block has as many threads inside the dispatch as any.
    let threads = |axis: usize| block_size[axis].min(launch.dispatch[axis]) as usize;
    let width = threads(0) * threads(1) * threads(2);
    let shadows = shadows(&module.types, function, args, launch.races);
    let mut machine = Machine::new((module, kernel), &program, *launch, args, block_size, width);
    machine.shadows = shadows;
    let blocks = |axis: usize| launch.dispatch[axis].div_ceil(block_size[axis]);
    for z in 0..blocks(2) {
        for y in 0..blocks(1) {
            for x in 0..blocks(0) {
                machine.run_block([x, y, z])?;
            }
        }
    }
    machine.finish()
}

fn within(function: &Function, kind: FaultKind) -> Box<Fault> {
    Box::new(Fault { function: function.name.clone(), ..*Fault::outside(kind) })
}

/// The block size of a kernel that can be launched so.
fn check_launch(function: &Function, launch: &Launch) -> Result<[u32; 3], FaultKind> {
    let FunctionKind::Kernel { block_size } = function.kind else {
        return Err(FaultKind::WrongLaunch("the function is no kernel".into()));
    };
    let threads = block_size.iter().map(|&n| u64::from(n)).try_fold(1u64, u64::checked_mul);
    if !matches!(threads, Some(1..=1024)) {
        return Err(FaultKind::WrongLaunch("a block has 1 to 1024 threads".into()));
    }
    if !launch.wave_width.is_power_of_two() || launch.wave_width > 128 {
        return Err(FaultKind::WrongLaunch("a wave has 1, 2, 4, .. or 128 threads".into()));
    }
    Ok(block_size)
}

fn check_arguments(types: &TypeTable, function: &Function, args: &[Arg]) -> Result<(), FaultKind> {
    let (expected, given) = (function.arguments.len(), args.len());
    if expected != given {
        return Err(FaultKind::ArgumentCount { expected, given });
    }
    for (position, (formal, arg)) in function.arguments.iter().zip(args).enumerate() {
        let position = position as u32;
        let wrong =
            |expected: String| FaultKind::WrongArgument { position, expected: expected.into() };
        match (formal.kind, types.kind(formal.ty), arg) {
            (ArgumentKind::Value, _, Arg::Value(bytes)) => {
                let size = types.size(formal.ty);
                if bytes.len() as u64 != size {
                    return Err(wrong(format!("a value of {size} bytes")));
                }
            }
            (ArgumentKind::Value, ..) => return Err(wrong("a value".into())),
            (ArgumentKind::Resource, TypeKind::Buffer { .. }, Arg::Buffer(_)) => {}
            (ArgumentKind::Resource, TypeKind::Buffer { .. }, _) => {
                return Err(wrong("a buffer".into()));
            }
            (ArgumentKind::Resource, &TypeKind::Texture { dim, elem, .. }, arg) => {
                check_image(arg, dim, elem.is_float()).map_err(wrong)?;
            }
            (ArgumentKind::Resource, TypeKind::BindlessArray, _) => {
                return Err(FaultKind::NotHeld("a bindless array".into()));
            }
            (ArgumentKind::Resource, TypeKind::Accel, _) => {
                return Err(FaultKind::NotHeld("an acceleration structure".into()));
            }
            _ => return Err(FaultKind::NotHeld("an argument of a custom type".into())),
        }
    }
    Ok(())
}

fn check_image(arg: &Arg, dimensions: u8, float: bool) -> Result<(), String> {
    let Arg::Image { storage, width, height, depth, data } = arg else {
        return Err(format!("an image of {dimensions} dimensions"));
    };
    if dimensions == 2 && *depth != 1 {
        return Err("an image of two dimensions, whose depth is 1".into());
    }
    if !storage.holds(float) {
        return Err("an image of an integer storage".into());
    }
    let texels = u128::from(*width) * u128::from(*height) * u128::from(*depth);
    let bytes = texels * u128::from(storage.bytes());
    if data.len() as u128 != bytes {
        return Err(format!("an image of {bytes} bytes"));
    }
    Ok(())
}

/// Puts the values of the kernel's value arguments into their cells.
fn set_values(
    module: &Module,
    function: &Function,
    program: &mut Program,
    args: &[Arg],
) -> Result<(), Box<Fault>> {
    for (i, formal) in function.arguments.iter().enumerate() {
        let (Some(Some(cell)), Some(Arg::Value(bytes))) = (program.value_cells.get(i), args.get(i))
        else {
            continue;
        };
        let Some(flat) = Flat::of(&module.types, formal.ty, u64::from(u32::MAX)) else { continue };
        let start = *cell as usize;
        for (i, bits) in flat.read(bytes).into_iter().enumerate() {
            program.cells[start + i] = bits;
        }
    }
    Ok(())
}

/// Records for the memory of each buffer and image.
fn shadows(
    types: &TypeTable,
    function: &Function,
    args: &[Arg],
    races: bool,
) -> Vec<Option<Shadow>> {
    let shadow = |ty: TypeId, arg: &Arg| match arg {
        Arg::Buffer(bytes) => Some(Shadow::new(bytes.len() as u64, granule(types, ty), false)),
        Arg::Image { storage, data, .. } => {
            Some(Shadow::new(data.len() as u64, storage.bytes().into(), false))
        }
        Arg::Value(_) => None,
    };
    if !races {
        return Vec::new();
    }
    function.arguments.iter().zip(args).map(|(formal, arg)| shadow(formal.ty, arg)).collect()
}

/// The size of the smallest scalar in a buffer's element: no access is smaller.
fn granule(types: &TypeTable, ty: TypeId) -> u64 {
    let TypeKind::Buffer { elem, .. } = types.kind(ty) else { return 1 };
    let flat = Flat::of(types, *elem, MAX_PARTS);
    let smallest = flat.and_then(|f| f.parts.iter().map(|p| p.scalar.size()).min());
    smallest.unwrap_or(1).into()
}
