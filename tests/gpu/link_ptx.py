#!/usr/bin/env python3
"""Links device functions that luisac wrote with a kernel written by hand, runs them on this machine's NVIDIA GPU, and compares.

usage: link_ptx.py FOLDER

FOLDER holds `scale.ptx` and `double_at.ptx`, the callables of `tests/callables.rs` (LUISAC_KEEP=FOLDER cargo test --test callables
leaves them there). Needs numpy and the CUDA driver, no toolkit. Prints "linked and right", or what is wrong."""
import ctypes, os, re, sys
import numpy as np

KERNEL = """
.extern .func (.param .b32 r) callable_double_at(.param .b64 a, .param .b64 b, .param .b32 c);
.extern .func callable_scale(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d);
.visible .entry k(.param .u64 ints, .param .u64 out, .param .u64 vectors, .param .u64 calls)
{
  .reg .b64 %rd<8>;
  .reg .b32 %r<4>;
  ld.param.u64 %rd1, [ints];
  ld.param.u64 %rd2, [out];
  ld.param.u64 %rd3, [vectors];
  ld.param.u64 %rd4, [calls];
  mov.u64 %rd5, 12;
  mov.u32 %r1, 1;
  mov.b32 %r3, 0f40400000;
  add.s64 %rd6, %rd3, 16;
  { .param .b32 q; .param .b64 p0; .param .b64 p1; .param .b32 p2;
    st.param.b64 [p0], %rd1; st.param.b64 [p1], %rd5; st.param.b32 [p2], %r1;
    call (q), callable_double_at, (p0, p1, p2);
    ld.param.b32 %r2, [q]; }
  st.global.u32 [%rd2], %r2;
  { .param .b64 p0; .param .b64 p1; .param .b32 p2; .param .b64 p3;
    st.param.b64 [p0], %rd6; st.param.b64 [p1], %rd3; st.param.b32 [p2], %r3; st.param.b64 [p3], %rd4;
    call callable_scale, (p0, p1, p2, p3); }
  ret;
}
"""

cuda = ctypes.CDLL('libcuda.so.1')
void, u32, size = ctypes.c_void_p, ctypes.c_uint, ctypes.c_size_t


def call(name, *args):
    code = getattr(cuda, name)(*args)
    if code:
        text = ctypes.c_char_p()
        cuda.cuGetErrorString(code, ctypes.byref(text))
        sys.exit(f'{name}: {code} {text.value}')


def link(texts):
    log, length = ctypes.create_string_buffer(8192), 8192
    options = (ctypes.c_int * 2)(5, 6)                                  # the buffer of the error log, and its length
    values = (void * 2)(ctypes.addressof(log), length)
    state = void()
    call('cuLinkCreate_v2', 2, options, values, ctypes.byref(state))
    for text in texts:
        code = cuda.cuLinkAddData_v2(state, 1, text, size(len(text) + 1), b'part', 0, None, None)
        if code:
            sys.exit(f'cuLinkAddData: {code}\n{log.value.decode()}')
    image, bytes_ = void(), size()
    if cuda.cuLinkComplete(state, ctypes.byref(image), ctypes.byref(bytes_)):
        sys.exit(f'cuLinkComplete:\n{log.value.decode()}')
    module = void()
    call('cuModuleLoadData', ctypes.byref(module), image)
    return module


def main(folder):
    call('cuInit', 0)
    device, context = ctypes.c_int(), void()
    call('cuDeviceGet', ctypes.byref(device), 0)
    call('cuDevicePrimaryCtxRetain', ctypes.byref(context), device)
    call('cuCtxSetCurrent', context)
    functions = [open(os.path.join(folder, f'{n}.ptx'), 'rb').read() for n in ('double_at', 'scale')]
    head = b'\n'.join(re.findall(rb'^\.(?:version|target|address_size).*$', functions[0], re.M))
    module = link(functions + [head + KERNEL.encode()])
    kernel = void()
    call('cuModuleGetFunction', ctypes.byref(kernel), module, b'k')
    arrays = [np.array([5, 6, 7], np.int32), np.zeros(1, np.int32),
              np.array([1, -2, 0.5, 9, 0, 0, 0, 0], np.float32), np.array([41], np.uint32)]
    places = []
    for a in arrays:
        place = ctypes.c_uint64()
        call('cuMemAlloc_v2', ctypes.byref(place), size(a.nbytes))
        call('cuMemcpyHtoD_v2', place, a.ctypes.data_as(void), size(a.nbytes))
        places.append(place)
    args = (void * 4)(*[ctypes.addressof(p) for p in places])
    call('cuLaunchKernel', kernel, u32(1), u32(1), u32(1), u32(1), u32(1), u32(1), u32(0), None, args, None)
    call('cuCtxSynchronize')
    for a, place in zip(arrays, places):
        call('cuMemcpyDtoH_v2', a.ctypes.data_as(void), place, size(a.nbytes))
    ints, old, vectors, calls = arrays
    right = list(ints) == [5, 12, 7] and old[0] == 6 and list(vectors[4:7]) == [3, -6, 1.5] and calls[0] == 42
    print('linked and right' if right else f'wrong: {ints} {old} {vectors} {calls}')
    sys.exit(0 if right else 1)


if __name__ == '__main__':
    main(sys.argv[1])
