// Runs a kernel that was compiled as C++: reads a job, runs its blocks one after the other and the threads of a block as fibers,
// and writes back what the buffers and images then hold.
//
//   runner JOB RESULT
//
// JOB, all numbers little-endian: u32 block size x, y, z; u32 dispatch size x, y, z; u32 number of buffers, each u32 index, u64
// bytes, data; u32 number of images, each u32 number of indices, the indices, u32 channels, bytes of a channel, kind of
// channel, levels, x, y, z, then the texels of all levels; u32 number of addresses, each u32 buffer, u64 offset, u32 kind (0 buffer, 1 image), u32 which: the
// address of that buffer, or handle of that image, is stored there. A buffer that is no argument has index 63, and an image
// that is none has no index. RESULT: the data of all buffers, then of all images.

#include "abi.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
#include <vector>

namespace {

enum class State { ready, barrier, meet, done };

// Where a thread stands: the calls and loops that it is in, from the outermost on, each by its address, a loop with its round.
// Places compare as a run of the whole program would come by them, since clang keeps the order of the text when it does not
// optimise: lanes in earlier rounds and at earlier statements go first, so that the others wait for them where they join.
struct Step {
  uintptr_t address;
  unsigned long round;
};
struct Place {
  std::vector<Step> steps;
  int compare(const Place &o) const {
    for (size_t i = 0; i < steps.size() && i < o.steps.size(); i++) {
      Step a = steps[i], b = o.steps[i];
      if (a.address != b.address) return a.address < b.address ? -1 : 1;
      if (a.round != b.round) return a.round < b.round ? -1 : 1;
    }
    return steps.size() < o.steps.size() ? -1 : steps.size() > o.steps.size();
  }
};
struct Loop {
  void *frame;
  Step step;
};

struct Fiber {
  ucontext_t context;
  State state;
  Place place;
  std::vector<Loop> loops;
  unsigned size;
  unsigned char value[64];
  metal_lanes lanes;
  metal_job job;
};

std::vector<Fiber *> fibers;
ucontext_t scheduler;
Fiber *running;
metal_job common;

constexpr size_t STACK = 256 << 10;
constexpr unsigned LANES = 32;

void enter() {
  metal_thread(&running->job);
  running->state = State::done;
  swapcontext(&running->context, &scheduler);
}

void wait(State state) {
  running->state = state;
  swapcontext(&running->context, &scheduler);
}

// Lets the lanes of a simdgroup go on that stand at the earliest place; those further on wait for them.
bool meet(size_t first, size_t end) {
  const Place *earliest = nullptr;
  for (size_t i = first; i < end; i++)
    if (fibers[i]->state == State::meet && (!earliest || fibers[i]->place.compare(*earliest) < 0)) earliest = &fibers[i]->place;
  if (!earliest) return false;
  Place place = *earliest;
  metal_lanes lanes;
  memset(&lanes, 0, sizeof lanes);
  for (size_t i = first; i < end; i++) {
    Fiber *f = fibers[i];
    if (f->state != State::meet || f->place.compare(place) != 0) continue;
    lanes.active |= 1ul << (i - first);
    memcpy(lanes.value[i - first], f->value, f->size);
  }
  for (size_t i = first; i < end; i++) {
    if (!(lanes.active >> (i - first) & 1)) continue;
    fibers[i]->lanes = lanes;
    fibers[i]->state = State::ready;
  }
  return true;
}

void start(Fiber *f, size_t i, void *stack) {
  f->state = State::ready;
  f->loops.clear();
  f->job = common;
  unsigned left = unsigned(i);
  for (int a = 0; a < 3; a++) {
    f->job.in_block[a] = left % common.block_size[a];
    left /= common.block_size[a];
    f->job.position[a] = common.block[a] * common.block_size[a] + f->job.in_block[a];
  }
  f->job.index = unsigned(i);
  f->job.lane = unsigned(i) % LANES;
  f->job.simdgroup = unsigned(i) / LANES;
  getcontext(&f->context);
  f->context.uc_stack.ss_sp = stack;
  f->context.uc_stack.ss_size = STACK;
  f->context.uc_link = nullptr;
  makecontext(&f->context, enter, 0);
}

void run_block(char *stacks) {
  size_t count = fibers.size();
  for (size_t i = 0; i < count; i++) start(fibers[i], i, stacks + i * STACK);
  for (;;) {
    size_t live = 0;
    for (Fiber *f : fibers) {
      while (f->state == State::ready) {
        running = f;
        swapcontext(&scheduler, &f->context);
      }
      live += f->state != State::done;
    }
    if (live == 0) return;
    bool met = false;
    for (size_t i = 0; i < count; i += LANES) met |= meet(i, i + LANES < count ? i + LANES : count);
    if (met) continue;
    // All that still run stand at a barrier; threads that have ended hold nobody up.
    for (Fiber *f : fibers)
      if (f->state == State::barrier) f->state = State::ready;
  }
}

// The place of a frame, by the chain of frame pointers, which both compilations keep.
Place here(void *frame) {
  char *low = (char *)running->context.uc_stack.ss_sp;
  std::vector<char *> frames;
  for (char *f = (char *)frame; f >= low && f + 16 <= low + STACK && frames.size() < 1024; f = *(char **)f) frames.push_back(f);
  Place place;
  size_t loop = 0;
  while (!frames.empty()) {
    char *f = frames.back();
    frames.pop_back();
    // The loops of a function come before the calls that it makes from them.
    for (; loop < running->loops.size() && running->loops[loop].frame == f; loop++) place.steps.push_back(running->loops[loop].step);
    if (!frames.empty()) place.steps.push_back({((uintptr_t *)frames.back())[1], 0});
  }
  return place;
}

struct Blob { unsigned index; std::vector<unsigned char> data; };

struct Reader {
  FILE *file;
  void bytes(void *to, size_t n) {
    if (n != 0 && fread(to, 1, n, file) != n) metal_fail("the job is too short");
  }
  template <class T> T number() { T t; bytes(&t, sizeof t); return t; }
};

// Memory with a margin around it that no kernel may change.
constexpr size_t MARGIN = 256;
constexpr unsigned char MARK = 0xcd;

Blob blob(Reader &in, unsigned index, size_t size) {
  Blob b{index, std::vector<unsigned char>(size + 2 * MARGIN, MARK)};
  in.bytes(b.data.data() + MARGIN, size);
  return b;
}

void check(const Blob &b) {
  for (size_t i = 0; i < MARGIN; i++)
    if (b.data[i] != MARK || b.data[b.data.size() - 1 - i] != MARK) metal_fail("a write outside of a buffer");
}

}  // namespace

void metal_loop_begin(void *frame, void *place) { running->loops.push_back({frame, {(uintptr_t)place, 0}}); }
void metal_loop_next() { running->loops.back().step.round++; }
void metal_loop_end() { running->loops.pop_back(); }
void metal_barrier() { wait(State::barrier); }
unsigned metal_lane() { return running->job.lane; }
void metal_fail(const char *what) {
  fprintf(stderr, "%s\n", what);
  _exit(9);
}
const metal_lanes *metal_meet(const void *value, unsigned size) {
  if (size > sizeof running->value) metal_fail("a value that is too large for lanes");
  running->place = here(__builtin_frame_address(0));
  running->size = size;
  memcpy(running->value, value, size);
  wait(State::meet);
  return &running->lanes;
}

int main(int count, char **words) {
  if (count != 3) return 2;
  Reader in{fopen(words[1], "rb")};
  FILE *out = fopen(words[2], "wb");
  if (!in.file || !out) metal_fail("a file cannot be opened");
  unsigned dispatch[3];
  for (unsigned &n : common.block_size) n = in.number<uint32_t>();
  for (int a = 0; a < 3; a++) {
    dispatch[a] = in.number<uint32_t>();
    common.blocks[a] = (dispatch[a] + common.block_size[a] - 1) / common.block_size[a];
  }
  std::vector<Blob> buffers(in.number<uint32_t>());
  for (Blob &b : buffers) {
    unsigned index = in.number<uint32_t>();
    b = blob(in, index, in.number<uint64_t>());
    common.buffers[index] = b.data.data() + MARGIN;
  }
  std::vector<Blob> texels(in.number<uint32_t>());
  std::vector<metal_image> images(texels.size());
  for (size_t i = 0; i < images.size(); i++) {
    metal_image &m = images[i];
    unsigned places = in.number<uint32_t>();
    while (places-- > 0) common.images[in.number<uint32_t>()] = &m;
    m.channels = in.number<uint32_t>();
    m.bytes = in.number<uint32_t>();
    m.channel = in.number<uint32_t>();
    m.levels = in.number<uint32_t>();
    unsigned size[3];
    in.bytes(size, sizeof size);
    size_t total = 0;
    std::vector<size_t> starts;
    for (unsigned l = 0; l < m.levels && l < 16; l++) {
      starts.push_back(total);
      size_t n = size_t(m.channels) * m.bytes;
      for (int a = 0; a < 3; a++) {
        m.level[l].size[a] = size[a] >> l > 0 ? size[a] >> l : 1;
        n *= m.level[l].size[a];
      }
      total += n;
    }
    texels[i] = blob(in, 0, total);
    for (size_t l = 0; l < starts.size(); l++) m.level[l].data = texels[i].data.data() + MARGIN + starts[l];
  }
  unsigned addresses = in.number<uint32_t>();
  while (addresses-- > 0) {
    unsigned buffer = in.number<uint32_t>();
    uint64_t offset = in.number<uint64_t>();
    unsigned kind = in.number<uint32_t>(), which = in.number<uint32_t>();
    void *address = kind == 0 ? (void *)(buffers[which].data.data() + MARGIN) : (void *)&images[which];
    memcpy(buffers[buffer].data.data() + MARGIN + offset, &address, sizeof address);
  }
  size_t threads = size_t(common.block_size[0]) * common.block_size[1] * common.block_size[2];
  int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  char *stacks = (char *)mmap(nullptr, threads * STACK, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (stacks == MAP_FAILED) metal_fail("no memory for stacks");
  for (size_t i = 0; i < threads; i++) fibers.push_back(new Fiber());
  for (unsigned z = 0; z < common.blocks[2]; z++)
    for (unsigned y = 0; y < common.blocks[1]; y++)
      for (unsigned x = 0; x < common.blocks[0]; x++) {
        common.block[0] = x, common.block[1] = y, common.block[2] = z;
        run_block(stacks);
      }
  for (auto *list : {&buffers, &texels})
    for (const Blob &b : *list) {
      check(b);
      fwrite(b.data.data() + MARGIN, 1, b.data.size() - 2 * MARGIN, out);
    }
  return fclose(out) == 0 ? 0 : 1;
}
