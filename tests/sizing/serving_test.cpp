// Command lines and the manifest.
#include "sizing/serving.h"

#include <gtest/gtest.h>

#include "sizing/catalog.h"

namespace divvy::sizing {
namespace {

Serving llama() {
  Serving s;
  s.model = *findModel("llama-3-8b");
  s.question.concurrency = 16;
  s.answer = *answer(s.model, s.question);
  return s;
}

std::string line(const Serving& s) {
  const Result<std::vector<std::string>> words = engineCommand(s);
  return words ? shellLine(*words) : words.error().message();
}

TEST(Serving, VllmCommand_SaysComputedValues) {
  Serving s = llama();
  EXPECT_EQ(line(s),
            "vllm serve meta-llama/Meta-Llama-3-8B-Instruct --max-model-len 8192 --max-num-seqs 16 "
            "--max-num-batched-tokens 2048 --gpu-memory-utilization 0.92");
  s.question.utilization = 0;
  s.question.gpus = 2;
  s.question.eager = true;
  s.question.weights = *findWeightFormat("fp8");
  s.question.kv = *findKvFormat("fp8");
  s.answer = *answer(s.model, s.question);
  EXPECT_EQ(line(s),
            "vllm serve meta-llama/Meta-Llama-3-8B-Instruct --max-model-len 8192 --max-num-seqs 16 "
            "--max-num-batched-tokens 2048 --kv-cache-memory-bytes 4294967296 "
            "--gpu-memory-utilization 0.92 "
            "--tensor-parallel-size 2 --quantization fp8 --kv-cache-dtype fp8 --enforce-eager");
}

TEST(Serving, SglangFraction_HoldsWeightsAndCache) {
  Serving s = llama();
  s.engine = Engine::kSglang;
  const std::string words = line(s);
  const std::size_t at = words.find("--mem-fraction-static ");
  ASSERT_NE(at, std::string::npos) << words;
  const double part = std::stod(words.substr(at + 22));
  const double request = static_cast<double>(s.answer.request.count);
  EXPECT_GE(part * request, static_cast<double>((s.answer.weights + s.answer.cache).count));
  EXPECT_LT(part, 1.0);
  s.question.kv = *findKvFormat("nvfp4");
  EXPECT_NE(line(s).find("accepted: auto, bfloat16"), std::string::npos);
}

TEST(Serving, TwoGpus_MemoryPerGpuCoresOfAll) {
  Serving s = llama();
  s.question.gpus = 2;
  s.card = *findCard("4090");
  s.cores = 80;
  s.answer.request = gib(20);
  EXPECT_EQ(shellLine(runCommand(s, {"vllm"})),
            "divvy run --memory 20480Mi --gpus 2 --cores 160 --model 'RTX 4090' -- vllm");
  const std::string yaml = manifest(s, {"vllm", "serve"});
  for (const char* part : {"nvidia.com/gpu: \"2\"", "nvidia.com/gpumem: \"20480\"",
                           "nvidia.com/gpucores: \"80\"", "nvidia.com/use-gputype: \"RTX 4090\"",
                           "name: \"llama-3-8b\"", "medium: Memory", "path: /health"})
    EXPECT_NE(yaml.find(part), std::string::npos) << part << "\n" << yaml;
}

TEST(Serving, UnusualNames_AreQuoted) {
  Serving s = llama();
  s.model.name = "a \"b\": {c}\n--- \xc3\xa4";
  s.model.repository = "";
  const std::string yaml = manifest(s, {"it's", "a\nb: c"});
  EXPECT_NE(yaml.find("name: \"a-b-c\""), std::string::npos) << yaml;
  EXPECT_NE(yaml.find("replace MODEL"), std::string::npos);
  EXPECT_EQ(yaml.find("\nb: c"), std::string::npos) << yaml;
  EXPECT_EQ(shellLine({"it's", "a b", ""}), "'it'\\''s' 'a b' ''");
}

TEST(Serving, UnknownName_ErrorNamesAccepted) {
  EXPECT_NE(findEngine("tgi").error().message().find("accepted: vllm, sglang"), std::string::npos);
  EXPECT_NE(findWeightFormat("fp7").error().message().find("accepted: bf16"), std::string::npos);
  EXPECT_NE(findKvFormat("q4").error().message().find("accepted: auto"), std::string::npos);
}

}  // namespace
}  // namespace divvy::sizing
