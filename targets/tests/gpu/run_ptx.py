#!/usr/bin/env python3
"""Runs PTX on a GPU through the driver and compares with the cases of a corpus folder.

usage: run_ptx.py PTX_ROOT CASES...

PTX_ROOT has one folder for each set of flags, as `emit_corpus` wrote them: fast, precise, clamp; in each FOLDER__NAME.ptx and
FOLDER__NAME.meta.json. CASES are folders of NAME.expect.json. Needs numpy and libcuda. Prints one line a case that is wrong, and
counts. Every case runs in a process of its own, since a fault ends a context."""
import ctypes as c, json, multiprocessing as mp, os, re, sys
import numpy as np

DTYPE = {'bool': np.uint8, 'byte': np.int8, 'ubyte': np.uint8, 'short': np.int16, 'ushort': np.uint16, 'int': np.int32, 'uint': np.uint32,
         'long': np.int64, 'ulong': np.uint64, 'half': np.float16, 'float': np.float32, 'double': np.float64, 'bytes': np.uint8}
BITS = {np.dtype(np.float16): np.uint16, np.dtype(np.float32): np.uint32, np.dtype(np.float64): np.uint64}
LOG_BYTES = 1 << 20

def numbers(kind, data):
    d = np.dtype(DTYPE[kind])
    if kind == 'bytes': return np.frombuffer(bytes.fromhex(data.replace('??', '00')), np.uint8)
    data = [0 if v is None else v for v in data]
    if d in BITS: return np.array([int(v, 16) if isinstance(v, str) else int(np.array(v, d).view(BITS[d])[()]) for v in data], BITS[d]).view(d)
    return np.array([int(v, 0) if isinstance(v, str) else v for v in data], d)

def care(kind, data, n):
    return np.array([data[2 * k:2 * k + 2] != '??' for k in range(n)], bool) if kind == 'bytes' else np.array([v is not None for v in data], bool)

def equal(want, got, tolerance):
    if want.dtype not in BITS: return want == got
    b = BITS[want.dtype]; r = (want.view(b) == got.view(b)) | (np.isnan(want) & np.isnan(got))
    if tolerance:
        with np.errstate(all='ignore'): r |= np.abs(want.astype(np.float64) - got.astype(np.float64)) <= tolerance * np.abs(want.astype(np.float64))
    return r

def rows(description):
    """(scalars a row, scalars a padded row): vectors of three and columns of three are padded to four"""
    m = re.search(r'vector<\w+,(\d)>>?$', description) or re.search(r'matrix<(\d)>>?$', description)
    n = int(m.group(1)) if m else 1
    return n, 4 if n == 3 else n

def padded(x, description):
    n, room = rows(description)
    if n == room: return x
    wide = np.zeros((x.size // n, room), x.dtype); wide[:, :n] = x.reshape(-1, n)
    return wide.ravel()

def unpadded(x, description):
    n, room = rows(description)
    return x if n == room else x.reshape(-1, room)[:, :n].ravel()

class Array3D(c.Structure):
    _fields_ = [('width', c.c_size_t), ('height', c.c_size_t), ('depth', c.c_size_t), ('format', c.c_int), ('channels', c.c_uint), ('flags', c.c_uint)]

class Resource(c.Structure):
    _fields_ = [('type', c.c_int), ('array', c.c_void_p), ('rest', c.c_byte * 120), ('flags', c.c_uint)]

class Copy3D(c.Structure):
    _fields_ = [('srcXInBytes', c.c_size_t), ('srcY', c.c_size_t), ('srcZ', c.c_size_t), ('srcLOD', c.c_size_t), ('srcMemoryType', c.c_int), ('srcHost', c.c_void_p),
                ('srcDevice', c.c_uint64), ('srcArray', c.c_void_p), ('reserved0', c.c_void_p), ('srcPitch', c.c_size_t), ('srcHeight', c.c_size_t),
                ('dstXInBytes', c.c_size_t), ('dstY', c.c_size_t), ('dstZ', c.c_size_t), ('dstLOD', c.c_size_t), ('dstMemoryType', c.c_int), ('dstHost', c.c_void_p),
                ('dstDevice', c.c_uint64), ('dstArray', c.c_void_p), ('reserved1', c.c_void_p), ('dstPitch', c.c_size_t), ('dstHeight', c.c_size_t),
                ('WidthInBytes', c.c_size_t), ('Height', c.c_size_t), ('Depth', c.c_size_t)]

class Gpu:
    def __init__(self):
        self.cu = c.CDLL('libcuda.so.1'); self.call('cuInit', 0)
        device, context = c.c_int(), c.c_void_p()
        self.call('cuDeviceGet', c.byref(device), 0); self.call('cuDevicePrimaryCtxRetain', c.byref(context), device); self.call('cuCtxSetCurrent', context)
    def call(self, name, *args):
        r = getattr(self.cu, name)(*args)
        if r:
            text = c.c_char_p(); self.cu.cuGetErrorString(r, c.byref(text)); raise RuntimeError(f'{name}: {(text.value or b"?").decode()}')
    def upload(self, data):
        p = c.c_uint64(); self.call('cuMemAlloc_v2', c.byref(p), c.c_size_t(max(data.nbytes, 16)))
        if data.nbytes: self.call('cuMemcpyHtoD_v2', p, data.ctypes.data_as(c.c_void_p), c.c_size_t(data.nbytes))
        return p.value
    def download(self, p, like):
        out = np.empty_like(like)
        if out.nbytes: self.call('cuMemcpyDtoH_v2', out.ctypes.data_as(c.c_void_p), c.c_uint64(p), c.c_size_t(out.nbytes))
        return out
    def copy_image(self, array, host, shape, up):
        w, h, d = shape; s = Copy3D(); a, b = ('dst', 'src') if up else ('src', 'dst')
        setattr(s, a + 'MemoryType', 3); setattr(s, a + 'Array', array); setattr(s, b + 'MemoryType', 1); setattr(s, b + 'Host', host.ctypes.data)
        setattr(s, b + 'Pitch', w * 16); setattr(s, b + 'Height', h); s.WidthInBytes, s.Height, s.Depth = w * 16, h, d
        self.call('cuMemcpy3D_v2', c.byref(s))
    def image(self, data, shape, three, kind):
        """a surface of four 32-bit channels, and its array"""
        w, h, d = shape; desc = Array3D(w, h, d if three else 0, {'float': 0x20, 'uint': 0x03, 'int': 0x0a}[kind], 4, 2)
        array, surface = c.c_void_p(), c.c_uint64()
        self.call('cuArray3DCreate_v2', c.byref(array), c.byref(desc)); self.copy_image(array, data, shape, True)
        r = Resource(); r.type = 0; r.array = array
        self.call('cuSurfObjectCreate', c.byref(surface), c.byref(r))
        return surface.value, array

def run(ptx, meta, case):
    gpu = Gpu(); args = case.get('args', []); block = meta['block_size']
    if len(args) != len(meta['arguments']): return f"{len(args)} arguments in the case, {len(meta['arguments'])} in the kernel"
    params = bytearray(meta['params']['size']); held = {}
    word = lambda at, v, n: params.__setitem__(slice(at, at + n), int(v).to_bytes(n, 'little'))
    for i, (a, m) in enumerate(zip(args, meta['arguments'])):
        at = m['offset']
        if a['kind'] == 'uniform':
            v = a['value'] if isinstance(a['value'], list) else [a['value']]
            raw = numbers(a['type'].rstrip('234'), v).tobytes(); params[at:at + len(raw)] = raw
        elif a['kind'] == 'image':
            x = np.ascontiguousarray(numbers(a['type'], a['data'])); shape = (a['width'], a['height'], a.get('depth', 1))
            surface, array = gpu.image(x, shape, 'depth' in a, a['type'])
            word(at, surface, 8); word(at + 8, 14 if a['type'] == 'float' else 8, 8); held[i] = ('image', array, x, shape)
        else:
            x = padded(numbers(a['type'], a['data']), m['type']); p = gpu.upload(x)
            word(at, p, 8); word(at + 8, x.nbytes, 8); held[i] = ('buffer', p, x, m['type'])
    log = meta['params'].get('log')
    if log is not None:
        word(log, LOG_BYTES, 8); word(log + 8, gpu.upload(np.zeros(LOG_BYTES + 8, np.uint8)), 8)
    for k, n in enumerate(list(case['dispatch']) + [0]): word(meta['params']['dispatch'] + 4 * k, n, 4)
    module, function = c.c_void_p(), c.c_void_p()
    gpu.call('cuModuleLoadData', c.byref(module), c.c_char_p(ptx + b'\0'))
    gpu.call('cuModuleGetFunction', c.byref(function), module, meta['entry'].encode())
    grid = [-(-n // b) for n, b in zip(case['dispatch'], block)]
    data = (c.c_byte * len(params)).from_buffer(params); size = c.c_size_t(len(params))
    extra = (c.c_void_p * 5)(1, c.addressof(data), 2, c.addressof(size), 0)
    if all(grid): gpu.call('cuLaunchKernel', function, *map(c.c_uint, grid + block), c.c_uint(0), None, None, extra)
    gpu.call('cuCtxSynchronize')
    for i, (kind, p, x, how) in held.items():
        a = args[i]; e = case['expect'].get(str(i), {'data': a['data'], 'tolerance': 0}); want = numbers(a['type'], e['data'])
        if kind == 'image': got = np.empty_like(x); gpu.copy_image(p, got, how, False)
        else: got = unpadded(gpu.download(p, x), how)
        bad = np.nonzero(~equal(want, got, e.get('tolerance', 0)) & care(a['type'], e['data'], want.size))[0]
        if bad.size:
            k = bad[0]; show = lambda v: f'{v!r} (0x{int(v.view(BITS[v.dtype])):x})' if v.dtype in BITS else str(v)
            return f"argument {i}: {bad.size} of {want.size} differ, first [{k}]: {show(got[k])}, wanted {show(want[k])}"
    return None

def work(job):
    root, folder, name = job
    with open(f'{folder}/{name}.expect.json', encoding='utf-8') as f: case = json.load(f)
    if case['expect'].get('error'): return name, 'skipped'
    flags = ' '.join(case.get('flags', [])); mode = 'precise' if 'precise' in flags else 'clamp' if 'clamp' in flags else 'fast'
    stem = f"{root}/{mode}/{os.path.basename(folder.rstrip('/'))}__{name}"
    if not os.path.exists(stem + '.ptx'): return name, 'skipped'
    with open(stem + '.meta.json') as f: meta = json.load(f)
    with open(stem + '.ptx', 'rb') as f: ptx = f.read()
    try: return name, run(ptx, meta, case)
    except Exception as e: return name, f'{type(e).__name__}: {e}'

def guarded(job, seconds=60):
    """one case in a process of its own, so that a fault or an endless run ends with it"""
    receive, send = mp.Pipe(False)
    p = mp.Process(target=lambda: send.send(work(job))); p.start()
    if receive.poll(seconds):
        try: return receive.recv()
        except EOFError: return job[2], 'the process died'
        finally: p.join(5); p.kill()
    p.kill(); return job[2], 'did not end in time'

def main():
    from concurrent.futures import ThreadPoolExecutor
    mp.set_start_method('fork')
    root, folders = sys.argv[1], sys.argv[2:]; right = wrong = skipped = 0
    jobs = [(root, f, n[:-len('.expect.json')]) for f in folders for n in sorted(os.listdir(f)) if n.endswith('.expect.json')]
    with ThreadPoolExecutor(8) as pool:
        for name, result in pool.map(guarded, jobs):
            if result == 'skipped': skipped += 1
            elif result is None: right += 1
            else: wrong += 1; print(f'WRONG {name}: {result}', flush=True)
    print(f'{right} right, {wrong} wrong, {skipped} skipped of {len(jobs)}')
    sys.exit(wrong != 0)

if __name__ == '__main__': main()
