// What people and programs are told, and that each id is explained.
#include "doctor/report.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <vector>

#include <boost/json.hpp>

#include "doctor/checks.h"

namespace divvy::doctor {
namespace {

namespace json = boost::json;

Report someReport() {
  Report report{"0.1.0", 1'800'000'000'000, "/", "", {}};
  report.findings = {
      {"clock", FindingScope::kNode, FindingState::kOk, "", "synchronised", "", ""},
      {"agent-state", FindingScope::kNode, FindingState::kFault, "/run/divvy/\x1b[31m\xff",
       "is \"empty\"\n", "it is lost", "rm it"},
      {"runtime-cdi", FindingScope::kNode, FindingState::kWarning, "", "off", "ignored",
       "switch it on"},
      {"host-preload", FindingScope::kNode, FindingState::kSkipped, "", "Permission denied", "",
       ""},
      {"shared-memory", FindingScope::kNode, FindingState::kOk, "", "8 GiB free", "", ""}};
  return report;
}

TEST(Report, Text_WorstFirstAndOkBrief) {
  EXPECT_EQ(textOf(someReport(), true),
            "1 fault\n"
            "  agent-state /run/divvy/?[31m\xff: is \"empty\"?\n"
            "    it is lost\n"
            "    do:  rm it\n"
            "    see: docs/operations/doctor.md#agent-state\n"
            "\n1 warning\n"
            "  runtime-cdi: off\n"
            "    ignored\n"
            "    do:  switch it on\n"
            "    see: docs/operations/doctor.md#runtime-cdi\n"
            "\n1 skipped\n"
            "  host-preload: Permission denied\n"
            "\n2 ok\n"
            "  clock shared-memory\n");
  EXPECT_NE(textOf(someReport(), false).find("  clock: synchronised\n"), std::string::npos);
}

TEST(Report, Json_ValidForAnyBytes) {
  const json::value root = json::parse(jsonOf(someReport()));
  EXPECT_EQ(root.at("form").as_int64(), 1);
  EXPECT_EQ(root.at("written").as_string(), "2027-01-15T08:00:00Z");
  EXPECT_EQ(root.at("worst").as_string(), "fault");
  EXPECT_EQ(root.at("counts").at("ok").to_number<int>(), 2);
  EXPECT_EQ(root.at("node").at("root").as_string(), "/");
  EXPECT_TRUE(root.at("cluster").is_null());
  const json::object& found = root.at("findings").as_array().at(1).as_object();
  EXPECT_EQ(found.at("id").as_string(), "agent-state");
  EXPECT_EQ(found.at("scope").as_string(), "node");
  EXPECT_EQ(found.at("subject").as_string(), "/run/divvy/\x1b[31m?");
  EXPECT_EQ(found.at("seen").as_string(), "is \"empty\"\n");
  EXPECT_EQ(found.at("fix").as_string(), "rm it");
  EXPECT_EQ(found.at("doc").as_string(), "docs/operations/doctor.md#agent-state");
  EXPECT_EQ(found.size(), 8u);
}

std::string page() {
  const char* source = std::getenv("DIVVY_SOURCE_DIR");
  std::ifstream file(std::string(source == nullptr ? "." : source) + "/docs/operations/doctor.md");
  return {std::istreambuf_iterator<char>(file), {}};
}

// The page's sections, and whose each is.
std::vector<std::string> sections(const std::string& text, const std::string& mark) {
  std::vector<std::string> found;
  std::size_t at = 0;
  while ((at = text.find("\n" + mark, at)) != std::string::npos) {
    at += 1 + mark.size();
    found.push_back(text.substr(at, text.find('\n', at) - at));
  }
  return found;
}

// An id without a section is a link to nowhere; a section without an id explains what is not there.
TEST(DoctorPage, Sections_SameIdsInSameOrder) {
  std::vector<std::string> ids;
  for (const Check& one : checks()) ids.push_back(one.id);
  EXPECT_EQ(sections(page(), "### "), ids);
}

TEST(DoctorPage, EachSection_HasCauseAndFix) {
  const std::string text = page();
  for (const Check& one : checks()) {
    const std::size_t at = text.find("\n### " + one.id + "\n");
    ASSERT_NE(at, std::string::npos) << one.id;
    const std::string section = text.substr(at + 5, text.find("\n### ", at + 5) - at - 5);
    EXPECT_NE(section.find("**Cause**"), std::string::npos) << one.id;
    EXPECT_NE(section.find("**Do**"), std::string::npos) << one.id;
  }
}

}  // namespace
}  // namespace divvy::doctor
