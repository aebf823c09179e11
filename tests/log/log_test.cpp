#include "log/log.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace divvy::log {
namespace {

std::string contentOf(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

class LogFile : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "divvy-log-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    dir_ = name;
  }
  void TearDown() override {
    open({});
    std::filesystem::remove_all(dir_);
  }
  std::filesystem::path path() const { return dir_ / "agent.log"; }

 private:
  std::filesystem::path dir_;
};

TEST(LogLine, PlainValues_AreWrittenBare) {
  EXPECT_EQ(line("pod evicted", {{"pod", "team-a/train-0"}, {"priority", "100"}}),
            "pod evicted pod=team-a/train-0 priority=100");
}

TEST(LogLine, NoFields_IsTheMessage) {
  EXPECT_EQ(line("agent ready", {}), "agent ready");
}

TEST(LogLine, ValuesThatAreAmbiguous_AreQuoted) {
  EXPECT_EQ(line("m", {{"a", ""}, {"b", "x y"}, {"c", "k=v"}, {"d", "say \"no\""}, {"e", "\\"}}),
            R"(m a="" b="x y" c="k=v" d="say \"no\"" e="\\")");
}

TEST(LogLine, ControlCharacters_CannotStartALine) {
  const std::string text = line("bad\nline", {{"pod", "x\n2026 error forged\r\x1b[2J\x7f\t"}});
  EXPECT_EQ(text, R"(bad\nline pod="x\n2026 error forged\x0d\x1b[2J\x7f\t")");
}

TEST(LogLine, LongText_IsCutAtTheBoundBetweenCharacters) {
  for (std::size_t before = 0; before < 4; ++before) {
    std::string text(before, 'a');
    while (text.size() < 2 * kMaxLine) text += "\xe2\x82\xac";  // three bytes
    const std::string cut = line(text, {{"key", text}});
    EXPECT_LE(cut.size(), kMaxLine);
    EXPECT_GT(cut.size(), kMaxLine - 8);
    ASSERT_EQ(cut.substr(cut.size() - 3), "...");
    EXPECT_EQ((cut.size() - 3 - before) % 3, 0u) << "a character was cut";
  }
}

TEST_F(LogFile, Lines_BeginWithTimeAndLevel) {
  open(path());
  info("first", {{"node", "n1"}});
  warn("second");
  error("third");
  std::istringstream lines(contentOf(path()));
  std::vector<std::string> rest;
  for (std::string one; std::getline(lines, one);) {
    ASSERT_EQ(one.find('T'), 10u) << one;
    rest.push_back(one.substr(one.find(' ') + 1));
  }
  EXPECT_EQ(rest,
            (std::vector<std::string>{"info first node=n1", "warning second", "error third"}));
}

TEST_F(LogFile, LinesOfSeveralThreads_StayWhole) {
  open(path());
  constexpr int kThreads = 4, kLines = 200;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread)
    threads.emplace_back([] {
      for (int i = 0; i < kLines; ++i) info("event", {{"a", "b"}});
    });
  for (std::thread& thread : threads) thread.join();
  std::istringstream lines(contentOf(path()));
  int count = 0;
  for (std::string one; std::getline(lines, one); ++count)
    EXPECT_EQ(one.substr(one.find(' ') + 1), "info event a=b");
  EXPECT_EQ(count, kThreads * kLines);
}

TEST_F(LogFile, MuchText_KeepsOneOldFile) {
  open(path());
  const std::string text(1000, 'x');
  for (int i = 0; i < 3000; ++i) info(text);
  std::uintmax_t bytes = 0;
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(path().parent_path())) {
    ++files;
    bytes += entry.file_size();
  }
  EXPECT_EQ(files, 2);
  EXPECT_LE(bytes, 2u << 20u);
}

TEST_F(LogFile, PathThatCannotBeOpened_LinesGoToStderr) {
  std::ofstream(path()) << "a file, not a folder";
  testing::internal::CaptureStderr();
  open(path() / "agent.log");
  warn("kept", {{"node", "n1"}});
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find(" warning kept node=n1\n"), std::string::npos) << text;
  EXPECT_EQ(contentOf(path()), "a file, not a folder");
}

}  // namespace
}  // namespace divvy::log
