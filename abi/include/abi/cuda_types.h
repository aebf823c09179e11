// Every type that the CUDA driver's entry points name (abi/cuda.def). See cuda_handles.h.
#pragma once

#include "abi/cuda_array_types.h"
#include "abi/cuda_context_types.h"
#include "abi/cuda_copy_types.h"
#include "abi/cuda_external_types.h"
#include "abi/cuda_graph_types.h"
#include "abi/cuda_graphics_types.h"
#include "abi/cuda_launch_types.h"
#include "abi/cuda_memory_types.h"
