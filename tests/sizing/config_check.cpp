#include "config_check.h"

#include "sizing/advice.h"
#include "sizing/config.h"
#include "sizing/serving.h"

namespace divvy::sizing {

std::string checkConfig(std::string_view text) {
  const Result<ConfigReading> reading = readConfig(text);
  if (!reading) {
    if (reading.error().message().empty()) return "refused without a word";
    return reading.error().code() == ErrorCode::kCorrupt ? "" : "refused as something else";
  }
  const ModelShape& model = reading->model;
  if (model.layers == 0 || model.heads == 0 || model.kv_heads == 0) return "a shape with nothing";
  std::uint64_t layers = model.recurrent.layers;
  for (const CacheGroup& group : model.cache) layers += group.layers;
  if (layers > model.layers) return "more layers keep something than there are";
  Question question;
  question.concurrency = 3;
  const Result<Answer> small = answer(model, question);
  if (!small) return "";
  Bytes sum;
  for (const Term& term : small->terms) sum = sum + term.bytes;
  if (sum != small->request) return "the terms do not add up";
  question.concurrency = 4;
  const Result<Answer> more = answer(model, question);
  if (more && more->request < small->request) return "one sequence more needs less";
  Serving serving;
  serving.model = model;
  serving.question = question;
  if (more) serving.answer = *more;
  const Result<std::vector<std::string>> command = engineCommand(serving);
  if (!command || manifest(serving, *command).empty()) return "no manifest";
  return "";
}

}  // namespace divvy::sizing
