// A config.json: what is read, assumed, refused.
#include "sizing/config.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "config_check.h"
#include "sizing/answer.h"
#include "sizing/checkpoint.h"

namespace divvy::sizing {
namespace {

const std::string kLlama =
    R"({"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32,
 "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336,
 "vocab_size": 128256, "max_position_embeddings": 8192, "torch_dtype": "bfloat16")";

// Llama with more members, or other ones: of two of a name the last counts.
Result<ConfigReading> llamaWith(const std::string& members) {
  return readConfig(kLlama + (members.empty() ? "" : ", " + members) + "}");
}

std::string refusal(const std::string& text) {
  const Result<ConfigReading> reading = readConfig(text);
  if (reading) return "";
  EXPECT_EQ(reading.error().code(), ErrorCode::kCorrupt);
  return reading.error().message();
}

std::string refusalWith(const std::string& members) {
  return refusal(kLlama + ", " + members + "}");
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Config, LlamaConfig_IsRead) {
  const Result<ConfigReading> reading = llamaWith("");
  ASSERT_TRUE(reading) << reading.error().message();
  EXPECT_EQ(countParameters(reading->model)->total(), 8030261248u);
  EXPECT_EQ(reading->model.stored.name, "bf16");
  EXPECT_TRUE(reading->assumptions.empty()) << reading->assumptions[0];
  EXPECT_EQ(reading->model.repository, "");
  EXPECT_EQ(llamaWith(R"("_name_or_path": "meta-llama/X-1.0")")->model.repository,
            "meta-llama/X-1.0");
  for (const char* path : {"/home/me", "a/b/c", "a b/c", "../x", "a/$(x)", "-a/b"})
    EXPECT_EQ(llamaWith(R"("_name_or_path": ")" + std::string(path) + "\"")->model.repository, "")
        << path;
}

TEST(Config, QuantisationForms_AreRead) {
  const std::tuple<const char*, const char*, double> forms[] = {
      {R"({"quant_method": "awq", "bits": 4, "group_size": 128})", "awq", 4.15625},
      {R"({"quant_method": "gptq", "bits": 8, "group_size": -1})", "gptq", 8},
      {R"({"quant_method": "gptq", "bits": 4, "group_size": 32})", "gptq", 4.625},
      {R"({"quant_method": "fp8", "weight_block_size": [128, 128]})", "fp8", 8},
      {R"({"quant_method": "fbgemm_fp8"})", "fp8", 8},
      {R"({"quant_method": "mxfp4"})", "mxfp4", 4.25},
      {R"({"quant_method": "bitsandbytes", "load_in_4bit": true})", "bnb4", 4.5},
      {R"({"quant_method": "bitsandbytes", "load_in_8bit": true})", "int8", 8},
      {R"({"quant_method": "modelopt", "quant_algo": "NVFP4"})", "nvfp4", 4.5},
      {R"({"quant_method": "compressed-tensors", "config_groups": {"group_0":
           {"weights": {"num_bits": 8, "type": "float"}}}})",
       "fp8", 8},
      {R"({"quant_method": "compressed-tensors", "config_groups": {"group_0":
           {"weights": {"num_bits": 4, "type": "int", "group_size": 128}}}})",
       "int4", 4.15625}};
  for (const auto& [text, name, bits] : forms) {
    const Result<ConfigReading> reading =
        llamaWith(R"("quantization_config": )" + std::string(text));
    ASSERT_TRUE(reading) << text << reading.error().message();
    EXPECT_EQ(reading->model.stored.name, name) << text;
    EXPECT_NEAR(reading->model.stored.bits(), bits, 0.001) << text;
    EXPECT_TRUE(reading->assumptions.empty()) << text;
  }
  const Result<ConfigReading> odd =
      llamaWith(R"("quantization_config": {"quant_method": "magic"})");
  ASSERT_TRUE(odd);
  ASSERT_EQ(odd->assumptions.size(), 1u);
  EXPECT_TRUE(has(odd->assumptions[0], "\"magic\" is not known: bf16 is taken"));
}

TEST(Config, Float32_IsHalved) {
  const Result<ConfigReading> reading = llamaWith(R"("torch_dtype": "float32")");
  ASSERT_TRUE(reading);
  EXPECT_TRUE(reading->model.halved);
  EXPECT_EQ(reading->model.stored.name, "fp16");
  ASSERT_EQ(reading->assumptions.size(), 1u);
  EXPECT_TRUE(has(reading->assumptions[0], "--dtype fp32"));
  const Result<ConfigReading> awq =
      llamaWith(R"("torch_dtype": "float32", "quantization_config": {"quant_method": "awq"})");
  ASSERT_TRUE(awq);
  EXPECT_FALSE(awq->model.halved);
  EXPECT_EQ(awq->model.stored.name, "awq");
  EXPECT_TRUE(awq->assumptions.empty());
}

TEST(Config, NestedConfig_IsFollowed) {
  const Result<ConfigReading> reading =
      readConfig(R"({"architectures": ["X"], "text_config": )" + kLlama + R"(}, "vision_config":
        {"hidden_size": 1024, "num_hidden_layers": 24}})");
  ASSERT_TRUE(reading) << reading.error().message();
  EXPECT_GT(reading->model.other_parameters, 250'000'000u);
  ASSERT_EQ(reading->assumptions.size(), 1u);
  EXPECT_TRUE(has(reading->assumptions[0], "vision tower"));
  EXPECT_TRUE(has(refusal(R"({"text_config": {"hidden_size": 0}})"), "text_config.hidden_size: 0"));
  EXPECT_TRUE(
      has(refusal(R"({"text_config": 7})"), "text_config: 7 is not accepted; an object is"));
}

// Regression: refused, for the sizes are two levels down.
TEST(Config, ThinkerConfig_LanguageModelIsSized) {
  const Result<ConfigReading> reading =
      readConfig(R"({"model_type": "qwen3_omni_moe", "talker_config": {"text_config": {}},
        "thinker_config": {"text_config": )" +
                 kLlama + R"(}, "vision_config":
        {"hidden_size": 1024, "num_hidden_layers": 24}}})");
  ASSERT_TRUE(reading) << reading.error().message();
  EXPECT_EQ(reading->model.layers, readConfig(kLlama + "}")->model.layers);
  EXPECT_GT(reading->model.other_parameters, 250'000'000u);
  ASSERT_FALSE(reading->assumptions.empty());
  EXPECT_TRUE(has(reading->assumptions[0], "only the thinker is counted"));
  EXPECT_TRUE(has(refusal(R"({"thinker_config": {"text_config": {"hidden_size": 0}}})"),
                  "thinker_config.text_config.hidden_size: 0"));
}

// Regression: "not JSON" was all that was said.
TEST(Config, ByteOrderMark_IsIgnored) {
  EXPECT_TRUE(readConfig("\xEF\xBB\xBF" + kLlama + "}"));
  EXPECT_TRUE(has(refusal("\xFF\xFE{"), "is UTF-16; accepted: UTF-8"));
}

TEST(Config, MissingFields_AssumptionsAreListed) {
  const Result<ConfigReading> reading = readConfig(
      R"({"model_type": "newcomer", "hidden_size": 1024, "num_hidden_layers": 4,
          "num_attention_heads": 8, "vocab_size": 1000, "sliding_window": 128, "state_size": 9})");
  ASSERT_TRUE(reading) << reading.error().message();
  std::string all;
  for (const std::string& what : reading->assumptions) all += what + "\n";
  for (const char* part : {"\"newcomer\" is not known", "num_key_value_heads is not there",
                           "4 x hidden_size, 4096", "all layers are taken as full", "Mamba"})
    EXPECT_TRUE(has(all, part)) << part << "\n" << all;
  ASSERT_EQ(reading->model.cache.size(), 1u);
  EXPECT_EQ(reading->model.cache[0].kind, CacheKind::kFull);
}

TEST(Config, LayerTypes_AreCounted) {
  std::string types;
  for (int i = 0; i < 32; ++i)
    types += std::string(i == 0 ? "" : ", ") +
             (i % 4 == 3 ? "\"full_attention\"" : "\"sliding_attention\"");
  const Result<ConfigReading> reading =
      llamaWith("\"sliding_window\": 512, \"layer_types\": [" + types + "]");
  ASSERT_TRUE(reading) << reading.error().message();
  ASSERT_EQ(reading->model.cache.size(), 2u);
  EXPECT_EQ(reading->model.cache[0].layers, 8u);
  EXPECT_EQ(reading->model.cache[1].layers, 24u);
  EXPECT_EQ(reading->model.cache[1].window, 512u);
  EXPECT_TRUE(has(refusalWith("\"layer_types\": [" + types + "]"), "sliding_window: missing"));
  EXPECT_TRUE(has(refusalWith(R"("layer_types": ["full_attention"])"), "1 words for 32 layers"));
  EXPECT_TRUE(has(refusalWith(R"("layer_types": [3])"), "3 is not accepted in the list"));
}

TEST(Config, InvalidNumber_ErrorNamesPlace) {
  for (const char* value :
       {"0", "-1", "1e30", "99999999999999999999", "4096.5", "\"4096\"", "true", "[]", "{}"}) {
    const std::string what = refusalWith(R"("hidden_size": )" + std::string(value));
    EXPECT_TRUE(has(what, "hidden_size: ")) << value << ": " << what;
    EXPECT_TRUE(has(what, "a whole number from 1 to 1048576 is")) << value << ": " << what;
  }
  EXPECT_TRUE(
      has(refusalWith(R"("num_key_value_heads": 5)"), "a divisor of num_attention_heads 32 is"));
  EXPECT_TRUE(
      has(refusalWith(R"("num_attention_heads": 24, "num_key_value_heads": 8)"), "say head_dim"));
  EXPECT_TRUE(has(refusalWith(R"("tie_word_embeddings": "yes")"), "true or false is"));
  EXPECT_TRUE(has(refusalWith(R"("num_experts": 8)"), "num_experts_per_tok: missing"));
  EXPECT_TRUE(
      has(refusalWith(R"("num_experts": 8, "num_experts_per_tok": 9)"), "more than the 8 experts"));
  EXPECT_TRUE(has(refusalWith(R"("kv_lora_rank": 512)"), "qk_rope_head_dim: missing"));
  EXPECT_TRUE(has(refusalWith(R"("is_encoder_decoder": true)"), "models with a decoder alone are"));
  EXPECT_TRUE(has(refusalWith(R"("num_hidden_layers": 10000, "num_local_experts": 65536,
    "num_experts_per_tok": 2, "hidden_size": 1048576, "intermediate_size": 16777216)"),
                  "parameters; look for"));
}

TEST(Config, MissingField_ErrorNamesAliases) {
  EXPECT_EQ(
      refusal(R"({"model_type": "llama"})"),
      "hidden_size: missing (n_embd, d_model too); a whole number from 1 to 1048576 is expected");
  EXPECT_TRUE(has(refusal(R"({"hidden_size": 8, "num_hidden_layers": null})"),
                  "num_hidden_layers: missing"));
}

TEST(Config, NotJson_ErrorHasLineAndColumn) {
  EXPECT_TRUE(has(refusal("{\n  \"a\": 1,\n  \"b\" 2\n}"), "line 3, column 7: not JSON"));
  EXPECT_TRUE(has(refusal("{} x"), "line 1, column 4"));
  EXPECT_TRUE(has(refusal(""), "line 1, column 1"));
  EXPECT_TRUE(has(refusal("[1]"), "not an object"));
  EXPECT_TRUE(has(refusal(kLlama), "not JSON"));
  EXPECT_TRUE(has(refusal(std::string(9 << 20, ' ')), "larger than"));
  EXPECT_NE(refusal(std::string(100000, '[')), "");
  EXPECT_NE(refusal(std::string("{\"a\": \"\xff\"}")), "");
}

// Configurations of Mamba have "time_step_limit": [0.0, Infinity].
TEST(Config, PythonInfinity_IsAccepted) {
  EXPECT_TRUE(llamaWith(R"("x": [0.0, Infinity, -Infinity, NaN], "y": "Infinity \" NaN")"));
  EXPECT_TRUE(has(refusalWith(R"("head_dim": NaN)"), "head_dim: "));
}

TEST(CheckpointSize, IndexAndTensors_SizeIsRead) {
  EXPECT_EQ(readIndex(R"({"metadata": {"total_size": 16060522496}, "weight_map": {}})")->count,
            16060522496u);
  for (const char* text : {"{}", "[]", R"({"metadata": 3})", R"({"metadata": {"total_size": 0}})",
                           R"({"metadata": {"total_size": -5}})", "{\"metadata\""}) {
    ASSERT_FALSE(readIndex(text)) << text;
    EXPECT_EQ(readIndex(text).error().code(), ErrorCode::kCorrupt);
  }
  const std::string length("\x10\0\0\0\0\0\0\0", 8);
  EXPECT_EQ(tensorsOf(length, 124)->count, 100u);
  EXPECT_FALSE(tensorsOf(length, 20));
  EXPECT_FALSE(tensorsOf(length.substr(0, 7), 124));
  EXPECT_FALSE(tensorsOf(std::string(8, '\xff'), 124));
  EXPECT_FALSE(tensorsOf(std::string(8, '\0'), 124));
}

TEST(Config, ControlCharacters_AreRemoved) {
  const Result<ConfigReading> reading = llamaWith(R"("model_type": "\u001b[2J\nevil")");
  ASSERT_TRUE(reading);
  ASSERT_EQ(reading->assumptions.size(), 1u);
  EXPECT_EQ(reading->assumptions[0].find_first_of("\x1b\n"), std::string::npos);
}

TEST(Config, FuzzCorpus_NoFault) {
  const char* source = std::getenv("DIVVY_SOURCE_DIR");
  ASSERT_NE(source, nullptr);
  int replayed = 0;
  for (const auto& entry : std::filesystem::directory_iterator(
           std::filesystem::path(source) / "tests/sizing/corpus/fuzz_sizing_config")) {
    std::ifstream file(entry.path(), std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    EXPECT_EQ(checkConfig(text.str()), "") << entry.path();
    ++replayed;
  }
  EXPECT_GE(replayed, 10);
}

}  // namespace
}  // namespace divvy::sizing
