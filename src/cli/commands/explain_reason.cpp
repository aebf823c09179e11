// `divvy explain reason`: the meaning of a refusal's code or text, and the remedy.
#include <cstdio>
#include <string>

#include <boost/json.hpp>

#include "commands/commands.h"
#include "commands/reasons.h"
#include "public_names/public_names.h"
#include "view/table.h"
#include "view/terminal.h"

namespace divvy::cli {
namespace {

namespace json = boost::json;

constexpr std::size_t kShortest = 4;  // letters; shorter texts are not searched for

json::object jsonOf(const Reason& reason) {
  return {{"code", reason.code},
          {"of", reason.of},
          {"words", reason.words},
          {"means", reason.means},
          {"remedy", reason.remedy}};
}

void printJson(const std::vector<Reason>& found) {
  json::array all;
  for (const Reason& reason : found) all.push_back(jsonOf(reason));
  std::printf("%s\n", json::serialize(json::object{{"reasons", std::move(all)}}).c_str());
}

void printList(const std::vector<Reason>& found, bool headers) {
  Table table({"CODE", "WORDS"});
  for (const Reason& reason : found)
    table.add({std::string(reason.code), std::string(reason.words)});
  std::fputs(table.text(headers, outputWidth()).c_str(), stdout);
}

void printOne(const Reason& reason) {
  std::printf("%.*s (%.*s): %.*s\n", static_cast<int>(reason.code.size()), reason.code.data(),
              static_cast<int>(reason.of.size()), reason.of.data(),
              static_cast<int>(reason.words.size()), reason.words.data());
  std::printf("  means: %.*s\n", static_cast<int>(reason.means.size()), reason.means.data());
  std::printf("  do:    %.*s\n", static_cast<int>(reason.remedy.size()), reason.remedy.data());
}

std::string asItIs(std::string_view text) {
  return std::string(text);
}

// "Too-Large" as "too large".
std::string loosened(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == '-') c = ' ';
  }
  return result;
}

// `text`: in the form of `form`.
std::vector<Reason> reasonsAs(const std::string& text, std::string (*form)(std::string_view)) {
  std::vector<Reason> found;
  // A text that is a code may also be the words of another reason.
  for (const Reason& reason : reasons())
    if (form(reason.code) == text || form(reason.words) == text) found.push_back(reason);
  if (!found.empty()) return found;
  if (text.size() < kShortest) return found;
  for (const Reason& reason : reasons()) {
    const std::string words = form(reason.words);
    const bool among = text.find(words) != std::string::npos ||
                       words.find(text) != std::string::npos ||
                       form(reason.code).find(text) != std::string::npos;
    if (among) found.push_back(reason);
  }
  return found;
}

}  // namespace

std::vector<Reason> reasonsFor(std::string_view text) {
  const std::string_view renamed = public_names::presentName(public_names::NameKind::kReason, text);
  if (!renamed.empty()) text = renamed;
  const std::vector<Reason> same = reasonsAs(std::string(text), asItIs);
  return same.empty() ? reasonsAs(loosened(text), loosened) : same;
}

int explainReason(const ExplainReasonOptions& options) {
  const std::vector<Reason> found = options.code.empty() ? reasons() : reasonsFor(options.code);
  if (found.empty()) {
    std::fprintf(stderr,
                 "divvy: no reason has the code or text \"%s\"; divvy explain reason lists all\n",
                 options.code.c_str());
    return 1;
  }
  if (options.output.json) {
    printJson(found);
  } else if (options.code.empty()) {
    printList(found, options.output.headers);
  } else {
    for (const Reason& reason : found) printOne(reason);
  }
  return 0;
}

}  // namespace divvy::cli
