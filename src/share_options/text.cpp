// The list as people read it.
#include "share_options/share_options.h"

namespace divvy::share_options {
namespace {

// '|' divides the columns of a table.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

std::string_view readerOf(const ShareOption& term) {
  switch (term.reader) {
    case Reader::kScheduler:
      return "scheduler";
    case Reader::kAgent:
      return "agent";
    case Reader::kBoth:
      return "both";
  }
  return "";
}

std::string podForm(const ShareOption& term) {
  switch (term.place) {
    case Place::kResource:
      return '`' + std::string(term.word) + '`';
    case Place::kAnnotation:
      return '`' + std::string(kDomain) + '/' + std::string(term.word) + '`';
    case Place::kNone:
      break;
  }
  return "none: " + std::string(term.word);
}

}  // namespace

std::string helpOf(const ShareOption& term, bool defaults) {
  std::string text(term.help);
  if (defaults && !term.otherwise.empty()) text += " [" + std::string(term.otherwise) + ']';
  return text;
}

std::string table() {
  std::string text =
      "| `divvy run` | In a pod | Scope | Value | Read by | Meaning |\n|---|---|---|---|---|---|\n";
  for (const ShareOption& one : all()) {
    const bool said = one.place != Place::kNone;
    const std::string option =
        one.option.empty() ? std::string() : "`--" + std::string(one.option) + '`';
    std::string says = helpOf(one, true);
    if (!one.note.empty()) says += "; in a pod: " + std::string(one.note);
    text += "| " + option + " | " + podForm(one) + " | " +
            (!said                      ? ""
             : one.scope == Scope::kPod ? "pod"
                                        : "container") +
            " | " + (said ? cell(one.type) : "") + " | " +
            (said ? std::string(readerOf(one)) : "") + " | " + cell(says) + " |\n";
  }
  return text;
}

}  // namespace divvy::share_options
