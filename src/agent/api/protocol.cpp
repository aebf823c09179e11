#include "agent/protocol.h"

#include <algorithm>
#include <array>
#include <utility>

#include "api/protocol_json.h"
#include "base/model_name.h"
#include "engine/usage_by_hour_text.h"

namespace divvy::agent {
namespace {

namespace bj = boost::json;
using json::Reader;

constexpr std::array<std::pair<ErrorCode, const char*>, 8> kErrorNames{
    {{ErrorCode::kUsage, "usage"},
     {ErrorCode::kNotFound, "not-found"},
     {ErrorCode::kNoRoom, "no-room"},
     {ErrorCode::kUnavailable, "unavailable"},
     {ErrorCode::kIo, "io"},
     {ErrorCode::kCorrupt, "corrupt"},
     {ErrorCode::kUnsupported, "unsupported"},
     {ErrorCode::kInternal, "internal"}}};

std::string line(const bj::object& object) {
  return bj::serialize(object) + "\n";
}

bj::object write(const PingRequest&) {
  return {{"verb", "ping"}};
}
bj::object write(const ListRequest&) {
  return {{"verb", "list"}};
}
bj::object write(const PlacementRequest&) {
  return {{"verb", "placement"}};
}
bj::object write(const PlacementReply& reply) {
  return {{"reply", "placement"}, {"text", reply.text}};
}
bj::object write(const WaitRequest& request) {
  return {{"verb", "wait"}, {"tenant", request.tenant}};
}
bj::object write(const StopRequest& request) {
  return {{"verb", "stop"}, {"force", request.force}};
}
bj::object write(const ReleaseRequest& request) {
  return {{"verb", "release"}, {"tenant", json::clean(request.tenant)}};
}

bj::object write(const EndRequest& request) {
  return {{"verb", "end"}, {"tenant", request.tenant}};
}

bj::object write(const EventsRequest& request) {
  return {{"verb", "events"}, {"tenant", request.tenant}, {"after", request.after}};
}

bj::object write(const StartedRequest& request) {
  return {{"verb", "started"}, {"tenant", request.tenant}, {"pid", request.pid}};
}

// Unlike a limit it can be zero.
bj::value writeGuarantee(const MemoryRequest& memory) {
  return memory.bytes.count == 0 && memory.percent == 0 ? bj::value(0) : json::write(memory);
}

void readGuarantee(Reader& reader, std::optional<MemoryRequest>& out) {
  const bj::value* member = reader.find("guaranteed");
  if (member == nullptr) return;
  MemoryRequest& memory = out.emplace();
  std::uint64_t bytes = 1;
  if (!member->is_string()) reader.number("guaranteed", bytes);
  if (bytes == 0) {
    memory = MemoryRequest{{}, 0};
  } else {
    reader.memory("guaranteed", memory);
  }
}

void checkPressure(Reader& reader, std::uint64_t ms) {
  const Result<void> good = checkPressureWait(ms);
  if (!good) reader.fail("pressure_wait_ms: " + good.error().message());
}

bj::object write(const SetRequest& request) {
  bj::object object{{"verb", "set"},
                    {"tenant", request.tenant},
                    {"cores", request.cores},
                    {"name", request.name}};
  if (request.has_memory) object["memory"] = json::write(request.memory);
  if (request.cores_policy) object["cores_policy"] = coresPolicyName(*request.cores_policy);
  if (request.priority) object["priority"] = priorityName(*request.priority);
  if (request.guaranteed) object["guaranteed"] = writeGuarantee(*request.guaranteed);
  if (request.on_pressure) object["on_pressure"] = onPressureName(*request.on_pressure);
  if (request.pressure_wait_ms) object["pressure_wait_ms"] = *request.pressure_wait_ms;
  json::writeIdle(object, request.idle);
  return object;
}

bj::object write(const RunRequest& request) {
  bj::object object{{"verb", "run"},
                    {"name", json::clean(request.name)},
                    {"priority", priorityName(request.priority)},
                    {"wait", request.wait},
                    {"wait_ms", request.wait_ms},
                    {"start_time", request.start_time},
                    {"cores", request.ask.cores},
                    {"cores_policy", coresPolicyName(request.ask.cores_policy)},
                    {"enforce", enforceName(request.enforce)},
                    {"mps_dir", json::clean(request.mps_dir)},
                    {"on_pressure", onPressureName(request.on_pressure)},
                    {"pressure_wait_ms", request.pressure_wait_ms},
                    {"gpus", request.ask.gpus},
                    {"context_inside", request.ask.context_inside}};
  object["memory"] = json::write(request.ask.memory);
  json::writeIdle(object, request.idle);
  if (request.ask.guaranteed) object["guaranteed"] = writeGuarantee(*request.ask.guaranteed);
  object["models"] = json::write(request.ask.models);
  object["uuids"] = json::write(request.ask.uuids);
  if (request.ask.pool) object["pool"] = json::clean(poolWord(*request.ask.pool));
  if (request.ask.devices) object["device_policy"] = engine::text(*request.ask.devices);
  if (request.ask.expected_use) object["expected_use"] = engine::text(*request.ask.expected_use);
  if (request.contained) object["contained"] = true;
  if (request.kept) object["kept"] = true;
  if (!request.cdi_dir.empty()) object["cdi_dir"] = json::clean(request.cdi_dir);
  object["command"] = json::write(request.command);
  return object;
}

bj::object write(const ExplainRequest& request) {
  bj::object object = write(request.run);
  object["verb"] = "explain";
  return object;
}

bj::object write(const ExplainReply& reply) {
  bj::object object = json::write(reply);
  object["reply"] = "explained";
  return object;
}

bj::object write(const DoneReply& reply) {
  return {{"reply", "done"}, {"note", reply.note}};
}

bj::object write(const FailedReply& reply) {
  bj::object object{{"reply", "failed"},
                    {"code", errorName(reply.code)},
                    {"message", json::clean(reply.message)}};
  object["reasons"] = json::write(reply.reasons);
  return object;
}

bj::object write(const QueuedReply& reply) {
  bj::object object{{"reply", "queued"}, {"position", reply.position}};
  object["reasons"] = json::write(reply.reasons);
  return object;
}

bj::object write(const ContainerEdits& edits) {
  bj::object environment;
  for (const auto& [name, value] : edits.environment) environment[name] = json::clean(value);
  bj::array mounts;
  for (const ContainerMount& mount : edits.mounts)
    mounts.push_back(bj::object{{"from", json::clean(mount.host_path)},
                                {"to", json::clean(mount.container_path)},
                                {"read_only", mount.read_only}});
  bj::object object{{"environment", std::move(environment)}, {"mounts", std::move(mounts)}};
  object["devices"] = json::write(edits.devices);
  return object;
}

bj::object write(const GrantedReply& reply) {
  bj::object object{{"reply", "granted"}, {"tenant", reply.tenant}, {"dir", reply.dir}};
  object["devices"] = json::write(reply.devices);
  object["notes"] = json::write(reply.notes);
  object["environment"] = json::write(reply.environment.variables);
  object["preload"] = json::write(reply.environment.preload);
  if (!reply.edits.mounts.empty()) object["edits"] = write(reply.edits);
  return object;
}

bj::object write(const EventsReply& reply) {
  bj::array events;
  for (const EventView& event : reply.events) events.push_back(json::write(event));
  bj::object object{{"reply", "events"}, {"agent_pid", reply.agent_pid}, {"last", reply.last}};
  object["events"] = std::move(events);
  return object;
}

bj::object write(const SnapshotReply& reply) {
  bj::object object{{"reply", "snapshot"}};
  object["snapshot"] = json::write(reply.snapshot);
  return object;
}

RunRequest readRun(Reader& reader) {
  RunRequest request;
  reader.memory("memory", request.ask.memory);
  reader.number("cores", request.ask.cores);
  reader.coresPolicy("cores_policy", request.ask.cores_policy);
  reader.word("enforce", parseEnforce, request.enforce);
  reader.text("mps_dir", request.mps_dir);
  readGuarantee(reader, request.ask.guaranteed);
  reader.word("on_pressure", parseOnPressure, request.on_pressure);
  reader.number("pressure_wait_ms", request.pressure_wait_ms);
  checkPressure(reader, request.pressure_wait_ms);
  json::readIdle(reader, request.idle);
  reader.number("gpus", request.ask.gpus);
  reader.texts("models", request.ask.models);
  if (!std::all_of(request.ask.models.begin(), request.ask.models.end(), isModelPattern))
    reader.fail("models has a name without a letter or digit");
  reader.texts("uuids", request.ask.uuids);
  if (reader.find("pool") != nullptr)
    reader.word("pool", parsePoolName, request.ask.pool.emplace());
  if (reader.find("device_policy") != nullptr)
    reader.word("device_policy", engine::parseDevicePolicy, request.ask.devices.emplace());
  if (reader.find("expected_use") != nullptr)
    reader.word("expected_use", engine::parseDaily, request.ask.expected_use.emplace());
  reader.flag("context_inside", request.ask.context_inside);
  reader.name("name", request.name);
  reader.priority("priority", request.priority);
  reader.flag("wait", request.wait);
  reader.number("wait_ms", request.wait_ms);
  reader.flag("contained", request.contained);
  reader.flag("kept", request.kept);
  reader.text("cdi_dir", request.cdi_dir);
  reader.texts("command", request.command);
  reader.number("start_time", request.start_time);
  if (request.ask.gpus == 0) reader.fail("gpus is zero");
  if (request.ask.cores > 100 * std::uint64_t{request.ask.gpus})
    reader.fail("cores is more than 100 for each of its GPUs");
  if (request.ask.cores != 0 && request.ask.cores < request.ask.gpus)
    reader.fail("cores is less than 1 for each of its GPUs");
  return request;
}

SetRequest readSet(Reader& reader) {
  SetRequest request;
  reader.text("tenant", request.tenant);
  request.has_memory = reader.find("memory") != nullptr;
  reader.memory("memory", request.memory);
  reader.number("cores", request.cores);
  reader.name("name", request.name);
  if (reader.find("cores_policy") != nullptr)
    reader.coresPolicy("cores_policy", request.cores_policy.emplace());
  if (reader.find("priority") != nullptr) reader.priority("priority", request.priority.emplace());
  readGuarantee(reader, request.guaranteed);
  if (reader.find("on_pressure") != nullptr)
    reader.word("on_pressure", parseOnPressure, request.on_pressure.emplace());
  if (reader.find("pressure_wait_ms") != nullptr) {
    reader.number("pressure_wait_ms", request.pressure_wait_ms.emplace());
    checkPressure(reader, *request.pressure_wait_ms);
  }
  json::readIdle(reader, request.idle);
  return request;
}

Result<Request> readVerb(Reader& reader, const std::string& verb) {
  if (verb == "ping") return Request{PingRequest{}};
  if (verb == "list") return Request{ListRequest{}};
  if (verb == "placement") return Request{PlacementRequest{}};
  if (verb == "run") return Request{readRun(reader)};
  if (verb == "explain") return Request{ExplainRequest{readRun(reader)}};
  if (verb == "set") return Request{readSet(reader)};
  if (verb == "started") {
    StartedRequest request;
    reader.text("tenant", request.tenant);
    reader.number("pid", request.pid);
    return Request{request};
  }
  if (verb == "end") {
    EndRequest request;
    reader.text("tenant", request.tenant);
    return Request{request};
  }
  if (verb == "release") {
    ReleaseRequest request;
    reader.text("tenant", request.tenant);
    return Request{request};
  }
  if (verb == "wait") {
    WaitRequest request;
    reader.text("tenant", request.tenant);
    return Request{request};
  }
  if (verb == "stop") {
    StopRequest request;
    reader.flag("force", request.force);
    return Request{request};
  }
  if (verb == "events") {
    EventsRequest request;
    reader.text("tenant", request.tenant);
    reader.number("after", request.after);
    return Request{request};
  }
  return Error{ErrorCode::kCorrupt, "verb \"" + json::clean(verb) + "\" is not known"};
}

void read(Reader& reader, const bj::value& from, ContainerEdits& edits) {
  Reader inner(from);
  inner.each("mounts", [&](Reader& item) {
    ContainerMount& mount = edits.mounts.emplace_back();
    item.text("from", mount.host_path);
    item.text("to", mount.container_path);
    item.flag("read_only", mount.read_only);
  });
  inner.texts("devices", edits.devices);
  if (const bj::value* environment = inner.find("environment")) {
    if (!environment->is_object()) inner.fail("environment is not an object");
    for (const auto& [name, value] :
         environment->is_object() ? environment->get_object() : bj::object())
      if (value.is_string()) edits.environment[std::string(name)] = value.get_string();
  }
  if (!inner.ok()) reader.fail(inner.error().message());
}

Result<Reply> readReply(Reader& reader, const std::string& kind) {
  if (kind == "done") {
    DoneReply reply;
    reader.text("note", reply.note);
    return Reply{reply};
  }
  if (kind == "failed") {
    FailedReply reply;
    std::string code;
    reader.text("code", code);
    reply.code = errorFromName(code);
    reader.text("message", reply.message);
    reader.texts("reasons", reply.reasons);
    return Reply{reply};
  }
  if (kind == "queued") {
    QueuedReply reply;
    reader.number("position", reply.position);
    reader.texts("reasons", reply.reasons);
    return Reply{reply};
  }
  if (kind == "granted") {
    GrantedReply reply;
    reader.text("tenant", reply.tenant);
    reader.text("dir", reply.dir);
    reader.texts("devices", reply.devices);
    reader.texts("notes", reply.notes);
    reader.texts("environment", reply.environment.variables);
    reader.texts("preload", reply.environment.preload);
    if (const bj::value* edits = reader.find("edits")) read(reader, *edits, reply.edits);
    return Reply{reply};
  }
  if (kind == "events") {
    EventsReply reply;
    reader.number("agent_pid", reply.agent_pid);
    reader.number("last", reply.last);
    reader.each("events", [&](Reader& item) { json::read(item, reply.events.emplace_back()); });
    return Reply{std::move(reply)};
  }
  if (kind == "placement") {
    PlacementReply reply;
    reader.text("text", reply.text);
    return Reply{std::move(reply)};
  }
  if (kind == "explained") {
    ExplainReply reply;
    json::read(reader, reply);
    return Reply{std::move(reply)};
  }
  if (kind == "snapshot") {
    SnapshotReply reply;
    const bj::value* member = reader.find("snapshot");
    if (member == nullptr) return Error{ErrorCode::kCorrupt, "snapshot is missing"};
    Reader inner(*member);
    json::read(inner, reply.snapshot);
    if (!inner.ok()) return inner.error();
    return Reply{std::move(reply)};
  }
  return Error{ErrorCode::kCorrupt, "reply \"" + json::clean(kind) + "\" is not known"};
}

}  // namespace

std::string encode(const Request& request) {
  return std::visit([](const auto& typed) { return line(write(typed)); }, request);
}

std::string encode(const Reply& reply) {
  return std::visit([](const auto& typed) { return line(write(typed)); }, reply);
}

Result<Request> decodeRequest(std::string_view text) {
  Result<bj::value> value = json::parse(text);
  if (!value) return value.error();
  Reader reader(*value);
  std::string verb;
  reader.text("verb", verb);
  Result<Request> request = readVerb(reader, verb);
  if (!reader.ok()) return reader.error();
  return request;
}

Result<Reply> decodeReply(std::string_view text) {
  Result<bj::value> value = json::parse(text);
  if (!value) return value.error();
  Reader reader(*value);
  std::string kind;
  reader.text("reply", kind);
  Result<Reply> reply = readReply(reader, kind);
  if (!reader.ok()) return reader.error();
  return reply;
}

const char* errorName(ErrorCode code) {
  for (const auto& [known, text] : kErrorNames) {
    if (code == known) return text;
  }
  return "internal";
}

ErrorCode errorFromName(std::string_view name) {
  for (const auto& [code, text] : kErrorNames) {
    if (name == text) return code;
  }
  return ErrorCode::kInternal;
}

}  // namespace divvy::agent
