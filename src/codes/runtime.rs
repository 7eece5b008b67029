//! The codes of the crates that know nothing of the compiler: artifact and runtime give theirs as text, here they are explained.

luisac_ast::codes! {
    /// Codes of `luisac-artifact` and `luisac-runtime`.
    pub static CODES;
    WRITE = 1001 "a file cannot be written", "The system refused to write an output; nothing was left behind.", "Check the path, its rights and the free space.";
    PARAMETER_BLOCK = 1010 "the arguments are too large", "The arguments of a kernel take more bytes than a parameter block may have.", "Pass large values in a buffer.";
    METADATA_JSON = 1020 "metadata cannot be read", "The file beside an artifact is not JSON, or not of the shape that luisac writes.", "Compile the kernel again.";
    METADATA_VERSION = 1021 "metadata of another version", "The metadata belongs to another version of luisac, or to something else.", "Compile the kernel again with the compiler of this runtime's version.";
    METADATA_VALUE = 1022 "a value in the metadata is wrong", "A value contradicts another or the ABI: the file is damaged or was not written by luisac.", "Compile the kernel again.";
    ARCHIVE_READ = 1030 "an archive cannot be read", "The system does not let this process read the file, or it does not exist.", "Check the path and its rights.";
    ARCHIVE_KIND = 1031 "this is no archive", "An archive starts with its own eight bytes; the file does not.", "Give a `.luisa` file that `luisac bake` or `luisac compile` wrote.";
    ARCHIVE_VERSION = 1032 "an archive of another version", "The archive has another version of the format than this program reads.", "Bake the kernels again with the luisac of the runtime that reads them.";
    ARCHIVE_DAMAGED = 1033 "the archive is damaged", "The bytes contradict themselves or their checksums: the file was cut or changed.", "Bake the kernels again.";
    ARCHIVE_CLASH = 1034 "two kernels of one name", "An archive tells kernels apart by name, permutation and target.", "Give the kernels different names, or bake them into two archives.";
    ARCHIVE_SIZE = 1035 "too many kernels for an archive", "The index of an archive has at most 64 MiB.", "Bake the kernels into several archives.";
    OBJECT_DAMAGED = 1100 "the object is damaged", "The bytes are no relocatable 64-bit ELF file, or contradict themselves.", "Compile the kernel again; use the metadata that was written with the object.";
    OBJECT_MACHINE = 1101 "the object is for another machine", "The object holds code of another architecture than this program.", "Compile it with `--target cpu:native`.";
    OBJECT_SYMBOL = 1102 "the object needs a symbol", "Objects of kernels stand alone; this one uses a function from outside.", "Use objects that `luisac compile --target cpu` wrote.";
    OBJECT_RELOCATION = 1103 "the object has an unknown relocation", "The loader knows the relocations that luisac's objects have.", "Use objects that `luisac compile --target cpu` wrote.";
    OBJECT_REACH = 1104 "a relocation is out of reach", "A relocation's result does not fit its field.", "Use objects that `luisac compile --target cpu` wrote.";
    OBJECT_DATA = 1105 "the object has writable data", "Kernels have no data that may be written or differs among threads.", "Use objects that `luisac compile --target cpu` wrote.";
    OBJECT_ENTRY = 1106 "the object has no entry point", "The entry point that the metadata names is missing or is no code.", "Use the metadata that was written with the object.";
    OBJECT_MAP = 1107 "no executable memory", "The system gave no memory for code.", "Check whether the system forbids executable memory for this process.";
    OBJECT_TARGET = 1108 "the kernel is for another kind of device", "The metadata belongs to a kernel that was compiled for another target.", "Compile it for the device: `--target cpu:native`, `--target spirv`.";
    OBJECT_FEATURE = 1109 "this processor lacks what the code needs", "The kernel was compiled for a newer processor.", "Compile it for an older one, such as `--target cpu:x86-64-v2`.";
    NO_VARIANT = 1110 "the archive has no kernel for the device", "None of the targets that the kernel was baked for is one that the device can run, or there is no such permutation.", "Bake the kernel for the device's target too.";
    ARGUMENT_COUNT = 1120 "the number of arguments is wrong", "A kernel takes all its arguments, captured resources first.", "`luisac inspect` lists the arguments in their order.";
    ARGUMENT_KIND = 1121 "an argument is of the wrong kind", "A buffer was given for a value, or the like.", "`luisac inspect` lists the arguments in their order.";
    ARGUMENT_SIZE = 1122 "an argument has the wrong size", "A value is given in its memory form: a 3-vector has four words, a bool one byte.", "Give as many bytes as the message says.";
    ARGUMENT_IMAGE = 1123 "an image does not fit its argument", "Float images take any storage, int and uint images the integer storages.", "Make the image with a storage that fits.";
    ARGUMENT_VIEW = 1124 "a view does not fit its buffer", "A view lies inside its buffer and starts at a multiple of its element's alignment.", "Correct the range of the view.";
    ARGUMENT_UNSUPPORTED = 1125 "the device does not hold an argument", "The device has no form for this kind of argument yet.", "Use another device, or another kind of argument.";
    OUT_OF_MEMORY = 1130 "out of memory", "The host has not as much memory as was asked for.", "Ask for less, or free some.";
    IMAGE_SHAPE = 1131 "an image cannot be made", "An image has texels on every axis, a size that can be addressed, and a storage that kernels can access.", "Correct the size or storage.";
    DATA_SIZE = 1132 "the data has the wrong length", "An upload or download moves the whole resource.", "Give as much as the message says.";
    GRID_TOO_LARGE = 1133 "the dispatch is too large", "The dispatch has more blocks than can be counted.", "Split it.";
    ASSERTION = 1140 "an assertion failed", "An `assert` of the kernel was false in the thread named; the thread stopped there.", "Look at the values that the message names.";
    OUT_OF_BOUNDS = 1141 "an index is out of bounds", "Under `--bounds trap` an index that no element has stops the kernel.", "Correct the index, or use `--bounds clamp` where the nearest element will do.";
    FAULT_LOST = 1142 "a fault could not be recorded", "The kernel stopped at a failed assertion or an index out of bounds when its log was full already.", "Print less.";
    BAD_LOG = 1143 "the log cannot be read", "The kernel wrote a log that its metadata does not describe.", "Use the metadata that was written with the object.";
    NO_VULKAN_LOADER = 1160 "there is no Vulkan loader", "The library that finds Vulkan drivers cannot be opened.", "Install it (Debian: libvulkan1) and a driver (in software: mesa-vulkan-drivers).";
    NO_VULKAN_DEVICE = 1161 "there is no Vulkan device", "No driver here has Vulkan 1.2 or later.", "Install a driver (in software: mesa-vulkan-drivers).";
    VULKAN_FEATURE = 1162 "the device lacks a feature", "The kernel uses a capability of SPIR-V, or a size of waves, that the device does not have.", "Use another device, or compile the kernel without it.";
    VULKAN_FORMAT = 1163 "the device has no such image", "The device has no format in which kernels can use images of this storage so.", "Store the image in another way, such as float4 or byte4.";
    VULKAN_LIMIT = 1164 "a limit of the device is passed", "The device takes less than the kernel or its arguments ask for.", "Use less, or another device.";
    VULKAN_LOST = 1165 "the device was lost", "The driver reset the device, perhaps since a kernel ran for too long.", "Dispatch less at once, and look for loops without an end.";
    VULKAN_CALL = 1166 "a call of the driver failed", "The driver refused what it should take.", "Try a newer driver or another device.";
    BAD_SPIRV = 1167 "the SPIR-V cannot be used", "The bytes are no SPIR-V module, or do not fit their metadata.", "Compile the kernel again; use the metadata that was written with the code.";
    BAD_WGSL = 1168 "the WGSL is refused", "The front end of wgpu does not take the code.", "Compile the kernel again; use the metadata that was written with the code.";
    VULKAN_VIEW = 1169 "a view cannot be bound", "Descriptors cover buffers from multiples of a number of bytes that the device chooses.", "Start the view elsewhere, or copy it into a buffer of its own.";
}
