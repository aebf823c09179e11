#include "bodies/cluster_change_reader.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include <boost/json.hpp>

#include "base/device_memory.h"
#include "bodies/body_members.h"

namespace divvy::console {
namespace {

namespace bj = boost::json;

constexpr std::int64_t kWholePercent = 100;
constexpr std::size_t kMaxText = 500;  // characters of a notice
// Bounds of the resource Queue.
constexpr std::size_t kMaxAmounts = 64;
constexpr std::size_t kMaxModel = 128;
constexpr std::int64_t kMaxWeight = 1'000'000;
constexpr std::int64_t kMaxAmount = 1'000'000'000'000;
constexpr std::int64_t kMebibyte = std::int64_t{1} << 20;

struct Kind {
  std::string_view word;
  ClusterChangeKind kind;
  const char* target;  // accepted
  std::vector<std::string_view> to;
};

const std::vector<Kind>& kinds() {
  using enum ClusterChangeKind;
  static const char* const share = "{\"share\": \"NAMESPACE/POD/CONTAINER\"}";
  static const char* const device = "{\"device\": \"NODE/UUID\"} or {\"node\": \"NODE\"}";
  static const char* const pod = "{\"pod\": \"NAMESPACE/POD\"}";
  static const std::vector<Kind> all{
      {"resize", kResize, share, {"memory", "cores"}},
      {"priority", kPriority, share, {"priority"}},
      {"cordon", kCordon, device, {}},
      {"uncordon", kUncordon, device, {}},
      {"evict", kEvict, pod, {}},
      {"notice", kNotice, pod, {"text"}},
      {"queue", kQueue, "{\"queue\": \"NAME\"}", {"guarantee", "limit", "weight", "borrows"}}};
  return all;
}

Result<const Kind*> kindOf(const bj::object& body) {
  const Result<std::optional<std::string>> word = textMember(body, "what");
  if (!word) return word.error();
  std::string accepted;
  for (const Kind& one : kinds()) {
    if (one.word == word->value_or("")) return &one;
    accepted += (accepted.empty() ? "" : ", ") + std::string(one.word);
  }
  return notAccepted("what", "one of " + accepted);
}

// Splits "lab/p/main" into as many texts; the last one may have slashes. False: one is empty.
bool split(const std::string& id, std::initializer_list<std::string*> parts) {
  std::size_t at = 0, count = 0;
  for (std::string* part : parts) {
    const std::size_t end = ++count == parts.size() ? id.size() : id.find('/', at);
    if (end == std::string::npos) return false;
    *part = id.substr(at, end - at);
    at = std::min(end + 1, id.size());
    if (part->empty()) return false;
  }
  return true;
}

Result<ClusterChangeTarget> readTarget(const bj::object& body, const Kind& kind) {
  const Error bad = notAccepted("target", kind.target);
  const bj::value* member = body.if_contains("target");
  const bj::object* object = member == nullptr ? nullptr : member->if_object();
  if (object == nullptr || object->size() != 1) return bad;
  const std::string_view name = object->begin()->key();
  const bj::string* text = object->begin()->value().if_string();
  const std::string id = text == nullptr ? std::string() : std::string(*text);
  ClusterChangeTarget target;
  bool good = false;
  switch (kind.kind) {
    case ClusterChangeKind::kResize:
    case ClusterChangeKind::kPriority:
      good = name == "share" && split(id, {&target.namespace_name, &target.pod, &target.container});
      break;
    case ClusterChangeKind::kCordon:
    case ClusterChangeKind::kUncordon:
      good = name == "node" ? split(id, {&target.node})
                            : name == "device" && split(id, {&target.node, &target.device});
      break;
    case ClusterChangeKind::kEvict:
    case ClusterChangeKind::kNotice:
      good = name == "pod" && split(id, {&target.namespace_name, &target.pod});
      break;
    case ClusterChangeKind::kQueue:
      good = name == "queue" && split(id, {&target.queue});
      break;
  }
  if (!good) return bad;
  return target;
}

Result<void> readResize(const bj::object& to, ClusterChangeTerms* terms) {
  const Result<std::optional<std::string>> memory = textMember(to, "memory");
  if (!memory) return memory.error();
  if (*memory) {
    const Result<Bytes> bytes = parseDeviceMemory(**memory);
    if (!bytes || *bytes < mib(1) || *bytes > kMaxDeviceMemory)
      return notAccepted("memory", "a size of 1Mi or more, such as 6Gi");
    terms->mebibytes = bytes->count >> 20;
  }
  const Result<std::optional<std::int64_t>> cores = numberMember(to, "cores", 1, kWholePercent);
  if (!cores) return cores.error();
  if (*cores) terms->cores = static_cast<std::uint32_t>(**cores);
  if (terms->mebibytes || terms->cores) return {};
  return notAccepted("to", "an object with memory, cores or both");
}

Result<void> readPriority(const bj::object& to, ClusterChangeTerms* terms) {
  const Result<std::optional<std::string>> word = textMember(to, "priority");
  if (!word) return word.error();
  terms->priority = word->value_or("");
  if (terms->priority == "high" || terms->priority == "normal" || terms->priority == "low")
    return {};
  return notAccepted("priority", "one of high, normal, low");
}

// Of valid UTF-8: C0, DEL and C1.
bool hasControl(const std::string& text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto one = static_cast<unsigned char>(text[at]);
    if (one < ' ' || one == 0x7f) return true;
    if (one == 0xc2 && at + 1 < text.size() && static_cast<unsigned char>(text[at + 1]) < 0xa0)
      return true;
  }
  return false;
}

std::size_t charactersOf(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char one) {
    return (static_cast<unsigned char>(one) & 0xc0U) != 0x80U;
  }));
}

Result<void> readNotice(const bj::object& to, ClusterChangeTerms* terms) {
  const Result<std::optional<std::string>> text = textMember(to, "text");
  if (!text) return text.error();
  terms->text = text->value_or("");
  const std::size_t size = charactersOf(terms->text);
  if (size >= 1 && size <= kMaxText && !hasControl(terms->text)) return {};
  return notAccepted("text",
                     "1 to " + std::to_string(kMaxText) + " characters without control characters");
}

Result<kube::QueueAmount> readAmount(const bj::value& value, const std::string& list) {
  const Error bad = notAccepted(
      list, "a list of objects with model, devices_milli and memory_bytes, each model once");
  const bj::object* object = value.if_object();
  if (object == nullptr) return bad;
  const Result<void> known = checkMembers(*object, {"model", "devices_milli", "memory_bytes"});
  if (!known) return known.error();
  const Result<std::optional<std::string>> model = textMember(*object, "model");
  if (!model) return model.error();
  if (!*model || (*model)->size() > kMaxModel || hasControl(**model)) return bad;
  const Result<std::optional<std::int64_t>> milli =
      numberMember(*object, "devices_milli", 0, kMaxAmount);
  if (!milli) return milli.error();
  const Result<std::optional<std::int64_t>> bytes =
      numberMember(*object, "memory_bytes", 0, kMaxAmount * kMebibyte);
  if (!bytes) return bytes.error();
  kube::QueueAmount amount{**model, *milli, std::nullopt};
  if (*bytes && **bytes % kMebibyte != 0)
    return notAccepted("memory_bytes", "a multiple of 1 MiB (1048576)");
  if (*bytes) amount.mebibytes = **bytes / kMebibyte;
  return amount;
}

Result<void> readAmounts(const bj::object& to, const char* name,
                         std::optional<std::vector<kube::QueueAmount>>* out) {
  const bj::value* value = to.if_contains(name);
  if (value == nullptr) return {};
  const bj::array* list = value->if_array();
  if (list == nullptr || list->size() > kMaxAmounts)
    return notAccepted(name, "a list of " + std::to_string(kMaxAmounts) + " entries at most");
  std::set<std::string> models;
  out->emplace();
  for (const bj::value& one : *list) {
    Result<kube::QueueAmount> amount = readAmount(one, name);
    if (!amount) return amount.error();
    if (!models.insert(amount->model).second)
      return notAccepted(name, "each model once; \"" + amount->model + "\" is there twice");
    (*out)->push_back(std::move(*amount));
  }
  return {};
}

Result<void> readQueue(const bj::object& to, QueueTerms* queue) {
  for (const Result<void>& read :
       {readAmounts(to, "guarantee", &queue->guarantee), readAmounts(to, "limit", &queue->limit)})
    if (!read) return read;
  const Result<std::optional<std::int64_t>> weight = numberMember(to, "weight", 1, kMaxWeight);
  if (!weight) return weight.error();
  queue->weight = *weight;
  const bj::value* borrows = to.if_contains("borrows");
  if (borrows != nullptr && !borrows->is_bool()) return notAccepted("borrows", "true or false");
  if (borrows != nullptr) queue->borrows = borrows->get_bool();
  if (queue->guarantee || queue->limit || queue->weight || queue->borrows) return {};
  return notAccepted("to", "an object with guarantee, limit, weight or borrows");
}

Result<ClusterChangeTerms> readTo(const bj::object& body, const Kind& kind) {
  static const bj::object none;
  const bj::value* member = body.if_contains("to");
  const bool absent = member == nullptr || member->is_null();
  if (!absent && !member->is_object()) return notAccepted("to", "an object");
  const bj::object& to = absent ? none : member->get_object();
  const Result<void> known = checkMembers(to, kind.to);
  if (!known) return known.error();
  ClusterChangeTerms terms;
  Result<void> read;
  if (kind.kind == ClusterChangeKind::kResize) read = readResize(to, &terms);
  if (kind.kind == ClusterChangeKind::kPriority) read = readPriority(to, &terms);
  if (kind.kind == ClusterChangeKind::kNotice) read = readNotice(to, &terms);
  if (kind.kind == ClusterChangeKind::kQueue) read = readQueue(to, &terms.queue);
  if (!read) return read.error();
  return terms;
}

}  // namespace

Result<ClusterChange> readClusterChange(std::string_view text) {
  const Result<bj::object> body = parseBody(text);
  if (!body) return body.error();
  const Result<void> known = checkMembers(*body, {"what", "target", "to", "dry_run"});
  if (!known) return known.error();
  const Result<const Kind*> kind = kindOf(*body);
  if (!kind) return kind.error();
  Result<ClusterChangeTarget> target = readTarget(*body, **kind);
  if (!target) return target.error();
  Result<ClusterChangeTerms> to = readTo(*body, **kind);
  if (!to) return to.error();
  const bj::value* dry = body->if_contains("dry_run");
  if (dry != nullptr && !dry->is_bool()) return notAccepted("dry_run", "true or false");
  ClusterChange change;
  change.kind = (*kind)->kind;
  change.target = std::move(*target);
  change.to = std::move(*to);
  change.dry_run = dry == nullptr || dry->get_bool();
  return change;
}

std::string_view wordOf(ClusterChangeKind kind) {
  for (const Kind& one : kinds())
    if (one.kind == kind) return one.word;
  return "";
}

}  // namespace divvy::console
