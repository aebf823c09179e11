// How copy and memset calls behave towards their caller: which wait, which return at once.
#pragma once

#include "abi/cuda_types.h"

#include <functional>

#include "cuda/context/api_prologue.h"
#include "cuda/context/exec.h"
#include "cuda/copy/copy.h"

namespace divvy::simgpu {

// Fills in the copy, or returns the error of the arguments.
using Planner = std::function<CUresult(CopyPlan*)>;

// The calls without a stream: in the default stream, and done when they return, unless both sides
// are on the card.
CUresult copyNow(abi::Cu id, bool per_thread, const Planner& planner);
// The calls with a stream. The driver copies from pageable memory before it returns, and waits when
// it copies to it.
CUresult copyLater(abi::Cu id, StreamArgument stream, const Planner& planner);
CUresult copyLaterIn(Context& context, StreamArgument stream, CopyPlan plan);

CUresult setMemory(abi::Cu id, StreamArgument stream, const MemsetPlan& plan);

}  // namespace divvy::simgpu
