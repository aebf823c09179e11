#include "pods/pod_annotations.h"

#include <functional>
#include <optional>
#include <utility>

#include "agent/enforcement.h"
#include "base/duration.h"
#include "kube/assignment_text.h"
#include "share_options/share_options.h"

namespace divvy::agent {
namespace {

using Take = std::function<Result<void>(const std::string& value, RunRequest* request)>;

template <typename Value, typename Parse>
Result<void> take(const std::string& text, Parse parse, Value* into) {
  auto read = parse(text);
  if (!read) return read.error();
  *into = std::move(*read);
  return {};
}

Result<std::uint64_t> timeOrOff(const std::string& text) {
  return text == "off" ? Result<std::uint64_t>(std::uint64_t{0}) : parseDurationMs(text);
}

Result<std::optional<MemoryRequest>> sizeOrNone(const std::string& text) {
  if (text == "0") return std::optional(MemoryRequest{{}, 0});
  Result<MemoryRequest> read = parseMemoryAsk(text);
  if (!read) return read.error();
  return std::optional(*read);
}

Result<void> takePressureWait(const std::string& text, RunRequest* request) {
  const Result<std::uint64_t> ms = parseDurationMs(text);
  if (!ms) return ms.error();
  const Result<void> good = checkPressureWait(*ms);
  if (good) request->pressure_wait_ms = *ms;
  return good;
}

Result<void> takeEnforce(const std::string& text, RunRequest* request) {
  const Result<Enforce> read = parseEnforce(text);
  if (!read) return read.error();
  if (*read != Enforce::kAuto && *read != Enforce::kInterposer)
    return Error{ErrorCode::kUnsupported,
                 "\"" + text + "\": only the interposer enforces the compute of containers"};
  request->enforce = *read;
  return {};
}

// By the name after use.divvy.dev/.
const std::pair<const char*, Take> kWords[] = {
    {"guaranteed", [](const std::string& text,
                      RunRequest* to) { return take(text, sizeOrNone, &to->ask.guaranteed); }},
    {"on-pressure", [](const std::string& text,
                       RunRequest* to) { return take(text, parseOnPressure, &to->on_pressure); }},
    {"pressure-wait", takePressureWait},
    {"idle-reclaim", [](const std::string& text,
                        RunRequest* to) { return take(text, timeOrOff, &to->idle.reclaim_ms); }},
    {"idle-stop", [](const std::string& text,
                     RunRequest* to) { return take(text, timeOrOff, &to->idle.stop_ms); }},
    {"cores-policy",
     [](const std::string& text, RunRequest* to) {
       return take(text, parseCoresPolicy, &to->ask.cores_policy);
     }},
    {"priority", [](const std::string& text,
                    RunRequest* to) { return take(text, parsePriority, &to->priority); }},
    {"enforce", takeEnforce},
    {"context-overhead",
     [](const std::string& text, RunRequest* to) -> Result<void> {
       if (text != "inside" && text != "outside")
         return Error{ErrorCode::kUsage, "\"" + text + "\"; accepted: inside, outside"};
       to->ask.context_inside = text == "inside";
       return {};
     }},
};

}  // namespace

Result<void> applyAnnotations(const kube::Pod& pod, const std::string& container,
                              RunRequest* request) {
  const Result<std::optional<kube::Labels>> decided = kube::decidedIn(pod.meta.annotations);
  if (!decided) return decided.error();
  const kube::Labels& said = *decided ? **decided : pod.meta.annotations;
  for (const auto& [word, hear] : kWords) {
    const std::string of_all = std::string(share_options::kDomain) + '/' + word;
    auto found = said.find(container + '.' + of_all);
    if (found == said.end()) found = said.find(of_all);
    if (found == said.end()) continue;
    Result<void> heard = hear(found->second, request);
    if (!heard) return std::move(heard).error().context(found->first);
  }
  return {};
}

}  // namespace divvy::agent
