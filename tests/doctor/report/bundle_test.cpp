// What support is sent: an archive that every tar reads, whole or not there, for its owner alone.
#include "doctor/bundle.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>

#include <boost/json.hpp>

#include "base/rng.h"
#include "made_tree.h"

namespace divvy::doctor {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

std::string said(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen((command + " 2>&1").c_str(), "r"), pclose);
  std::string text;
  std::array<char, 4096> part{};
  for (std::size_t got = 0; pipe && (got = fread(part.data(), 1, part.size(), pipe.get())) > 0;)
    text.append(part.data(), got);
  return text;
}

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Bundle someBundle() {
  Bundle bundle{"0.1.0", 1'700'000'000'000, false, {}, {}};
  Rng rng(7);
  // Around tar's blocks, and more than zlib takes at once from us.
  for (const std::size_t size : {0u, 1u, 511u, 512u, 513u, 200'000u}) {
    std::string text(size, ' ');
    for (char& c : text) c = static_cast<char>('a' + rng.below(26));
    bundle.files.push_back({"part/" + std::to_string(size) + ".json", text, "a part"});
  }
  bundle.omitted = {{"Secrets", "never read"}};
  return bundle;
}

TEST(Bundle, Archive_ReadByTarAsWritten) {
  const Bundle bundle = someBundle();
  const Result<std::string> bytes = archiveOf(bundle);
  ASSERT_TRUE(bytes) << bytes.error().message();
  MadeTree made;
  const std::string path = made.real("/b.tar.gz");
  ASSERT_TRUE(writeBundle(path, *bytes, false));
  EXPECT_EQ(said("tar -tzf " + path),
            "manifest.json\npart/0.json\npart/1.json\npart/511.json\npart/512.json\n"
            "part/513.json\npart/200000.json\n");
  EXPECT_EQ(said("tar -C " + made.root() + " -xzf " + path), "");
  for (const BundleFile& one : bundle.files) {
    EXPECT_EQ(content(made.real("/" + one.name)), one.text) << one.name;
    struct stat info {};
    ASSERT_EQ(stat(made.real("/" + one.name).c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777u, 0600u);
    EXPECT_EQ(info.st_mtime, 1'700'000'000);
  }
  const json::value manifest = json::parse(content(made.real("/manifest.json")));
  ASSERT_EQ(manifest.at("files").as_array().size(), bundle.files.size());
  EXPECT_EQ(manifest.at("files").at(5).at("bytes").to_number<int>(), 200'000);
  EXPECT_EQ(manifest.at("left_out").at(0).at("what").as_string(), "Secrets");
  EXPECT_EQ(*archiveOf(bundle), *bytes) << "not the same bytes for the same bundle";
}

TEST(Bundle, InvalidFileName_Refused) {
  Bundle bundle = someBundle();
  bundle.files.front().name = std::string(101, 'n');
  EXPECT_FALSE(archiveOf(bundle));
  bundle.files.front().name.clear();
  EXPECT_FALSE(archiveOf(bundle));
}

std::size_t filesIn(const std::string& folder) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST(Bundle, WriteBundle_OwnerOnlyAndNotOverExisting) {
  MadeTree made;
  const std::string path = made.real("/b.tar.gz");
  const mode_t before = umask(0);
  ASSERT_TRUE(writeBundle(path, "first", false));
  umask(before);
  struct stat info {};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0600u);
  const Result<void> again = writeBundle(path, "second", false);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code(), ErrorCode::kUsage);
  EXPECT_EQ(content(path), "first");
  ASSERT_TRUE(writeBundle(path, "third", true));
  EXPECT_EQ(content(path), "third");
  EXPECT_EQ(filesIn(made.root()), 1u) << "something half written was left";
}

// A link that waits under the name would have root write somewhere else.
TEST(Bundle, LinkOrFolderAtPath_Refused) {
  MadeTree made;
  made.file("/victim", "whole");
  made.link("/b.tar.gz", made.real("/victim"));
  made.folder("/folder");
  for (const bool force : {false, true}) {
    EXPECT_FALSE(writeBundle(made.real("/b.tar.gz"), "new", force));
    EXPECT_FALSE(writeBundle(made.real("/folder"), "new", force));
  }
  EXPECT_EQ(made.text("/victim"), "whole");
  EXPECT_FALSE(writeBundle(made.real("/no/such/folder/b"), "new", false));
  EXPECT_EQ(filesIn(made.root()), 3u);
}

}  // namespace
}  // namespace divvy::doctor
