// Public names that were renamed: one list for the compatibility of the daemons, for `divvy` and
// for docs/reference/public-names.md. Pure; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace divvy::public_names {

enum class NameKind : std::uint8_t {
  kAgentMetric,
  kSchedulerMetric,
  kAlert,  // of deploy/prometheus
  kAnnotation,
  kNextAnnotation,  // both keys are read; the old one is written until the next release
  kReason,          // code of `divvy explain reason`
  kCondition,       // reason of a pod's condition
  kCommand,         // of `divvy`, with the program: "divvy resize"
};

// All strings are of static storage. Within a kind each name occurs once.
struct RenamedName {
  NameKind kind;
  std::string_view old_name;
  std::string_view name;
  std::string_view added_label = {};  // of a metric: samples under the old name do not have it
};

// In the order of the page.
std::span<const RenamedName> renamedNames();

// Returns the present name of `old_name`; empty: it is none of the old names of that kind.
std::string_view presentName(NameKind kind, std::string_view old_name);
// Returns the old name of a metric, of agent or scheduler; empty: it was not renamed.
std::string_view oldMetricName(std::string_view name);
// Returns the label of a metric that its samples did not have under the old name; empty: none.
std::string_view addedLabel(std::string_view name);

// Returns the old key of an annotation; empty: it was not renamed.
std::string_view oldAnnotationKey(std::string_view key);

// Returns `text` (a dashboard, alert rules, a script) with present names in place of old ones, as
// whole words: of metrics, alerts, annotations and commands. The value of a label `old_name` and
// keys of kNextAnnotation stay.
std::string withPresentNames(std::string text);

// Returns the names of that kind as a Markdown table, old and present.
std::string table(NameKind kind);

}  // namespace divvy::public_names
