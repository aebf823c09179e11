// `divvy size`: what it prints, and how it ends. The figures have tests of their own
// (tests/sizing).
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <filesystem>
#include <fstream>

#include "sandbox.h"

namespace divvy::test {
namespace {

namespace bj = boost::json;

Outcome sized(Words words) {
  Sandbox sandbox;
  words.insert(words.begin(), "size");
  return sandbox.divvy(words);
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

const Words kLlama{"--model", "llama-3-8b", "--context", "8k", "--concurrency", "16"};

Words llama(const Words& more) {
  Words words = kLlama;
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(Size, TableOutput_LinePerTermAndCommand) {
  const Outcome outcome = sized(llama({}));
  EXPECT_EQ(outcome.code(), 0) << outcome.err;
  for (const char* part :
       {"llama-3-8b: 8.03B parameters in bf16, GQA", "weights      14.96  exact",
        "kv cache     16.00  exact", "Request: 36416Mi of memory", "a100 is the smallest known",
        "divvy run --memory 36416Mi -- vllm serve meta-llama/Meta-Llama-3-8B-Instruct "})
    EXPECT_TRUE(has(outcome.out, part)) << part << "\n" << outcome.out;
}

TEST(Size, CardGiven_CountAndFittingOptionsPrinted) {
  const Outcome outcome = sized(llama({"--gpu", "4090", "--dtype", "fp8"}));
  EXPECT_EQ(outcome.code(), 0) << outcome.err;
  for (const char* part : {"each on 2 devices", "fits on 2 x rtx4090", "--gpus 2",
                           "--quantization fp8", "in proportion to memory; not a measured need"})
    EXPECT_TRUE(has(outcome.out, part)) << part << "\n" << outcome.out;
}

// The share that is printed is one that an agent gives, on simulated cards of that kind.
TEST(Size, PrintedCommand_AdmittedByRun) {
  Sandbox sandbox;
  for (const std::string& card : {std::string("rtx4090"), std::string("h100")}) {
    const Outcome outcome = sandbox.divvy(
        {"size", "--model", "llama-3-8b", "--concurrency", "16", "--gpu", card, "-o", "json"});
    ASSERT_EQ(outcome.code(), 0) << outcome.err;
    Words run{"run", "--sim", card + "x2"};
    const bj::value json = bj::parse(outcome.out);
    const bj::array& words = json.at("run").as_array();
    for (std::size_t i = 2; words.at(i).as_string() != "--"; ++i)
      run.emplace_back(words[i].as_string());
    run.insert(run.end(), {"--", "true"});
    const Outcome ran = sandbox.divvy(run);
    EXPECT_EQ(ran.code(), 0) << card << ": " << ran.err;
  }
}

TEST(Size, DoesNotFit_ExitThreeAndNoManifest) {
  const Outcome outcome = sized(llama({"--gpu", "4090", "--gpus", "1"}));
  EXPECT_EQ(outcome.code(), 3) << outcome.err;
  EXPECT_TRUE(has(outcome.out, "does not fit on rtx4090")) << outcome.out;
  EXPECT_TRUE(has(outcome.out, "Maximum there: ")) << outcome.out;
  EXPECT_FALSE(has(outcome.out, "divvy run")) << outcome.out;
  // Nothing is left to be applied by mistake.
  const Outcome yaml = sized(llama({"--gpu", "4090", "--gpus", "1", "--manifest"}));
  EXPECT_EQ(yaml.code(), 3);
  EXPECT_EQ(yaml.out, "");
  EXPECT_TRUE(has(yaml.err, "no manifest: does not fit on rtx4090")) << yaml.err;
}

TEST(Size, JsonOutput_TermsSumToMemory) {
  const Outcome outcome = sized(llama({"--gpu", "h100", "-o", "json"}));
  ASSERT_EQ(outcome.code(), 0) << outcome.err;
  const bj::value json = bj::parse(outcome.out);
  std::int64_t sum = 0;
  for (const bj::value& term : json.at("terms").as_array()) sum += term.at("bytes").as_int64();
  EXPECT_EQ(sum, json.at("memory_bytes").as_int64());
  EXPECT_EQ(json.at("cache_bytes_per_token").as_int64(), 131072);
  EXPECT_TRUE(json.at("card").at("fits").as_bool());
  EXPECT_EQ(json.at("run").as_array()[0].as_string(), "divvy");
}

TEST(Size, Manifest_HasHamiResourceNames) {
  const Outcome outcome = sized(llama({"--gpu", "h100", "-o", "yaml"}));
  ASSERT_EQ(outcome.code(), 0) << outcome.err;
  for (const char* part :
       {"kind: Deployment", "nvidia.com/gpu: \"1\"", "nvidia.com/gpumem: \"36416\"",
        "nvidia.com/gpucores: \"45\"", "nvidia.com/use-gputype: \"H100\""})
    EXPECT_TRUE(has(outcome.out, part)) << part << "\n" << outcome.out;
  EXPECT_EQ(sized(llama({"--gpu", "h100", "--manifest"})).out, outcome.out);
}

TEST(Size, ModelConfigFile_ReadWithCheckpointIndex) {
  Sandbox sandbox;
  const std::string folder = sandbox.root() + "-models/my model";
  std::filesystem::create_directories(folder);
  const auto write = [&](const std::string& text) {
    std::ofstream(folder + "/config.json") << text;
  };
  write(R"({"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2,
    "num_attention_heads": 4, "vocab_size": 100, "intermediate_size": 8})");
  for (const std::string& path : {folder, folder + "/config.json"}) {
    const Outcome outcome = sandbox.divvy({"size", "--model", path});
    EXPECT_EQ(outcome.code(), 0) << outcome.err;
    EXPECT_TRUE(has(outcome.out, "my model: ")) << outcome.out;
    EXPECT_TRUE(has(outcome.out, "replace MODEL")) << outcome.out;
  }
  // What the checkpoint has counts, and that it differs is said.
  const auto index = [&](const std::string& text) {
    std::ofstream(folder + "/model.safetensors.index.json") << text;
  };
  index(R"({"metadata": {"total_size": 1073741824}})");
  const Outcome stored = sandbox.divvy({"size", "--model", folder});
  EXPECT_TRUE(has(stored.out, "1.00  exact  tensors of the checkpoint")) << stored.out;
  EXPECT_TRUE(has(stored.out, "Note: the checkpoint has 1 GiB of tensors")) << stored.out;
  index("{}");
  const Outcome torn = sandbox.divvy({"size", "--model", folder});
  EXPECT_TRUE(has(torn.err, "index.json: metadata: missing")) << torn.err;
  write(R"({"hidden_size": -3})");
  const Outcome wrong = sandbox.divvy({"size", "--model", folder});
  EXPECT_EQ(wrong.code(), 1);
  EXPECT_TRUE(
      has(wrong.err, "/my model/config.json: hidden_size: -3 is not accepted; a whole number"))
      << wrong.err;
  std::filesystem::remove_all(sandbox.root() + "-models");
}

TEST(Size, ListOutput_TextAndJson) {
  EXPECT_TRUE(has(sized({"--list"}).out, "deepseek-v3"));
  EXPECT_FALSE(has(sized({"--list", "--no-headers"}).out, "PARAMETERS"));
  EXPECT_GE(bj::parse(sized({"--list", "-o", "json"}).out).as_array().size(), 60u);
}

struct Case {
  Words words;
  std::string says;
};

TEST(Size, BadInput_OneLineWithAccepted) {
  const std::vector<Case> cases{
      {{}, "one of --model and --list is required"},
      {{"--model", "gpt2", "--list"}, "one of --model and --list is required"},
      {{"--model", "lama-3-8b"}, "did you mean llama-3-8b"},
      {{"--model", ""}, "--model has no value"},
      {llama({"--concurrency", "0"}), "--concurrency"},
      {{"--model", "gpt2", "--context", "-1"}, "a whole number from 1"},
      {{"--model", "gpt2", "--context", "18446744073709551615k"}, "a whole number from 1"},
      {{"--model", "gpt2", "--concurrency", "many"}, "a whole number from 1"},
      {{"--model", "gpt2", "--gpus", "5"}, "accepted: 1, 2, 3, 4, 6, 12"},
      {{"--model", "gpt2", "--gpus", "17"}, "from 1 to 16"},
      {{"--model", "gpt2", "--gpu", "h1000"}, "did you mean h100"},
      {{"--model", "gpt2", "--dtype", "fp9"}, "accepted: bf16"},
      {{"--model", "gpt2", "--kv-dtype", "q4"}, "accepted: auto"},
      {{"--model", "gpt2", "--kv-dtype", "fp8_ds_mla"}, "than MLA"},
      {{"--model", "gpt2", "--engine", "tgi"}, "accepted: vllm, sglang"},
      {{"--model", "gpt2", "--utilization", "1.5"}, "a fraction from 0.1 to 1, or off"},
      {{"--model", "gpt2", "--utilization", "nan"}, "a fraction from 0.1 to 1, or off"},
      {{"--model", "gpt2", "--avg-len", "2k"}, "--avg-len"},
      {{"--model", "gpt2", "--concurrency", "9", "--max-num-seqs", "8"},
       "at least --concurrency 9"},
      {{"--model", "gpt2", "-o", "xml"}, "accepted: table, json, yaml"},
      {{"--model", "gpt2", "-o", "json", "--manifest"}, "--manifest implies -o yaml"}};
  for (const Case& each : cases) {
    const Outcome outcome = sized(each.words);
    EXPECT_EQ(outcome.code(), 2) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_TRUE(has(outcome.err, each.says)) << outcome.err << "should say: " << each.says;
  }
  EXPECT_EQ(sized({"--model", "none/such.json"}).code(), 1);
  EXPECT_TRUE(has(sized({"--model", "/dev/zero"}).err, "not a regular file"));
}

}  // namespace
}  // namespace divvy::test
