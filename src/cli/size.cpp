// `divvy size`.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "commands.h"
#include "size_view.h"
#include "sizing/catalog.h"
#include "sizing/config.h"
#include "terminal.h"

namespace divvy::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kDoesNotFit = 3;
constexpr std::uint64_t kUsualContext = 8192;

bool looksLikeFile(const std::string& model) {
  std::error_code ignored;
  return model.ends_with(".json") || fs::exists(model, ignored);
}

Result<std::string> contentsOf(const std::string& path) {
  std::error_code fault;
  if (!fs::is_regular_file(path, fault))
    return Error{ErrorCode::kIo, path + ": " + (fault ? fault.message() : "not a plain file")};
  std::ifstream file(path, std::ios::binary);
  // One byte more than is accepted is enough to be refused.
  std::string text(sizing::kMostConfigBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file.is_open() || file.bad()) return Error{ErrorCode::kIo, path + ": cannot be read"};
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

// A directory's config.json, named by the directory; or a file, named by what is above it.
Result<sizing::ConfigReading> readModelFile(const std::string& given) {
  std::error_code ignored;
  const fs::path path =
      fs::is_directory(given, ignored) ? fs::path(given) / "config.json" : fs::path(given);
  Result<std::string> text = contentsOf(path.string());
  if (!text) return text.error();
  Result<sizing::ConfigReading> reading = sizing::readConfig(*text);
  if (!reading) return Error(reading.error()).context(path.string());
  const fs::path whole = fs::absolute(path, ignored);
  const bool usual = whole.filename() == "config.json";
  reading->model.name = usual ? whole.parent_path().filename().string() : whole.stem().string();
  if (reading->model.name.empty()) reading->model.name = "model";
  return reading;
}

Result<sizing::ConfigReading> modelOf(const std::string& given) {
  Result<sizing::ModelShape> known = sizing::findModel(given);
  if (known) return sizing::ConfigReading{std::move(*known), {}};
  if (looksLikeFile(given)) return readModelFile(given);
  return known.error();
}

void note(SizeReport& report) {
  const sizing::ModelShape& model = report.serving.model;
  const sizing::Question& q = report.serving.question;
  std::vector<std::string>& notes = report.assumptions;
  if (model.max_context != 0 && q.context > model.max_context) {
    notes.push_back("the model itself takes " + std::to_string(model.max_context) +
                    " tokens; engines refuse more unless they are told to stretch it");
  }
  if (q.weights && !q.weights->online && !q.weights->quantization.empty() &&
      q.weights->name != model.stored.name) {
    notes.push_back(q.weights->name +
                    " needs a checkpoint that is stored so; name it to the engine");
  }
  if (model.repository.empty()) {
    notes.push_back("where the engine finds the model is not known: replace MODEL");
  }
}

// What one machine has at most, of the numbers that the model's heads divide into.
std::uint64_t mostGpus(const sizing::ModelShape& model) {
  constexpr std::uint64_t kOneMachine = 8;
  std::uint64_t most = 1;
  for (const std::uint64_t count : sizing::possibleGpus(model)) {
    if (count <= kOneMachine) most = count;
  }
  return most;
}

// With a card and without --gpus: as many as it takes.
void chooseGpus(const SizeOptions& options, sizing::Serving& serving) {
  if (!serving.card) return;
  serving.question = sizing::onCard(serving.question, *serving.card);
  if (options.gpus) return;
  serving.question.gpus = sizing::fewestGpus(serving.model, serving.question, *serving.card)
                              .value_or(mostGpus(serving.model));
}

void advise(const SizeOptions& options, SizeReport& report) {
  sizing::Serving& s = report.serving;
  report.smallest = sizing::smallestCard(s.model, s.question, options.gpus);
  if (!s.card) return;
  report.fits = s.answer.request <= s.card->usable;
  report.most_context = sizing::largestContext(s.model, s.question, s.card->usable);
  report.most_sequences = sizing::largestConcurrency(s.model, s.question, s.card->usable);
  if (report.fits) s.cores = sizing::proportionalCores(s.answer.request, *s.card);
}

Result<SizeReport> reportOf(const SizeOptions& options) {
  Result<sizing::ConfigReading> reading = modelOf(options.model);
  if (!reading) return reading.error();
  SizeReport report;
  sizing::Serving& s = report.serving;
  s.engine = options.engine;
  s.model = std::move(reading->model);
  report.assumptions = std::move(reading->assumptions);
  s.question = options.question;
  if (!options.context_given) {
    s.question.context =
        s.model.max_context == 0 ? kUsualContext : std::min(kUsualContext, s.model.max_context);
  }
  s.question.gpus = options.gpus.value_or(1);
  s.card = options.card;
  chooseGpus(options, s);
  Result<sizing::Answer> answer = sizing::answer(s.model, s.question);
  if (!answer) return answer.error();
  s.answer = std::move(*answer);
  Result<std::vector<std::string>> engine = sizing::engineCommand(s);
  if (!engine) return engine.error();
  report.engine = std::move(*engine);
  advise(options, report);
  note(report);
  return report;
}

int listModels(const Output& output) {
  const std::size_t width = output.wide ? 0 : outputWidth();
  const std::string text = output.json ? modelsJson() : modelsText(output.headers, width);
  std::fputs(text.c_str(), stdout);
  return 0;
}

}  // namespace

int size(const SizeOptions& options) {
  if (options.list) return listModels(options.output);
  const Result<SizeReport> report = reportOf(options);
  if (!report) return fail(report.error());
  if (options.manifest && !report->fits) {
    std::fprintf(stderr, "divvy: no manifest: %s\n", cardLine(*report).c_str());
    return kDoesNotFit;
  }
  const std::string text = options.manifest ? sizeYaml(*report)
                           : options.output.json
                               ? sizeJson(*report)
                               : sizeText(*report, options.output.headers, outputWidth());
  std::fputs(text.c_str(), stdout);
  return report->fits ? 0 : kDoesNotFit;
}

}  // namespace divvy::cli
