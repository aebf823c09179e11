#include <algorithm>

#include "program/code.h"

namespace divvy::ptx {
namespace {

void reach(const Program& program, std::uint32_t function, std::vector<bool>* seen) {
  if ((*seen)[function]) return;
  (*seen)[function] = true;
  for (const std::uint32_t callee : program.functions[function].functions) {
    reach(program, callee, seen);
  }
  if (!program.functions[function].calls_by_address) return;
  for (const std::uint32_t callee : program.address_taken) reach(program, callee, seen);
}

std::uint64_t alignUp(std::uint64_t at, std::uint64_t alignment) {
  return (at + alignment - 1) / alignment * alignment;
}

}  // namespace

SharedLayout layOutShared(const Program& program, std::uint32_t function) {
  std::vector<bool> reached(program.functions.size());
  reach(program, function, &reached);
  std::vector<bool> used(program.shared.size());
  for (std::size_t i = 0; i < reached.size(); ++i) {
    if (!reached[i]) continue;
    for (const std::uint32_t variable : program.functions[i].shared) used[variable] = true;
  }
  SharedLayout layout;
  layout.offsets.resize(program.shared.size());
  std::uint64_t dynamic_alignment = 1;
  for (std::size_t i = 0; i < used.size(); ++i) {
    const SharedVariable& variable = program.shared[i];
    if (!used[i]) continue;
    if (variable.bytes == 0) {
      dynamic_alignment = std::max(dynamic_alignment, variable.alignment);
      continue;
    }
    layout.offsets[i] = alignUp(layout.static_bytes, variable.alignment);
    layout.static_bytes = layout.offsets[i] + variable.bytes;
  }
  // Every dynamic variable begins at the same place.
  if (layout.static_bytes != 0)
    layout.static_bytes = alignUp(layout.static_bytes, dynamic_alignment);
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (program.shared[i].bytes == 0) layout.offsets[i] = layout.static_bytes;
  }
  return layout;
}

}  // namespace divvy::ptx
