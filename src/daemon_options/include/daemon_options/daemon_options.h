// The options of the scheduler and the agent: one list for the command line, the environment, the
// Helm chart and the documentation. Pure; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace divvy::daemon_options {

// How an option takes its value.
enum class Form : std::uint8_t {
  kValue,     // one
  kList,      // several, separated by commas or by repetition
  kRepeated,  // one per repetition
  kFlag,      // none
};

// The chart passes the option without a value of its own.
inline constexpr std::string_view kSetByChart = "*";

struct DaemonOption {
  std::string_view option;  // without dashes
  // Name of the value in --help. "a|b" lists the accepted words. Empty: a flag.
  std::string_view type = {};
  std::string_view help;
  std::string_view otherwise = {};  // default, as --help states it; may be empty
  Form form = Form::kValue;
  std::string_view variable = {};  // environment variable that counts without the option
  // Path of the value in the chart's values.yaml, or kSetByChart. Empty: `extraArgs`.
  std::string_view chart = {};
};

// In the order of --help.
std::span<const DaemonOption> schedulerOptions();
std::span<const DaemonOption> agentOptions();

// Returns the option of the list with this name, or null.
const DaemonOption* find(std::span<const DaemonOption> list, std::string_view option);
// The variable of an agent's option that has one. std::logic_error: it has none.
std::string_view agentVariable(std::string_view option);

// Returns the text of --help: "which node of equals [divvy]".
std::string helpOf(const DaemonOption& option);

// Returns the list as a Markdown table. `extra_args`: path of the chart's extraArgs.
std::string table(std::span<const DaemonOption> list, std::string_view extra_args);

}  // namespace divvy::daemon_options
