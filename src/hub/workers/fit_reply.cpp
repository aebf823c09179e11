#include "workers/fit_reply.h"

#include <cstdint>
#include <utility>

#include <boost/json.hpp>

#include "base/utf8_text.h"
#include "hub/capacity_report.h"
#include "hub/worker_price.h"

namespace divvy::hub {
namespace {

namespace json = boost::json;

constexpr std::int64_t kVersion = 1;
constexpr std::size_t kMaxWhy = 300;

}  // namespace

Result<json::object> answerOf(const std::string& text) {
  boost::system::error_code fault;
  json::value value = json::parse(text, fault);
  if (fault || !value.is_object())
    return Error{ErrorCode::kCorrupt, "the scheduler's answer is no JSON object"};
  return std::move(value.get_object());
}

const char* nameOf(WorkerPrice price) {
  switch (price) {
    case WorkerPrice::kReserved:
      return "reserved";
    case WorkerPrice::kOnDemand:
      return "on-demand";
    case WorkerPrice::kPrivate:
      break;
  }
  return "private";
}

std::string shortened(std::string text) {
  if (text.size() <= kMaxWhy) return text;
  return utf8Prefix(std::move(text), kMaxWhy - 3) + "...";
}

Result<std::vector<WorkloadFit>> workloadFitsOf(const std::string& text, std::size_t count) {
  const Result<json::object> answer = answerOf(text);
  if (!answer) return answer.error();
  const json::value* items = answer->if_contains("items");
  if (items == nullptr || !items->is_array() || items->get_array().size() != count)
    return Error{ErrorCode::kCorrupt,
                 "the scheduler does not answer for each workload; use the same version of divvy "
                 "in that cluster"};
  std::vector<WorkloadFit> fits;
  for (const json::value& item : items->get_array()) {
    WorkloadFit& one = fits.emplace_back();
    if (!item.is_object()) continue;
    const json::object& row = item.get_object();
    if (const json::value* known = row.if_contains("fits"); known && known->is_bool())
      one.fits = known->get_bool();
    if (const json::value* why = row.if_contains("why"); why && why->is_string())
      one.why = shortened(std::string(why->get_string()));
    if (const json::value* never = row.if_contains("never"); never && never->is_bool())
      one.never = never->get_bool();
  }
  return fits;
}

Result<json::object> reportOf(const std::string& text) {
  Result<json::object> report = answerOf(text);
  if (!report) return report;
  const json::value* version = report->if_contains("version");
  if (version == nullptr || !version->is_int64() || version->get_int64() != kVersion)
    return Error{ErrorCode::kCorrupt,
                 "the scheduler's answer is of another version; accepted: 1. Use the same version "
                 "of divvy in that cluster"};
  return report;
}

}  // namespace divvy::hub
