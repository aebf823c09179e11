// The form of templates: what is replaced, what is not printed, and which faults are errors.
#include "manifests/manifest_template.h"

#include <gtest/gtest.h>

namespace divvy::scheduler {
namespace {

std::string rendered(const char* text, const TemplateValues& values) {
  const Result<std::string> made = renderTemplate({"t.yaml", text}, values);
  return made ? *made : "error: " + made.error().message();
}

TEST(ManifestTemplate, Placeholders_AreReplacedByTheirValues) {
  EXPECT_EQ(rendered("a: @A@\nb: x-@B_2@-@A@\n", {.values = {{"A", "1"}, {"B_2", "two"}}}),
            "a: 1\nb: x-two-1\n");
}

TEST(ManifestTemplate, ValueWithPlaceholder_IsNotReadAgain) {
  EXPECT_EQ(rendered("a: @A@\n", {.values = {{"A", "user@B@host \\"}}}), "a: user@B@host \\\n");
}

TEST(ManifestTemplate, ReviewersComments_AreNotPrinted) {
  EXPECT_EQ(rendered("#! one @ two\n# kept\na:\n    #! three\n  b: '#! kept'\n", {}),
            "# kept\na:\n  b: '#! kept'\n");
}

TEST(ManifestTemplate, BackslashAtEnd_JoinsNextLine) {
  EXPECT_EQ(rendered("  a && \\\n    #! why\n    f(\\\n      '\\\\', b)\nc\n", {}),
            "  a && f('\\\\', b)\nc\n");
}

TEST(ManifestTemplate, Block_IsPrintedForEachItem) {
  const char* text = "list:\n@for X@\n  #! why\n  - {name: @X@, of: @A@}\n@end@\nend\n";
  EXPECT_EQ(rendered(text, {.values = {{"A", "a"}}, .lists = {{"X", {"1", "2"}}}}),
            "list:\n  - {name: 1, of: a}\n  - {name: 2, of: a}\nend\n");
  EXPECT_EQ(rendered(text, {.values = {{"A", "a"}}, .lists = {{"X", {}}}}), "list:\nend\n");
}

TEST(ManifestTemplate, Faults_NameTemplateLineAndPlaceholder) {
  const TemplateValues a{.values = {{"A", "1"}}};
  const TemplateValues x{.values = {}, .lists = {{"X", {}}}};
  const struct {
    const char* text;
    TemplateValues values;
    const char* message;
  } cases[] = {
      {"#!\nb: @B@\n", {}, ", line 2: placeholder @B@ has no value"},
      {"b\n", a, ": a value is given for @A@, which is on no line"},
      {"#! @A@\n", a, ": a value is given for @A@, which is on no line"},
      {"b\n", x, ": a value is given for @for X@, which is on no line"},
      {"b: @\n", {}, ", line 1: \"@\" begins no placeholder; accepted: @NAME@"},
      {"b: a@b.c, d@e\n", {}, ", line 1: \"@\" begins no placeholder; accepted: @NAME@"},
      {"@for x@\n", {}, ", line 1: \"@\" begins no placeholder; accepted: @NAME@"},
      {"b\n@for X@\n", x, ", line 2: @for X@ without @end@"},
      {"b\n@end@\n", {}, ", line 2: @end@ without @for NAME@"},
      {"@for X@\n@for X@\n", x, ", line 2: @for X@ in another block"},
      {"@for X@\n@end@\n", {}, ", line 1: @for X@ has no list"},
      {"@for X@\n@B@\n@end@\n", x, ", line 2: placeholder @B@ has no value"},
      {"@for X@\n@end@\n@X@\n", x, ", line 3: placeholder @X@ has no value"},
      {"b \\\n", {}, ": nothing follows the last line"},
  };
  for (const auto& [text, values, message] : cases) {
    const Result<std::string> made = renderTemplate({"t.yaml", text}, values);
    ASSERT_FALSE(made) << text;
    EXPECT_EQ(made.error().code(), ErrorCode::kInternal);
    EXPECT_EQ(made.error().message(), std::string("manifest template t.yaml") + message) << text;
  }
}

TEST(ManifestTemplate, UnknownTemplate_IsAnError) {
  EXPECT_EQ(renderManifest("none.yaml", {}).error().message(),
            "there is no manifest template none.yaml");
}

}  // namespace
}  // namespace divvy::scheduler
