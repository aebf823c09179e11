// What the layers keep of a sequence, and how the checkpoint is quantised.
#include <algorithm>

#include "config_parts.h"
#include "sizing/names.h"

namespace divvy::sizing {
namespace {

void add(ModelShape& m, CacheKind kind, std::uint64_t layers, std::uint64_t window = 0) {
  if (layers != 0) m.cache.push_back({kind, layers, window});
}

struct LayerTypes {
  std::uint64_t full = 0, sliding = 0, chunked = 0, recurrent = 0;
};

// "layer_types": one word for each layer.
std::optional<LayerTypes> wordsOfLayers(Draft& draft) {
  const std::vector<std::string> words = draft.fields.texts("layer_types");
  if (words.empty()) return std::nullopt;
  if (words.size() != draft.model.layers) {
    draft.fields.fail("layer_types", std::to_string(words.size()) + " words for " +
                                         std::to_string(draft.model.layers) + " layers");
    return std::nullopt;
  }
  LayerTypes types;
  for (const std::string& word : words) {
    if (word == "full_attention" || word == "attention") {
      ++types.full;
    } else if (word == "sliding_attention") {
      ++types.sliding;
    } else if (word == "chunked_attention") {
      ++types.chunked;
    } else if (word == "linear_attention" || word == "mamba" || word == "conv") {
      ++types.recurrent;
    } else {
      ++types.full;
      draft.assume("layer type " + cited(word) + " is not known: taken as full attention");
    }
  }
  return types;
}

// Every n-th layer sees everything, the others the window.
LayerTypes everyNth(std::uint64_t layers, std::uint64_t n) {
  LayerTypes types;
  types.full = layers / n;
  types.sliding = layers - types.full;
  return types;
}

// Of models that have a window without a word for each layer.
LayerTypes windowedLayers(Draft& draft) {
  Fields& fields = draft.fields;
  const std::uint64_t layers = draft.model.layers;
  if (draft.is("gemma3_text"))
    return everyNth(layers, fields.countOr({"sliding_window_pattern"}, kLayers, 6));
  if (draft.is("gemma2") || draft.is("gpt_oss")) return everyNth(layers, 2);
  if (draft.is("mistral") || draft.is("mixtral") || draft.is("phi3") || draft.is("starcoder2"))
    return {0, layers, 0, 0};
  if (fields.flag("use_sliding_window", false)) {
    const std::uint64_t full =
        std::min(fields.countOr({"max_window_layers"}, {0, 10'000}, 0), layers);
    return {full, layers - full, 0, 0};
  }
  if (draft.family == nullptr && !fields.has("use_sliding_window")) {
    draft.assume("which layers sliding_window is for is not known: all layers are taken as full");
  }
  return {layers, 0, 0, 0};
}

// Linear attention with gates (Qwen3-Next): convolutions over keys and values, a state of each
// head.
Recurrent gatedDelta(Draft& draft) {
  Fields& fields = draft.fields;
  const std::uint64_t keys = fields.need({"linear_num_key_heads"}, kHeads);
  const std::uint64_t values = fields.need({"linear_num_value_heads"}, kHeads);
  const std::uint64_t key_dim = fields.need({"linear_key_head_dim"}, {1, 4096});
  const std::uint64_t value_dim = fields.need({"linear_value_head_dim"}, {1, 4096});
  const std::uint64_t kernel = fields.need({"linear_conv_kernel_dim"}, {1, 4096});
  const std::uint64_t h = draft.model.hidden;
  const std::uint64_t mixed = 2 * keys * key_dim + values * value_dim;
  Recurrent out;
  out.parameters = h * (mixed + values * value_dim) + h * 2 * values + mixed * kernel + 2 * values +
                   value_dim + values * value_dim * h;
  // The states of heads in 32 bits.
  out.state_bytes = mixed * (kernel - 1) * 2 + values * key_dim * value_dim * 4;
  return out;
}

// Mamba as Jamba has it.
Recurrent mamba(Draft& draft) {
  Fields& fields = draft.fields;
  const std::uint64_t h = draft.model.hidden;
  const std::uint64_t inner = h * fields.countOr({"mamba_expand"}, {1, 64}, 2);
  const std::uint64_t state = fields.countOr({"mamba_d_state"}, {1, 4096}, 16);
  const std::uint64_t kernel = fields.countOr({"mamba_d_conv"}, {1, 4096}, 4);
  const std::uint64_t rank = fields.countOr({"mamba_dt_rank"}, kWidth, (h + 15) / 16);
  Recurrent out;
  out.parameters = h * 2 * inner + inner * kernel + inner + inner * (rank + 2 * state) +
                   rank * inner + inner + inner * state + inner + inner * h + rank + 2 * state;
  out.state_bytes = inner * (kernel - 1) * 2 + inner * state * 4;
  return out;
}

std::uint64_t recurrentLayers(Draft& draft) {
  const std::uint64_t layers = draft.model.layers;
  const auto period = draft.fields.count({"attn_layer_period", "full_attention_interval"}, kLayers);
  const std::uint64_t interval = period.value_or(draft.is("jamba") ? 8 : 4);
  const std::uint64_t offset = draft.fields.countOr({"attn_layer_offset"}, {0, 10'000},
                                                    draft.is("jamba") ? 4 : interval - 1);
  std::uint64_t attending = 0;
  for (std::uint64_t i = 0; i < layers; ++i) attending += i % interval == offset % interval;
  return layers - attending;
}

// The bits of weights that compressed-tensors has in its first group.
std::optional<WeightFormat> compressed(Fields quantization) {
  std::optional<Fields> groups = quantization.object("config_groups");
  std::optional<Fields> group = groups ? groups->object("group_0") : std::nullopt;
  std::optional<Fields> weights = group ? group->object("weights") : std::nullopt;
  if (!weights) return std::nullopt;
  const std::uint64_t width = weights->need({"num_bits"}, {1, 16});
  const std::uint64_t size = weights->countOr({"group_size"}, {1, 1 << 16}, 0);
  if (width == 8) {
    Result<WeightFormat> format =
        findWeightFormat(weights->text("type") == "float" ? "fp8" : "int8");
    return *format;
  }
  return groupedFormat("int" + std::to_string(width), static_cast<std::uint32_t>(width),
                       static_cast<std::uint32_t>(size));
}

std::optional<WeightFormat> bitsAndBytes(Fields& fields) {
  if (fields.flag("load_in_4bit", false)) return *findWeightFormat("bnb4");
  if (fields.flag("load_in_8bit", false)) return *findWeightFormat("int8");
  return std::nullopt;
}

std::optional<WeightFormat> quantized(Fields& fields, const std::string& method) {
  if (method == "awq" || method == "gptq") {
    const std::uint64_t width = fields.countOr({"bits", "w_bit"}, {1, 16}, 4);
    // -1: a whole column has one scale.
    const std::uint64_t group =
        fields.negative("group_size")
            ? 0
            : fields.countOr({"group_size", "q_group_size"}, {1, 1 << 16}, 128);
    return groupedFormat(method, static_cast<std::uint32_t>(width),
                         static_cast<std::uint32_t>(group));
  }
  if (method == "fp8" || method == "fbgemm_fp8" || method == "mxfp4") {
    return *findWeightFormat(method == "mxfp4" ? "mxfp4" : "fp8");
  }
  if (method == "compressed-tensors") return compressed(fields);
  if (method == "bitsandbytes") return bitsAndBytes(fields);
  if (method == "modelopt") {
    const std::string kind = plainName(fields.text("quant_algo"));
    if (kind == "fp8" || kind == "nvfp4") return *findWeightFormat(kind);
  }
  return std::nullopt;
}

// The plain type of a checkpoint that is not quantised.
void readType(Draft& draft) {
  std::string type;
  for (Fields* fields : {&draft.fields, &draft.root}) {
    for (const char* name : {"torch_dtype", "dtype"}) {
      if (type.empty()) type = fields->text(name);
    }
  }
  if (type.empty()) return;
  const Result<WeightFormat> format = findWeightFormat(type);
  if (!format) {
    draft.assume("torch_dtype " + cited(type) + " is not known: 16 bits are taken");
  } else if (format->name == "fp32") {
    draft.model.halved = true;
    draft.model.stored = *findWeightFormat("fp16");
    draft.assume("the checkpoint has 32 bits: engines make 16 of them, unless --dtype fp32");
  } else {
    draft.model.stored = *format;
  }
}

}  // namespace

void readRecurrent(Draft& draft) {
  ModelShape& m = draft.model;
  const bool delta = draft.fields.has("linear_num_value_heads");
  if (!delta && !draft.is("jamba")) {
    if (draft.family != nullptr) return;
    for (const char* name : {"ssm_cfg", "mamba_d_state", "state_size", "mamba_expand"}) {
      if (!draft.fields.has(name)) continue;
      draft.assume(
          "layers that keep a state (Mamba) of this model_type are not known: counted as "
          "attention");
      break;
    }
    return;
  }
  m.recurrent = delta ? gatedDelta(draft) : mamba(draft);
  m.recurrent.layers = recurrentLayers(draft);
}

void readCache(Draft& draft) {
  ModelShape& m = draft.model;
  Fields& fields = draft.fields;
  const Fields::Range tokens{0, 1 << 30};
  const std::uint64_t window =
      fields.countOr({"sliding_window"}, tokens, draft.is("gemma3_text") ? 4096 : 0);
  const std::uint64_t chunk = fields.countOr({"attention_chunk_size"}, tokens, 0);
  std::optional<LayerTypes> types = wordsOfLayers(draft);
  if (types && m.recurrent.layers != 0) m.recurrent.layers = types->recurrent;
  if (types && m.recurrent.layers == 0 && types->recurrent != 0) {
    draft.assume("what " + std::to_string(types->recurrent) +
                 " layers without attention keep is not known: not counted");
  }
  if (!types && m.recurrent.layers != 0) types = {m.layers - m.recurrent.layers, 0, 0, 0};
  if (!types && chunk != 0) types = {m.layers / 4, 0, m.layers - m.layers / 4, 0};
  if (!types) types = window != 0 ? windowedLayers(draft) : LayerTypes{m.layers, 0, 0, 0};
  if (types->sliding != 0 && window == 0)
    fields.fail("sliding_window", "missing, but layers slide; a whole number is expected");
  if (types->chunked != 0 && chunk == 0)
    fields.fail("attention_chunk_size",
                "missing, but layers are chunked; a whole number is expected");
  add(m, CacheKind::kFull, types->full);
  add(m, CacheKind::kSliding, types->sliding, window);
  add(m, CacheKind::kChunked, types->chunked, chunk);
}

void readQuantization(Draft& draft) {
  std::optional<Fields> fields = draft.root.object("quantization_config");
  if (!fields) fields = draft.fields.object("quantization_config");
  if (!fields) return readType(draft);
  const std::string method = fields->text("quant_method");
  const std::optional<WeightFormat> format = quantized(*fields, method);
  if (format) {
    draft.model.stored = *format;
    draft.model.stored.online = false;
    return;
  }
  readType(draft);
  draft.assume("quantization_config of " + cited(method) +
               " is not known: " + draft.model.stored.name + " is taken; say --dtype");
}

}  // namespace divvy::sizing
