#include "events/pod_events.h"

#include <boost/json.hpp>

#include "base/rfc3339.h"

namespace divvy::scheduler {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxName = 230;
constexpr std::size_t kMaxMessage = 1000;  // an Event may have 1024

std::string hexOf(std::uint64_t value) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (int shift = 60; shift >= 0; shift -= 4) text += kDigits[(value >> shift) & 15];
  return text;
}

}  // namespace

kube::Call eventCall(const PodEvent& note, const std::string& scheduler, std::int64_t nanoseconds) {
  constexpr std::int64_t kNano = 1'000'000'000;
  const std::string time = formatRfc3339(nanoseconds / kNano);
  std::string message = note.message;
  if (message.size() > kMaxMessage) message = message.substr(0, kMaxMessage - 3) + "...";
  kube::Call call{kube::Verb::kPost, "/api/v1/namespaces/" + note.namespace_name + "/events"};
  call.body = json::serialize(json::object{
      {"apiVersion", "v1"},
      {"kind", "Event"},
      {"metadata", json::object{{"namespace", note.namespace_name},
                                {"name", note.name.substr(0, kMaxName) + '.' +
                                             hexOf(static_cast<std::uint64_t>(nanoseconds))}}},
      {"involvedObject", json::object{{"apiVersion", "v1"},
                                      {"kind", note.kind},
                                      {"namespace", note.namespace_name},
                                      {"name", note.name},
                                      {"uid", note.uid}}},
      {"reason", note.reason},
      {"message", std::move(message)},
      {"type", note.warning ? "Warning" : "Normal"},
      {"count", 1},
      {"firstTimestamp", time},
      {"lastTimestamp", time},
      {"source", json::object{{"component", scheduler}}}});
  return call;
}

kube::Call nominateCall(const std::string& namespace_name, const std::string& name,
                        const std::string& uid, const std::string& node) {
  kube::Call call{kube::Verb::kPatch,
                  "/api/v1/namespaces/" + namespace_name + "/pods/" + name + "/status"};
  call.type = kube::kMergePatch;
  call.body = json::serialize(json::object{{"metadata", json::object{{"uid", uid}}},
                                           {"status", json::object{{"nominatedNodeName", node}}}});
  return call;
}

}  // namespace divvy::scheduler
