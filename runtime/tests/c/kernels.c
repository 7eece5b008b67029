/* Kernels as the compiler would write them, for tests of the loader and the dispatch. */
typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef struct { u32 block[3], reserved; u8 *scratch; } Block;
typedef struct { u64 address, size; } Buffer;
typedef struct { u64 data; u32 width, height, depth, storage; u64 row, slice; } View;
typedef struct { u64 used; u8 data[]; } Log;
typedef struct { u64 capacity; Log *log; } LogSlot;
typedef struct { u32 size[3], kernel_id; } Dispatch;

#define THREADS(B) for (u32 t = 0, x = block->block[0] * (B); t < (B); t++, x++) if (x < p->dispatch.size[0])

/* y[i] += a * x[i]; block size 32 */
void saxpy(const u8 *params, const Block *block) {
  const struct { float a; u32 pad[3]; Buffer x, y; Dispatch dispatch; } *p = (const void *)params;
  const float *in = (const float *)p->x.address;
  float *out = (float *)p->y.address;
  THREADS(32) out[x] += p->a * in[x];
}

/* Relocations of all kinds: tables of numbers and of functions, a jump table, calls, a global through its slot. */
static const float table[64] = {1, 4, 9, 16, 25};
__attribute__((noinline)) static u32 twice(u32 v) { return v * 2 + (u32)table[v & 63]; }
__attribute__((noinline)) static u32 thrice(u32 v) { return v * 3 + (u32)table[v & 3]; }
static u32 (*const functions[2])(u32) = {twice, thrice};
u32 const shared_constant[3] = {7, 8, 9};
__attribute__((noinline)) static u32 jumps(u32 v) {
  switch (v % 9) {
  case 0: return twice(v);
  case 1: return v ^ 21;
  case 2: return thrice(v) + 2;
  case 3: return v / 3;
  case 4: return v << 4;
  case 5: return ~v;
  case 6: return v * v;
  default: return shared_constant[v % 3];
  }
}
void tables(const u8 *params, const Block *block) {
  const struct { Buffer out; Dispatch dispatch; } *p = (const void *)params;
  u32 *out = (u32 *)p->out.address;
  THREADS(32) out[x] = jumps(x) + functions[x & 1](x) + p->dispatch.kernel_id;
}

/* Sums its block through scratch memory; block size 32 */
void sums(const u8 *params, const Block *block) {
  const struct { Buffer out; Dispatch dispatch; } *p = (const void *)params;
  u32 *shared = (u32 *)block->scratch, total = 0;
  for (u32 t = 0; t < 32; t++) shared[t] = 0;
  THREADS(32) shared[t] = x;
  for (u32 t = 0; t < 32; t++) total += shared[t];
  ((u32 *)p->out.address)[block->block[0]] = total + (u32)((u64)block->scratch % 64);
}

/* out[i] = in[i] + 1 over byte4 images of three dimensions; block size 4, 2, 2 */
void volume(const u8 *params, const Block *block) {
  const struct { View *in; u64 si; View *out; u64 so; Dispatch dispatch; } *p = (const void *)params;
  for (u32 t = 0; t < 16; t++) {
    u32 x = block->block[0] * 4 + t % 4, y = block->block[1] * 2 + t / 4 % 2, z = block->block[2] * 2 + t / 8;
    if (x >= p->dispatch.size[0] || y >= p->dispatch.size[1] || z >= p->dispatch.size[2]) continue;
    if (x >= p->in->width || y >= p->in->height || z >= p->in->depth || p->si != 2 || p->in->storage != 2) continue;
    u64 at = x * 4 + y * p->in->row + z * p->in->slice;
    *(u32 *)(p->out->data + at) = *(u32 *)(p->in->data + at) + 0x01010101;
  }
}

static void record(const LogSlot *slot, const void *bytes, u32 size, u32 fault) {
  u64 at = __atomic_fetch_add(&slot->log->used, size, __ATOMIC_RELAXED);
  if (at + size <= slot->capacity) {
    for (u32 i = 0; i < size; i += 4) *(volatile u32 *)(slot->log->data + at + i) = ((const u32 *)bytes)[i / 4];
  } else if (fault) {
    __atomic_fetch_or(&slot->log->used, 1ull << 63, __ATOMIC_RELAXED);
  }
}

/* Prints i and (i, -i) for each in[i] == 1, asserts that in[i] != 2, traps where in[i] == 3; block size 32 */
void talks(const u8 *params, const Block *block) {
  const struct { Buffer in; LogSlot log; Dispatch dispatch; } *p = (const void *)params;
  const u32 *in = (const u32 *)p->in.address;
  THREADS(32) {
    if (in[x] == 1) {
      struct { u32 size, format, i, pad; float v[2]; } r = {24, 0, x, 0, {(float)x, -(float)x}};
      record(&p->log, &r, 24, 0);
    } else if (in[x] == 2) {
      u32 r[6] = {24, 1, x, 0, 0, 0};
      record(&p->log, r, 24, 1);
    } else if (in[x] == 3) {
      u32 r[8] = {32, 2, x, 0, 0, 0, (u32)-1, (u32)-1};
      record(&p->log, r, 32, 1);
    }
  }
}

/* y[i] = y[i] * 31 + x[i]: the order in which such dispatches run shows; block size 32 */
void mix(const u8 *params, const Block *block) {
  const struct { Buffer x, y; Dispatch dispatch; } *p = (const void *)params;
  const u32 *in = (const u32 *)p->x.address;
  u32 *out = (u32 *)p->y.address;
  THREADS(32) out[x] = out[x] * 31 + in[x];
}

/* out[i] = out[i] * 31 + the sum of word i of all buffers in a bindless array that have one; block size 32 */
void gather(const u8 *params, const Block *block) {
  typedef struct { u64 buffer, size, image2d, image3d; } Record;
  const struct { const Record *records; u64 slots; Buffer out; Dispatch dispatch; } *p = (const void *)params;
  u32 *out = (u32 *)p->out.address;
  THREADS(32) {
    u32 sum = 0;
    for (u64 s = 0; s < p->slots; s++)
      if (x < p->records[s].size / 4) sum += ((const u32 *)p->records[s].buffer)[x];
    out[x] = out[x] * 31 + sum;
  }
}

/* Adds 1 to word i of all buffers in a bindless array that have one; block size 32 */
void scatter(const u8 *params, const Block *block) {
  typedef struct { u64 buffer, size, image2d, image3d; } Record;
  const struct { const Record *records; u64 slots; Dispatch dispatch; } *p = (const void *)params;
  THREADS(32) {
    for (u64 s = 0; s < p->slots; s++)
      if (x < p->records[s].size / 4) ((u32 *)p->records[s].buffer)[x] += 1;
  }
}

/* Writes two entries to an indirect dispatch buffer: 32 * in[0] threads and 0 threads, ids 7 and 8; block size 1 */
void plans(const u8 *params, const Block *block) {
  typedef struct { u32 count, pad[3]; u32 entries[][8]; } Plan;
  const struct { Buffer in; Plan *plan; u32 offset, capacity; Dispatch dispatch; } *p = (const void *)params;
  (void)block;
  for (u32 i = 0; i < 2 && i < p->capacity; i++) {
    u32 *e = p->plan->entries[i];
    e[0] = 32, e[1] = 1, e[2] = 1, e[3] = 0;
    e[4] = i == 0 ? 32 * *(const u32 *)p->in.address : 0, e[5] = 1, e[6] = 1, e[7] = 7 + i;
  }
  p->plan->count = 2;
}

/* Nothing; block size 32 */
void nothing(const u8 *params, const Block *block) {
  (void)params, (void)block;
}
