// Compiling this is the test: sizes and offsets of our mirror types as NVIDIA's headers have them.
#include "abi/cuda_layout.h"
#include "abi/nvml_layout.h"
