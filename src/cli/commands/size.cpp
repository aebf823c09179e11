// `divvy size`.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "commands/commands.h"
#include "sizing/catalog.h"
#include "sizing/checkpoint.h"
#include "sizing/config.h"
#include "view/size_view.h"
#include "view/table.h"
#include "view/terminal.h"

namespace divvy::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kUsualContext = 8192;

bool isFilePath(const std::string& model) {
  std::error_code ignored;
  return model.ends_with(".json") || fs::exists(model, ignored);
}

// Reads a plain file, at most one byte above the limit, which is enough to refuse it.
Result<std::string> contentsOf(const std::string& path, std::size_t most) {
  std::error_code fault;
  if (!fs::is_regular_file(path, fault))
    return Error{ErrorCode::kIo, path + ": " + (fault ? fault.message() : "not a regular file")};
  std::ifstream file(path, std::ios::binary);
  std::string text(std::min<std::uint64_t>(most, fs::file_size(path, fault)) + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (fault || !file.is_open() || file.bad())
    return Error{ErrorCode::kIo, path + ": cannot be read"};
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

struct SizedModel {
  sizing::ConfigReading reading;
  std::optional<Bytes> checkpoint;
};

// The size of the checkpoint beside a config.json; 0: there is none.
Result<Bytes> checkpointBeside(const fs::path& config) {
  std::error_code ignored;
  const std::string index = (config.parent_path() / "model.safetensors.index.json").string();
  const std::string whole = (config.parent_path() / "model.safetensors").string();
  if (fs::exists(index, ignored)) {
    const Result<std::string> text = contentsOf(index, sizing::kMaxIndexBytes);
    if (!text) return text.error();
    Result<Bytes> bytes = sizing::readIndex(*text);
    return bytes ? bytes : Result<Bytes>(Error(bytes.error()).context(index));
  }
  if (!fs::exists(whole, ignored)) return Bytes{};
  const Result<std::string> text = contentsOf(whole, 8);
  if (!text) return text.error();
  Result<Bytes> bytes = sizing::tensorsOf(*text, fs::file_size(whole, ignored));
  return bytes ? bytes : Result<Bytes>(Error(bytes.error()).context(whole));
}

// If the two differ by more than a twentieth, one of them is misread.
void compareSizes(SizedModel& model) {
  const Result<sizing::Parameters> parameters = countParameters(model.reading.model);
  if (!parameters || !model.checkpoint) return;
  const Bytes computed = weightBytes(*parameters, model.reading.model.stored, 1);
  const Bytes apart = std::max(computed - *model.checkpoint, *model.checkpoint - computed);
  if (apart.count <= computed.count / 20) return;
  model.reading.assumptions.push_back("the checkpoint has " + formatBytes(*model.checkpoint) +
                                      " of tensors, its config.json says " + formatBytes(computed) +
                                      ": the checkpoint counts");
}

// A directory's config.json, named after the directory; or a file, named after its directory.
Result<SizedModel> readModelFile(const std::string& given) {
  std::error_code ignored;
  const fs::path path =
      fs::is_directory(given, ignored) ? fs::path(given) / "config.json" : fs::path(given);
  Result<std::string> text = contentsOf(path.string(), sizing::kMaxConfigBytes);
  if (!text) return text.error();
  Result<sizing::ConfigReading> reading = sizing::readConfig(*text);
  if (!reading) return Error(reading.error()).context(path.string());
  SizedModel model{std::move(*reading), {}};
  const fs::path whole = fs::absolute(path, ignored).lexically_normal();
  const bool usual = whole.filename() == "config.json";
  const fs::path name = usual ? whole.parent_path().filename() : whole.stem();
  model.reading.model.name = name.empty() ? "model" : commandLine({name.string()});
  if (!usual) return model;
  const Result<Bytes> checkpoint = checkpointBeside(whole);
  if (!checkpoint) return checkpoint.error();
  const std::uint64_t bytes = checkpoint->count / (model.reading.model.halved ? 2 : 1);
  if (bytes != 0) model.checkpoint = Bytes{bytes};
  compareSizes(model);
  return model;
}

Result<SizedModel> modelOf(const std::string& given) {
  Result<sizing::ModelShape> known = sizing::findModel(given);
  if (known) return SizedModel{{std::move(*known), {}}, {}};
  if (isFilePath(given)) return readModelFile(given);
  return known.error();
}

// True for a format that the engine does not make itself and the checkpoint does not have.
bool needsOther(const sizing::ModelShape& model, const sizing::WeightFormat& asked) {
  const bool quantized = asked.reach != sizing::Reach::kAll || !asked.quantization.empty();
  const bool stored_so = model.stored.reach != sizing::Reach::kAll;
  return !asked.online && asked.name != model.stored.name && (quantized || stored_so);
}

void note(SizeReport& report) {
  const sizing::ModelShape& model = report.serving.model;
  const sizing::Question& q = report.serving.question;
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
std::uint64_t mostGpus(const sizing::ModelShape& model) {
  constexpr std::uint64_t kOneMachine = 8;
  std::uint64_t most = 1;
  for (const std::uint64_t count : sizing::possibleGpus(model)) {
    if (count <= kOneMachine) most = count;
  }
  return most;
}

// With a device but without --gpus: the number that is needed.
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
  Result<SizedModel> model = modelOf(options.model);
  if (!model) return model.error();
  SizeReport report;
  sizing::Serving& s = report.serving;
  s.engine = options.engine;
  s.model = std::move(model->reading.model);
  report.assumptions = std::move(model->reading.assumptions);
  s.question = options.question;
  s.question.checkpoint = model->checkpoint;
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
    return kNegativeResult;
  }
  const std::string text = options.manifest ? sizeYaml(*report)
                           : options.output.json
                               ? sizeJson(*report)
                               : sizeText(*report, options.output.headers, outputWidth());
  std::fputs(text.c_str(), stdout);
  return report->fits ? 0 : kNegativeResult;
}

}  // namespace divvy::cli
