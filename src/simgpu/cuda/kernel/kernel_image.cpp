#include "cuda/kernel/kernel_image.h"

#include <cctype>

#include "cuda/kernel/kernel_ptx.h"

namespace divvy::simgpu {
namespace {

constexpr std::uint32_t kElfMagic = 0x464c457f;       // "\x7fELF", a cubin
constexpr std::uint32_t kFatbinMagic = 0xba55ed50;    // the container of fat binaries
constexpr std::uint32_t kFatbinWrapper = 0x466243b1;  // the argument of __cudaRegisterFatBinary

std::uint32_t firstWord(const char* image) {
  std::uint32_t word = 0;
  // Byte by byte: a text may be shorter than a word.
  for (int i = 0; i < 4; ++i) {
    const auto byte = static_cast<unsigned char>(image[i]);
    word |= std::uint32_t{byte} << 8 * i;
    if (byte == 0) break;
  }
  return word;
}

// PTX begins with comments and blanks, then the .version directive.
bool looksLikePtx(const char* text) {
  for (;;) {
    while (std::isspace(static_cast<unsigned char>(*text)) != 0) ++text;
    if (std::strncmp(text, "//", 2) == 0) {
      text += std::strcspn(text, "\n");
    } else if (std::strncmp(text, "/*", 2) == 0) {
      const char* end = std::strstr(text, "*/");
      if (end == nullptr) return false;
      text = end + 2;
    } else {
      return std::strncmp(text, ".version", 8) == 0;
    }
  }
}

}  // namespace

const KernelCode* KernelImage::find(std::string_view name) const {
  for (const auto& kernel : kernels) {
    if (kernel->name == name) return kernel.get();
  }
  return nullptr;
}

CUresult loadImage(const char* image, std::shared_ptr<const KernelImage>* out, std::string* log) {
  if (std::strncmp(image, kBuiltinMagic.data(), kBuiltinMagic.size()) == 0) {
    return parseBuiltinImage(image, out, log);
  }
  const std::uint32_t magic = firstWord(image);
  if (magic == kElfMagic || magic == kFatbinMagic || magic == kFatbinWrapper) {
    *log = "simgpu: machine code of a real GPU cannot run on a simulated one";
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  }
  if (looksLikePtx(image)) return parsePtxImage(image, out, log);
  *log = "simgpu: neither a \"simgpu-builtin\" text nor PTX, cubin or fat binary";
  return CUDA_ERROR_INVALID_IMAGE;
}

}  // namespace divvy::simgpu
