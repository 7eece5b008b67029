//! Command lists. Recording checks everything at once; [`CommandList::commit`] gives a list that can run many times.

mod check;
mod command;
mod ids;
mod plan;

use std::{
    marker::PhantomData,
    sync::{Arc, Mutex, PoisonError},
};

pub use command::Download;
pub(crate) use command::{Callback, Command, HostBytes, Levels, Sizes, Touched};
use ids::IdMap;
pub(crate) use plan::Plan;

use crate::{
    Arguments, BindlessArray, Buffer, Device, Event, ImageLevel, IndirectBuffer, Kernel,
    RuntimeError, Value,
    backend::Raw,
    resource::{ArrayMemory, BufferView, Common, Contents},
    stream::Completion,
    value,
};

/// Commands that are being recorded.
///
/// A command is refused when it is recorded, by an error that says what does not fit; the list stays as it was.
pub struct CommandList {
    device: Device,
    commands: Vec<Command>,
}

impl CommandList {
    pub(crate) fn new(device: &Device) -> Self {
        Self { device: device.clone(), commands: Vec::new() }
    }

    /// Number of commands.
    #[must_use]
    pub fn len(&self) -> usize {
        self.commands.len()
    }

    /// Whether there are no commands.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.commands.is_empty()
    }

    /// Runs a kernel over `size` threads along x, y, z. A zero means that nothing runs.
    ///
    /// # Errors
    /// [`RuntimeError::Dispatch`] for the first argument that does not fit the metadata, [`RuntimeError::ArgumentCount`],
    /// [`RuntimeError::GridTooLarge`].
    pub fn dispatch(
        &mut self,
        kernel: &Kernel,
        arguments: impl Arguments,
        size: [u32; 3],
    ) -> Result<&mut Self, RuntimeError> {
        self.dispatch_many(kernel, arguments, &[size])
    }

    /// Runs a kernel once for each size, with the kernel ids 0, 1, 2 and so on. The dispatches are one command, and are
    /// not ordered among each other.
    ///
    /// # Errors
    /// As [`Self::dispatch`].
    pub fn dispatch_many(
        &mut self,
        kernel: &Kernel,
        arguments: impl Arguments,
        sizes: &[[u32; 3]],
    ) -> Result<&mut Self, RuntimeError> {
        for size in sizes {
            let blocks = kernel.grid(*size).into_iter().try_fold(1u64, u64::checked_mul);
            // Half the range is left for counters that run past the end.
            if blocks.is_none_or(|b| b >= 1 << 63) {
                return Err(RuntimeError::GridTooLarge(*size));
            }
        }
        self.push_dispatch(kernel, arguments, Sizes::Direct(sizes.to_vec()))
    }

    /// Runs a kernel over the sizes and ids that `sizes` holds when the command's turn has come. Entries of another block
    /// size than the kernel's are an error then.
    ///
    /// # Errors
    /// As [`Self::dispatch`].
    pub fn dispatch_indirect(
        &mut self,
        kernel: &Kernel,
        arguments: impl Arguments,
        sizes: &IndirectBuffer,
    ) -> Result<&mut Self, RuntimeError> {
        self.owns(sizes.view())?;
        self.push_dispatch(kernel, arguments, Sizes::Indirect(sizes.clone()))
    }

    fn push_dispatch(
        &mut self,
        kernel: &Kernel,
        arguments: impl Arguments,
        sizes: Sizes,
    ) -> Result<&mut Self, RuntimeError> {
        let arguments = arguments.arguments();
        check::arguments(&self.device, kernel, &arguments)?;
        self.push(Command::Dispatch { kernel: kernel.clone(), arguments, sizes })
    }

    fn push(&mut self, command: Command) -> Result<&mut Self, RuntimeError> {
        self.commands.push(command);
        Ok(self)
    }

    fn owns(&self, view: &BufferView) -> Result<(), RuntimeError> {
        self.device.owns(&view.memory.common)
    }

    /// Copies `data`, as it is now, to the start of a buffer.
    ///
    /// # Errors
    /// [`RuntimeError::Range`] if there is more data than room.
    pub fn upload<T: Value>(
        &mut self,
        to: &Buffer<T>,
        data: &[T],
    ) -> Result<&mut Self, RuntimeError> {
        let to = to.view(..data.len())?.bytes().clone();
        self.owns(&to)?;
        self.push(Command::Upload { data: value::store_all(data)?, to })
    }

    /// Copies a buffer to the host.
    ///
    /// # Errors
    /// [`RuntimeError::OtherDevice`].
    pub fn download<T: Value>(&mut self, from: &Buffer<T>) -> Result<Download<T>, RuntimeError> {
        let (from, to) = (from.bytes().clone(), HostBytes::default());
        self.owns(&from)?;
        self.push(Command::Download { from, to: to.clone() })?;
        Ok(Download { bytes: to, element: PhantomData })
    }

    /// Copies a buffer to another one of the same length.
    ///
    /// # Errors
    /// [`RuntimeError::DataSize`] if the lengths differ, [`RuntimeError::Overlap`] if they share bytes.
    pub fn copy<T: Value>(
        &mut self,
        from: &Buffer<T>,
        to: &Buffer<T>,
    ) -> Result<&mut Self, RuntimeError> {
        let (from, to) = (from.bytes().clone(), to.bytes().clone());
        self.owns(&from)?;
        self.owns(&to)?;
        same(to.bytes, from.bytes)?;
        if from.overlaps(&to) {
            return Err(RuntimeError::Overlap);
        }
        self.push(Command::Copy { from, to })
    }

    /// Sets all elements to `value`.
    ///
    /// # Errors
    /// [`RuntimeError::OtherDevice`].
    pub fn fill<T: Value>(&mut self, to: &Buffer<T>, value: T) -> Result<&mut Self, RuntimeError> {
        let to = to.bytes().clone();
        self.owns(&to)?;
        self.push(Command::Fill { to, with: value::store_all(&[value])? })
    }

    /// Copies texels, as they are stored, rows and slices without gaps.
    ///
    /// # Errors
    /// [`RuntimeError::DataSize`] unless the data fills the level.
    pub fn upload_image(
        &mut self,
        to: &ImageLevel,
        data: impl Into<Vec<u8>>,
    ) -> Result<&mut Self, RuntimeError> {
        let data = data.into();
        self.device.owns(&to.memory.common)?;
        same(to.bytes(), data.len() as u64)?;
        self.push(Command::UploadImage { data, to: to.clone() })
    }

    /// Copies texels to the host as they are stored, rows and slices without gaps.
    ///
    /// # Errors
    /// [`RuntimeError::OtherDevice`].
    pub fn download_image(&mut self, from: &ImageLevel) -> Result<Download, RuntimeError> {
        let to = HostBytes::default();
        self.device.owns(&from.memory.common)?;
        self.push(Command::DownloadImage { from: from.clone(), to: to.clone() })?;
        Ok(Download { bytes: to, element: PhantomData })
    }

    /// Copies a level to another one of the same size and storage.
    ///
    /// # Errors
    /// [`RuntimeError::ImageCopy`] if they differ, [`RuntimeError::Overlap`] if they are one.
    pub fn copy_image(
        &mut self,
        from: &ImageLevel,
        to: &ImageLevel,
    ) -> Result<&mut Self, RuntimeError> {
        self.device.owns(&from.memory.common)?;
        self.device.owns(&to.memory.common)?;
        let (a, b) = (&from.memory.shape, &to.memory.shape);
        if (from.size(), a.storage, a.dimension) != (to.size(), b.storage, b.dimension) {
            return Err(RuntimeError::ImageCopy {
                from: from.size(),
                from_storage: a.storage,
                to: to.size(),
                to_storage: b.storage,
            });
        }
        if Arc::ptr_eq(&from.memory, &to.memory) && from.level == to.level {
            return Err(RuntimeError::Overlap);
        }
        self.push(Command::CopyImage { from: from.clone(), to: to.clone() })
    }

    /// Copies texels as they are stored, rows and slices without gaps, from a buffer.
    ///
    /// # Errors
    /// [`RuntimeError::DataSize`] unless the buffer has the level's bytes.
    pub fn copy_to_image<T: Value>(
        &mut self,
        from: &Buffer<T>,
        to: &ImageLevel,
    ) -> Result<&mut Self, RuntimeError> {
        let from = from.bytes().clone();
        self.owns(&from)?;
        self.device.owns(&to.memory.common)?;
        same(to.bytes(), from.bytes)?;
        self.push(Command::BufferToImage { from, to: to.clone() })
    }

    /// Copies texels as they are stored, rows and slices without gaps, to a buffer.
    ///
    /// # Errors
    /// [`RuntimeError::DataSize`] unless the buffer has the level's bytes.
    pub fn copy_from_image<T: Value>(
        &mut self,
        from: &ImageLevel,
        to: &Buffer<T>,
    ) -> Result<&mut Self, RuntimeError> {
        let to = to.bytes().clone();
        self.owns(&to)?;
        self.device.owns(&from.memory.common)?;
        same(from.bytes(), to.bytes)?;
        self.push(Command::ImageToBuffer { from: from.clone(), to })
    }

    /// Makes what an array was told until now hold from here on.
    ///
    /// # Errors
    /// [`RuntimeError::OtherDevice`].
    pub fn update(&mut self, array: &BindlessArray) -> Result<&mut Self, RuntimeError> {
        self.device.owns(&array.0.common)?;
        let changes = array.0.take_pending();
        self.push(Command::Update { array: array.0.clone(), changes })
    }

    /// Calls a function of the host when all that was recorded before is done, and before anything that is recorded after
    /// begins. It must not wait for a stream.
    pub fn callback(&mut self, f: impl FnMut() + Send + 'static) -> &mut Self {
        let f: Callback = Box::new(f);
        self.commands.push(Command::Callback(Mutex::new(f)));
        self
    }

    /// Signals an event when all that was recorded before is done.
    pub fn signal(&mut self, event: &Event) -> &mut Self {
        self.commands.push(Command::Signal(event.clone()));
        self
    }

    /// Makes the list ready to run, as often as wanted.
    ///
    /// # Errors
    /// [`RuntimeError::OutOfMemory`], or what the device says.
    pub fn commit(self) -> Result<CommittedList, RuntimeError> {
        CommittedList::new(self.device, self.commands)
    }

    /// Runs the list once, after all that was submitted before, and waits for it.
    ///
    /// # Errors
    /// As [`Self::commit`] and [`crate::Submission::wait`].
    pub fn run(self) -> Result<(), RuntimeError> {
        let stream = self.device.stream();
        stream.submit(&self.commit()?)?.wait()?;
        Ok(())
    }
}

fn same(expected: u64, got: u64) -> Result<(), RuntimeError> {
    if expected == got {
        return Ok(());
    }
    Err(RuntimeError::DataSize { expected, got, unit: "bytes" })
}

/// A list that is ready to run. Cheap to clone; it keeps all that it uses alive.
#[derive(Clone)]
pub struct CommittedList(pub(crate) Arc<Committed>);

pub(crate) struct Committed {
    // Before the commands, since it may point to what they keep alive.
    pub(crate) raw: Raw,
    pub(crate) commands: Vec<Command>,
    pub(crate) device: Device,
    /// Each resource once, and whether it is written; members of arrays are not among them.
    pub(crate) resources: Vec<(Resource, bool)>,
    /// Arrays whose members are used, and whether those are written.
    pub(crate) arrays: Vec<(Arc<ArrayMemory>, bool)>,
    /// The graph that was made last.
    plan: Mutex<Arc<Plan>>,
    /// The last run, which the next one follows.
    pub(crate) last: Mutex<Option<Arc<Completion>>>,
}

/// A resource of any kind.
#[derive(Clone)]
pub(crate) enum Resource {
    Buffer(Arc<crate::resource::BufferMemory>),
    Image(Arc<crate::resource::ImageMemory>),
    Array(Arc<ArrayMemory>),
}

impl Resource {
    pub(crate) fn common(&self) -> &Common {
        match self {
            Self::Buffer(b) => &b.common,
            Self::Image(i) => &i.common,
            Self::Array(a) => &a.common,
        }
    }
}

impl CommittedList {
    fn new(device: Device, commands: Vec<Command>) -> Result<Self, RuntimeError> {
        let raw = device.backend().prepare(&commands)?;
        let mut resources: Vec<(Resource, bool)> = Vec::new();
        let mut arrays: Vec<(Arc<ArrayMemory>, bool)> = Vec::new();
        let (mut places, mut array_places) = (IdMap::default(), IdMap::default());
        for command in &commands {
            command.touches(&mut |touched, write| {
                if let Touched::Members(array) = touched {
                    let place = *array_places.entry(array.common.id).or_insert(arrays.len());
                    match arrays.get_mut(place) {
                        Some((_, w)) => *w |= write,
                        None => arrays.push((array.clone(), write)),
                    }
                    return;
                }
                let place = *places.entry(touched.common().id).or_insert(resources.len());
                match resources.get_mut(place) {
                    Some((_, w)) => *w |= write,
                    None => resources.push((touched.resource(), write)),
                }
            });
        }
        let entry = arrays.iter().map(|(array, _)| array.contents()).collect();
        let plan = Mutex::new(Arc::new(Plan::new(&commands, &arrays, entry)));
        let last = Mutex::default();
        Ok(Self(Arc::new(Committed { raw, commands, device, resources, arrays, plan, last })))
    }

    /// Number of commands.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.commands.len()
    }

    /// Whether there are no commands.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl CommittedList {
    /// The graph of the list as text: for each command its level, and what it waits for because of which resource. Resources
    /// are numbered in the order in which the list uses them.
    #[must_use]
    pub fn explain(&self) -> String {
        self.0.plan_now().text(&self.0.commands)
    }

    /// The same in the language DOT, for Graphviz to draw.
    #[must_use]
    pub fn explain_dot(&self) -> String {
        self.0.plan_now().dot(&self.0.commands)
    }

    /// The commands of each level, by their positions: those of a level wait for none of the same level.
    #[must_use]
    pub fn levels(&self) -> Vec<Vec<u32>> {
        self.0.plan_now().graph.levels()
    }
}

impl Committed {
    fn plan_now(&self) -> Arc<Plan> {
        self.plan(&self.arrays.iter().map(|(array, _)| array.contents()).collect::<Vec<_>>())
    }

    /// The graph for what the arrays hold when the list begins: the last one, if they held the same then.
    pub(crate) fn plan(&self, entry: &[Arc<Contents>]) -> Arc<Plan> {
        let mut plan = self.plan.lock().unwrap_or_else(PoisonError::into_inner);
        let same = plan.entry.iter().zip(entry).all(|(a, b)| Arc::ptr_eq(a, b));
        if !same {
            *plan = Arc::new(Plan::new(&self.commands, &self.arrays, entry.to_vec()));
        }
        plan.clone()
    }

    /// Puts a run's completion in the place of the last one's.
    pub(crate) fn follow(&self, run: &Arc<Completion>) -> Option<Arc<Completion>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).replace(run.clone())
    }
}
