#include <boost/json.hpp>

#include "sizing/names.h"
#include "sizing/serving.h"

namespace divvy::sizing {
namespace {

constexpr std::size_t kLongestName = 50;

// JSON's quoting is YAML's too.
std::string quoted(const std::string& text) {
  return boost::json::serialize(boost::json::string(text));
}

// A DNS label.
std::string labelOf(const std::string& name) {
  std::string label;
  for (const char c : plainName(name).substr(0, kLongestName)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (plain) label += c;
    if (!plain && !label.empty() && label.back() != '-') label += '-';
  }
  while (!label.empty() && label.back() == '-') label.pop_back();
  return label.empty() ? "model" : label;
}

// HAMi: memory in whole MiB and cores in percent, both of each card.
std::string limitsOf(const Serving& s) {
  std::string text =
      "              nvidia.com/gpu: " + quoted(std::to_string(s.question.gpus)) +
      "\n              nvidia.com/gpumem: " + quoted(std::to_string(s.answer.request.count >> 20)) +
      "\n";
  if (s.cores)
    text += "              nvidia.com/gpucores: " + quoted(std::to_string(*s.cores)) + "\n";
  return text;
}

// SGLang listens to its own machine only, if it is not told.
std::string commandOf(std::vector<std::string> engine, bool vllm) {
  if (!vllm) engine.insert(engine.end(), {"--host", "0.0.0.0"});
  std::string text = "          command:\n";
  for (const std::string& word : engine) text += "            - " + quoted(word) + "\n";
  return text;
}

}  // namespace

std::string manifest(const Serving& s, const std::vector<std::string>& engine) {
  const bool vllm = s.engine == Engine::kVllm;
  const std::string label = quoted(labelOf(s.model.name));
  const std::string port = vllm ? "8000" : "30000";
  std::string text = "# made by divvy size: --concurrency " +
                     std::to_string(s.question.concurrency) + " --context " +
                     std::to_string(s.question.context) + "\n";
  if (s.model.repository.empty())
    text += "# Where the model is found is not known: replace MODEL.\n";
  text += "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: " + label +
          "\nspec:\n  replicas: 1\n  selector:\n    matchLabels:\n      app.kubernetes.io/name: " +
          label +
          "\n  template:\n    metadata:\n      labels:\n        app.kubernetes.io/name: " + label +
          "\n";
  if (s.card && !s.card->match.empty())
    text += "      annotations:\n        nvidia.com/use-gputype: " + quoted(s.card->match) + "\n";
  text += "    spec:\n      containers:\n        - name: engine\n          image: " +
          quoted(vllm ? "vllm/vllm-openai:latest" : "lmsysorg/sglang:latest") + "\n" +
          commandOf(engine, vllm) + "          ports:\n            - containerPort: " + port +
          "\n          resources:\n            limits:\n" + limitsOf(s);
  // Loading takes minutes: half an hour until the first answer.
  text += "          startupProbe:\n            httpGet: {path: /health, port: " + port +
          "}\n            periodSeconds: 10\n            failureThreshold: 180\n"
          "          readinessProbe:\n            httpGet: {path: /health, port: " +
          port +
          "}\n          volumeMounts:\n            - {name: shm, mountPath: /dev/shm}\n"
          "      volumes:\n        - name: shm\n          emptyDir: {medium: Memory}\n";
  return text;
}

}  // namespace divvy::sizing
