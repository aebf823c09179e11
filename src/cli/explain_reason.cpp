// `divvy explain reason`: what the code or the words of a refusal mean, and what to do.
#include <cstdio>

#include <boost/json.hpp>

#include "commands.h"
#include "reasons.h"
#include "table.h"
#include "terminal.h"

namespace divvy::cli {
namespace {

namespace json = boost::json;

constexpr std::size_t kShortest = 4;  // letters that are looked for among words

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

}  // namespace

std::vector<Reason> reasonsFor(std::string_view text) {
  std::vector<Reason> found;
  for (const Reason& reason : reasons())
    if (reason.code == text) return {reason};
  if (text.size() < kShortest) return found;
  for (const Reason& reason : reasons()) {
    const bool among = text.find(reason.words) != std::string_view::npos ||
                       reason.words.find(text) != std::string_view::npos ||
                       reason.code.find(text) != std::string_view::npos;
    if (among) found.push_back(reason);
  }
  return found;
}

int explainReason(const ExplainReasonOptions& options) {
  const std::vector<Reason> found = options.code.empty() ? reasons() : reasonsFor(options.code);
  if (found.empty()) {
    std::fprintf(stderr,
                 "divvy: no reason is called, or said as, \"%s\"; divvy explain reason lists "
                 "all\n",
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
