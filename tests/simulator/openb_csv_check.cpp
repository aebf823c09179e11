#include "openb_csv_check.h"

#include <algorithm>

#include "simulator/protocol.h"

namespace divvy::simulator {
namespace {

// "FILE:LINE:COLUMN: what; accepted: what", on one line that a terminal can show.
std::string faultOfMessage(const Error& error) {
  const std::string& text = error.message();
  if (error.code() != ErrorCode::kUsage) return "not the reader's fault: " + text;
  if (!text.starts_with("file:")) return "names no place: " + text;
  if (text.find("; accepted: ") == std::string::npos) return "says not what is accepted: " + text;
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) { return c >= ' '; });
  return plain ? "" : "holds control characters: " + text;
}

}  // namespace

std::string faultOfReading(std::string_view text, std::size_t* rows) {
  const Result<std::vector<OpenbNode>> nodes = parseOpenbNodes(text, "file");
  const Result<std::vector<OpenbPod>> pods = parseOpenbPods(text, "file");
  if (nodes && pods) return "both nodes and pods";
  if (rows != nullptr) *rows = nodes ? nodes->size() : pods ? pods->size() : 0;
  for (const std::string& fault :
       {nodes ? "" : faultOfMessage(nodes.error()), pods ? "" : faultOfMessage(pods.error())}) {
    if (!fault.empty()) return fault;
  }
  // Whatever is read can be run.
  const std::vector<OpenbNode> one_node{{"n", 64'000, 262'144, 2, "G2"}};
  const std::vector<OpenbPod> one_pod{{"p", 1'000, 1'024, 1, 500, ""}};
  constexpr std::size_t kFew = 50;
  if ((nodes && nodes->size() > kFew) || (pods && pods->size() > kFew)) return "";
  Protocol protocol;
  protocol.tune = 0.01;
  const Result<RunResult> run =
      runProtocol(nodes ? *nodes : one_node, pods ? *pods : one_pod, protocol);
  if (!run && run.error().code() != ErrorCode::kUsage) return run.error().message();
  return "";
}

}  // namespace divvy::simulator
