// One kernel, run on the host and through the simulated driver from the PTX of the same source,
// its memory compared byte for byte.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <deque>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "block.h"
#include "card.h"
#include "inputs.h"

namespace divvy::ptxtest {

// Memory that both sides see, each its own copy.
struct Region {
  std::string name;                // of the module's variable, or empty: allocated for the case
  std::vector<std::byte> initial;  // what every run begins with
  std::byte* host = nullptr;       // where the host's kernel finds it
  std::vector<std::byte> storage;  // what `host` points to unless it is a variable
  bool compared = true;
};

template <typename T>
struct Buffer {
  const Region* region;
};

struct Shape {
  ptxhost::Index grid;
  ptxhost::Index block;
  unsigned dynamic_shared = 0;
};

// The case of one test. The test's suite names the file ("Vectors": vectors.ptx), the test's name
// up to its underscore the kernel ("WholeParts_MatchesHost": wholeParts). Declare memory, launch;
// the comparison happens at the end of the scope.
class Comparison {
 public:
  Comparison();
  ~Comparison();
  Comparison(const Comparison&) = delete;
  Comparison& operator=(const Comparison&) = delete;

  Inputs in;  // seeded by the kernel's name

  template <typename T>
  Buffer<T> buffer(const std::vector<T>& values) {
    return {&allocate(values.data(), values.size() * sizeof(T))};
  }
  template <typename T>
  Buffer<T> zeros(std::size_t count) {
    return buffer(std::vector<T>(count));
  }
  // Memory whose content may depend on the order of threads: not compared.
  template <typename T>
  Buffer<T> scratch(const std::vector<T>& values) {
    Region& region = allocate(values.data(), values.size() * sizeof(T));
    region.compared = false;
    return {&region};
  }
  // A variable of the module: both sides begin with `value`.
  template <typename T>
  void variable(const char* name, T& place, const std::type_identity_t<T>& value) {
    addVariable(name, reinterpret_cast<std::byte*>(&place), &value, sizeof(T));
  }
  // Likewise with what its initializer says.
  template <typename T>
  void variable(const char* name, T& place) {
    addVariable(name, reinterpret_cast<std::byte*>(&place), &place, sizeof(T));
  }

  // What the kernels print is compared too.
  void comparesOutput() { prints_ = true; }

  // Adds a launch of the kernel that the test is named after, or of another one of the file.
  template <typename... P, typename... A>
  void launch(void (*kernel)(P...), const Shape& shape, const A&... arguments) {
    launchNamed(test_, kernel, shape, arguments...);
  }
  template <typename... P, typename... A>
  void launchNamed(const std::string& name, void (*kernel)(P...), const Shape& shape,
                   const A&... arguments) {
    static_assert(sizeof...(P) == sizeof...(A));
    Launch launch{name, shape, {}, {}};
    launch.on_host = [=] { kernel(onHost<P>(arguments)...); };
    launch.parameters = {parameter<P>(arguments)...};
    launches_.push_back(std::move(launch));
  }

 private:
  struct Launch {
    std::string name;
    Shape shape;
    std::function<void()> on_host;
    std::vector<Parameter> parameters;
  };

  template <typename P, typename T>
  static P onHost(const Buffer<T>& buffer) {
    return reinterpret_cast<T*>(buffer.region->host);
  }
  template <typename P, typename V>
  requires std::is_convertible_v<V, P>
  static P onHost(const V& value) { return static_cast<P>(value); }
  template <typename P, typename T>
  static Parameter parameter(const Buffer<T>& buffer) {
    return {buffer.region, {}};
  }
  template <typename P, typename V>
  requires std::is_convertible_v<V, P>
  static Parameter parameter(const V& value) {
    static_assert(sizeof(P) <= sizeof(Parameter::bytes));
    Parameter result = {};
    const P exact = static_cast<P>(value);
    std::memcpy(result.bytes.data(), &exact, sizeof exact);
    return result;
  }

  Region& allocate(const void* initial, std::size_t bytes);
  void addVariable(const char* name, std::byte* place, const void* value, std::size_t bytes);
  std::vector<std::vector<std::byte>> runOnHost(ptxhost::Order order);
  void capture(const std::function<void()>& run);
  // False when it did not run to its end.
  bool runOnCard(const std::string& file, const std::vector<std::vector<std::byte>>& expected);

  std::string suite_, test_;
  bool prints_ = false;
  std::string printed_;  // by the latest run
  std::deque<Region> regions_;
  std::vector<Launch> launches_;
};

}  // namespace divvy::ptxtest
