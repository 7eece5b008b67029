// What a kernel that was compiled with our `metal_stdlib` and the program that runs it say to each other.

#pragma once

extern "C" {

struct metal_level { void *data; unsigned size[3]; };
// `channel` is 0 for unsigned integers of `bytes` bytes, 1 for floats.
struct metal_image { unsigned channels, bytes, channel, levels; metal_level level[16]; };

// Which thread runs, and what it is given.
struct metal_job {
  void *buffers[64];
  metal_image *images[64];
  unsigned position[3], in_block[3], block[3], block_size[3], blocks[3], index, lane, simdgroup;
};

// What lanes brought to a place, by lane; `active` says which of them were there.
struct metal_lanes { unsigned long active; unsigned char value[32][64]; };

// Of the kernel: runs one thread.
void metal_thread(const metal_job *job);

// Of the runner.
void metal_barrier(void);
// Waits until it is known which lanes of the simdgroup stand at the same place; gives what each of them brought.
const metal_lanes *metal_meet(const void *value, unsigned size);
unsigned metal_lane(void);
// A loop begins in the frame that calls, its next round, and its end.
void metal_loop_begin(void *frame, void *place);
void metal_loop_next(void);
void metal_loop_end(void);
void metal_fail(const char *what);
}

// Counts the rounds of a loop. Its construction is a call of the function that the loop is in.
struct metal_loop {
  __attribute__((noinline)) metal_loop() { metal_loop_begin(*(void **)__builtin_frame_address(0), __builtin_return_address(0)); }
  ~metal_loop() { metal_loop_end(); }
  void next() { metal_loop_next(); }
};
