#include "view/size_view.h"

#include <boost/json.hpp>

#include "sizing/catalog.h"
#include "view/json_text.h"
#include "view/table.h"

namespace divvy::cli {
namespace {

namespace bj = boost::json;

// "8.03B", as in names of models.
std::string parametersWord(std::uint64_t count) {
  constexpr double kBillion = 1e9;
  const auto value = static_cast<double>(count);
  return value < kBillion ? fixed(value / 1e6, 0) + "M" : fixed(value / kBillion, 2) + "B";
}

std::string sequencesWord(std::uint64_t count) {
  return std::to_string(count) + (count == 1 ? " sequence" : " sequences");
}

std::string headline(const sizing::Serving& s) {
  std::string text = s.model.name + ": " + parametersWord(s.answer.parameters.total()) +
                     " parameters in " + s.answer.format.name + ", " + attentionWords(s.model);
  text += "\n" + sequencesWord(s.question.concurrency) + " of " +
          std::to_string(s.question.context) + " tokens";
  if (s.question.gpus > 1) text += ", each on " + std::to_string(s.question.gpus) + " devices";
  return text + "\n\n";
}

std::string cardLines(const SizeReport& r) {
  const sizing::Serving& s = r.serving;
  std::string text = "Device: " + cardLine(r) + ".\n";
  if (!s.card) return text;
  if (r.most_context != 0 || r.most_sequences != 0) {
    text += "Maximum there: " + std::to_string(r.most_context) + " tokens of context for " +
            sequencesWord(s.question.concurrency) + ", or " + sequencesWord(r.most_sequences) +
            " of " + std::to_string(s.question.context) + " tokens.\n";
  }
  if (!r.fits && r.smallest)
    text += "Smallest known that fits: " + choiceWords(*r.smallest) + ".\n";
  return text;
}

std::string requestLines(const SizeReport& r) {
  const sizing::Serving& s = r.serving;
  std::string text =
      "Request: " + requestWord(r) + " of memory" +
      (s.question.gpus > 1 ? " on each of " + std::to_string(s.question.gpus) + " devices" : "");
  if (s.cores) {
    text += " and " + std::to_string(*s.cores) +
            "% of its compute (in proportion to memory; not a measured need)";
  } else if (!s.card) {
    text += "; compute: no figure without --gpu, measure it with divvy top";
  }
  return text + ".\n";
}

// A member a line, and an element a line for a list of objects.
void writeValue(const bj::value& value, std::string& text) {
  const bj::array* list = value.if_array();
  if (list == nullptr || list->empty() || !list->front().is_object()) {
    text += bj::serialize(value);
    return;
  }
  text += "[";
  for (const bj::value& element : *list)
    text += (&element == &list->front() ? "\n    " : ",\n    ") + bj::serialize(element);
  text += "\n  ]";
}

}  // namespace

std::string sizeText(const SizeReport& r, bool headers, std::size_t width) {
  const sizing::Serving& s = r.serving;
  Table table({"TERM", "GIB>", "HOW", "WHY"});
  const auto gib = [](Bytes bytes) {
    return fixed(static_cast<double>(bytes.count) / (1 << 30), 2);
  };
  for (const sizing::Term& term : s.answer.terms)
    table.add({term.name, gib(term.bytes), wordOf(term.how), term.why});
  table.add({"total", gib(s.answer.request), "",
             s.question.gpus > 1 ? "on each device" : "rounded up to 64 MiB"});
  std::string text =
      headline(s) + table.text(headers, width) + "\n" + requestLines(r) + cardLines(r);
  for (const std::string& what : r.assumptions) text += "Note: " + what + ".\n";
  if (!r.fits) return text;  // the share would be refused
  return text + "\n" + sizing::shellLine(runCommand(s, r.engine)) + "\n";
}

std::string sizeJson(const SizeReport& r) {
  std::string text = "{";
  for (const auto& member : reportJson(r)) {
    text += text.size() == 1 ? "\n  " : ",\n  ";
    text += jsonQuoted(std::string(member.key())) + ": ";
    writeValue(member.value(), text);
  }
  return text + "\n}\n";
}

std::string sizeYaml(const SizeReport& report) {
  return sizing::manifest(report.serving, report.engine);
}

std::string modelsText(bool headers, std::size_t width) {
  Table table({"MODEL", "PARAMETERS>", "CONTEXT>", "DTYPE", "ATTENTION"});
  for (const sizing::CatalogEntry& entry : sizing::catalog()) {
    table.add({entry.model.name, parametersWord(entry.published),
               std::to_string(entry.model.max_context), entry.model.stored.name,
               attentionWords(entry.model)});
  }
  return table.text(headers, width);
}

std::string modelsJson() {
  std::string text;
  for (const sizing::CatalogEntry& entry : sizing::catalog()) {
    text += text.empty() ? "[\n" : ",\n";
    text += "  {\"name\": " + jsonQuoted(entry.model.name) +
            ", \"repository\": " + jsonQuoted(entry.model.repository) +
            ", \"parameters\": " + std::to_string(entry.published) +
            ", \"max_context\": " + std::to_string(entry.model.max_context) +
            ", \"dtype\": " + jsonQuoted(entry.model.stored.name) +
            ", \"attention\": " + jsonQuoted(attentionWords(entry.model)) + "}";
  }
  return text + "\n]\n";
}

}  // namespace divvy::cli
