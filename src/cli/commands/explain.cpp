// `divvy explain`: the result of a request for each device, and changes that would fit.
#include <cstdio>

#include "agent_client/agent_client.h"
#include "agent_client/node_selection.h"
#include "commands/commands.h"
#include "view/table.h"
#include "view/terminal.h"

namespace divvy::cli {
namespace {

Result<agent::ExplainReply> callAgent(const ExplainOptions& options) {
  const Result<agent::Node> node = nodeForRun(options.run.sim);
  if (!node) return node.error();
  Result<AgentLink> link = findOrStartAgent(*node);
  if (!link) return link.error();
  agent::ExplainRequest request;
  request.run.ask = options.run.ask;
  request.run.priority = options.run.priority;
  request.run.enforce = options.run.enforce;
  Result<agent::Reply> reply = link->call(request);
  if (!reply) return reply.error();
  if (auto* explained = std::get_if<agent::ExplainReply>(&*reply)) return std::move(*explained);
  return Error{ErrorCode::kCorrupt, "the agent did not answer with an explanation"};
}

std::string verdictOf(const agent::ExplainReply& reply) {
  if (reply.impossible) return "can never fit here: " + reply.summary;
  if (!reply.fits) return "does not fit now: " + reply.summary;
  std::string given;
  unsigned count = 0;
  for (const agent::DeviceVerdictView& device : reply.devices) {
    if (!device.given) continue;
    given += (count++ == 0 ? "" : ", ") + std::to_string(device.device);
  }
  return "fits now, on " + std::string(count == 1 ? "device " : "devices ") + given;
}

std::string wordsOf(const agent::DeviceVerdictView& device) {
  if (device.given) return "would be allocated";
  return device.refusal.empty() ? "fits" : device.refusal;
}

// "train (low, 8 GiB) and eval (low, 4 GiB)"
std::string victimsOf(const agent::ExplainReply& reply) {
  std::string text;
  for (std::size_t i = 0; i < reply.victims.size(); ++i) {
    const agent::VictimView& one = reply.victims[i];
    if (i > 0) text += i + 1 == reply.victims.size() ? " and " : ", ";
    text += (one.name.empty() ? one.id : one.name) + " (" + one.priority + ", " +
            formatBytes(one.memory) + ")";
  }
  return text;
}

void print(const agent::ExplainReply& reply, const ExplainOptions& options) {
  if (options.output.json) {
    std::fputs(agent::explanationJson(reply).c_str(), stdout);
    return;
  }
  std::printf("%s\n", verdictOf(reply).c_str());
  if (reply.waiting != 0)
    std::printf("%u in the queue: with --wait they go first, by priority\n", reply.waiting);
  Table table({"DEVICE>", "MODEL", "CODE", "VERDICT"});
  for (const agent::DeviceVerdictView& device : reply.devices)
    table.add({std::to_string(device.device), device.model, device.code, wordsOf(device)});
  std::printf("\n%s", table.text(options.output.headers, 0).c_str());
  if (!reply.fixes.empty()) std::printf("\nwould fit now, each alone:\n");
  for (const std::string& fix : reply.fixes) std::printf("  %s\n", fix.c_str());
  if (!reply.victims.empty())
    std::printf("\nwould fit now if %s ended; divvy ends %s for no request\n",
                victimsOf(reply).c_str(), reply.victims.size() == 1 ? "it" : "them");
}

}  // namespace

int explain(const ExplainOptions& options) {
  const Result<agent::ExplainReply> reply = callAgent(options);
  if (!reply) return fail(reply.error());
  print(*reply, options);
  return reply->fits ? 0 : kNegativeResult;
}

}  // namespace divvy::cli
