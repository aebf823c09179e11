#include "daemon_options/daemon_options.h"

#include <cctype>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>

#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>
#include <boost/json.hpp>

namespace divvy::daemon_options {
namespace {

std::string sourceFile(const std::string& path) {
  const char* root = std::getenv("DIVVY_SOURCE_DIR");
  std::ifstream file(std::string(root == nullptr ? "." : root) + '/' + path);
  EXPECT_TRUE(file) << path;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

struct Daemon {
  const char* name;
  std::span<const DaemonOption> list;
  const char* extra_args;
  std::vector<std::string> templates;  // of the chart
};

std::vector<Daemon> daemons() {
  return {{"scheduler", schedulerOptions(), "scheduler.extraArgs", {"scheduler.yaml"}},
          {"agent", agentOptions(), "agent.extraArgs", {"agent.yaml"}}};
}

// The options in `args` of a container that runs `divvy NAME`.
std::set<std::string> passedBy(const Daemon& daemon) {
  std::set<std::string> all;
  for (const std::string& file : daemon.templates) {
    const std::string text = sourceFile("deploy/helm/divvy/templates/" + file);
    std::size_t from = text.find("\n            - " + std::string(daemon.name) + "\n");
    EXPECT_NE(from, std::string::npos) << file;
    const std::size_t end = text.find("extraArgs", from);
    EXPECT_NE(end, std::string::npos) << file;
    const std::string args = text.substr(from, end - from);
    const std::regex option("--([a-z][a-z-]*)");
    for (std::sregex_iterator one(args.begin(), args.end(), option), none; one != none; ++one)
      all.insert((*one)[1]);
  }
  return all;
}

std::vector<std::string> partsOf(std::string_view path) {
  std::vector<std::string> parts;
  std::istringstream text{std::string(path)};
  for (std::string part; std::getline(text, part, '.');) parts.push_back(part);
  return parts;
}

bool inValues(const YAML::Node& values, std::string_view path) {
  YAML::Node at = YAML::Clone(values);
  for (const std::string& part : partsOf(path)) {
    if (!at.IsMap() || !at[part]) return false;
    at.reset(at[part]);
  }
  return true;
}

bool inSchema(const boost::json::value& schema, std::string_view path) {
  const boost::json::value* at = &schema;
  for (const std::string& part : partsOf(path)) {
    const boost::json::object* object = at->if_object();
    const boost::json::value* reference = object == nullptr ? nullptr : object->if_contains("$ref");
    if (reference != nullptr) {
      std::string pointer(reference->as_string());
      at = &schema.at_pointer(pointer.substr(1));
      object = at->if_object();
    }
    const boost::json::value* properties =
        object == nullptr ? nullptr : object->if_contains("properties");
    if (properties == nullptr || !properties->as_object().contains(part)) return false;
    at = &properties->as_object().at(part);
  }
  return true;
}

TEST(DaemonOptions, EachOption_HasNameHelpAndMatchingType) {
  for (const Daemon& daemon : daemons()) {
    std::set<std::string_view> names;
    for (const DaemonOption& one : daemon.list) {
      EXPECT_TRUE(names.insert(one.option).second) << one.option << " is listed twice";
      EXPECT_TRUE(std::regex_match(std::string(one.option), std::regex("[a-z]+(-[a-z]+)*")));
      EXPECT_FALSE(one.help.empty()) << one.option;
      EXPECT_EQ(one.form == Form::kFlag, one.type.empty()) << one.option;
    }
  }
}

TEST(DaemonOptions, Variables_AreNamedAfterTheirOptions) {
  for (const Daemon& daemon : daemons())
    for (const DaemonOption& one : daemon.list) {
      if (one.variable.empty()) continue;
      std::string wanted = "DIVVY_";
      for (const char c : one.option)
        wanted += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
      EXPECT_EQ(one.variable, wanted);
    }
  EXPECT_EQ(agentVariable("overcommit"), "DIVVY_OVERCOMMIT");
  EXPECT_THROW(agentVariable("node-name"), std::logic_error);
  EXPECT_THROW(agentVariable("no-such-option"), std::logic_error);
}

TEST(DaemonOptions, HelmTemplates_PassTheListedOptions) {
  for (const Daemon& daemon : daemons()) {
    std::set<std::string> listed;
    for (const DaemonOption& one : daemon.list)
      if (!one.chart.empty()) listed.emplace(one.option);
    EXPECT_EQ(passedBy(daemon), listed) << daemon.name;
  }
}

TEST(DaemonOptions, HelmValues_AreInValuesAndSchema) {
  const YAML::Node values = YAML::Load(sourceFile("deploy/helm/divvy/values.yaml"));
  const boost::json::value schema =
      boost::json::parse(sourceFile("deploy/helm/divvy/values.schema.json"));
  ASSERT_FALSE(inValues(values, "scheduler.noSuchValue"));
  ASSERT_FALSE(inSchema(schema, "scheduler.noSuchValue"));
  for (const Daemon& daemon : daemons()) {
    std::set<std::string_view> paths{daemon.extra_args};
    for (const DaemonOption& one : daemon.list)
      if (!one.chart.empty() && one.chart != kSetByChart) paths.insert(one.chart);
    for (const std::string_view path : paths) {
      EXPECT_TRUE(inValues(values, path)) << path << " is not in values.yaml";
      EXPECT_TRUE(inSchema(schema, path)) << path << " is not in values.schema.json";
    }
  }
}

TEST(DaemonOptions, Page_HasBothTables) {
  const std::string page = sourceFile("docs/reference/daemon-options.md");
  for (const Daemon& daemon : daemons()) {
    const std::string table = daemon_options::table(daemon.list, daemon.extra_args);
    EXPECT_NE(page.find(table), std::string::npos)
        << "docs/reference/daemon-options.md does not have this table:\n"
        << table;
  }
}

}  // namespace
}  // namespace divvy::daemon_options
