// The lists as text.
#include <algorithm>
#include <stdexcept>

#include "daemon_options/daemon_options.h"

namespace divvy::daemon_options {
namespace {

// '|' divides the columns of a table.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

std::string code(std::string_view text) {
  return text.empty() ? std::string() : '`' + cell(text) + '`';
}

std::string formOf(const DaemonOption& option) {
  std::string text = "--" + std::string(option.option);
  if (!option.type.empty()) text += ' ' + std::string(option.type);
  return text;
}

std::string chartOf(const DaemonOption& option, std::string_view extra_args) {
  if (option.chart == kSetByChart) return "set by the chart";
  return code(option.chart.empty() ? extra_args : option.chart);
}

}  // namespace

const DaemonOption* find(std::span<const DaemonOption> list, std::string_view option) {
  const auto found = std::find_if(list.begin(), list.end(),
                                  [&](const DaemonOption& one) { return one.option == option; });
  return found == list.end() ? nullptr : &*found;
}

std::string_view agentVariable(std::string_view option) {
  const DaemonOption* known = find(agentOptions(), option);
  if (known == nullptr || known->variable.empty())
    throw std::logic_error("no variable for --" + std::string(option));
  return known->variable;
}

std::string helpOf(const DaemonOption& option) {
  std::string text(option.help);
  if (!option.otherwise.empty()) text += " [" + std::string(option.otherwise) + ']';
  return text;
}

std::string table(std::span<const DaemonOption> list, std::string_view extra_args) {
  std::string text =
      "| Option | Meaning | Default | Variable | Helm value |\n|---|---|---|---|---|\n";
  for (const DaemonOption& one : list)
    text += "| " + code(formOf(one)) + " | " + cell(one.help) + " | " + cell(one.otherwise) +
            " | " + code(one.variable) + " | " + chartOf(one, extra_args) + " |\n";
  return text;
}

}  // namespace divvy::daemon_options
