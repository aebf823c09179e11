// The files of an agent: its directories, and the pages and records of its tenants.
#include <unistd.h>

#include <cstring>

#include <boost/json.hpp>

#include "agent/node.h"
#include "facts/readers.h"
#include "json/path.h"
#include "ledger/identification.h"
#include "ledger/swap.h"
#include "ledger/work.h"
#include "report/format.h"

namespace divvy::doctor {
namespace {

namespace json = boost::json;
using Kind = PathAnomaly::Kind;

// Files that an agent creates in addition to its tenants; `.new`: before a rename.
bool isKnown(const std::string& name) {
  for (const char* known : {"agent.lock", "agent.sock", "register.sock", "reg", "ld.so.preload",
                            "agent.log", "agent.1.log", "tenants", "context-costs",
                            "timeslice-trial", "card", "watched", "faults", "helper.sock"})
    if (name == known) return true;
  return false;
}

bool isKnownOfTenant(const std::string& name) {
  for (const char* known :
       {"control", "report", "work", "residency", "swap", "tenant.json", "notice.json"})
    if (name == known) return true;
  return false;
}

// A file that cannot be read is reported, because nothing is known of it.
PathAnomaly unreadable(const std::string& path, const Error& why) {
  return {path, why.message(), true, Kind::kAccess};
}

// For a directory that only its owner may use. Agents refuse others (agent/node.h).
void judgeFolder(const RootFs& tree, const std::string& path, std::vector<PathAnomaly>* out) {
  const Result<PathInfo> place = tree.infoOf(path, false);
  if (!place) {
    if (!isAbsent(place)) out->push_back(unreadable(path, place.error()));
    return;
  }
  if (place->kind == PathInfo::Kind::kLink)
    return out->push_back({path, "is a link", false, Kind::kAccess});
  if (place->kind != PathInfo::Kind::kFolder)
    return out->push_back({path, "is not a directory", false, Kind::kAccess});
  // Owned by root, with a group that an agent with a helper belongs to.
  const bool roots = place->gid == 0 && (place->mode & 002u) == 0;
  if ((place->mode & 022u) != 0 && !roots)
    out->push_back({path, "may be written by others (mode " + modeText(place->mode) + ")", false,
                    Kind::kAccess});
  if (place->uid != geteuid() && place->uid != 0 && !roots)
    out->push_back({path, "belongs to user " + std::to_string(place->uid), false, Kind::kAccess});
}

// Pages are never shortened or replaced in place. So a page that is too short or begins differently
// was cut or overwritten. The rules are those of an agent that takes the tenant over. `always`:
// every tenant has this page.
template <typename Page>
void judgePage(const RootFs& tree, const std::string& path, std::uint64_t magic, bool always,
               std::vector<PathAnomaly>* out) {
  ledger::Identification id{};
  const Result<FileStart> start = tree.start(path, sizeof id);
  if (!start) {
    const bool none = isAbsent(start);
    if (none && !always) return;
    if (start.error().code() == ErrorCode::kIo)
      return out->push_back(unreadable(path, start.error()));
    return out->push_back(
        {path, none ? "is missing" : start.error().message(), false, Kind::kBroken});
  }
  std::memcpy(&id, start->text.data(), start->text.size());
  using Status = ledger::OpenStatus;
  const Status status = ledger::checkIdentification(id, magic, sizeof(Page), start->size);
  if (status == Status::kTruncated)
    return out->push_back(
        {path, "has " + counted(start->size, "byte") + " of " + std::to_string(sizeof(Page)), false,
         Kind::kBroken});
  const bool other = status == Status::kNewer || status == Status::kOlder;
  if (status != Status::kOk)
    out->push_back({path, std::string("is ") + ledger::openStatusName(status), false,
                    other ? Kind::kOtherVersion : Kind::kBroken});
}

void judgePages(const RootFs& tree, const std::string& dir, std::vector<PathAnomaly>* out) {
  judgePage<ledger::ControlPage>(tree, dir + "/control", ledger::kControlMagic, true, out);
  judgePage<ledger::ReportPage>(tree, dir + "/report", ledger::kReportMagic, true, out);
  judgePage<ledger::WorkPage>(tree, dir + "/work", ledger::kWorkMagic, true, out);
  // Only if a device is oversubscribed.
  judgePage<ledger::ResidencyPage>(tree, dir + "/residency", ledger::kResidencyMagic, false, out);
  judgePage<ledger::SwapPage>(tree, dir + "/swap", ledger::kSwapMagic, false, out);
}

void judgeRecord(const RootFs& tree, const std::string& dir, const std::string& id,
                 std::vector<PathAnomaly>* out) {
  const std::string path = dir + "/tenant.json";
  const Result<std::string> text = tree.text(path);
  if (!text) {
    if (isAbsent(text)) {
      // Pages are written first; an agent that was killed in between leaves them, and its successor
      // removes them.
      out->push_back({dir, "has no tenant.json", false, Kind::kHalfWritten});
    } else if (text.error().code() == ErrorCode::kCorrupt) {
      out->push_back({path, text.error().message(), false, Kind::kBroken});
    } else {
      out->push_back(unreadable(path, text.error()));
    }
    return;
  }
  boost::system::error_code fault;
  const json::value value = json::parse(*text, fault);
  const json::object* object = value.if_object();
  if (fault || object == nullptr)
    return out->push_back(
        {path, text->empty() ? "is empty" : "is not a JSON object", false, Kind::kBroken});
  if (textAt(*object, {"id"}) != id)
    out->push_back({path, "is not of tenant " + id, false, Kind::kBroken});
}

void readTenant(const RootFs& tree, const std::string& dir, const std::string& id,
                std::vector<PathAnomaly>* out) {
  const auto names = tree.list(dir);
  if (!names) {
    if (names.error().code() == ErrorCode::kIo) out->push_back(unreadable(dir, names.error()));
    return;
  }
  for (const std::string& name : *names) {
    if (name.ends_with(".new")) {
      out->push_back({dir + "/" + name, "is incomplete", false, Kind::kHalfWritten});
    } else if (!isKnownOfTenant(name)) {
      out->push_back({dir + "/" + name, "is not a file of an agent", false, Kind::kForeign});
    }
  }
  judgePages(tree, dir, out);
  judgeRecord(tree, dir, id, out);
}

void readTenants(const RootFs& tree, AgentFacts* facts) {
  const std::string dir = facts->dir + "/tenants";
  const auto names = tree.list(dir);
  if (!names && !isAbsent(names)) facts->anomalies.push_back(unreadable(dir, names.error()));
  if (!names) return;
  for (const std::string& name : *names) {
    const std::string path = dir + "/" + name;
    if (name.starts_with(".new-")) {
      facts->anomalies.push_back({path, "is incomplete", false, Kind::kHalfWritten});
      continue;
    }
    const Result<PathInfo> place = tree.infoOf(path, false);
    if (!place) continue;
    if (place->kind != PathInfo::Kind::kFolder) {
      facts->anomalies.push_back({path, "is not a tenant's directory", false, Kind::kForeign});
      continue;
    }
    ++facts->tenants;
    readTenant(tree, path, name, &facts->anomalies);
  }
}

AgentFacts readAgent(const RootFs& tree, const NodeOptions& options, const std::string& dir) {
  AgentFacts facts;
  facts.dir = dir;
  judgeFolder(tree, dir, &facts.anomalies);
  judgeFolder(tree, dir + "/tenants", &facts.anomalies);
  const auto names = tree.list(dir);
  if (!names) {
    facts.anomalies.push_back(unreadable(dir, names.error()));
    facts.answer = Error(names.error().code(), names.error().message());
    return facts;
  }
  for (const std::string& name : *names) {
    if (isKnown(name)) continue;
    const bool half = name.ends_with(".new");
    facts.anomalies.push_back({dir + "/" + name,
                               half ? "is incomplete" : "is not a file of an agent", false,
                               half ? Kind::kHalfWritten : Kind::kForeign});
  }
  readTenants(tree, &facts);
  const Result<PathInfo> socket = tree.infoOf(dir + "/agent.sock", false);
  facts.socket = socket && socket->kind == PathInfo::Kind::kSocket;
  const Result<Fd> folder = tree.folder(dir);
  if (facts.socket && folder && options.ask)
    facts.answer = options.ask("/proc/self/fd/" + std::to_string(folder->get()));
  if (!facts.socket) facts.answer = Error(ErrorCode::kNotFound, "no socket");
  return facts;
}

}  // namespace

RuntimeDir readRuntimeDir(const RootFs& tree, const NodeOptions& options, const std::string& path) {
  RuntimeDir dir;
  dir.path = path;
  const Result<PathInfo> place = tree.infoOf(path, false);
  if (!place) {
    if (!isAbsent(place)) dir.anomalies.push_back(unreadable(path, place.error()));
    return dir;
  }
  dir.place = *place;
  dir.space = tree.space(path);
  judgeFolder(tree, path, &dir.anomalies);
  const auto names = tree.list(path);
  if (!names) {
    dir.anomalies.push_back(unreadable(path, names.error()));
    return dir;
  }
  for (const std::string& name : *names) {
    const std::string inside = path + "/" + name;
    if (!agent::parseNode(name)) {
      dir.anomalies.push_back({inside, "is not a file of an agent", false, Kind::kForeign});
      continue;
    }
    const Result<PathInfo> one = tree.infoOf(inside, false);
    if (one && one->kind == PathInfo::Kind::kFolder) {
      dir.agents.push_back(readAgent(tree, options, inside));
    } else {
      judgeFolder(tree, inside, &dir.anomalies);
    }
  }
  return dir;
}

}  // namespace divvy::doctor
