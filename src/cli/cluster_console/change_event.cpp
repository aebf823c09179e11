#include "cluster_console/change_event.h"

#include <cinttypes>
#include <cstdio>
#include <utility>

#include <boost/json.hpp>

#include "base/rfc3339.h"

namespace divvy::cli {
namespace {

constexpr const char* kReporter = "divvy-console";
constexpr std::size_t kMaxName = 230;
constexpr std::size_t kMaxMessage = 1000;  // an Event may have 1024
constexpr std::int64_t kNano = 1'000'000'000;

// Cuts at the begin of a character.
std::string cutMessage(std::string text) {
  if (text.size() <= kMaxMessage) return text;
  std::size_t size = kMaxMessage - 3;
  while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xc0U) == 0x80U) --size;
  text.resize(size);
  return text + "...";
}

}  // namespace

kube::Call changeEventCall(const ChangeEvent& event, std::int64_t nanoseconds, bool dry_run) {
  const ChangedObject& object = event.object;
  const std::string in = object.namespace_name.empty() ? "default" : object.namespace_name;
  char unique[20];
  std::snprintf(unique, sizeof unique, "%016" PRIx64, static_cast<std::uint64_t>(nanoseconds));
  const std::string time = formatRfc3339(nanoseconds / kNano);
  boost::json::object about{{"apiVersion", object.api_version},
                            {"kind", object.kind},
                            {"name", object.name},
                            {"uid", object.uid}};
  if (!object.namespace_name.empty()) about["namespace"] = object.namespace_name;
  kube::Call call{kube::Verb::kPost,
                  "/api/v1/namespaces/" + in + "/events" + (dry_run ? "?dryRun=All" : "")};
  call.body = boost::json::serialize(boost::json::object{
      {"apiVersion", "v1"},
      {"kind", "Event"},
      {"metadata", boost::json::object{{"namespace", in},
                                       {"name", object.name.substr(0, kMaxName) + '.' + unique}}},
      {"involvedObject", std::move(about)},
      {"reason", event.reason},
      {"message", cutMessage(event.message)},
      {"type", event.warning ? "Warning" : "Normal"},
      {"count", 1},
      {"firstTimestamp", time},
      {"lastTimestamp", time},
      {"source", boost::json::object{{"component", kReporter}}},
      {"reportingComponent", kReporter},
      {"reportingInstance", kReporter}});
  return call;
}

}  // namespace divvy::cli
