// The nodes of a graph.
#pragma once

#include "loader/driver_table.h"
#include "support/syscalls.h"

namespace divvy::interposer {

inline constexpr int kDeepestChild = 16;  // levels of child graphs; deeper ones are not examined

// The nodes of a graph, in memory of their own.
class NodeList {
 public:
  explicit NodeList(CUgraph graph) {
    if (real<abi::Cu::cuGraphGetNodes>()(graph, nullptr, &count_) != CUDA_SUCCESS || count_ == 0)
      return;
    room_ = count_ * sizeof(CUgraphNode);
    nodes_ = static_cast<CUgraphNode*>(sys::mapAnonymous(room_));
    if (nodes_ == nullptr ||
        real<abi::Cu::cuGraphGetNodes>()(graph, nodes_, &count_) != CUDA_SUCCESS) {
      count_ = 0;
    }
  }
  ~NodeList() {
    if (nodes_ != nullptr) sys::unmap(nodes_, room_);
  }
  NodeList(const NodeList&) = delete;
  NodeList& operator=(const NodeList&) = delete;

  const CUgraphNode* begin() const { return nodes_; }
  const CUgraphNode* end() const { return nodes_ == nullptr ? nullptr : nodes_ + count_; }

 private:
  CUgraphNode* nodes_ = nullptr;
  std::size_t count_ = 0;
  std::size_t room_ = 0;
};

}  // namespace divvy::interposer
