#!/usr/bin/env python3
"""Runs PTX that luisac wrote on this machine's NVIDIA GPU and compares with recorded results.

usage: exam_ptx.py PTX_FOLDER CASE_FOLDER [CASE_FOLDER ..]

PTX_FOLDER holds NAME.ptx with NAME.ptx.json beside it (`luisac compile ... --target ptx:sm_90 -o NAME.ptx`); a case folder holds
NAME.expect.json (the format is described in the corpus README).  Cases without PTX are skipped and counted.  Needs numpy and the
CUDA driver, no toolkit.  ONLY=name,name picks cases.  Prints a line for each case that is wrong, and last "N of M right"."""
import ctypes, glob, json, os, sys
import numpy as np

DTYPE = {'bool': np.uint8, 'byte': np.int8, 'ubyte': np.uint8, 'short': np.int16, 'ushort': np.uint16, 'int': np.int32,
         'uint': np.uint32, 'long': np.int64, 'ulong': np.uint64, 'half': np.float16, 'float': np.float32,
         'double': np.float64, 'bytes': np.uint8}
BITS = {np.dtype(np.float16): np.uint16, np.dtype(np.float32): np.uint32, np.dtype(np.float64): np.uint64}
# Element type of a cuArray, and PixelStorage by channels.
ARRAY = {np.dtype(np.float32): (0x20, {1: 12, 2: 13, 4: 14}), np.dtype(np.float16): (0x10, {1: 9, 2: 10, 4: 11}),
         np.dtype(np.int32): (0x0a, {1: 6, 2: 7, 4: 8}), np.dtype(np.uint32): (0x03, {1: 6, 2: 7, 4: 8}),
         np.dtype(np.uint8): (0x01, {1: 0, 2: 1, 4: 2}), np.dtype(np.uint16): (0x02, {1: 3, 2: 4, 4: 5})}


def numbers(kind, data):
    """The flat array of a case's data: floats may be bit patterns or numbers, bytes are one hexadecimal string."""
    dtype = np.dtype(DTYPE[kind])
    if kind == 'bytes':
        return np.frombuffer(bytes.fromhex(data.replace('??', '00')), np.uint8)
    data = [0 if v is None else v for v in data]
    if dtype in BITS:
        bits = [int(v, 16) if isinstance(v, str) else int(np.array(v, dtype).view(BITS[dtype])[()]) for v in data]
        return np.array(bits, BITS[dtype]).view(dtype)
    # A negative number may be given as its bits.
    mask = (1 << 8 * dtype.itemsize) - 1
    values = [(int(v, 0) if isinstance(v, str) else int(v)) & mask for v in data]
    return np.array(values, f'u{dtype.itemsize}').view(dtype)


def matters(kind, data, count):
    """Which numbers count: not the bytes `??`, nor null."""
    if kind == 'bytes':
        return np.array([data[2 * k:2 * k + 2] != '??' for k in range(count)], bool)
    return np.array([v is not None for v in data], bool)


def equal(want, got, tolerance):
    if want.dtype not in BITS:
        return want == got
    bits = BITS[want.dtype]
    same = (want.view(bits) == got.view(bits)) | (np.isnan(want) & np.isnan(got))
    if tolerance:
        with np.errstate(all='ignore'):
            w, g = want.astype(np.float64), got.astype(np.float64)
            same |= np.abs(w - g) <= tolerance * np.abs(w)
    return same


def offsets(description):
    """Byte offset of each scalar of a vector, matrix or scalar type, and the bytes of an element."""
    sizes = {'bool': 1, 'byte': 1, 'ubyte': 1, 'short': 2, 'ushort': 2, 'half': 2, 'int': 4, 'uint': 4, 'float': 4, 'long': 8,
             'ulong': 8, 'double': 8}
    if description.startswith('vector<'):
        scalar, n = description[7:-1].split(',')
        n, size = int(n), sizes[scalar]
        align = min(16, size * (4 if n == 3 else n))
        return [size * i for i in range(n)], -(-size * n // align) * align
    if description.startswith('matrix<'):
        n = int(description[7:-1])
        column = 8 if n == 2 else 16
        return [c * column + 4 * r for c in range(n) for r in range(n)], n * column
    return [0], sizes[description]


def spread(array, description):
    """Scalars in order -> memory."""
    if description.startswith(('struct', 'void', 'array')):
        return array.view(np.uint8).copy()
    where, size = offsets(description)
    width = array.dtype.itemsize
    scalars = array.view(np.uint8).reshape(-1, len(where), width)
    memory = np.zeros((scalars.shape[0], size), np.uint8)
    for i, offset in enumerate(where):
        memory[:, offset:offset + width] = scalars[:, i]
    return memory.ravel()


def gather(memory, description, dtype):
    """The reverse of spread."""
    if description.startswith(('struct', 'void', 'array')):
        return memory.view(dtype)
    where, size = offsets(description)
    width = np.dtype(dtype).itemsize
    rows = memory.reshape(-1, size)
    return np.ascontiguousarray(np.stack([rows[:, o:o + width] for o in where], 1)).reshape(-1).view(dtype)


class Descriptor(ctypes.Structure):
    _fields_ = [('width', ctypes.c_size_t), ('height', ctypes.c_size_t), ('depth', ctypes.c_size_t),
                ('format', ctypes.c_int), ('channels', ctypes.c_uint), ('flags', ctypes.c_uint)]


class Copy3D(ctypes.Structure):
    _fields_ = [(side + name, kind) for side in ('src', 'dst') for name, kind in (
        ('X', ctypes.c_size_t), ('Y', ctypes.c_size_t), ('Z', ctypes.c_size_t), ('LOD', ctypes.c_size_t),
        ('Type', ctypes.c_int), ('Host', ctypes.c_void_p), ('Device', ctypes.c_uint64), ('Array', ctypes.c_void_p),
        ('Reserved', ctypes.c_void_p), ('Pitch', ctypes.c_size_t), ('Height', ctypes.c_size_t))]
    _fields_ += [('width', ctypes.c_size_t), ('height', ctypes.c_size_t), ('depth', ctypes.c_size_t)]


class ResourceDescriptor(ctypes.Structure):
    _fields_ = [('type', ctypes.c_int), ('array', ctypes.c_void_p), ('reserved', ctypes.c_int * 32), ('flags', ctypes.c_uint)]


class View(ctypes.Structure):
    _fields_ = [('format', ctypes.c_int), ('width', ctypes.c_size_t), ('height', ctypes.c_size_t), ('depth', ctypes.c_size_t),
                ('firstLevel', ctypes.c_uint), ('lastLevel', ctypes.c_uint), ('firstLayer', ctypes.c_uint),
                ('lastLayer', ctypes.c_uint), ('reserved', ctypes.c_uint * 16)]


class Texture(ctypes.Structure):
    _fields_ = [('address', ctypes.c_int * 3), ('filter', ctypes.c_int), ('flags', ctypes.c_uint), ('anisotropy', ctypes.c_uint),
                ('mipFilter', ctypes.c_int), ('bias', ctypes.c_float), ('least', ctypes.c_float), ('most', ctypes.c_float),
                ('border', ctypes.c_float * 4), ('reserved', ctypes.c_int * 12)]


class Driver:
    def __init__(self):
        self.cuda = ctypes.CDLL('libcuda.so.1')
        self.call('cuInit', 0)
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call('cuDeviceGet', ctypes.byref(device), 0)
        self.call('cuDevicePrimaryCtxRetain', ctypes.byref(context), device)
        self.call('cuCtxSetCurrent', context)

    def call(self, name, *args):
        status = getattr(self.cuda, name)(*args)
        if status:
            text = ctypes.c_char_p()
            self.cuda.cuGetErrorString(status, ctypes.byref(text))
            raise RuntimeError(f'{name}: {(text.value or b"?").decode()} ({status})')

    def upload(self, memory):
        pointer = ctypes.c_uint64()
        self.call('cuMemAlloc_v2', ctypes.byref(pointer), ctypes.c_size_t(max(memory.nbytes, 16)))
        if memory.nbytes:
            self.call('cuMemcpyHtoD_v2', pointer, memory.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(memory.nbytes))
        return pointer

    def download(self, pointer, count):
        memory = np.zeros(count, np.uint8)
        if count:
            self.call('cuMemcpyDtoH_v2', memory.ctypes.data_as(ctypes.c_void_p), pointer, ctypes.c_size_t(count))
        return memory

    def copy_array(self, array, host, shape, into):
        """Copies between an array and host memory of shape (depth, height, row bytes)."""
        copy = Copy3D()
        depth, height, row = shape
        host_side, array_side = ('src', 'dst') if into else ('dst', 'src')
        setattr(copy, host_side + 'Type', 1)
        setattr(copy, host_side + 'Host', host.ctypes.data)
        setattr(copy, host_side + 'Pitch', row)
        setattr(copy, host_side + 'Height', height)
        setattr(copy, array_side + 'Type', 3)
        setattr(copy, array_side + 'Array', array)
        copy.width, copy.height, copy.depth = row, height, depth
        self.call('cuMemcpy3D_v2', ctypes.byref(copy))


class Image:
    """An image with all its levels, as a surface object of the first one and texture objects."""

    def __init__(self, driver, argument, data):
        self.driver, self.data = driver, np.ascontiguousarray(data)
        depth, channels, self.levels = argument.get('depth', 0), argument['channels'], argument.get('levels', 1)
        kind, storages = ARRAY[self.data.dtype]
        self.storage = storages[channels]
        descriptor = Descriptor(argument['width'], argument['height'], depth, kind, channels, 2)
        mipmapped = ctypes.c_void_p()
        driver.call('cuMipmappedArrayCreate', ctypes.byref(mipmapped), ctypes.byref(descriptor), ctypes.c_uint(self.levels))
        self.mipmapped = mipmapped.value
        self.parts, start = [], 0
        for level in range(self.levels):
            w, h, d = (max(n >> level, 1) for n in (argument['width'], argument['height'], max(depth, 1)))
            array = ctypes.c_void_p()
            driver.call('cuMipmappedArrayGetLevel', ctypes.byref(array), ctypes.c_void_p(self.mipmapped), ctypes.c_uint(level))
            shape, count = (d, h, w * channels * self.data.itemsize), w * h * d * channels
            self.parts.append((array.value, shape, start, count))
            driver.copy_array(array.value, np.ascontiguousarray(self.data[start:start + count]), shape, True)
            start += count
        resource, surface = ResourceDescriptor(type=0, array=self.parts[0][0]), ctypes.c_uint64()
        driver.call('cuSurfObjectCreate', ctypes.byref(surface), ctypes.byref(resource))
        self.surface = surface.value

    def texture(self, sampler):
        """The texture object for sampler filter * 4 + address: normalised coordinates, numbers read as float."""
        f, a = divmod(sampler, 4)
        address = [1, 0, 2, 3][a]  # clamp, wrap, mirror, border
        descriptor = Texture((ctypes.c_int * 3)(address, address, address), int(f > 0), 2, 16 if f == 3 else 1, int(f > 1), 0.0, 0.0,
                             float(self.levels - 1))
        resource, texture = ResourceDescriptor(type=1, array=self.mipmapped), ctypes.c_uint64()
        self.driver.call('cuTexObjectCreate', ctypes.byref(texture), ctypes.byref(resource), ctypes.byref(descriptor), None)
        return texture.value

    def param(self, sampled):
        first = self.surface
        if sampled:
            words = [self.surface, self.levels] + [self.texture(sampler) for sampler in range(16)]
            first = self.driver.upload(np.array(words, np.uint64).view(np.uint8)).value
        return np.array([first, self.storage], np.uint64).view(np.uint8)

    def result(self):
        out = np.zeros_like(self.data)
        for array, shape, start, count in self.parts:
            part = np.zeros(count, self.data.dtype)
            self.driver.copy_array(array, part, shape, False)
            out[start:start + count] = part
        return out.ravel()


def bindless(driver, slots):
    """The parameter of a bindless array, and the buffers of its slots."""
    records, buffers = np.zeros((len(slots), 4), np.uint64), {}
    for k, slot in enumerate(slots):
        size = 0
        if slot.get('buffer'):
            memory = numbers(slot['buffer']['type'], slot['buffer']['data']).view(np.uint8)
            pointer = driver.upload(memory)
            buffers[k] = pointer, memory.nbytes
            records[k, 0], size = pointer.value, memory.nbytes
        for word, shift, name in ((2, 48, 'image2d'), (3, 56, 'image3d')):
            if slot.get(name):
                f, a = slot[name]['sampler']
                image = Image(driver, slot[name], numbers(slot[name]['type'], slot[name]['data']))
                records[k, word], size = image.texture(f * 4 + a), size | (f * 4 + a | image.levels - 1 << 4) << shift
        records[k, 1] = size
    pointer = driver.upload(records.ravel().view(np.uint8))
    return np.array([pointer.value, len(slots)], np.uint64).view(np.uint8), buffers


def check(driver, ptx, case):
    """None if right, else what is wrong."""
    meta = json.load(open(ptx + '.json'))
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    driver.call('cuModuleLoadData', ctypes.byref(module), open(ptx, 'rb').read() + b'\0')
    driver.call('cuModuleGetFunction', ctypes.byref(function), module, meta['entry'].encode())
    params = np.zeros(meta['params']['size'], np.uint8)
    held = []
    for argument, data in zip(meta['arguments'], case['args']):
        at, kind = argument['offset'], data['kind']
        if kind == 'uniform':
            value = data['value'] if isinstance(data['value'], list) else [data['value']]
            scalar = data['type'].rstrip('234')
            memory = spread(np.array(value, DTYPE[scalar]), argument['type'])
            held.append(None)
        elif kind == 'image':
            image = Image(driver, data, numbers(data['type'], data['data']))
            memory = image.param(argument.get('sampled', False))
            held.append(image)
        elif kind == 'bindless':
            memory, buffers = bindless(driver, data['slots'])
            held.append(buffers)
        else:
            inner = argument['type'][argument['type'].index('<') + 1:-1]
            memory = spread(numbers(data['type'], data['data']), inner)
            pointer = driver.upload(memory)
            held.append((pointer, memory.nbytes, inner))
            memory = np.array([pointer.value, memory.nbytes], np.uint64).view(np.uint8)
        params[at:at + memory.nbytes] = memory
    if meta['params'].get('log') is not None:
        capacity = 1 << 20
        log = driver.upload(np.zeros(capacity + 8, np.uint8))
        at = meta['params']['log']
        params[at:at + 16] = np.array([capacity, log.value], np.uint64).view(np.uint8)
    size, block = case['dispatch'], meta['block_size']
    at = meta['params']['dispatch']
    params[at:at + 16] = np.array(size + [0], np.uint32).view(np.uint8)
    grid = [-(-n // b) for n, b in zip(size, block)]
    if all(grid):
        pointers = (ctypes.c_void_p * 1)(params.ctypes.data)
        driver.call('cuLaunchKernel', function, *grid, *block, 0, None, pointers, None)
        driver.call('cuCtxSynchronize')
    for i, data in enumerate(case['args']):
        if data['kind'] == 'uniform':
            continue
        if data['kind'] == 'bindless':
            for k, (pointer, count) in held[i].items():
                given = data['slots'][k]['buffer']
                expect = case['expect'].get(f'{i}.{k}', {'data': given['data'], 'tolerance': 0})
                wrong = compare(f'{i}.{k}', given['type'], expect, driver.download(pointer, count).view(DTYPE[given['type']]))
                if wrong:
                    return wrong
            continue
        expect = case['expect'].get(str(i), {'data': data['data'], 'tolerance': 0})
        if data['kind'] == 'image':
            got = held[i].result()
        else:
            pointer, count, inner = held[i]
            got = gather(driver.download(pointer, count), inner, DTYPE[data['type']])
        wrong = compare(i, data['type'], expect, got)
        if wrong:
            return wrong
    return None


def compare(argument, kind, expect, got):
    """None if the numbers are what is expected, else what is wrong. Numbers of a case that says how the hardware's weights and
    anisotropic places differ (`hardware`: an absolute difference) are compared so."""
    want = numbers(kind, expect['data'])
    same = equal(want, got, expect.get('tolerance', 0))
    if 'hardware' in expect:
        with np.errstate(all='ignore'):
            same |= np.abs(want.astype(np.float64) - got.astype(np.float64)) <= np.resize(np.array(expect['hardware']), want.size)
    wrong = ~same & matters(kind, expect['data'], want.size)
    if not wrong.any():
        return None
    k = int(np.nonzero(wrong)[0][0])
    return f'argument {argument}: {int(wrong.sum())} of {want.size} differ, first [{k}]: {got[k]!r}, wanted {want[k]!r}'


def run_one(ptx, path):
    driver = Driver()
    try:
        wrong = check(driver, ptx, json.load(open(path)))
    except Exception as error:  # a failed launch poisons the context; each case has a process of its own
        wrong = f'{type(error).__name__}: {error}'
    if wrong:
        print(wrong)
    sys.exit(1 if wrong else 0)


def main():
    import subprocess
    from concurrent.futures import ThreadPoolExecutor
    if len(sys.argv) == 4 and sys.argv[1] == '--one':
        run_one(sys.argv[2], sys.argv[3])
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    folder, cases = sys.argv[1], []
    skipped = 0
    only = os.environ.get('ONLY')
    for cases_in in sys.argv[2:]:
        for path in sorted(glob.glob(f'{cases_in}/*.expect.json')):
            name = os.path.basename(path)[:-len('.expect.json')]
            ptx = f'{folder}/{name}.ptx'
            if only and name not in only.split(','):
                continue
            if json.load(open(path))['expect'].get('error') or not os.path.isfile(ptx):
                skipped += 1
                continue
            cases.append((name, ptx, path))

    def one(case):
        command = [sys.executable, os.path.abspath(__file__), '--one', case[1], case[2]]
        try:
            return subprocess.run(command, capture_output=True, text=True, timeout=120)
        except subprocess.TimeoutExpired:
            return None

    right = 0
    with ThreadPoolExecutor(int(os.environ.get('JOBS', 8))) as pool:
        for (name, _, _), result in zip(cases, pool.map(one, cases)):
            if result is None:
                print(f'WRONG {name}: did not end in time', flush=True)
            elif result.returncode:
                print(f'WRONG {name}: {(result.stdout + result.stderr[-300:]).strip()}', flush=True)
            else:
                right += 1
    print(f'{skipped} skipped')
    print(f'{right} of {len(cases)} right')
    sys.exit(right != len(cases) or not cases)


if __name__ == '__main__':
    main()
