#include "loader/driver_locator.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "loader/real_dlopen.h"

namespace divvy::interposer {
// The library's own comes from dlopen_name.cpp or real_dlopen_plain.cpp.
void* realDlopen(const char* name, int flags) {
  return ::dlopen(name, flags);
}

namespace {

namespace fs = std::filesystem;

std::string builtLibrary() {
  return std::string(std::getenv("DIVVY_BUILD_DIR")) + "/lib/libdivvy-cuda.so";
}

class DriverLocatorTest : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() / ("divvy-library-" + std::to_string(::getpid()));
    fs::create_directories(root_);
  }
  void TearDown() override { fs::remove_all(root_); }

  // A file that stands for a driver: any ELF file that is not ours.
  std::string driver(const std::string& directory) {
    fs::create_directories(root_ / directory);
    const fs::path path = root_ / directory / "libcuda.so.1";
    fs::copy_file("/proc/self/exe", path, fs::copy_options::overwrite_existing);
    return path;
  }
  std::string ours(const std::string& directory) {
    fs::create_directories(root_ / directory);
    const fs::path path = root_ / directory / "libcuda.so.1";
    fs::copy_file(builtLibrary(), path, fs::copy_options::overwrite_existing);
    return path;
  }
  std::string dir(const std::string& name) { return (root_ / name).string(); }

  static std::vector<std::string> candidates(const LibraryPlaces& places) {
    std::vector<std::string> found;
    LibraryCandidates walk("libcuda.so.1", places);
    while (const char* path = walk.next()) found.push_back(path);
    return found;
  }

  fs::path root_;
};

TEST_F(DriverLocatorTest, Candidates_InLoadersOrder) {
  const std::string preferred = driver("agent"), first = driver("compat"), last = driver("usual");
  const std::string path = dir("missing") + ":" + dir("compat");
  const std::string usual = dir("usual");
  const char* directories[] = {usual.c_str(), nullptr};
  LibraryPlaces places;
  places.preferred = preferred.c_str();
  places.search_path = path.c_str();
  places.directories = directories;
  EXPECT_EQ(candidates(places), (std::vector<std::string>{preferred, first, last}));
}

// I: the interposer is itself a libcuda.so.1 in the loader's eyes.
TEST_F(DriverLocatorTest, OwnLibraryInSearchPath_PassedOver) {
  const std::string mine = ours("divvy"), real = driver("real");
  const std::string path = dir("divvy") + ":" + dir("real");
  LibraryPlaces places;
  places.preferred = mine.c_str();
  places.search_path = path.c_str();
  EXPECT_EQ(candidates(places), std::vector<std::string>{real});
  EXPECT_TRUE(isDivvyLibrary(mine.c_str()));
  EXPECT_TRUE(isDivvyLibrary(builtLibrary().c_str()));
  EXPECT_FALSE(isDivvyLibrary(real.c_str()));
}

TEST_F(DriverLocatorTest, RelativePreferenceOrDirectory_Ignored) {
  const std::string real = driver("real");
  fs::create_directories(root_ / "folder" / "libcuda.so.1");
  const std::string path = dir("folder") + ";" + dir("real");
  LibraryPlaces places;
  places.preferred = "real/libcuda.so.1";
  places.search_path = path.c_str();
  EXPECT_EQ(candidates(places), std::vector<std::string>{real});
}

TEST_F(DriverLocatorTest, FileDoesNotLoad_PassedOverAndDlerrorClear) {
  fs::create_directories(root_ / "broken");
  std::ofstream(root_ / "broken" / "libcuda.so.1") << "\x7f"
                                                      "ELF and then nothing";
  const std::string path = dir("broken");
  LibraryPlaces places;
  places.search_path = path.c_str();
  LibraryPath found;
  EXPECT_EQ(openRealLibrary("libcuda.so.1", places, &found), nullptr);
  EXPECT_EQ(::dlerror(), nullptr) << "the application's dlerror must stay clear";
}

TEST_F(DriverLocatorTest, PathTooLong_LeftOut) {
  const std::string real = driver("real");
  const std::string path = std::string(10'000, 'x') + ":" + dir("real");
  LibraryPlaces places;
  places.search_path = path.c_str();
  EXPECT_EQ(candidates(places), std::vector<std::string>{real});
}

TEST_F(DriverLocatorTest, TruncatedElfFile_NotTakenForOwn) {
  std::ifstream in(builtLibrary(), std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), {});
  for (const std::size_t size : {0u, 3u, 63u, 64u, 200u, 600u}) {
    const fs::path path = root_ / "cut";
    std::ofstream(path, std::ios::binary) << bytes.substr(0, size);
    EXPECT_FALSE(isDivvyLibrary(path.c_str())) << size;
  }
}

}  // namespace
}  // namespace divvy::interposer
