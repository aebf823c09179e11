// Options of `divvy size`, from words.
#include <utility>

#include "options/raw_options.h"

namespace divvy::cli {
namespace {

Result<void> readOutput(const RawOptions& raw, SizeOptions& size) {
  const std::string& how = raw.output;
  if (!how.empty() && how != "table" && how != "json" && how != "yaml") {
    return Error{ErrorCode::kUsage,
                 "--output \"" + how + "\" is not known; accepted: table, json, yaml"};
  }
  size.manifest = raw.size.manifest || how == "yaml";
  if (size.manifest && !how.empty() && how != "yaml")
    return Error{ErrorCode::kUsage, "--manifest implies -o yaml; accepted: one of them"};
  if (size.manifest && size.list)
    return Error{ErrorCode::kUsage, "--list has no manifest; accepted: -o table, json"};
  size.output = Output{how == "json", false, !raw.no_headers, false};
  return {};
}

}  // namespace

Result<Options> makeSize(const RawOptions& raw) {
  const SizeText& text = raw.size;
  SizeOptions size;
  size.list = text.list;
  size.model = text.model;
  if (text.list == !text.model.empty())
    return Error{ErrorCode::kUsage,
                 "size: one of --model and --list is required; accepted: one of them"};
  if (const Result<void> read = readOutput(raw, size); !read) return read.error();
  sizing::RequestWords words = text;
  words.gpus = raw.gpus;
  Result<sizing::Request> request = sizing::readRequest(words);
  if (!request) return request.error();
  size.request = std::move(*request);
  return Options{size};
}

}  // namespace divvy::cli
