// What kube-scheduler asks, and what it is answered.
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "extender/protocol.h"

namespace divvy::scheduler {
namespace {

namespace json = boost::json;

TEST(ExtenderProtocol, FilterBody_ReadAndMalformedRefused) {
  const Result<ExtenderArgs> ask =
      parseFilter(R"({"Pod":{"metadata":{"uid":"u"}},"Nodes":null,"NodeNames":["a","b"]})");
  ASSERT_TRUE(ask.has_value());
  EXPECT_EQ(ask->pod.meta.uid, "u");
  EXPECT_EQ(ask->names, (std::vector<std::string_view>{"a", "b"}));
  EXPECT_FALSE(ask->whole_nodes);
  EXPECT_TRUE(parseFilter(R"({"Pod":{},"Nodes":{"items":[]}})")->whole_nodes);
  for (const char* body : {"", "[]", "{}", R"({"Pod":{}})", R"({"Pod":1,"NodeNames":[]})",
                           R"({"Pod":{},"NodeNames":[1]})", R"({"Pod":{},"NodeNames":"a"})",
                           R"({"Pod":{},"NodeNames":["a"]}x)", R"({"Pod":{},"NodeNames":["a"])",
                           R"({"Pod":{},"NodeNames":["a",]})", R"({"Pod":{,"NodeNames":["a"]})",
                           R"({"Pod":{},"NodeNames":["a" "b"]})", R"({"Pod":{},"NodeNames":["a]})"})
    EXPECT_FALSE(parseFilter(body).has_value()) << body;
  EXPECT_FALSE(parseBind(R"({"PodName":"p","PodNamespace":"n","Node":"a"})").has_value());
}

// However a name is written, it is that name; and whoever is not ours gets the list back.
TEST(ExtenderProtocol, EscapedNames_AreDecoded) {
  const std::string body =
      " { \"NodeNames\" : [ \"a\\u0062\" , \"c\\\"\\\\\" ,\n\"\\u00e9\"] , \"Else\" : [\"]}\"],"
      " \"Pod\" : {} } ";
  const Result<ExtenderArgs> ask = parseFilter(body);
  ASSERT_TRUE(ask.has_value()) << ask.error().message();
  EXPECT_EQ(ask->names, (std::vector<std::string_view>{"ab", "c\"\\", "\xc3\xa9"}));
  EXPECT_EQ(json::parse(filterAnswer(*ask, {})).at("NodeNames"), json::parse(body).at("NodeNames"));
  EXPECT_TRUE(parseFilter(R"({"Pod":{},"NodeNames":[]})")->names.empty());
}

TEST(ExtenderProtocol, FilterAnswer_OneNodeOrReasons) {
  const Result<ExtenderArgs> ask = parseFilter(R"({"Pod":{},"NodeNames":["a","b"]})");
  FilterResult choice;
  EXPECT_EQ(json::parse(filterAnswer(*ask, choice)).at("NodeNames").as_array().size(), 2u);
  choice.ours = true;
  choice.why.emplace("a", "full of \"x\"\n");
  choice.never.emplace("b", "too few");
  EXPECT_EQ(json::parse(filterAnswer(*ask, choice)),
            json::parse(R"({"NodeNames":[],"FailedNodes":{},"FailedAndUnresolvableNodes":)"
                        R"({"a":"full of \"x\"\n","b":"too few"},"Error":""})"));
  choice.node = "a";
  EXPECT_EQ(json::parse(filterAnswer(*ask, choice)).at("NodeNames").as_array().size(), 1u);
}

// Autoscalers ask with whole nodes, and get them back as they came.
TEST(ExtenderProtocol, FullNodes_AnsweredVerbatim) {
  const std::string a = R"({"metadata":{"name":"a","x": [1.50,"\u0041"]},"spec":{}})";
  const std::string b = R"({ "metadata":{"name":"b"}})";
  const std::string body = R"({"Pod":{},"Nodes":{"metadata":{},"items":[)" + a + " , " + b + "]}}";
  const Result<ExtenderArgs> ask = parseFilter(body);
  ASSERT_TRUE(ask.has_value()) << ask.error().message();
  ASSERT_TRUE(ask->whole_nodes);
  ASSERT_EQ(ask->nodes.size(), 2u);
  FilterResult choice;
  choice.ours = true;
  choice.why.emplace("b", "full");
  const std::string said = filterAnswer(*ask, choice);
  EXPECT_NE(said.find("\"items\":[" + a + "]"), std::string::npos) << said;
  EXPECT_TRUE(json::parse(said).at("NodeNames").is_null());
  EXPECT_EQ(json::parse(said).at("FailedNodes"), json::parse(R"({"b":"full"})"));
  EXPECT_EQ(json::parse(filterAnswer(*ask, {})).at("Nodes").at("items").as_array().size(), 2u);
  EXPECT_EQ(json::parse(filterNever(*ask, "no")).at("FailedAndUnresolvableNodes"),
            json::parse(R"({"a":"no","b":"no"})"));
  for (const char* items : {"1", "[1]", "[{]", "[{},]", "[{\"metadata\":7}]"})
    EXPECT_FALSE(parseFilter(R"({"Pod":{},"Nodes":{"items":)" + std::string(items) + "}}"))
        << items;
}

// As kube-scheduler sends it; what it found itself is not looked at.
TEST(ExtenderProtocol, PreemptBody_NodeNamesAreRead) {
  const Result<ExtenderArgs> ask = parsePreempt(
      R"({"Pod":{"metadata":{"uid":"u"}},"NodeNameToVictims":null,"NodeNameToMetaVictims":)"
      R"({"a":{"Pods":[{"UID":"x"}],"NumPDBViolations":0},"b":{"Pods":[],"NumPDBViolations":1}}})");
  ASSERT_TRUE(ask.has_value()) << ask.error().message();
  EXPECT_EQ(ask->pod.meta.uid, "u");
  EXPECT_EQ(ask->names, (std::vector<std::string_view>{"a", "b"}));
  EXPECT_EQ(json::parse(preemptAnswer()).at("NodeNameToMetaVictims").as_object().size(), 0u);
  for (const char* bad : {"", "[]", "{}", R"({"Pod":{},"NodeNameToMetaVictims":[]})"})
    EXPECT_FALSE(parsePreempt(bad)) << bad;
}

TEST(ExtenderProtocol, Prioritize_AnsweredWithScores) {
  const Result<ExtenderArgs> ask = parseFilter(R"({"Pod":{},"NodeNames":["a","b"]})");
  EXPECT_EQ(json::parse(prioritizeAnswer(*ask, {3, 10})),
            json::parse(R"([{"Host":"a","Score":3},{"Host":"b","Score":10}])"));
  EXPECT_EQ(prioritizeAnswer(*parseFilter(R"({"Pod":{},"NodeNames":[]})"), {}), "[]");
  FilterResult all;
  all.ours = true;
  all.fitting = {"b", "a"};
  EXPECT_EQ(json::parse(filterAnswer(*ask, all)).at("NodeNames"), json::parse(R"(["b","a"])"));
}

}  // namespace
}  // namespace divvy::scheduler
