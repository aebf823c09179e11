#include "view/size_view.h"

#include "sizing/catalog.h"
#include "view/json_text.h"
#include "view/table.h"

namespace divvy::cli {
namespace {

using sizing::Confidence;

const char* word(Confidence how) {
  return how == Confidence::kExact ? "exact" : how == Confidence::kNear ? "5%" : "rule";
}

const char* key(sizing::TermKind kind) {
  switch (kind) {
    case sizing::TermKind::kWeights:
      return "weights";
    case sizing::TermKind::kCache:
      return "cache";
    case sizing::TermKind::kState:
      return "state";
    case sizing::TermKind::kActivations:
      return "activations";
    case sizing::TermKind::kGraphs:
      return "graphs";
    case sizing::TermKind::kRuntime:
      return "runtime";
    case sizing::TermKind::kHeadroom:
      break;
  }
  return "headroom";
}

std::string mibWord(Bytes bytes) {
  return std::to_string((bytes.count + (1 << 20) - 1) >> 20) + "Mi";
}

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

std::string choiceWords(const sizing::Choice& choice) {
  return (choice.gpus > 1 ? std::to_string(choice.gpus) + " x " : "") + choice.card.name;
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
      "Request: " + mibWord(s.answer.request) + " of memory" +
      (s.question.gpus > 1 ? " on each of " + std::to_string(s.question.gpus) + " devices" : "");
  if (s.cores) {
    text += " and " + std::to_string(*s.cores) +
            "% of its compute (in proportion to memory; not a measured need)";
  } else if (!s.card) {
    text += "; compute: no figure without --gpu, measure it with divvy top";
  }
  return text + ".\n";
}

std::string jsonWords(const std::vector<std::string>& words) {
  std::string text = "[";
  for (const std::string& each : words) text += (text.size() == 1 ? "" : ", ") + jsonQuoted(each);
  return text + "]";
}

std::string jsonTerms(const sizing::Answer& answer) {
  std::string text;
  for (const sizing::Term& term : answer.terms) {
    text += text.empty() ? "\n" : ",\n";
    text += "    {\"term\": " + jsonQuoted(key(term.kind)) +
            ", \"name\": " + jsonQuoted(term.name) +
            ", \"bytes\": " + std::to_string(term.bytes.count) +
            ", \"how\": " + jsonQuoted(word(term.how)) + ", \"why\": " + jsonQuoted(term.why) + "}";
  }
  return text;
}

std::string jsonCard(const SizeReport& r) {
  const sizing::Serving& s = r.serving;
  std::string text;
  if (s.card) {
    text = ",\n  \"card\": {\"name\": " + jsonQuoted(s.card->name) +
           ", \"usable_bytes\": " + std::to_string(s.card->usable.count) +
           ", \"fits\": " + (r.fits ? "true" : "false") +
           ", \"most_context\": " + std::to_string(r.most_context) +
           ", \"most_concurrency\": " + std::to_string(r.most_sequences) + "}";
  }
  if (r.smallest) {
    text += ",\n  \"smallest_card\": {\"name\": " + jsonQuoted(r.smallest->card.name) +
            ", \"gpus\": " + std::to_string(r.smallest->gpus) + "}";
  }
  return text;
}

}  // namespace

std::string sizeText(const SizeReport& r, bool headers, std::size_t width) {
  const sizing::Serving& s = r.serving;
  Table table({"TERM", "GIB>", "HOW", "WHY"});
  const auto gib = [](Bytes bytes) {
    return fixed(static_cast<double>(bytes.count) / (1 << 30), 2);
  };
  for (const sizing::Term& term : s.answer.terms)
    table.add({term.name, gib(term.bytes), word(term.how), term.why});
  table.add({"total", gib(s.answer.request), "",
             s.question.gpus > 1 ? "on each device" : "rounded up to 64 MiB"});
  std::string text =
      headline(s) + table.text(headers, width) + "\n" + requestLines(r) + cardLines(r);
  for (const std::string& what : r.assumptions) text += "Note: " + what + ".\n";
  if (!r.fits) return text;  // the share would be refused
  return text + "\n" + sizing::shellLine(runCommand(s, r.engine)) + "\n";
}

std::string sizeJson(const SizeReport& r) {
  const sizing::Serving& s = r.serving;
  const sizing::Question& q = s.question;
  std::string text = "{\n  \"model\": " + jsonQuoted(s.model.name) +
                     ",\n  \"repository\": " + jsonQuoted(s.model.repository) +
                     ",\n  \"parameters\": " + std::to_string(s.answer.parameters.total()) +
                     ",\n  \"dtype\": " + jsonQuoted(s.answer.format.name) +
                     ",\n  \"kv_dtype\": " + jsonQuoted(std::string(q.kv.name)) +
                     ",\n  \"attention\": " + jsonQuoted(attentionWords(s.model)) +
                     ",\n  \"context\": " + std::to_string(q.context) +
                     ",\n  \"concurrency\": " + std::to_string(q.concurrency) +
                     ",\n  \"gpus\": " + std::to_string(q.gpus) +
                     ",\n  \"memory_bytes\": " + std::to_string(s.answer.request.count) +
                     ",\n  \"cache_bytes\": " + std::to_string(s.answer.cache.count) +
                     ",\n  \"cache_bytes_per_token\": " + std::to_string(s.answer.token_bytes);
  if (s.cores) text += ",\n  \"cores_percent\": " + std::to_string(*s.cores);
  text += ",\n  \"terms\": [" + jsonTerms(s.answer) + "\n  ]" + jsonCard(r);
  text += ",\n  \"notes\": " + jsonWords(r.assumptions) +
          ",\n  \"engine\": " + jsonWords(r.engine) +
          ",\n  \"run\": " + jsonWords(runCommand(s, r.engine)) + "\n}\n";
  return text;
}

std::string cardLine(const SizeReport& r) {
  const sizing::Serving& s = r.serving;
  if (!s.card) {
    if (!r.smallest) return "no known device is large enough";
    return choiceWords(*r.smallest) + " is the smallest known that fits";
  }
  const std::string at = (s.question.gpus > 1 ? std::to_string(s.question.gpus) + " x " : "") +
                         s.card->name + " (" + mibWord(s.card->usable) + " usable)";
  if (!r.fits) {
    return "does not fit on " + at + ", " + mibWord(s.answer.request - s.card->usable) + " short" +
           (s.question.gpus > 1 ? " on each" : "");
  }
  const std::uint64_t times = s.card->usable.count / s.answer.request.count;
  return "fits on " + at + ", " + std::to_string(times) + (times == 1 ? " time" : " times") +
         " on each";
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
