#include "sizing/report.h"

#include <algorithm>
#include <utility>

#include <boost/json.hpp>

namespace divvy::sizing {
namespace {

namespace bj = boost::json;

constexpr std::uint64_t kUsualContext = 8192;

// True for a format that the engine does not make itself and the checkpoint does not have.
bool needsOther(const ModelShape& model, const WeightFormat& asked) {
  const bool quantized = asked.reach != Reach::kAll || !asked.quantization.empty();
  const bool stored_so = model.stored.reach != Reach::kAll;
  return !asked.online && asked.name != model.stored.name && (quantized || stored_so);
}

void note(Report& report) {
  const ModelShape& model = report.serving.model;
  const Question& q = report.serving.question;
  std::vector<std::string>& notes = report.assumptions;
  if (model.max_context != 0 && q.context > model.max_context) {
    notes.push_back("the model supports " + std::to_string(model.max_context) +
                    " tokens; engines refuse more unless its context is extended");
  }
  if (q.weights && needsOther(model, *q.weights)) {
    notes.push_back(q.weights->name + " needs a checkpoint in that format; pass it to the engine");
  }
  if (model.repository.empty()) {
    notes.push_back("the location of the model is unknown: replace MODEL");
  }
}

// The largest number of one machine by which the model's heads are divisible.
std::uint64_t mostGpus(const ModelShape& model) {
  constexpr std::uint64_t kOneMachine = 8;
  std::uint64_t most = 1;
  for (const std::uint64_t count : possibleGpus(model)) {
    if (count <= kOneMachine) most = count;
  }
  return most;
}

// With a device but without a number of them: the number that is needed.
void chooseGpus(const Request& request, Serving& serving) {
  serving.question.gpus = request.gpus.value_or(1);
  if (!serving.card) return;
  serving.question = onCard(serving.question, *serving.card);
  if (request.gpus) return;
  serving.question.gpus =
      fewestGpus(serving.model, serving.question, *serving.card).value_or(mostGpus(serving.model));
}

void advise(const Request& request, Report& report) {
  Serving& s = report.serving;
  report.smallest = smallestCard(s.model, s.question, request.gpus);
  if (!s.card) return;
  report.fits = s.answer.request <= s.card->usable;
  report.most_context = largestContext(s.model, s.question, s.card->usable);
  report.most_sequences = largestConcurrency(s.model, s.question, s.card->usable);
  if (report.fits) s.cores = proportionalCores(s.answer.request, *s.card);
}

std::string mibWord(Bytes bytes) {
  return std::to_string((bytes.count + (1 << 20) - 1) >> 20) + "Mi";
}

bj::array termsJson(const Answer& answer) {
  bj::array terms;
  for (const Term& term : answer.terms)
    terms.push_back(bj::object{{"term", wordOf(term.kind)},
                               {"name", term.name},
                               {"bytes", term.bytes.count},
                               {"how", wordOf(term.how)},
                               {"why", term.why}});
  return terms;
}

bj::array wordsJson(const std::vector<std::string>& words) {
  return bj::array(words.begin(), words.end());
}

}  // namespace

const char* wordOf(Confidence how) {
  return how == Confidence::kExact ? "exact" : how == Confidence::kNear ? "5%" : "rule";
}

const char* wordOf(TermKind kind) {
  switch (kind) {
    case TermKind::kWeights:
      return "weights";
    case TermKind::kCache:
      return "cache";
    case TermKind::kState:
      return "state";
    case TermKind::kActivations:
      return "activations";
    case TermKind::kGraphs:
      return "graphs";
    case TermKind::kRuntime:
      return "runtime";
    case TermKind::kHeadroom:
      break;
  }
  return "headroom";
}

Result<Report> reportOn(SizedModel model, const Request& request) {
  Report report;
  Serving& s = report.serving;
  s.engine = request.engine;
  s.model = std::move(model.reading.model);
  report.assumptions = std::move(model.reading.assumptions);
  s.question = request.question;
  s.question.checkpoint = model.checkpoint;
  if (!request.context_given) {
    s.question.context =
        s.model.max_context == 0 ? kUsualContext : std::min(kUsualContext, s.model.max_context);
  }
  s.card = request.card;
  chooseGpus(request, s);
  Result<Answer> found = answer(s.model, s.question);
  if (!found) return found.error();
  s.answer = std::move(*found);
  Result<std::vector<std::string>> engine = engineCommand(s);
  if (!engine) return engine.error();
  report.engine = std::move(*engine);
  advise(request, report);
  note(report);
  return report;
}

std::string requestWord(const Report& report) {
  return mibWord(report.serving.answer.request);
}

std::string choiceWords(const Choice& choice) {
  return (choice.gpus > 1 ? std::to_string(choice.gpus) + " x " : "") + choice.card.name;
}

std::string cardLine(const Report& report) {
  const Serving& s = report.serving;
  if (!s.card) {
    if (!report.smallest) return "no known device is large enough";
    return choiceWords(*report.smallest) + " is the smallest known that fits";
  }
  const std::string at = (s.question.gpus > 1 ? std::to_string(s.question.gpus) + " x " : "") +
                         s.card->name + " (" + mibWord(s.card->usable) + " usable)";
  if (!report.fits) {
    return "does not fit on " + at + ", " + mibWord(s.answer.request - s.card->usable) + " short" +
           (s.question.gpus > 1 ? " on each" : "");
  }
  const std::uint64_t times = s.card->usable.count / s.answer.request.count;
  return "fits on " + at + ", " + std::to_string(times) + (times == 1 ? " time" : " times") +
         " on each";
}

bj::object reportJson(const Report& report) {
  const Serving& s = report.serving;
  const Question& q = s.question;
  bj::object object{{"model", s.model.name},
                    {"repository", s.model.repository},
                    {"parameters", s.answer.parameters.total()},
                    {"dtype", s.answer.format.name},
                    {"kv_dtype", q.kv.name},
                    {"attention", attentionWords(s.model)},
                    {"context", q.context},
                    {"concurrency", q.concurrency},
                    {"gpus", q.gpus},
                    {"memory_bytes", s.answer.request.count},
                    {"cache_bytes", s.answer.cache.count},
                    {"cache_bytes_per_token", s.answer.token_bytes}};
  if (s.cores) object["cores_percent"] = *s.cores;
  object["terms"] = termsJson(s.answer);
  if (s.card)
    object["card"] = bj::object{{"name", s.card->name},
                                {"usable_bytes", s.card->usable.count},
                                {"fits", report.fits},
                                {"most_context", report.most_context},
                                {"most_concurrency", report.most_sequences}};
  if (report.smallest)
    object["smallest_card"] =
        bj::object{{"name", report.smallest->card.name}, {"gpus", report.smallest->gpus}};
  object["notes"] = wordsJson(report.assumptions);
  object["engine"] = wordsJson(report.engine);
  object["run"] = wordsJson(runCommand(s, report.engine));
  return object;
}

}  // namespace divvy::sizing
