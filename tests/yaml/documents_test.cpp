#include "yaml/documents.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include <boost/json.hpp>

namespace divvy {
namespace {

namespace json = boost::json;

std::vector<YamlDocument> documentsOf(const std::string& text) {
  Result<std::vector<YamlDocument>> read = readYamlDocuments(text, "f");
  EXPECT_TRUE(read) << read.error().message();
  return read ? std::move(*read) : std::vector<YamlDocument>();
}

std::string errorOf(const std::string& text) {
  const Result<std::vector<YamlDocument>> read = readYamlDocuments(text, "f");
  return read ? "" : read.error().message();
}

struct Row {
  const char* name;
  std::string yaml;
  const char* json;  // of all documents, as a list
};
class YamlDocuments : public testing::TestWithParam<Row> {};

TEST_P(YamlDocuments, EachRow_ReadAsKubectlDoes) {
  json::array all;
  for (YamlDocument& document : documentsOf(GetParam().yaml))
    all.push_back(std::move(document.value));
  EXPECT_EQ(json::value(all), json::parse(GetParam().json)) << json::serialize(all);
}

INSTANTIATE_TEST_SUITE_P(
    All, YamlDocuments,
    testing::Values(Row{"Anchor", "a: &x {b: 1}\nc: *x\n", R"([{"a":{"b":1},"c":{"b":1}}])"},
                    Row{"MergeKey", "a: &x {b: 1, c: 2}\nd: {<<: *x, c: 3}\n",
                        R"([{"a":{"b":1,"c":2},"d":{"b":1,"c":3}}])"},
                    Row{"MergeKeyAfterOwnKeys", "a: &x {b: 1}\nd:\n  b: 2\n  <<: *x\n",
                        R"([{"a":{"b":1},"d":{"b":2}}])"},
                    Row{"MergeOfAMerge", "a: &x {b: 1}\nd: &y {<<: *x}\ne: {<<: *y}\n",
                        R"([{"a":{"b":1},"d":{"b":1},"e":{"b":1}}])"},
                    Row{"EarlierMergedMapsGoFirst",
                        "a: &x {b: 1}\nd: &y {b: 2, c: 2}\ne: {<<: [*x, *y]}\n",
                        R"([{"a":{"b":1},"d":{"b":2,"c":2},"e":{"b":1,"c":2}}])"},
                    Row{"QuotedKeyIsNoMerge", "'<<': {a: 1}\n", R"([{"<<":{"a":1}}])"},
                    Row{"SeveralDocuments", "a: 1\n---\nb: 2\n--- {c: 3}\n---\n# nothing\n",
                        R"([{"a":1},{"b":2},{"c":3},null])"},
                    Row{"Directive", "%YAML 1.1\n---\na: 1\n", R"([{"a":1}])"},
                    Row{"MarkerInsideText", "a: |\n  x\n  ---\n  y\n", R"([{"a":"x\n---\ny\n"}])"},
                    Row{"CarriageReturns", "a: |\r\n  x\r\n  y\r\n---\r\nb: 'c'\r\n",
                        R"([{"a":"x\ny\n"},{"b":"c"}])"},
                    Row{"ByteOrderMark",
                        "\xEF\xBB\xBF"
                        "a: 1\n",
                        R"([{"a":1}])"},
                    Row{"ByteOrderMarkBeforeJson", "\xEF\xBB\xBF{\"a\": 1}", R"([{"a":1}])"},
                    Row{"JsonWithTabs", "{\n\t\"a\": [1, 2]\n}\n", R"([{"a":[1,2]}])"},
                    Row{"JsonObjectsInARow", "{\"a\": 1}\n{\"b\": 2}", R"([{"a":1},{"b":2}])"},
                    Row{"FlowMapIsNoJson", "{a: 1, b: [c]}", R"([{"a":1,"b":["c"]}])"},
                    Row{"Scalars",
                        "[yes, Off, ~, 0644, 0x1F, 1e3, .5, -7, 1.2.3, inf, '8', !!str 9, 08x]",
                        R"([[true,false,null,420,31,1e3,0.5,-7,"1.2.3","inf","8","9","08x"]])"},
                    Row{"Nothing", "", "[]"}, Row{"CommentsOnly", "# a\n\n", "[]"}),
    [](const auto& each) { return std::string(each.param.name); });

TEST(ReadYamlDocuments, InvalidText_ErrorNamesLine) {
  for (const auto& [text, error] : std::vector<std::pair<std::string, std::string>>{
           {"a: [\n", "f:2: "},
           {"a: 1\n---\nb: 2\n---\nc: [1\n", "f:6: "},
           {"a: {<<: 3}\n", "f:1: \"<<\" merges maps; accepted: a map, or a list of maps"},
           {"a: {<<: [{b: 1}, 3]}\n", "f:1: \"<<\" merges maps"},
           {"? [a]\n: b\n", "f:1: a key is not text"},
           {"a: 1\nb: c\xE9\n", "f:2: it is not UTF-8"},
           {"a\xC0\xAF: 1\n", "f:1: it is not UTF-8"},
           {"\xFF\xFE"
            "a",
            "f:1: is UTF-16; accepted: UTF-8"}})
    EXPECT_EQ(errorOf(text).substr(0, error.size()), error) << text;
}

// Ten to the power of `levels`, in some lines.
std::string laughs(int levels, const std::string& each) {
  std::string text = "a0: &a0 {k: v}\n";
  for (int level = 1; level <= levels; ++level) {
    const std::string below = "*a" + std::to_string(level - 1);
    text += "a" + std::to_string(level) + ": &a" + std::to_string(level) + ' ';
    std::string list;
    for (int i = 0; i < 10; ++i) list += (i == 0 ? "" : ", ") + below;
    text += each == "<<" ? "{<<: [" + list + "]}\n" : '[' + list + "]\n";
  }
  return text;
}

TEST(ReadYamlDocuments, ExcessiveAliases_AreRefused) {
  for (const char* each : {"list", "<<"})
    EXPECT_NE(errorOf(laughs(12, each)).find("its aliases stand for too much; accepted: "),
              std::string::npos)
        << each;
  // One long text, again and again.
  std::string repeated = "a: &a " + std::string(100'000, 'x') + "\nb: [";
  for (int i = 0; i < 100; ++i) repeated += i == 0 ? "*a" : ", *a";
  EXPECT_NE(errorOf(repeated + "]\n").find("stand for too much"), std::string::npos);
  // What a manifest does with a few hundred aliases is little.
  EXPECT_EQ(errorOf(laughs(3, "list")), "");
}

TEST(ReadYamlDocuments, SelfReference_IsRefused) {
  for (const char* text : {"a: &x [*x]\n", "a: &x {<<: *x}\n", "a: &x {b: *x}\n"})
    EXPECT_NE(errorOf(text).find("nested too deeply; accepted: 100 levels"), std::string::npos)
        << text << errorOf(text);
}

}  // namespace
}  // namespace divvy
