//! Buffers, images and bindless arrays: what the languages have in common.

use luisac_ast::types::{TypeId, TypeKind};
use luisac_xir::op::{ResourceQueryOp as Q, ResourceReadOp as R, ResourceWriteOp as W};
use luisac_xir::{InstId, Op, ValueId};

use super::Emit;
use super::expr::{Expr, Prec};
use super::function::{FnEmit, Resource, internal};
use super::instances::{Class, Need, argument_index};
use super::language::Language;
use super::{hlsl, msl};

/// An element of a buffer: the buffer, and where in it.
pub struct Element {
    pub buffer: Resource,
    /// Offset in bytes, of 32 bits; a constant if it is known.
    pub offset: Expr,
    /// The index, where elements are whole.
    pub index: Expr,
    /// The type of the buffer's elements; `void` for bytes.
    pub of: TypeId,
}

impl FnEmit<'_, '_> {
    /// The resource that a value is.
    pub fn resource(&self, value: ValueId) -> Emit<Resource> {
        argument_index(self.func, value)
            .and_then(|i| self.resources.get(i))
            .cloned()
            .ok_or_else(|| internal("a resource that is no argument"))
    }

    /// The class of a resource argument of this function.
    fn class_of(&self, value: ValueId) -> Emit<Class> {
        argument_index(self.func, value)
            .and_then(|i| self.form.classes.get(i))
            .cloned()
            .ok_or_else(|| internal("a resource that is no argument"))
    }

    /// The parameters of a resource: what stands for it, and their declarations.
    pub fn resource_parameter(
        &mut self,
        ty: TypeId,
        class: &Class,
        need: Need,
        name: &str,
    ) -> (Resource, Vec<String>) {
        let mut resource = Resource { handle: name.to_string(), ..Resource::default() };
        let mut list = Vec::new();
        let plain = need.reads || need.writes;
        match class {
            Class::Buffer { writable } => {
                let plain = plain || need.samples;
                resource.writable = *writable;
                let ty = match self.cx.language {
                    Language::Hlsl => hlsl::buffer_type(*writable).to_string(),
                    Language::Msl => msl::buffer_type(self.cx, ty, *writable),
                };
                if plain {
                    list.push(format!("{ty} {name}"));
                }
                if need.size {
                    let size = self.names.fresh(&format!("{name}_size"), "size");
                    let long = self.cx.language.scalar(self.cx.language.size_scalar());
                    list.push(format!("{long} {size}"));
                    resource.size = size;
                }
            }
            Class::Sampled => {
                let ty = self.image_type(ty, class, false);
                resource.sampled = name.to_string();
                list.push(format!("{ty} {name}"));
            }
            Class::Storage { .. } => {
                if plain {
                    list.push(format!("{} {name}", self.image_type(ty, class, true)));
                }
                if need.samples {
                    let sampled = self.names.fresh(&format!("{name}_sampled"), "image");
                    list.push(format!("{} {sampled}", self.image_type(ty, class, false)));
                    resource.sampled = sampled;
                }
            }
            _ => {}
        }
        (resource, list)
    }

    /// The type of an image parameter.
    pub fn image_type(&self, ty: TypeId, class: &Class, storage: bool) -> String {
        let reads = matches!(class, Class::Storage { reads: true, .. });
        match self.cx.language {
            Language::Hlsl => hlsl::image_type(self.cx.types, ty, storage),
            Language::Msl => msl::image_type(self.cx.types, ty, storage, reads),
        }
    }

    /// Passes a resource to a callable: its class, and the arguments.
    pub fn pass_resource(
        &mut self,
        value: ValueId,
        need: Need,
        texts: &mut Vec<Expr>,
    ) -> Emit<Class> {
        let class = self.class_of(value)?;
        let resource = self.resource(value)?;
        let plain = need.reads || need.writes;
        let mut push = |text: &str| texts.push(Expr::atom(text.to_string()));
        match class {
            Class::Buffer { .. } => {
                if plain || need.samples {
                    push(&resource.handle);
                }
                if need.size {
                    push(&resource.size);
                }
            }
            Class::Sampled => push(&resource.sampled),
            Class::Storage { .. } => {
                if plain {
                    push(&resource.handle);
                }
                if need.samples {
                    push(&resource.sampled);
                }
            }
            _ => return Err(internal("a resource that is none")),
        }
        Ok(class)
    }

    /// The element type of a buffer; `void` for bytes.
    pub fn element_type(&self, buffer: ValueId) -> TypeId {
        match self.cx.types.kind(self.func.value_type(buffer)) {
            TypeKind::Buffer { elem, .. } => *elem,
            _ => TypeId::VOID,
        }
    }

    /// An element of a buffer.
    pub fn element(&mut self, buffer: ValueId, index: ValueId) -> Emit<Element> {
        let of = self.element_type(buffer);
        let stride = if of == TypeId::VOID { 1 } else { self.cx.types.stride(of) };
        let resource = self.resource(buffer)?;
        let constant = self.func.constant_bits(index);
        let is_word = self.func.value_type(index) == TypeId::U32;
        let index = self.value(index)?;
        let offset = scaled(&index, is_word, constant, stride);
        Ok(Element { buffer: resource, offset, index, of })
    }

    /// A read of a resource.
    pub fn resource_read(&mut self, inst: InstId, op: R) -> Emit<()> {
        let args = self.func.args(inst).to_vec();
        let ty = self.func.inst(inst).ty;
        match (op, args.as_slice()) {
            (
                R::BufferRead
                | R::BufferVolatileRead
                | R::ByteBufferRead
                | R::ByteBufferVolatileRead,
                &[buffer, index],
            ) => {
                let element = self.element(buffer, index)?;
                let volatile = op.is_volatile();
                let mut text = match self.cx.language {
                    Language::Hlsl => hlsl::load(self, &element, ty, volatile)?,
                    Language::Msl => msl::load(self, &element, ty, volatile)?,
                };
                text.reads = true;
                if volatile {
                    self.settle()?;
                    return self.define_at_once(inst, &text);
                }
                self.define(inst, text)
            }
            (R::Texture2dRead | R::Texture3dRead, &[image, at]) => {
                let resource = self.resource(image)?;
                let image_ty = self.func.value_type(image);
                let at = self.value(at)?;
                let mut text = match self.cx.language {
                    Language::Hlsl => hlsl::image_read(self, &resource, image_ty, at)?,
                    Language::Msl => msl::image_read(self, &resource, image_ty, at)?,
                };
                text.reads = true;
                self.define(inst, text)
            }
            _ if op.name().starts_with("bindless") => match self.cx.language {
                Language::Hlsl => hlsl::bindless_read(self, inst, op),
                Language::Msl => msl::bindless_read(self, inst, op),
            },
            (R::DeviceAddressRead, &[address]) if self.cx.language == Language::Msl => {
                let address = self.value(address)?;
                let mut text = msl::address_load(self, &address, ty)?;
                text.reads = true;
                self.define(inst, text)
            }
            _ => Err(self.refused(Op::ResourceRead(op))),
        }
    }

    /// A write of a resource.
    pub fn resource_write(&mut self, inst: InstId, op: W) -> Emit<()> {
        let args = self.func.args(inst).to_vec();
        match (op, args.as_slice()) {
            (
                W::BufferWrite
                | W::BufferVolatileWrite
                | W::ByteBufferWrite
                | W::ByteBufferVolatileWrite,
                &[buffer, index, value],
            ) => {
                let element = self.element(buffer, index)?;
                let ty = self.func.value_type(value);
                let text = self.value(value)?;
                self.settle()?;
                match self.cx.language {
                    Language::Hlsl => hlsl::store(self, &element, ty, text),
                    Language::Msl => msl::store(self, &element, ty, text, op.is_volatile()),
                }
            }
            (W::Texture2dWrite | W::Texture3dWrite, &[image, at, texel]) => {
                let resource = self.resource(image)?;
                let image_ty = self.func.value_type(image);
                let (at, texel) = (self.value(at)?, self.value(texel)?);
                self.settle()?;
                match self.cx.language {
                    Language::Hlsl => hlsl::image_write(self, &resource, at, texel),
                    Language::Msl => msl::image_write(self, &resource, image_ty, at, texel),
                }
            }
            (W::BindlessBufferWrite | W::BindlessByteBufferWrite, _) => match self.cx.language {
                Language::Hlsl => hlsl::bindless_write(self, inst, op),
                Language::Msl => msl::bindless_write(self, inst, op),
            },
            (W::DeviceAddressWrite, &[address, value]) if self.cx.language == Language::Msl => {
                let ty = self.func.value_type(value);
                let (address, value) = (self.value(address)?, self.value(value)?);
                self.settle()?;
                msl::address_store(self, &address, ty, value)
            }
            (W::IndirectDispatchSetCount, &[buffer, count]) => {
                let handle = self.resource(buffer)?.handle;
                let count = self.value(count)?;
                let count = Expr::call("uint", &[count]).text;
                self.settle()?;
                self.lines.push(match self.cx.language {
                    Language::Hlsl => format!("{handle}.Store(0u, {count});"),
                    Language::Msl => {
                        format!("*reinterpret_cast<device uint*>({handle}) = {count};")
                    }
                });
                Ok(())
            }
            (W::IndirectDispatchSetKernel, &[buffer, index, block, size, kernel]) => {
                let resource = self.resource(buffer)?;
                let parts = self.values(&[index, block, size, kernel])?;
                self.settle()?;
                self.indirect_record(&resource, &parts);
                Ok(())
            }
            _ => Err(self.refused(Op::ResourceWrite(op))),
        }
    }

    /// A record of an indirect dispatch buffer: block and dispatch size, kernel id.
    fn indirect_record(&mut self, buffer: &Resource, parts: &[Expr]) {
        let [index, block, size, kernel] = parts else { return };
        let record = self.names.fresh("record", "record");
        let (handle, first) = (&buffer.handle, &buffer.size);
        let number = format!("(uint({first}) + uint({}))", index.text);
        let words = [
            format!("uint4({}, 0u)", block.text),
            format!("uint4({}, uint({}))", size.text, kernel.text),
        ];
        match self.cx.language {
            Language::Hlsl => {
                self.lines.push(format!("const uint {record} = 16u + 32u * {number};"));
                self.lines.push(format!("{handle}.Store4({record}, {});", words[0]));
                self.lines.push(format!("{handle}.Store4({record} + 16u, {});", words[1]));
            }
            Language::Msl => {
                self.lines.push(format!(
                    "device uint4* {record} = reinterpret_cast<device uint4*>({handle}) + 1u + 2u * {number};"
                ));
                self.lines.push(format!("{record}[0] = {};", words[0]));
                self.lines.push(format!("{record}[1] = {};", words[1]));
            }
        }
    }

    /// A question about a resource, or a sample.
    pub fn resource_query(&mut self, inst: InstId, op: Q) -> Emit<()> {
        let args = self.func.args(inst).to_vec();
        let ty = self.func.inst(inst).ty;
        match (op, args.as_slice()) {
            (Q::BufferSize | Q::ByteBufferSize, &[buffer]) => {
                let of = self.element_type(buffer);
                let stride = if of == TypeId::VOID { 1 } else { self.cx.types.stride(of) };
                let size = Expr::atom(self.resource(buffer)?.size);
                let text = self.count_of(&size, stride, ty);
                self.define(inst, text)
            }
            (Q::Texture2dSize | Q::Texture3dSize, &[image]) => {
                let resource = self.resource(image)?;
                let image_ty = self.func.value_type(image);
                let text = match self.cx.language {
                    Language::Hlsl => hlsl::image_size(self, &resource, image_ty)?,
                    Language::Msl => msl::image_size(self, &resource, image_ty)?,
                };
                self.define(inst, text)
            }
            (Q::BufferDeviceAddress, &[buffer]) if self.cx.language == Language::Msl => {
                let handle = self.resource(buffer)?.handle;
                self.define(inst, Expr::call("ulong", &[Expr::atom(handle)]))
            }
            _ if op.is_bindless() => match self.cx.language {
                Language::Hlsl => hlsl::bindless_query(self, inst, op),
                Language::Msl => msl::bindless_query(self, inst, op),
            },
            _ if op.samples() => {
                let resource = self.resource(args[0])?;
                let image_ty = self.func.value_type(args[0]);
                let rest = self.sampled(op, &args[1..])?;
                let text = match self.cx.language {
                    Language::Hlsl => hlsl::sample(self, &resource.sampled, image_ty, rest)?,
                    Language::Msl => msl::sample(self, &resource.sampled, image_ty, rest)?,
                };
                self.define(inst, text)
            }
            _ => Err(self.refused(Op::ResourceQuery(op))),
        }
    }

    /// Bytes as a number of elements, of some integer type. In HLSL sizes have 32 bits, as addresses do.
    pub fn count_of(&mut self, size: &Expr, stride: u64, ty: TypeId) -> Expr {
        let scalar = self.cx.language.size_scalar();
        let mut text = size.clone();
        if stride > 1 {
            let divisor = super::literal::scalar(self.cx.language, scalar, stride);
            text = Expr::binary("/", Prec::Multiply, &text, &divisor);
        }
        if ty == TypeId::scalar(scalar) {
            text
        } else {
            Expr::call(&self.cx.type_name(ty), &[text])
        }
    }

    /// The index of a slot of a bindless array, as text; under `--bounds` that of a slot there is.
    pub fn slot_index(&mut self, array: ValueId, slot: ValueId) -> Emit<Expr> {
        let index = self.value(slot)?;
        if self.cx.options.bounds == crate::options::BoundsMode::Off {
            return Ok(index);
        }
        let size = self.resource(array)?.size;
        let text = format!("min(uint({}), max(uint({size}), 1u) - 1u)", index.text);
        Ok(Expr::made(text, Prec::Atom, [&index]))
    }

    /// The operands of a sample behind the image (and slot): coordinate, level or gradients, sampler.
    pub fn sampled(&mut self, op: Q, args: &[ValueId]) -> Emit<Sample> {
        let name = op.name();
        let Some((&at, mut rest)) = args.split_first() else {
            return Err(internal("a sample without a coordinate"));
        };
        let at = self.value(at)?;
        let mut sample = Sample { at, gradients: None, level: None, sampler: None };
        if name.contains("grad")
            && let [dx, dy, after @ ..] = rest
        {
            sample.gradients = Some((self.value(*dx)?, self.value(*dy)?));
            rest = after;
        }
        if name.contains("level")
            && let [level, after @ ..] = rest
        {
            sample.level = Some(self.value(*level)?);
            rest = after;
        }
        if let &[filter, address] = rest {
            let codes = (self.func.constant_bits(filter), self.func.constant_bits(address));
            let constant = match codes {
                (Some(f @ 0..4), Some(a @ 0..4)) => Some((f * 4 + a) as u32),
                _ => None,
            };
            let (filter, address) = (self.value(filter)?, self.value(address)?);
            let scaled = Expr::binary("*", Prec::Multiply, &filter, &Expr::atom("4u"));
            let text = match constant {
                Some(code) => Expr::atom(format!("{code}u")),
                None => Expr::binary("+", Prec::Add, &scaled, &address),
            };
            sample.sampler = Some((text, constant));
        }
        Ok(sample)
    }
}

/// The operands of a sample.
pub struct Sample {
    pub at: Expr,
    pub gradients: Option<(Expr, Expr)>,
    /// The level; with gradients, the least level.
    pub level: Option<Expr>,
    /// The number of the sampler, and its value if that is known; none if it lies in the slot.
    pub sampler: Option<(Expr, Option<u32>)>,
}

/// An index times a stride, in 32 bits.
pub fn scaled(index: &Expr, is_word: bool, constant: Option<u64>, stride: u64) -> Expr {
    if let Some(bits) = constant {
        return Expr::atom(format!("{}u", bits.wrapping_mul(stride) as u32));
    }
    let index =
        if is_word { index.clone() } else { Expr::call("uint", std::slice::from_ref(index)) };
    if stride == 1 {
        return index;
    }
    Expr::binary("*", Prec::Multiply, &index, &Expr::atom(format!("{stride}u")))
}
