#include "stage.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <stdexcept>

namespace divvy::bench {
namespace {

namespace fs = std::filesystem;

constexpr double kReadySeconds = 60;

std::string prepended(const fs::path& first, const char* variable) {
  const char* rest = std::getenv(variable);
  return first.string() + (rest != nullptr && *rest != '\0' ? std::string(":") + rest : "");
}

}  // namespace

fs::path buildDirectory(const std::vector<std::string>& products) {
  const fs::path build = fs::read_symlink("/proc/self/exe").parent_path().parent_path();
  for (const std::string& product : products) {
    if (!fs::exists(build / product)) {
      throw std::runtime_error("no " + (build / product).string() + ": build everything first");
    }
  }
  return build;
}

// Shared memory where there is one: nothing of a bench belongs on a disk.
fs::path makePrivateDirectory() {
  const fs::path base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : fs::temp_directory_path();
  std::string pattern = base / "divvy-bench-XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) {
    throw std::runtime_error("cannot make a directory in " + base.string());
  }
  return pattern;
}

Stage::Stage(Driver driver, std::vector<std::string> settings)
    : build_(buildDirectory({"bin/divvy", "lib/libdivvy-cuda.so", "bench/divvy-bench-probe"})),
      tree_(build_),
      private_(makePrivateDirectory()),
      driver_(driver),
      settings_(std::move(settings)) {
  if (driver_ == Driver::kCounted) layCountedTree();
}

// `divvy` finds its libraries and the simulated driver relative to itself, so a tree of its own
// layout is all it takes to put another driver before it.
void Stage::layCountedTree() {
  tree_ = private_ / "tree";
  fs::create_directories(tree_ / "bin");
  fs::create_directories(tree_ / "simgpu");
  fs::copy_file(build_ / "bin/divvy", tree_ / "bin/divvy");
  fs::create_directory_symlink(build_ / "lib", tree_ / "lib");
  for (const char* name : {"libcuda.so.1", "libcuda.so"}) {
    fs::create_symlink(build_ / "bench/libcounting-cuda.so", tree_ / "simgpu" / name);
  }
  for (const char* name : {"libnvidia-ml.so.1", "libnvidia-ml.so"}) {
    fs::create_symlink(build_ / "simgpu" / name, tree_ / "simgpu" / name);
  }
  // Under a name that is no driver's: Divvy's dlopen would answer those with Divvy.
  fs::create_symlink(build_ / "simgpu/libcuda.so.1", private_ / "counted.so");
  std::ofstream(private_ / "calls", std::ios::binary) << std::string(sizeof(std::uint64_t), '\0');
}

std::uint64_t Stage::calls() const {
  std::uint64_t count = 0;
  std::ifstream file(private_ / "calls", std::ios::binary);
  file.read(reinterpret_cast<char*>(&count), sizeof count);
  return count;
}

// What both ways of starting a probe share.
std::vector<std::string> Stage::environment() const {
  std::vector<std::string> variables = {"DIVVY_RUNTIME_DIR=" + (private_ / "runtime").string()};
  variables.insert(variables.end(), settings_.begin(), settings_.end());
  if (driver_ == Driver::kCounted) {
    variables.push_back("COUNTING_DRIVER=" + (private_ / "counted.so").string());
    variables.push_back("COUNTING_FILE=" + (private_ / "calls").string());
  }
  return variables;
}

Stage::~Stage() {
  runCommand({{build_ / "bin/divvy", "stop", "--force"},
              {"DIVVY_RUNTIME_DIR=" + (private_ / "runtime").string()}});
  std::error_code ignored;
  fs::remove_all(private_, ignored);
}

std::string Stage::output(const Command& command) const {
  const CommandResult result = runCommand(command);
  if (result.status == 0) return result.output;
  std::string text;
  for (const std::string& word : command.words) text += " " + word;
  throw std::runtime_error("exit status " + std::to_string(result.status) + " from" + text);
}

std::string Stage::bare(const std::vector<std::string>& probe, const std::string& profile) const {
  Command command;
  command.words = {build_ / "bench/divvy-bench-probe"};
  command.words.insert(command.words.end(), probe.begin(), probe.end());
  command.environment = environment();
  if (driver_ != Driver::kReal) {
    const std::string card = private_ / ("card-" + profile);
    command.environment.insert(
        command.environment.end(),
        {"SIMGPU_PROFILE=" + profile, "SIMGPU_DIR=" + card,
         "LD_LIBRARY_PATH=" + prepended(tree_ / "simgpu", "LD_LIBRARY_PATH")});
  }
  return output(command);
}

Command Stage::divviedCommand(const std::vector<std::string>& probe, const std::string& profile,
                              const Share& share) const {
  Command command;
  command.words = {tree_ / "bin/divvy", "run", "--memory", share.memory};
  if (!share.cores.empty()) command.words.insert(command.words.end(), {"--cores", share.cores});
  if (driver_ != Driver::kReal) command.words.insert(command.words.end(), {"--sim", profile});
  command.words.insert(command.words.end(), {"--", build_ / "bench/divvy-bench-probe"});
  command.words.insert(command.words.end(), probe.begin(), probe.end());
  command.environment = environment();
  return command;
}

std::string Stage::divvied(const std::vector<std::string>& probe, const std::string& profile,
                           const Share& share) const {
  return output(divviedCommand(probe, profile, share));
}

std::unique_ptr<Companion> Stage::neighbour(const std::string& profile, const Share& share) const {
  Command command = divviedCommand({"neighbour"}, profile, share);
  command.limit_s = kReadySeconds;
  return std::make_unique<Companion>(command);
}

}  // namespace divvy::bench
