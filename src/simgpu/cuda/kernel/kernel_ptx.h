// Kernels that come as PTX text.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "cuda/kernel/kernel_image.h"

namespace divvy::simgpu {

// CUDA_ERROR_INVALID_PTX: something in it cannot be run; CUDA_ERROR_UNSUPPORTED_PTX_VERSION: its
// .version is of a later release. `log` gets "line 42: " and why.
CUresult parsePtxImage(std::string_view text, std::shared_ptr<const KernelImage>* out,
                       std::string* log);

}  // namespace divvy::simgpu
