#include "tenant/tenant_record.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "api/protocol_json.h"
#include "base/plain_file.h"
#include "engine/usage_by_hour_text.h"

namespace divvy::agent {
namespace {

constexpr int kVersion = 1;
constexpr std::size_t kMaxRecord = 1u << 20;

Error ioError(const std::string& what) {
  return {ErrorCode::kIo, what + ": " + std::strerror(errno)};
}

std::string fileOf(const std::string& dir) {
  return dir + "/tenant.json";
}

json::bj::object toJson(const TenantRecord& record) {
  json::bj::array shares;
  for (const ShareRecord& share : record.shares) {
    shares.push_back(json::bj::object{{"uuid", share.uuid},
                                      {"limit", share.limit.count},
                                      {"reserve", share.reserve.count},
                                      {"cores", share.cores},
                                      {"guarantee", share.guarantee.count}});
  }
  json::bj::object object{{"version", kVersion},
                          {"id", record.id},
                          {"name", json::clean(record.name)},
                          {"priority", priorityName(record.priority)},
                          {"cores_policy", coresPolicyName(record.cores_policy)},
                          {"backend", backendName(record.backend)},
                          {"holder_pid", record.holder.pid},
                          {"holder_start", record.holder.start_time},
                          {"command_pid", record.command_pid},
                          {"created", record.created},
                          {"context_inside", record.context_inside},
                          {"on_pressure", onPressureName(record.on_pressure)},
                          {"pressure_wait_ms", record.pressure_wait_ms}};
  object["checkpoint"] = phaseName(record.checkpoint);
  object["pool"] = json::clean(record.pool);
  object["alone"] = record.alone;
  object["user"] = json::clean(record.user);
  if (record.devices) object["device_policy"] = engine::text(*record.devices);
  if (record.expected_use) object["expected_use"] = engine::text(*record.expected_use);
  json::writeIdle(object, record.idle);
  object["created_ms"] = record.created_ms;
  if (record.counted != 0) object["counted"] = record.counted;
  if (!record.lodger.uid.empty()) {
    object["pod_uid"] = json::clean(record.lodger.uid);
    object["pod_space"] = json::clean(record.lodger.namespace_name);
    object["pod"] = json::clean(record.lodger.pod);
    object["container"] = json::clean(record.lodger.container);
  }
  if (record.contained) object["contained"] = true;
  if (record.kept) object["kept"] = true;
  if (!record.cdi_file.empty()) object["cdi_file"] = json::clean(record.cdi_file);
  object["command"] = json::write(record.command);
  object["models"] = json::write(record.models);
  object["uuids"] = json::write(record.uuids);
  object["shares"] = std::move(shares);
  json::bj::array stood;
  for (const auto& [uuid, bytes] : record.stood)
    stood.push_back(json::bj::object{{"uuid", uuid}, {"bytes", bytes.count}});
  if (!stood.empty()) object["stood"] = std::move(stood);
  return object;
}

Result<void> writeAll(int fd, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t put = write(fd, text.data() + at, text.size() - at);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return ioError("writing");
    at += static_cast<std::size_t>(put);
  }
  return {};
}

Result<CheckpointPhase> parsePhase(std::string_view word) {
  const std::optional<CheckpointPhase> phase = phaseNamed(word);
  if (phase) return *phase;
  return Error{ErrorCode::kCorrupt, "\"" + std::string(word) + "\" is not a phase of a checkpoint"};
}

}  // namespace

void noteShrunk(TenantRecord& record, const std::vector<ShareRecord>& shares) {
  for (std::size_t i = 0; i < shares.size() && i < record.shares.size(); ++i) {
    const Bytes before = mostStood(record, record.shares[i]);
    if (before > shares[i].reserve) {
      record.stood[shares[i].uuid] = before;
    } else {
      record.stood.erase(shares[i].uuid);
    }
  }
}

Bytes mostStood(const TenantRecord& record, const ShareRecord& share) {
  const auto stood = record.stood.find(share.uuid);
  return stood == record.stood.end() ? share.reserve : std::max(share.reserve, stood->second);
}

Result<void> saveRecord(const std::string& dir, const TenantRecord& record) {
  const std::string path = fileOf(dir);
  const std::string temporary = path + ".new";
  Fd file(open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0660));
  if (!file.valid()) return ioError("writing " + path);
  Result<void> written = writeAll(file.get(), json::bj::serialize(toJson(record)) + "\n");
  file.reset();
  if (written && rename(temporary.c_str(), path.c_str()) == 0) return {};
  Error error =
      written ? ioError("renaming " + temporary) : std::move(written).error().context(path);
  unlink(temporary.c_str());
  return error;
}

Result<TenantRecord> loadRecord(const std::string& dir) {
  const std::string path = fileOf(dir);
  const Result<std::string> text = readPlainFile(path, kMaxRecord);
  if (!text) return text.error();
  Result<json::bj::value> value = json::parse(*text);
  if (!value) return std::move(value).error().context(path);
  json::Reader reader(*value);
  TenantRecord record;
  int version = 0;
  reader.number("version", version);
  reader.text("id", record.id);
  reader.text("name", record.name);
  reader.priority("priority", record.priority);
  reader.coresPolicy("cores_policy", record.cores_policy);
  reader.word("backend", parseBackend, record.backend);
  reader.number("holder_pid", record.holder.pid);
  reader.number("holder_start", record.holder.start_time);
  reader.number("command_pid", record.command_pid);
  reader.number("created", record.created);
  reader.number("created_ms", record.created_ms);
  reader.number("counted", record.counted);
  reader.flag("context_inside", record.context_inside);
  reader.word("on_pressure", parseOnPressure, record.on_pressure);
  reader.number("pressure_wait_ms", record.pressure_wait_ms);
  reader.word("checkpoint", parsePhase, record.checkpoint);
  reader.text("pool", record.pool);
  reader.text("pod_uid", record.lodger.uid);
  reader.text("pod_space", record.lodger.namespace_name);
  reader.text("pod", record.lodger.pod);
  reader.text("container", record.lodger.container);
  reader.flag("contained", record.contained);
  reader.flag("kept", record.kept);
  reader.text("cdi_file", record.cdi_file);
  reader.flag("alone", record.alone);
  reader.text("user", record.user);
  if (reader.find("device_policy") != nullptr)
    reader.word("device_policy", engine::parseDevicePolicy, record.devices.emplace());
  if (reader.find("expected_use") != nullptr)
    reader.word("expected_use", engine::parseDaily, record.expected_use.emplace());
  json::readIdle(reader, record.idle);
  reader.texts("command", record.command);
  reader.texts("models", record.models);
  reader.texts("uuids", record.uuids);
  reader.each("shares", [&](json::Reader& item) {
    ShareRecord& share = record.shares.emplace_back();
    item.text("uuid", share.uuid);
    item.number("limit", share.limit.count);
    item.number("reserve", share.reserve.count);
    item.number("cores", share.cores);
    share.guarantee = share.limit;  // of those that knew of no swapping
    item.number("guarantee", share.guarantee.count);
  });
  if (reader.find("stood") != nullptr) {
    reader.each("stood", [&](json::Reader& item) {
      std::string uuid;
      item.text("uuid", uuid);
      item.number("bytes", record.stood[uuid].count);
    });
  }
  if (reader.ok() && version != kVersion) {
    reader.fail("version " + std::to_string(version) + "; accepted: " + std::to_string(kVersion));
  }
  if (!reader.ok()) return Error(reader.error()).context(path);
  return record;
}

}  // namespace divvy::agent
