// What a .cu file sees when the host's compiler reads it: qualifiers, built-in variables, vector
// types, and (through the headers below) the intrinsics that the kernels beside this folder use.
//
// Names, argument orders and results follow the CUDA C++ programming guide and the PTX ISA; the
// text is Divvy's own. Threads of a block are fibers (block.h) of one thread of the host, blocks
// run one after another; so a static variable can be shared memory.
#pragma once

#include <math.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdint>

// nvcc's words, which the language does not have; "thread_local" instead of "static" because the
// dynamic array is declared extern.
#define __global__
#define __device__
#define __constant__
#define __noinline__ __attribute__((noinline))
#define __shared__ thread_local

#include "block.h"
#include "vectors.h"

inline divvy::ptxhost::Index& threadIdx = divvy::ptxhost::current_thread;
inline divvy::ptxhost::Index& blockIdx = divvy::ptxhost::current_block;
inline divvy::ptxhost::Index& blockDim = divvy::ptxhost::block_shape;
inline divvy::ptxhost::Index& gridDim = divvy::ptxhost::grid_shape;
inline constexpr int warpSize = 32;

using std::max;
using std::min;

#include "atomics.h"
#include "bits.h"
#include "convert.h"
#include "directed.h"
#include "integers.h"
#include "warp.h"
