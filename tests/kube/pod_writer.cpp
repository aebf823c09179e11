#include "pod_writer.h"

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <span>
#include <stdexcept>
#include <string_view>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <boost/json.hpp>

namespace divvy::kube {
namespace {

namespace json = boost::json;

enum class Kind : std::uint8_t { kText, kNumber, kFlag, kInstant, kTexts, kQuantities, kMessage };

struct Column {
  std::string_view name;
  std::uint32_t number;
  Kind kind = Kind::kText;
  std::span<const Column> inner = {};
};

// Source: generated.proto of core/v1 and meta/v1, Kubernetes 1.34. With some that nobody reads.
constexpr Column kListMeta[] = {
    {"resourceVersion", 2}, {"continue", 3}, {"remainingItemCount", 4, Kind::kNumber}};
constexpr Column kOwner[] = {
    {"apiVersion", 5}, {"kind", 1}, {"name", 3}, {"uid", 4}, {"controller", 6, Kind::kFlag}};
constexpr Column kManaged[] = {{"manager", 1}, {"operation", 2}, {"time", 4, Kind::kInstant}};
constexpr Column kMeta[] = {{"name", 1},
                            {"generateName", 2},
                            {"namespace", 3},
                            {"uid", 5},
                            {"resourceVersion", 6},
                            {"generation", 7, Kind::kNumber},
                            {"creationTimestamp", 8, Kind::kInstant},
                            {"deletionTimestamp", 9, Kind::kInstant},
                            {"deletionGracePeriodSeconds", 10, Kind::kNumber},
                            {"labels", 11, Kind::kTexts},
                            {"annotations", 12, Kind::kTexts},
                            {"ownerReferences", 13, Kind::kMessage, kOwner},
                            {"finalizers", 14},
                            {"managedFields", 17, Kind::kMessage, kManaged}};
constexpr Column kResources[] = {{"limits", 1, Kind::kQuantities},
                                 {"requests", 2, Kind::kQuantities}};
constexpr Column kContext[] = {{"privileged", 2, Kind::kFlag}, {"runAsUser", 4, Kind::kNumber}};
constexpr Column kEnv[] = {{"name", 1}, {"value", 2}};
constexpr Column kContainer[] = {{"name", 1},
                                 {"image", 2},
                                 {"command", 3},
                                 {"env", 7, Kind::kMessage, kEnv},
                                 {"resources", 8, Kind::kMessage, kResources},
                                 {"imagePullPolicy", 14},
                                 {"securityContext", 15, Kind::kMessage, kContext},
                                 {"restartPolicy", 24}};
constexpr Column kGate[] = {{"name", 1}};
constexpr Column kToleration[] = {{"key", 1}, {"operator", 2}, {"effect", 4}};
constexpr Column kSpec[] = {{"volumes", 1, Kind::kMessage, kGate},
                            {"containers", 2, Kind::kMessage, kContainer},
                            {"restartPolicy", 3},
                            {"terminationGracePeriodSeconds", 4, Kind::kNumber},
                            {"nodeSelector", 7, Kind::kTexts},
                            {"nodeName", 10},
                            {"hostNetwork", 11, Kind::kFlag},
                            {"schedulerName", 19},
                            {"initContainers", 20, Kind::kMessage, kContainer},
                            {"tolerations", 22, Kind::kMessage, kToleration},
                            {"priorityClassName", 24},
                            {"priority", 25, Kind::kNumber},
                            {"preemptionPolicy", 31},
                            {"overhead", 32, Kind::kQuantities},
                            {"schedulingGates", 38, Kind::kMessage, kGate},
                            {"resources", 40, Kind::kMessage, kResources}};
constexpr Column kCondition[] = {{"type", 1},
                                 {"status", 2},
                                 {"lastProbeTime", 3, Kind::kInstant},
                                 {"lastTransitionTime", 4, Kind::kInstant},
                                 {"reason", 5},
                                 {"message", 6}};
constexpr Column kStatus[] = {{"phase", 1},
                              {"conditions", 2, Kind::kMessage, kCondition},
                              {"message", 3},
                              {"podIP", 6},
                              {"startTime", 7, Kind::kInstant},
                              {"qosClass", 9},
                              {"nominatedNodeName", 11}};
constexpr Column kPod[] = {{"metadata", 1, Kind::kMessage, kMeta},
                           {"spec", 2, Kind::kMessage, kSpec},
                           {"status", 3, Kind::kMessage, kStatus}};
constexpr Column kPodList[] = {{"metadata", 1, Kind::kMessage, kListMeta},
                               {"items", 2, Kind::kMessage, kPod}};
constexpr Column kTypeMeta[] = {{"apiVersion", 1}, {"kind", 2}};

class Writer {
 public:
  void number(std::uint32_t field, std::int64_t value) {
    with([&](auto& out) {
      out.WriteTag(field << 3);
      out.WriteVarint64(static_cast<std::uint64_t>(value));
    });
  }
  void bytes(std::uint32_t field, std::string_view value) {
    with([&](auto& out) {
      out.WriteTag(field << 3 | 2);
      out.WriteVarint32(static_cast<std::uint32_t>(value.size()));
      out.WriteRaw(value.data(), static_cast<int>(value.size()));
    });
  }
  const std::string& text() const { return text_; }

 private:
  template <typename F>
  void with(F write) {
    google::protobuf::io::StringOutputStream stream(&text_);
    google::protobuf::io::CodedOutputStream out(&stream);
    write(out);
  }

  std::string text_;
};

std::string instant(std::string_view text) {
  std::tm parts{};
  if (strptime(std::string(text).c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts) == nullptr)
    throw std::invalid_argument("no instant: " + std::string(text));
  Writer out;
  out.number(1, timegm(&parts));
  out.number(2, 0);
  return out.text();
}

std::string message(const json::object& from, std::span<const Column> columns);

void write(const Column& column, const json::value& value, Writer* out) {
  // Times that are not set are null in JSON, and an empty message here.
  if (value.is_null() && column.kind == Kind::kInstant) return out->bytes(column.number, "");
  if (value.is_null()) return;
  if (const json::array* list = value.if_array()) {
    for (const json::value& one : *list) write(column, one, out);
    return;
  }
  switch (column.kind) {
    case Kind::kText:
      return out->bytes(column.number, value.as_string());
    case Kind::kNumber:
      return out->number(column.number, value.to_number<std::int64_t>());
    case Kind::kFlag:
      return out->number(column.number, value.as_bool() ? 1 : 0);
    case Kind::kInstant:
      return out->bytes(column.number, instant(value.as_string()));
    case Kind::kMessage:
      return out->bytes(column.number, message(value.as_object(), column.inner));
    case Kind::kTexts:
    case Kind::kQuantities:
      for (const auto& [name, each] : value.as_object()) {
        Writer entry, quantity;
        quantity.bytes(1, each.as_string());
        entry.bytes(1, name);
        entry.bytes(2, column.kind == Kind::kTexts ? std::string_view(each.as_string())
                                                   : std::string_view(quantity.text()));
        out->bytes(column.number, entry.text());
      }
  }
}

std::string message(const json::object& from, std::span<const Column> columns) {
  Writer out;
  for (const auto& [name, value] : from) {
    bool known = false;
    for (const Column& column : columns) {
      if (column.name != std::string_view(name)) continue;
      known = true;
      write(column, value, &out);
    }
    if (!known) throw std::invalid_argument("no field for " + std::string(name));
  }
  return out.text();
}

}  // namespace

std::string podListBytes(const json::value& list) {
  Writer out;
  const json::object type{{"apiVersion", "v1"}, {"kind", "PodList"}};
  out.bytes(1, message(type, kTypeMeta));
  out.bytes(2, message(list.as_object(), kPodList));
  out.bytes(3, "");
  out.bytes(4, "");
  return std::string("k8s\0", 4) + out.text();
}

}  // namespace divvy::kube
