#include "api/size_reply.h"

#include <string>
#include <utility>

#include <boost/json.hpp>

#include "api/reply.h"
#include "reports/query_words.h"
#include "sizing/catalog.h"
#include "sizing/report.h"

namespace divvy::console {
namespace {

namespace bj = boost::json;

std::string wordAt(const http::Query& query, std::string_view name) {
  const std::string* value = query.parameter(name);
  return value == nullptr ? std::string() : *value;
}

// The messages of `sizing` name options; here they are words of the query.
Error withoutDashes(const Error& error) {
  const std::string& message = error.message();
  return {error.code(), message.starts_with("--") ? message.substr(2) : message};
}

// The console reads no file of its machine: only names are models.
Result<sizing::ModelShape> modelOf(const http::Query& query) {
  const std::string name = wordAt(query, "model");
  Result<sizing::ModelShape> model = sizing::findModel(name);
  if (model) return model;
  std::string message = withoutDashes(model.error()).message();
  if (const auto at = message.find("accepted: "); at != std::string::npos) message.resize(at);
  return Error{ErrorCode::kUsage, message + "accepted: a name of GET /size/names"};
}

Result<sizing::Report> reportOf(const http::Query& query) {
  if (const Result<void> known = checkWords(query, {"model", "context", "concurrency", "avg-len",
                                                    "dtype", "kv-dtype", "gpu", "gpus", "engine"});
      !known)
    return known.error();
  Result<sizing::ModelShape> model = modelOf(query);
  if (!model) return model.error();
  sizing::RequestWords words;
  words.context = wordAt(query, "context");
  words.concurrency = wordAt(query, "concurrency");
  words.average = wordAt(query, "avg-len");
  words.dtype = wordAt(query, "dtype");
  words.kv_dtype = wordAt(query, "kv-dtype");
  words.gpu = wordAt(query, "gpu");
  words.gpus = wordAt(query, "gpus");
  words.engine = wordAt(query, "engine");
  const Result<sizing::Request> request = sizing::readRequest(words);
  if (!request) return withoutDashes(request.error());
  Result<sizing::Report> report = sizing::reportOn({{std::move(*model), {}}, {}}, *request);
  return report ? std::move(report) : Result<sizing::Report>(withoutDashes(report.error()));
}

template <typename List>
bj::array namesOf(const List& list) {
  bj::array names;
  for (const auto& entry : list) names.emplace_back(entry.name);
  return names;
}

}  // namespace

http::Answer sizeAnswer(const http::Query& query) {
  const Result<sizing::Report> report = reportOf(query);
  if (!report) return errorAnswer(report.error());
  bj::value manifest = nullptr;  // the share would be refused
  if (report->fits) manifest = sizing::manifest(report->serving, report->engine);
  return jsonAnswer({{"size", reportJson(*report)},
                     {"fits", report->fits},
                     {"summary", cardLine(*report)},
                     {"memory", requestWord(*report)},
                     {"manifest", std::move(manifest)}});
}

http::Answer sizeNames() {
  bj::array models;
  for (const sizing::CatalogEntry& entry : sizing::catalog())
    models.push_back(bj::object{{"name", entry.model.name},
                                {"repository", entry.model.repository},
                                {"max_context", entry.model.max_context}});
  return jsonAnswer({{"models", std::move(models)},
                     {"devices", namesOf(sizing::cards())},
                     {"dtypes", namesOf(sizing::weightFormats())},
                     {"kv_dtypes", namesOf(sizing::kvFormats())}});
}

}  // namespace divvy::console
