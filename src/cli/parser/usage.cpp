#include "parser/usage.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "options/kubectl_options.h"

namespace divvy::cli {
namespace {

std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

// "--output", "TENANT": its name in errors.
std::string nameOf(const CLI::Option& option) {
  return option.get_name(option.get_positional(), false);
}

// The library's errors have the form NAME: TEXT.
const CLI::Option* optionIn(const CLI::App& command, const std::string& complaint) {
  const std::string name = complaint.substr(0, complaint.find(':'));
  for (const CLI::Option* option : command.get_options())
    if (nameOf(*option) == name) return option;
  return nullptr;
}

std::string typeOf(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  return type.empty() || type == "TEXT" ? "" : "; accepted: " + type;
}

}  // namespace

const CLI::App* innermost(const CLI::App& app, std::string* names) {
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) {
    at = at->get_subcommands().front();
    if (names != nullptr) *names += " " + at->get_name();
  }
  return at;
}

Error usageError(const CLI::App& app, const std::string& what) {
  std::string text = what.substr(0, what.find('\n'));
  std::string command = app.get_name();
  innermost(app, &command);
  while (!text.empty() && (text.back() == '.' || text.back() == ' ')) text.pop_back();
  return {ErrorCode::kUsage, text + "; see " + command + " --help"};
}

std::string unknownCommand(const CLI::App& app, const std::vector<std::string>& words) {
  const auto first = std::find_if(words.begin(), words.end(),
                                  [](const std::string& word) { return !word.starts_with('-'); });
  if (first == words.end()) return "";
  std::string accepted;
  for (const CLI::App* command : app.get_subcommands(nullptr)) {
    if (command->get_name() == *first) {
      if (command->get_subcommands(nullptr).empty()) return "";
      return unknownCommand(*command, std::vector<std::string>(first + 1, words.end()));
    }
    if (!command->get_group().empty()) accepted += " " + command->get_name();
  }
  return "\"" + *first + "\" is not a command; accepted:" + accepted;
}

std::string unexpectedWords(const CLI::App& command, bool plugin) {
  const std::vector<std::string> rest = command.remaining();
  if (rest.empty()) return "an argument is not accepted here";
  std::vector<std::string> options;
  std::vector<std::string> places;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_group().empty()) continue;
    if (option->get_positional()) places.push_back(nameOf(*option));
    if (!option->get_positional()) options.push_back(option->get_name(false, true));
  }
  const bool is_option = rest[0].size() > 1 && rest[0].starts_with('-');
  if (!is_option)
    return "\"" + rest[0] + "\" is not accepted here; accepted: " +
           (places.empty() ? "options only" : "one " + join(places) + ", and options");
  const std::string name = rest[0].substr(0, rest[0].find('='));
  const bool kubectls = plugin && onlyKubectls(name);
  return name +
         (kubectls ? " is an option of kubectl that this command does not support"
                   : " is not accepted here") +
         "; accepted: " + join(options);
}

std::string wrongValue(const CLI::App& command, const CLI::ParseError& error) {
  const std::string complaint = error.what();
  constexpr const char* kConversion = "Could not convert: ";
  if (complaint.starts_with(kConversion)) {
    const std::string given = complaint.substr(std::string(kConversion).size());
    const std::string name = given.substr(0, given.find(" = "));
    const CLI::Option* flag = command.get_option_no_throw(name);
    if (flag != nullptr && flag->get_expected_max() == 0)
      return name + " takes no value; accepted: " + name + " alone";
  }
  const CLI::Option* option = optionIn(command, complaint);
  if (option == nullptr) return complaint;
  if (complaint.find("At Most 1 required") != std::string::npos)
    return nameOf(*option) + " is given " + std::to_string(option->results().size()) +
           " times; accepted: once";
  if (complaint.ends_with(" missing")) return nameOf(*option) + " has no value" + typeOf(*option);
  return complaint;
}

std::string emptyOption(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_expected_min() == 0 || option->count() == 0) continue;
    const std::vector<std::string>& given = option->results();
    if (std::find(given.begin(), given.end(), "") != given.end()) return option->get_name();
  }
  return "";
}

}  // namespace divvy::cli
