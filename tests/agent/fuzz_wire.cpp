// Any line of the agent's socket protocol, in both directions: refused as corrupt with a reason, or
// a message that is the same, on one line, after it was encoded and decoded again.
#include <string>

#include <boost/json.hpp>

#include "agent/protocol.h"
#include "fuzz_input.h"

using namespace divvy;
using namespace divvy::agent;

namespace {

template <typename Message>
void checkRoundTrip(const Message& message, Result<Message> (*decode)(std::string_view)) {
  const std::string line = encode(message);
  need(!line.empty() && line.find('\n') == line.size() - 1, "one line");
  const Result<Message> again = decode(line);
  need(again.has_value(), "what was encoded can be decoded");
  need(again->index() == message.index() && encode(*again) == line, "a message comes back");
}

template <typename Message>
bool decoded(const Result<Message>& message) {
  if (message) return true;
  need(message.error().code() == ErrorCode::kCorrupt && !message.error().message().empty(),
       "an error without a reason");
  return false;
}

void checkJson(const std::string& text) {
  boost::system::error_code fault;
  (void)boost::json::parse(text, fault);
  need(!fault, "what is printed is JSON");
}

// What the command line prints of a reply.
void checkPrinted(const Reply& reply) {
  if (const auto* all = std::get_if<SnapshotReply>(&reply)) {
    checkJson(devicesJson({all->snapshot}));
    checkJson(tenantsJson({all->snapshot}));
    checkJson(snapshotsJson({all->snapshot, all->snapshot}));
  }
  if (const auto* explained = std::get_if<ExplainReply>(&reply))
    checkJson(explanationJson(*explained));
  if (const auto* events = std::get_if<EventsReply>(&reply)) {
    std::vector<std::pair<std::string, EventView>> named;
    for (const EventView& event : events->events) named.emplace_back("node", event);
    checkJson(eventsJson(named, false));
  }
}

// What the agent takes for granted of what it decoded.
void checkBounds(const RunRequest& run) {
  need(run.ask.gpus > 0, "a number of devices");
  need(run.ask.cores <= 100 * std::uint64_t{run.ask.gpus}, "compute of its devices");
  need(run.ask.cores == 0 || run.ask.cores >= run.ask.gpus, "compute of each device");
  need(run.ask.memory.bytes.count <= INT64_MAX, "bytes");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view line = textOf(data, size);
  if (const Result<Request> request = decodeRequest(line); decoded(request)) {
    if (const auto* run = std::get_if<RunRequest>(&*request)) checkBounds(*run);
    if (const auto* explain = std::get_if<ExplainRequest>(&*request)) checkBounds(explain->run);
    checkRoundTrip(*request, decodeRequest);
  }
  if (const Result<Reply> reply = decodeReply(line); decoded(reply)) {
    checkRoundTrip(*reply, decodeReply);
    checkPrinted(*reply);
  }
  return 0;
}
