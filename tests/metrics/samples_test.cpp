#include "metrics/samples.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "metrics/exposition.h"

namespace divvy::metrics {
namespace {

struct Read {
  std::string name, device, pod;
  double value;
  friend bool operator==(const Read&, const Read&) = default;
};

std::vector<Read> read(std::string_view text) {
  std::vector<Read> all;
  readSamples(text, {"used", "idle"}, [&](const Sample& sample) {
    all.push_back({std::string(sample.name), std::string(sample.label("device")),
                   std::string(sample.label("pod")), sample.value});
  });
  return all;
}

TEST(ReadSamples, WantedNames_AreRead) {
  const std::vector<Read> expected{{"used", "GPU-a", "p", 12.5}, {"idle", "", "", -3}};
  EXPECT_EQ(read("# HELP used Memory\n# TYPE used gauge\nused{device=\"GPU-a\",pod=\"p\"} 12.5\n"
                 "other 1\nused_total 4\nidle -3 1700000000000\n"),
            expected);
}

TEST(ReadSamples, ExpositionText_ReadsWhatWasWritten) {
  const std::string hostile = "a\"b\\c\nd,e}f=\"g";
  Exposition out;
  out.family("used", "gauge", "Memory");
  out.sample({{"device", hostile}, {"pod", "<script>"}}, 1e15);
  out.sample({{"pod", ""}, {"device", "\\"}}, std::uint64_t{7});
  const std::vector<Read> expected{{"used", hostile, "<script>", 1e15}, {"used", "\\", "", 7}};
  EXPECT_EQ(read(out.text()), expected);
}

TEST(ReadSamples, OtherGrammar_LineIsLeftOut) {
  for (const std::string line :
       {"used", "used{", "used{device", "used{device=", "used{device=\"", "used{device=\"a\\",
        "used{device=\"a\"", "used{device=\"a\"}", "used{device=\"a\"} x", "used{device=\"a\"} 1x",
        "used{device=\"a\"} NaN", "used{device=\"a\"} +Inf", "used{} ", "{", "", " ", "used{,,,"})
    EXPECT_EQ(read(line + "\nidle 1\n"), (std::vector<Read>{{"idle", "", "", 1}})) << line;
}

TEST(ReadSamples, TextIsCutAnywhere_WholeLinesAreRead) {
  const std::string text = "used{device=\"a\",pod=\"b\"} 11\nidle{device=\"c\"} 22\n";
  for (std::size_t size = 0; size <= text.size(); ++size)
    EXPECT_LE(read(std::string_view(text).substr(0, size)).size(), 2u) << size;
}

}  // namespace
}  // namespace divvy::metrics
