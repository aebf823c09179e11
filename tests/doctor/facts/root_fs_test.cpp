// Files below a folder: links lead nowhere else, nothing waits, everything is bounded.
#include "doctor/root_fs.h"

#include <gtest/gtest.h>

#include "made_tree.h"

namespace divvy::doctor {
namespace {

TEST(RootFs, Links_ResolvedWithinRoot) {
  MadeTree made;
  made.file("/run/here", "its own");
  made.link("/var/run", "/run");
  made.link("/etc/passwd", "../../../../../../../../etc/passwd");
  made.link("/up", "/../../etc/hostname");
  const Result<RootFs> tree = RootFs::open(made.root());
  ASSERT_TRUE(tree) << tree.error().message();
  const Result<std::string> text = tree->text("/var/run/here");
  ASSERT_TRUE(text) << text.error().message();
  EXPECT_EQ(*text, "its own");
  EXPECT_EQ(*tree->resolved("/var/run/here"), "/run/here");
  // This machine has both; the made-up one has neither.
  for (const char* path : {"/etc/passwd", "/up"}) {
    const Result<std::string> outside = tree->text(path);
    EXPECT_FALSE(outside) << path;
  }
}

TEST(RootFs, PipesSocketsAndLoops_NotOpened) {
  MadeTree made;
  made.folder("/run");
  made.pipe("/run/pipe");
  made.socket("/run/sock");
  made.link("/run/loop", "/run/loop");
  const Result<RootFs> tree = RootFs::open(made.root());
  ASSERT_TRUE(tree);
  // A pipe without a writer would keep whoever opens it for ever.
  EXPECT_EQ(tree->text("/run/pipe").error().code(), ErrorCode::kCorrupt);
  EXPECT_EQ(tree->text("/run/sock").error().code(), ErrorCode::kCorrupt);
  EXPECT_EQ(tree->text("/run").error().code(), ErrorCode::kCorrupt);
  EXPECT_EQ(tree->text("/run/loop").error().code(), ErrorCode::kIo);
  EXPECT_EQ(tree->text("/run/none").error().code(), ErrorCode::kNotFound);
  EXPECT_EQ(tree->text("/run/pipe/below").error().code(), ErrorCode::kNotFound);
}

TEST(RootFs, FileAboveBound_Corrupt) {
  MadeTree made;
  made.file("/long", std::string(RootFs::kMaxBytes + 1, 'x'));
  made.file("/fits", std::string(RootFs::kMaxBytes, 'x'));
  const Result<RootFs> tree = RootFs::open(made.root());
  ASSERT_TRUE(tree);
  EXPECT_EQ(tree->text("/long").error().code(), ErrorCode::kCorrupt);
  EXPECT_TRUE(tree->text("/fits"));
}

TEST(RootFs, RootMissing_UsageError) {
  const Result<RootFs> tree = RootFs::open("/no-such-folder-of-divvys");
  ASSERT_FALSE(tree);
  EXPECT_EQ(tree.error().code(), ErrorCode::kUsage);
}

}  // namespace
}  // namespace divvy::doctor
