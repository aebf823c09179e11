// That all which can be said to `divvy run` is on the list, with its form in a pod.
#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "options/raw_options.h"
#include "share_options/share_options.h"

namespace divvy::cli {
namespace {

Result<Options> parse(std::vector<std::string> words) {
  words.insert(words.begin(), "divvy");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  return parseOptions(static_cast<int>(argv.size()), argv.data());
}

std::set<std::string> optionsOf(const std::string& command) {
  const Result<Options> said = parse({command, "--help"});
  EXPECT_TRUE(said.has_value());
  const std::string text = std::get<PrintOptions>(*said).text;
  std::set<std::string> options;
  // Examples are below.
  const std::regex option("\n +(?:-[a-z],? *)?--([a-z-]+)");
  for (std::sregex_iterator at(text.begin(), text.end(), option), end; at != end; ++at)
    options.insert((*at)[1]);
  options.erase("help");
  return options;
}

TEST(RunOptions, EveryOption_ListedAsShareOption) {
  std::set<std::string> listed;
  for (const share_options::ShareOption& one : share_options::all()) {
    EXPECT_FALSE(one.word.empty()) << one.option;
    EXPECT_FALSE(one.help.empty()) << one.option;
    if (one.place == share_options::Place::kAnnotation && !one.option.empty()) {
      EXPECT_EQ(one.word, one.option);
    }
    if (!one.option.empty()) listed.insert(std::string(one.option));
  }
  EXPECT_EQ(optionsOf("run"), listed);
  EXPECT_TRUE(listed.contains("cores-policy"));
}

// What a pod may say the agent understands, and the other way round.
TEST(RunOptions, ShareOptionValues_SameAsCommandLine) {
  for (const share_options::ShareOption& one : share_options::all()) {
    if (one.form != share_options::ValueKind::kWord || one.option.empty()) continue;
    const auto runs = [&](const std::string& value) {
      std::vector<std::string> words{"run", "--" + std::string(one.option), value};
      if (one.option == "cores-policy") words.insert(words.end(), {"--cores", "10"});
      words.insert(words.end(), {"--", "true"});
      return parse(words).has_value();
    };
    std::string type(one.type);
    for (std::size_t bar = 0; bar != std::string::npos;) {
      bar = type.find('|');
      EXPECT_TRUE(runs(type.substr(0, bar))) << one.option;
      EXPECT_TRUE(share_options::check(one, type.substr(0, bar))) << one.option;
      if (bar != std::string::npos) type = type.substr(bar + 1);
    }
    EXPECT_FALSE(runs("nonsense"));
    EXPECT_FALSE(share_options::check(one, "nonsense"));
  }
  for (const char* value : {"30s", "500ms", "0", "1y", ""}) {
    const share_options::ShareOption& wait = *share_options::ofOption("pressure-wait");
    EXPECT_EQ(
        parse({"run", "--on-pressure", "wait", "--pressure-wait", value, "--", "true"}).has_value(),
        share_options::check(wait, value).has_value())
        << value;
  }
  for (const char* value : {"4Gi", "50%", "0", "101%", "x"}) {
    EXPECT_EQ(parse({"run", "--guaranteed", value, "--", "true"}).has_value(),
              share_options::check(*share_options::ofOption("guaranteed"), value).has_value())
        << value;
  }
}

}  // namespace
}  // namespace divvy::cli
