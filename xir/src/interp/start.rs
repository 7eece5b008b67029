//! From a launch to blocks of threads: what is given is checked, then each block runs.

use super::code::Program;
use super::compile::compile;
use super::fault::{Fault, FaultKind};
use super::machine::Machine;
use super::race::Shadow;
use super::{Arg, Launch, Outcome, Slot};
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
    // What follows the kernel's own arguments is for the slots of bindless arrays.
    if expected > given || (expected < given && !args.iter().any(is_bindless)) {
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
            (ArgumentKind::Resource, TypeKind::BindlessArray, Arg::Bindless(slots)) => {
                slots.iter().try_for_each(|slot| check_slot(slot, args)).map_err(wrong)?;
            }
            (ArgumentKind::Resource, TypeKind::BindlessArray, _) => {
                return Err(wrong("a bindless array".into()));
            }
            (ArgumentKind::Reference, TypeKind::Custom(_), Arg::IndirectDispatch(_)) => {}
            (ArgumentKind::Resource, TypeKind::Accel, _) => {
                return Err(FaultKind::NotHeld("an acceleration structure".into()));
            }
            _ => return Err(FaultKind::NotHeld("an argument of a custom type".into())),
        }
    }
    Ok(())
}

fn is_bindless(arg: &Arg) -> bool {
    matches!(arg, Arg::Bindless(_))
}

fn check_slot(slot: &Slot, args: &[Arg]) -> Result<(), String> {
    let images = [(slot.image2d, 2), (slot.image3d, 3)];
    for (position, dimensions) in images.into_iter().filter_map(|(i, d)| Some((i?.0, d))) {
        let arg = args.get(position as usize).ok_or("slots that name arguments of the run")?;
        check_image(arg, dimensions, true)?;
    }
    match slot.buffer.map(|position| args.get(position as usize)) {
        None | Some(Some(Arg::Buffer(_))) => Ok(()),
        Some(_) => Err("slots whose buffers are buffers of the run".into()),
    }
}

fn check_image(arg: &Arg, dimensions: u8, float: bool) -> Result<(), String> {
    let &Arg::Image { storage, width, height, depth, levels, ref data } = arg else {
        return Err(format!("an image of {dimensions} dimensions"));
    };
    if dimensions == 2 && depth != 1 {
        return Err("an image of two dimensions, whose depth is 1".into());
    }
    if !storage.holds(float) {
        return Err("an image of an integer storage".into());
    }
    // A level halves the longest axis; beyond that there are none.
    if levels == 0 || levels > u32::BITS - width.max(height).max(depth).max(1).leading_zeros() {
        return Err("an image of one level, up to as many as its size can be halved".into());
    }
    let texels = (0..levels)
        .map(|level| {
            let size = |n: u32| u128::from(if level == 0 { n } else { (n >> level).max(1) });
            size(width) * size(height) * size(depth)
        })
        .sum::<u128>();
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
    let shadow = |ty: Option<TypeId>, arg: &Arg| match arg {
        Arg::Buffer(bytes) => {
            let granule = ty.map_or(1, |ty| granule(types, ty));
            Some(Shadow::new(bytes.len() as u64, granule, false))
        }
        Arg::Image { storage, data, .. } => {
            Some(Shadow::new(data.len() as u64, storage.bytes().into(), false))
        }
        Arg::IndirectDispatch(bytes) => Some(Shadow::new(bytes.len() as u64, 4, false)),
        Arg::Value(_) | Arg::Bindless(_) => None,
    };
    if !races {
        return Vec::new();
    }
    // A slot may show a buffer as another type than the argument that it is.
    let aliased = args.iter().any(is_bindless);
    let ty = |i: usize| function.arguments.get(i).map(|formal| formal.ty).filter(|_| !aliased);
    args.iter().enumerate().map(|(i, arg)| shadow(ty(i), arg)).collect()
}

/// The size of the smallest scalar in a buffer's element: no access is smaller.
fn granule(types: &TypeTable, ty: TypeId) -> u64 {
    let TypeKind::Buffer { elem, .. } = types.kind(ty) else { return 1 };
    let flat = Flat::of(types, *elem, MAX_PARTS);
    let smallest = flat.and_then(|f| f.parts.iter().map(|p| p.scalar.size()).min());
    smallest.unwrap_or(1).into()
}
