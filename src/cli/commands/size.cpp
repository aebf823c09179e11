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

using sizing::SizedModel;

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

Result<SizeReport> reportOf(const SizeOptions& options) {
  Result<SizedModel> model = modelOf(options.model);
  if (!model) return model.error();
  return sizing::reportOn(std::move(*model), options.request);
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
