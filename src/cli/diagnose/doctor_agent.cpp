#include "diagnose/doctor_agent.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include <boost/json/parse.hpp>

#include "agent/report_note.h"
#include "agent_client/agent_client.h"
#include "base/processes.h"
#include "doctor/root_fs.h"
#include "json/path.h"

namespace divvy::cli {
namespace {

constexpr int kPatienceMs = 2000;

Result<AgentLink> connectWithin(const std::string& path) {
  Fd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (!fd.valid() || path.size() >= sizeof address.sun_path)
    return Error{ErrorCode::kIo, "cannot create a socket for " + path};
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  // A server that does not accept connections blocks further callers once its backlog is full.
  const timeval bound{kPatienceMs / 1000, 0};
  setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &bound, sizeof bound);
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
    return AgentLink(std::move(fd));
  const int code = errno;
  const bool nobody = code == ECONNREFUSED || code == ENOENT;
  const bool closed = code == EACCES || code == EPERM;
  return Error{nobody   ? ErrorCode::kNotFound
               : closed ? ErrorCode::kIo
                        : ErrorCode::kUnavailable,
               nobody ? "no process listens" : std::string("connecting: ") + std::strerror(code)};
}

// The only reply with an agent's version.
std::string versionIn(const agent::PlacementReply& reply) {
  boost::system::error_code fault;
  const boost::json::value value = boost::json::parse(reply.text, fault);
  const std::string by = fault ? "" : textAt(value, {"written_by"});
  return by.starts_with("divvy ") ? by.substr(6) : by;
}

// The value of an option: "--name=WORD", or "--name" and "WORD". Words end with a zero byte.
std::optional<std::string> valueOf(const std::string& option, const std::string& words) {
  std::optional<std::string> given;
  bool next = false;
  for (std::size_t at = 0; at < words.size();) {
    const std::string word = words.c_str() + at;
    at += word.size() + 1;
    if (next) given = word;
    next = word == option;
    if (word.starts_with(option + "=")) given = word.substr(option.size() + 1);
  }
  return given;
}

// Uses the listening process's command line in /proc and its own view of the files, which differ in
// a container. A process of another PID namespace is skipped.
void noteSettings(int connection, AgentTalk* talk) {
  const Result<Peer> peer = processes().peer(connection);
  if (!peer || peer->pid == 0) return;
  const std::string folder = processes().folder() + "/" + std::to_string(peer->pid);
  const Result<doctor::RootFs> process = doctor::RootFs::open(folder);
  if (!process) return;
  const Result<std::string> words = process->text("/cmdline");
  if (!words || words->empty()) return;
  talk->words_known = true;
  const std::optional<std::string> file = valueOf("--node-settings", *words);
  if (!file || file->empty()) return;
  doctor::NamedText& named = talk->settings.emplace();
  std::error_code fault;
  named.path = *file;
  if (file->front() != '/')
    named.path = (std::filesystem::read_symlink(folder + "/cwd", fault) / *file).string();
  const Result<doctor::RootFs> root = doctor::RootFs::open(folder + "/root");
  named.text = Error(ErrorCode::kIo, named.path + ": the files of process " +
                                         std::to_string(peer->pid) + " cannot be read");
  if (root && !fault) named.text = root->text(named.path);
}

std::string nameOf(const agent::TenantView& tenant) {
  return tenant.id + (tenant.name.empty() ? "" : " (" + tenant.name + ")");
}

}  // namespace

Result<AgentTalk> talkTo(const std::string& dir) {
  Result<AgentLink> link = connectWithin(dir + "/agent.sock");
  if (!link) return link.error();
  AgentTalk talk;
  Result<agent::Reply> reply = link->call(agent::ListRequest{}, kPatienceMs);
  if (!reply) return Error{ErrorCode::kUnavailable, reply.error().message()};
  auto* listed = std::get_if<agent::SnapshotReply>(&*reply);
  if (listed == nullptr) return Error{ErrorCode::kUnavailable, "it did not answer with its state"};
  talk.snapshot = std::move(listed->snapshot);
  noteSettings(link->fd(), &talk);
  // An older agent does not know the request.
  reply = link->call(agent::PlacementRequest{}, kPatienceMs);
  if (reply)
    if (const auto* placement = std::get_if<agent::PlacementReply>(&*reply))
      talk.version = versionIn(*placement);
  reply = link->call(agent::EventsRequest{}, kPatienceMs);
  if (reply)
    if (auto* events = std::get_if<agent::EventsReply>(&*reply))
      talk.events = std::move(events->events);
  return talk;
}

doctor::AgentAnswer answerOf(const AgentTalk& talk) {
  doctor::AgentAnswer answer;
  answer.version = talk.version;
  answer.words_known = talk.words_known;
  answer.settings = talk.settings;
  answer.cards = talk.snapshot.devices.size();
  answer.tenants = talk.snapshot.tenants.size();
  answer.loop_late_ms = talk.snapshot.loop_late_ms;
  for (const agent::DeviceView& device : talk.snapshot.devices)
    if (!device.fault.empty()) answer.card_faults.push_back(device.uuid + ": " + device.fault);
  for (const agent::TenantView& tenant : talk.snapshot.tenants) {
    if (tenant.state == "broken")
      answer.tenants_broken.push_back("tenant " + nameOf(tenant) + " is broken: " + tenant.note);
    if (tenant.note.starts_with(agent::kReportNote))
      answer.tenants_garbled.push_back("tenant " + nameOf(tenant) + ": " + tenant.note);
    if (!tenant.bypass.empty())
      answer.tenants_doubted.push_back("tenant " + nameOf(tenant) + ": " + tenant.bypass);
    if (tenant.distrusted)
      answer.tenants_doubted.push_back("the driver measures more use of tenant " + nameOf(tenant) +
                                       " than it reports");
  }
  return answer;
}

}  // namespace divvy::cli
