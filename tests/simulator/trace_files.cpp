#include "trace_files.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace divvy::simulator {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

std::string contentsOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string besideTests(const std::string& name) {
  return variable("DIVVY_SOURCE_DIR") + "/tests/simulator/" + name;
}

std::optional<std::string> publishedTrace() {
  namespace fs = std::filesystem;
  const std::string named = variable("DIVVY_OPENB");
  if (!named.empty()) return named;
  fs::path at = fs::absolute(variable("DIVVY_SOURCE_DIR")).lexically_normal();
  for (; at.has_relative_path(); at = at.parent_path()) {
    const fs::path trace = at / "shared" / "data" / "openb";
    if (fs::exists(trace / "openb_node_list_gpu_node.csv")) return trace.string();
  }
  return std::nullopt;
}

}  // namespace divvy::simulator
