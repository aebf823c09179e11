#include "comparison.h"

#include <cctype>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

namespace divvy::ptxtest {
namespace {

// Where the PTX is: what is kept, or what a run of nvcc has just made.
std::filesystem::path folder() {
  const char* fresh = std::getenv("DIVVY_PTX_DIR");
  if (fresh != nullptr) return fresh;
  return std::filesystem::path(std::getenv("DIVVY_SOURCE_DIR")) / "tests/ptx/kernels";
}

// NAME.ptx and the same source compiled for other architectures, NAME.*.ptx.
std::vector<std::filesystem::path> textsOf(const std::string& name) {
  std::vector<std::filesystem::path> texts = {folder() / (name + ".ptx")};
  for (const auto& entry : std::filesystem::directory_iterator(folder())) {
    const std::string file = entry.path().filename();
    const bool other = file.starts_with(name + ".") && file.ends_with(".ptx");
    if (other && file != name + ".ptx") texts.push_back(entry.path());
  }
  return texts;
}

std::string read(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string hex(const std::vector<std::byte>& bytes, std::size_t from) {
  std::ostringstream text;
  for (std::size_t at = from; at < from + 8 && at < bytes.size(); ++at) {
    text << std::hex << (at == from ? "" : " ") << static_cast<int>(bytes[at]);
  }
  return text.str();
}

void expectSame(const std::vector<std::byte>& expected, const std::vector<std::byte>& seen,
                const std::string& what) {
  ASSERT_EQ(expected.size(), seen.size()) << what;
  std::size_t different = 0;
  std::size_t first = 0;
  for (std::size_t at = expected.size(); at-- > 0;) {
    if (expected[at] == seen[at]) continue;
    ++different;
    first = at;
  }
  first -= first % 8;
  EXPECT_EQ(different, 0U) << what << ": bytes differ, first near offset " << first << "; host "
                           << hex(expected, first) << ", PTX " << hex(seen, first);
}

// "WholeParts_MatchesHost": wholeParts.
std::string kernelOf(std::string test) {
  test.resize(std::min(test.find('_'), test.size()));
  test[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(test[0])));
  return test;
}

}  // namespace

Comparison::Comparison()
    : in(kernelOf(testing::UnitTest::GetInstance()->current_test_info()->name())),
      suite_(testing::UnitTest::GetInstance()->current_test_info()->test_suite_name()),
      test_(kernelOf(testing::UnitTest::GetInstance()->current_test_info()->name())) {
  suite_[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(suite_[0])));
}

Comparison::~Comparison() {
  if (launches_.empty()) ADD_FAILURE() << suite_ << ": a case that launches nothing";
  // In either order of turns: a kernel whose result depends on it proves nothing.
  const auto expected = runOnHost(ptxhost::Order::kForward);
  const auto again = runOnHost(ptxhost::Order::kBackward);
  for (std::size_t at = 0; at < expected.size(); ++at) {
    if (!regions_[at].compared) continue;
    expectSame(expected[at], again[at], "the host in another order, region " + std::to_string(at));
  }
  bool ran = true;
  for (const auto& text : textsOf(suite_)) ran = runOnCard(text, expected) && ran;
  if (!ran) return;
  for (const Launch& launch : launches_) countCompared(suite_ + "." + launch.name);
}

Region& Comparison::allocate(const void* initial, std::size_t bytes) {
  Region& region = regions_.emplace_back();
  region.initial.resize(bytes);
  if (bytes > 0) std::memcpy(region.initial.data(), initial, bytes);
  region.storage = region.initial;
  region.host = region.storage.data();
  return region;
}

void Comparison::addVariable(const char* name, std::byte* place, const void* value,
                             std::size_t bytes) {
  Region& region = allocate(value, bytes);
  region.name = name;
  region.host = place;
}

void Comparison::capture(const std::function<void()>& run) {
  if (prints_) testing::internal::CaptureStdout();
  run();
  if (prints_) printed_ = testing::internal::GetCapturedStdout();
}

std::vector<std::vector<std::byte>> Comparison::runOnHost(ptxhost::Order order) {
  for (Region& region : regions_) {
    if (!region.initial.empty()) {
      std::memcpy(region.host, region.initial.data(), region.initial.size());
    }
  }
  capture([&] {
    for (const Launch& launch : launches_) {
      ptxhost::runGrid(launch.shape.grid, launch.shape.block, order, launch.on_host);
    }
  });
  std::vector<std::vector<std::byte>> results;
  for (Region& region : regions_) {
    results.emplace_back(region.host, region.host + region.initial.size());
    // A variable of the host's program is found by the next test as this one found it.
    if (!region.initial.empty()) {
      std::memcpy(region.host, region.initial.data(), region.initial.size());
    }
  }
  return results;
}

bool Comparison::runOnCard(const std::string& file,
                           const std::vector<std::vector<std::byte>>& expected) {
  std::vector<const Region*> regions;
  for (const Region& region : regions_) regions.push_back(&region);
  std::vector<CardLaunch> launches;
  for (const Launch& launch : launches_) {
    const auto& [grid, block, shared] = launch.shape;
    launches.push_back({launch.name,
                        {grid.x, grid.y, grid.z},
                        {block.x, block.y, block.z},
                        shared,
                        launch.parameters});
  }
  const std::string name = std::filesystem::path(file).filename();
  std::string error;
  const std::string expected_output = printed_;
  std::vector<std::vector<std::byte>> seen;
  capture([&] { seen = runPtx(read(file), regions, launches, &error); });
  if (!error.empty()) {
    ADD_FAILURE() << name << ": " << error;
    return false;
  }
  EXPECT_EQ(expected_output, printed_) << name;
  for (std::size_t at = 0; at < expected.size(); ++at) {
    if (!regions_[at].compared) continue;
    expectSame(expected[at], seen[at], name + " region " + std::to_string(at));
  }
  return true;
}

}  // namespace divvy::ptxtest
