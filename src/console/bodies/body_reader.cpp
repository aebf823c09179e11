#include "bodies/body_reader.h"

#include <optional>

#include <boost/json.hpp>

#include "base/bytes.h"
#include "bodies/body_members.h"

namespace divvy::console {
namespace {

namespace bj = boost::json;

constexpr unsigned kMaxGpus = 64;
constexpr unsigned kWholePercent = 100;

Result<std::optional<unsigned>> unsignedMember(const bj::object& object, const char* name,
                                               unsigned most) {
  const Result<std::optional<std::int64_t>> number = numberMember(object, name, 1, most);
  if (!number) return number.error();
  return *number ? std::optional<unsigned>(static_cast<unsigned>(**number)) : std::nullopt;
}

template <typename T, typename Parse>
Result<void> parseMember(const bj::object& object, const char* name, Parse parse,
                         std::optional<T>& out) {
  const Result<std::optional<std::string>> text = textMember(object, name);
  if (!text) return text.error();
  if (!*text) return {};
  Result<T> parsed = parse(**text);
  if (!parsed) return Error(parsed.error()).context(name);
  out = std::move(*parsed);
  return {};
}

// What a request or a change may name of a share.
struct ShareTerms {
  std::optional<agent::MemoryRequest> memory;
  std::optional<unsigned> cores;
  std::optional<agent::Priority> priority;
};

Result<ShareTerms> readTerms(const bj::object& object) {
  ShareTerms terms;
  Result<void> read = parseMember(object, "memory", agent::parseMemoryAsk, terms.memory);
  if (read) read = parseMember(object, "priority", agent::parsePriority, terms.priority);
  if (!read) return read.error();
  const Result<std::optional<unsigned>> cores =
      unsignedMember(object, "cores", kWholePercent * kMaxGpus);
  if (!cores) return cores.error();
  terms.cores = *cores;
  return terms;
}

std::string sizeText(std::uint64_t bytes) {
  return formatBytes(Bytes{bytes});
}

}  // namespace

Result<std::string> readToken(std::string_view body) {
  const Error bad{ErrorCode::kUsage, "the body: accepted is {\"token\": \"...\"}"};
  const Result<bj::object> object = parseBody(body);
  if (!object) return bad;
  const bj::value* token = object->if_contains("token");
  if (token == nullptr || !token->is_string()) return bad;
  return std::string(token->get_string());
}

Result<Question> readQuestion(std::string_view body) {
  const Result<bj::object> object = parseBody(body);
  if (!object) return object.error();
  const Result<void> known =
      checkMembers(*object, {"memory", "cores", "gpus", "priority", "model", "node"});
  if (!known) return known.error();
  const Result<ShareTerms> terms = readTerms(*object);
  if (!terms) return terms.error();
  const Result<std::optional<unsigned>> gpus = unsignedMember(*object, "gpus", kMaxGpus);
  if (!gpus) return gpus.error();
  const Result<std::optional<std::string>> model = textMember(*object, "model");
  if (!model) return model.error();
  const Result<std::optional<std::string>> node = textMember(*object, "node");
  if (!node) return node.error();
  Question question;
  question.node = node->value_or("");
  agent::ShareRequest& ask = question.request.ask;
  ask.gpus = gpus->value_or(1);
  if (terms->memory) ask.memory = *terms->memory;
  ask.cores = terms->cores.value_or(0);
  if (ask.cores != 0 && (ask.cores < ask.gpus || ask.cores > ask.gpus * kWholePercent))
    return notAccepted("cores", std::to_string(ask.gpus) + " to " +
                                    std::to_string(ask.gpus * kWholePercent) + " percent for " +
                                    std::to_string(ask.gpus) + " devices");
  if (*model) ask.models = {**model};
  question.request.priority = terms->priority.value_or(agent::Priority::kNormal);
  return question;
}

Result<ShareChange> readChange(std::string_view body) {
  const Result<bj::object> object = parseBody(body);
  if (!object) return object.error();
  Result<void> known = checkMembers(*object, {"what", "target", "to", "dry_run"});
  if (!known) return known.error();
  const Result<std::optional<std::string>> what = textMember(*object, "what");
  if (!what) return what.error();
  if (what->value_or("") != "resize" && what->value_or("") != "priority")
    return notAccepted("what", "resize or priority");
  const bj::value* target = object->if_contains("target");
  const bj::value* to = object->if_contains("to");
  if (target == nullptr || !target->is_object()) return notAccepted("target", "{\"share\": ID}");
  if (to == nullptr || !to->is_object())
    return notAccepted("to", "an object with memory and cores, or with priority");
  const Result<std::optional<std::string>> share = textMember(target->get_object(), "share");
  if (!share) return share.error();
  if (!*share) return notAccepted("target", "{\"share\": ID}");
  known = what->value() == "resize" ? checkMembers(to->get_object(), {"memory", "cores"})
                                    : checkMembers(to->get_object(), {"priority"});
  if (!known) return known.error();
  const Result<ShareTerms> terms = readTerms(to->get_object());
  if (!terms) return terms.error();
  ShareChange change;
  change.share = **share;
  change.request.has_memory = terms->memory.has_value();
  if (terms->memory) change.request.memory = *terms->memory;
  change.request.cores = terms->cores.value_or(0);
  change.request.priority = terms->priority;
  const bj::value* dry = object->if_contains("dry_run");
  if (dry != nullptr && !dry->is_bool()) return notAccepted("dry_run", "true or false");
  change.dry_run = dry == nullptr || dry->get_bool();
  return change;
}

Result<std::vector<std::string>> effectsOf(const ShareChange& change, const Row& share) {
  std::vector<std::string> effects;
  const bj::array& devices = share.at("devices").get_array();
  if (change.request.has_memory) {
    for (const bj::value& device : devices) {
      const bj::object& part = device.get_object();
      const auto limit = part.at("limit_bytes").to_number<std::uint64_t>();
      const auto used = part.at("used_bytes").to_number<std::uint64_t>();
      effects.push_back("memory limit on device " + bj::serialize(part.at("index")) + ": " +
                        sizeText(limit) + " to " + change.request.memory.text());
      if (!change.request.memory.isPercent() && change.request.memory.bytes.count < used)
        effects.push_back("it uses " + sizeText(used) +
                          " there: new allocations are refused until it uses less");
    }
  }
  if (change.request.cores != 0)
    effects.push_back("compute: " + bj::serialize(share.at("cores_percent")) + " % to " +
                      std::to_string(change.request.cores) + " %");
  if (change.request.priority)
    effects.push_back("priority: " + std::string(share.at("priority").get_string()) + " to " +
                      agent::priorityName(*change.request.priority));
  if (effects.empty())
    return Error{ErrorCode::kUsage, "to: nothing would change; give memory, cores or priority"};
  return effects;
}

Result<ManifestQuestion> readManifestQuestion(std::string_view body) {
  const Result<bj::object> object = parseBody(body);
  if (!object) return object.error();
  const Result<void> known = checkMembers(*object, {"manifest", "namespace"});
  if (!known) return known.error();
  Result<std::optional<std::string>> manifest = textMember(*object, "manifest");
  if (!manifest) return manifest.error();
  if (!*manifest) return notAccepted("manifest", "YAML or JSON of pods or workloads");
  Result<std::optional<std::string>> namespace_name = textMember(*object, "namespace");
  if (!namespace_name) return namespace_name.error();
  return ManifestQuestion{std::move(**manifest), namespace_name->value_or("")};
}

bj::object explanationOf(const agent::ExplainReply& reply) {
  bj::array devices, fixes, victims;
  for (const agent::DeviceVerdictView& device : reply.devices)
    devices.push_back(bj::object{{"device", device.device},
                                 {"uuid", device.uuid},
                                 {"model", device.model},
                                 {"given", device.given},
                                 {"refusal", device.refusal},
                                 {"code", device.code}});
  for (const std::string& fix : reply.fixes) fixes.push_back(bj::value(fix));
  for (const agent::VictimView& victim : reply.victims)
    victims.push_back(bj::object{{"id", victim.id},
                                 {"name", victim.name},
                                 {"priority", victim.priority},
                                 {"memory_bytes", victim.memory.count}});
  return {
      {"fits", reply.fits},           {"impossible", reply.impossible}, {"summary", reply.summary},
      {"waiting", reply.waiting},     {"devices", std::move(devices)},  {"fixes", std::move(fixes)},
      {"victims", std::move(victims)}};
}

}  // namespace divvy::console
