// A tenant that does all kinds of things to its memory at random, and the same to a twin of it in
// the host's, where nothing is ever swapped.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tenant_test.h"
#include "twin_reader.h"

namespace divvy::interposer {

// Of one thread, in whose context it works. What it does follows from the seed alone.
class Twin {
 public:
  // `in_order`: memory comes and goes in the order of streams too, beside other work.
  Twin(std::uint64_t seed, CUcontext context, TwinReader& reader, bool in_order);
  ~Twin();
  Twin(const Twin&) = delete;
  Twin& operator=(const Twin&) = delete;

  // One operation, or several that belong together.
  void step();
  // Compares every byte of every block.
  void compareAll();

  // The first thing that went wrong; empty: nothing did.
  const std::string& failure() const { return failure_; }

 private:
  using Bytes = std::vector<unsigned char>;
  struct Block {
    CUdeviceptr at = 0;
    Bytes twin;
    CUstream stream = nullptr;  // of all that is done to it
    CUevent done = nullptr;
    CUmemGenericAllocationHandle handle = 0;  // of memory that it mapped itself
    std::size_t mapped = 0;
    bool exportable = false;
    bool pooled = false;  // stream-ordered, in a lane
  };
  using BlockPtr = std::shared_ptr<Block>;
  struct Range {
    std::size_t from;
    std::size_t bytes;
  };
  // Captured once, launched at any time after.
  struct Recorded {
    CUgraphExec exec;
    BlockPtr block;
    BlockPtr other;
    std::vector<std::function<void()>> effects;
  };

  std::size_t below(std::size_t bound) { return random_() % bound; }
  BlockPtr any() { return blocks_[below(blocks_.size())]; }
  Range rangeOf(const Block& block, std::size_t unit = 1);
  Bytes noise(std::size_t bytes);
  bool good(CUresult result, const char* what);
  void settle(const Block& block);
  // Work in the one's stream comes after what is queued in the other's, and before what will be.
  void before(const Block& one, const Block& other);
  void after(const Block& one, const Block& other);
  void launch(CUfunction kernel, CUdeviceptr to, std::uint64_t second, std::uint64_t third,
              CUstream stream);
  void compare(const Block& block, const Bytes& found, std::size_t from, const char* how);

  void allocate();
  void release();
  void make(Block& block, std::size_t bytes);
  void map(const Block& block);
  void unmake(const Block& block);
  void remap();
  void unmap(const Block& block);
  void writeNow();
  void writeLater();
  void readNow();
  void readLater();
  void setSome();
  void copyBetween();
  void copyBox();
  void writeBox();
  void addSome();
  void record();
  void replay();
  void forkOnce();
  void show();

  std::mt19937_64 random_;
  CUcontext context_;
  bool in_order_;
  TwinReader& reader_;
  std::string failure_;
  std::vector<BlockPtr> blocks_;
  std::vector<Recorded> graphs_;
  CUstream capture_ = nullptr;
  CUstream lanes_[2] = {};  // of blocks that are allocated and freed in stream order
  CUfunction add_ = nullptr;
  CUfunction copy_ = nullptr;
  unsigned char* pinned_ = nullptr;
  std::size_t held_ = 0;  // bytes of all blocks
};

}  // namespace divvy::interposer
