// What can be said of a share: the one list, for `divvy run`, for pods and for the page about both.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace divvy::share_options {

// What is accepted as a value.
enum class ValueKind : std::uint8_t {
  kWord,        // one of those in Term::type, with '|' between them
  kSize,        // memory: "4Gi", or "50%" of the card
  kSizeOrNone,  // likewise, or "0"
  kTime,        // "30s"
  kTimeOrOff,   // likewise, or "off"
  kNames,       // with commas between them
  kModels,      // likewise, each as isModelPattern() accepts it
  kElsewhere,   // who reads it knows: amounts of resources, names of pools, policies
};

// How a pod says it.
enum class Place : std::uint8_t {
  kResource,    // of a container: `word` is its name
  kAnnotation,  // use.divvy.dev/WORD
  kNone,        // not at all: `word` says why
};

// Of which part of a pod it can be said: CONTAINER.use.divvy.dev/WORD is of one container, and
// goes before use.divvy.dev/WORD, which is of all.
enum class Scope : std::uint8_t { kPod, kContainer };

// Who acts on it. What agents read the scheduler checks.
enum class Reader : std::uint8_t { kScheduler, kAgent, kBoth };

struct ShareOption {
  std::string_view option;     // of divvy run, without dashes; empty: of pods only
  std::string_view type;       // what --help calls its value
  std::string_view help;       // what --help says
  std::string_view otherwise;  // what holds where it is not said, as --help has it; may be empty
  Place place = Place::kNone;
  std::string_view word;
  Scope scope = Scope::kPod;
  Reader reader = Reader::kScheduler;
  ValueKind form = ValueKind::kElsewhere;
  std::string_view note = {};  // what a pod means by it otherwise than the command line
};

inline constexpr std::string_view kDomain = "use.divvy.dev";

std::span<const ShareOption> all();
// Null: it is not on the list.
const ShareOption* ofOption(std::string_view option);
const ShareOption* ofAnnotation(std::string_view word);

// "cores are a share of a busy card [share]", without the brackets where `defaults` do not hold.
std::string helpOf(const ShareOption& term, bool defaults);

// Whether that value is one. kUsage: what is accepted.
Result<void> check(const ShareOption& term, std::string_view value);

// The list as a table of Markdown.
std::string table();

}  // namespace divvy::share_options
