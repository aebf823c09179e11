// The options of a share: one list for `divvy run`, for pods, and for their documentation.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace divvy::share_options {

// Accepted values.
enum class ValueKind : std::uint8_t {
  // One of the words in ShareOption::type, separated by '
  // '.
  kWord,
  kSize,        // memory: "4Gi", or "50%" of the device
  kSizeOrNone,  // as kSize, or "0"
  kTime,        // "30s"
  kTimeOrOff,   // as kTime, or "off"
  kNames,       // separated by commas
  kModels,      // as kNames, each accepted by isModelPattern()
  kElsewhere,   // checked by its reader: amounts of resources, names of pools, policies
};

// Where a pod states an option.
enum class Place : std::uint8_t {
  kResource,    // of a container; `word` is the resource's name
  kAnnotation,  // use.divvy.dev/WORD
  kNone,        // nowhere; `word` has the reason
};

// Whether an option is for the pod or one container. CONTAINER.use.divvy.dev/WORD is for one
// container and overrides use.divvy.dev/WORD, which is for all.
enum class Scope : std::uint8_t { kPod, kContainer };

// Which process acts on it. The scheduler checks options of agents, too.
enum class Reader : std::uint8_t { kScheduler, kAgent, kBoth };

struct ShareOption {
  // Option of `divvy run`, without dashes; empty: for pods only.
  std::string_view option;
  std::string_view type;  // name of the value in --help
  std::string_view help;  // text in --help
  // Default, as --help states it; may be empty.
  std::string_view otherwise;
  Place place = Place::kNone;
  std::string_view word;
  Scope scope = Scope::kPod;
  Reader reader = Reader::kScheduler;
  ValueKind form = ValueKind::kElsewhere;
  // Difference between pods and the command line.
  std::string_view note = {};
};

inline constexpr std::string_view kDomain = "use.divvy.dev";

std::span<const ShareOption> all();
// Return an option of the list, or null.
const ShareOption* ofOption(std::string_view option);
const ShareOption* ofAnnotation(std::string_view word);

// Returns "cores are a share of a busy card [share]", without the brackets if `defaults` do not
// hold.
std::string helpOf(const ShareOption& term, bool defaults);

// Checks a value. kUsage: the message names the accepted values.
Result<void> check(const ShareOption& term, std::string_view value);

// Returns the list as a Markdown table.
std::string table();

}  // namespace divvy::share_options
