// Pictures: well-formed, the same for the same input, and saying what they were given.
#include "simulator/chart.h"

#include <gtest/gtest.h>

#include <cmath>
#include <regex>

namespace divvy::simulator {
namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

// Every element that is opened is closed, in order.
bool balanced(const std::string& text) {
  std::vector<std::string> open;
  const std::regex tag("<(/?)([a-z]+)[^<>]*?(/?)>");
  for (std::sregex_iterator at(text.begin(), text.end(), tag), end; at != end; ++at) {
    if ((*at)[1] == "/") {
      if (open.empty() || open.back() != (*at)[2]) return false;
      open.pop_back();
    } else if ((*at)[3] != "/") {
      open.push_back((*at)[2]);
    }
  }
  return open.empty();
}

Panel panel(std::vector<Line> lines) {
  return {"title", "across", "up", std::move(lines), std::nullopt};
}

TEST(Chart, TwoLines_AxesLegendAndPolylines) {
  const std::string text =
      svg("all", {panel({{"fgd", {{60, 60}, {100, 95}}}, {"random", {{60, 60}, {100, 86}}}})});
  EXPECT_TRUE(balanced(text)) << text;
  EXPECT_EQ(count(text, "<polyline"), 2u);
  for (const char* word : {">fgd<", ">random<", ">across<", ">up<", ">title<", ">100<", ">60<"}) {
    EXPECT_NE(text.find(word), std::string::npos) << word;
  }
  EXPECT_NE(text.find("prefers-color-scheme:dark"), std::string::npos);
  // 60 to 100 of either axis: from the lower left corner to 95 of 60..100.
  EXPECT_NE(text.find("points='66.0,324.0 656.0,105.2'"), std::string::npos) << text;
  EXPECT_EQ(
      text,
      svg("all", {panel({{"fgd", {{60, 60}, {100, 95}}}, {"random", {{60, 60}, {100, 86}}}})}));
}

TEST(Chart, MarkupInNames_IsEscaped) {
  const std::string text = svg("<a&\"'>", {panel({{"</svg><script>\x01\xff", {{0, 1}}}})});
  EXPECT_TRUE(balanced(text)) << text;
  EXPECT_EQ(text.find("<script"), std::string::npos);
  EXPECT_NE(text.find("&lt;/svg&gt;&lt;script&gt;??"), std::string::npos) << text;
}

TEST(Chart, UndrawableValues_AreOmitted) {
  for (const std::vector<Line>& lines :
       {std::vector<Line>{}, std::vector<Line>{{"none", {}}}, std::vector<Line>{{"one", {{3, 3}}}},
        std::vector<Line>{{"odd", {{NAN, 1}, {1, INFINITY}, {2, 5}}}},
        std::vector<Line>{{"large", {{0, -1e300}, {1, 1e300}}}}}) {
    const std::string text = svg("few", {panel(lines)});
    EXPECT_TRUE(balanced(text)) << text;
    EXPECT_EQ(text.find("nan"), std::string::npos) << text;
    EXPECT_EQ(text.find("inf"), std::string::npos) << text;
    EXPECT_LT(text.size(), 20'000u);
  }
}

}  // namespace
}  // namespace divvy::simulator
