#include "sizing/config.h"

#include <algorithm>

#include "config_parts.h"
#include "json_text.h"

namespace divvy::sizing {
namespace {

// Qwen's omni models keep what understands beside what speaks (talker_config).
Fields thinkerOf(Fields& root) {
  const std::optional<Fields> nested = root.object("thinker_config");
  return nested ? *nested : root;
}

// Where multimodal models say what their language model is.
Fields languageOf(Fields thinker) {
  for (const char* name : {"text_config", "language_config", "llm_config"}) {
    const std::optional<Fields> nested = thinker.object(name);
    if (nested) return *nested;
  }
  return thinker;
}

std::string familyOf(Fields& root, Fields& fields) {
  std::string type = fields.text("model_type");
  if (type.empty()) type = root.text("model_type");
  if (type == "gemma3") type = "gemma3_text";
  if (type == "qwen2_5_omni_text") type = "qwen2";
  if (type == "qwen3_omni_moe_text") type = "qwen3_moe";
  return type;
}

// "org/name" and nothing that a shell or a manifest would stumble over.
std::string repositoryOf(Fields& root) {
  const std::string path = root.text("_name_or_path");
  const auto safe = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.' || c == '/';
  };
  const bool fits = path.size() < 200 && std::all_of(path.begin(), path.end(), safe) &&
                    std::count(path.begin(), path.end(), '/') == 1 && path[0] != '/' &&
                    path[0] != '.' && path[0] != '-' && path.back() != '/';
  return fits ? path : "";
}

void readSize(Draft& draft) {
  ModelShape& m = draft.model;
  Fields& fields = draft.fields;
  const bool gemma = draft.is("gemma3_text");  // leaves out what is its class's default
  m.hidden = fields.need({"hidden_size", "n_embd", "d_model"}, kWidth);
  m.layers = fields.need({"num_hidden_layers", "n_layer", "num_layers"}, kLayers);
  const Fields::Range words{1, 1 << 26};
  m.vocabulary = gemma ? fields.countOr({"vocab_size"}, words, 262208)
                       : fields.need({"vocab_size", "padded_vocab_size"}, words);
  m.max_context =
      fields.countOr({"max_position_embeddings", "n_positions", "max_seq_len", "seq_length"},
                     {1, 1 << 30}, gemma ? 131072 : 0);
  // Cohere's models take more than the positions that they were trained on.
  if (draft.is("cohere"))
    m.max_context = fields.countOr({"model_max_length"}, {1, 1 << 30}, m.max_context);
  m.tied = fields.flag(
      "tie_word_embeddings",
      draft.root.flag("tie_word_embeddings", draft.family != nullptr && draft.family->tied));
}

}  // namespace

Result<ConfigReading> readConfig(std::string_view text) {
  Result<bj::value> json = parseText(text, kMaxConfigBytes);
  if (!json) return json.error();
  if (!json->is_object()) {
    return Error{ErrorCode::kCorrupt, "not an object; a model's config.json is"};
  }
  std::optional<std::string> fault;
  Fields root(json->get_object(), "", &fault);
  const Fields thinker = thinkerOf(root);
  Draft draft{root, thinker, languageOf(thinker), nullptr, {}, {}};
  ModelShape& m = draft.model;
  m.family = familyOf(draft.root, draft.fields);
  m.repository = repositoryOf(draft.root);
  if (root.flag("is_encoder_decoder", false)) {
    root.fail("is_encoder_decoder", "true is not accepted; models with a decoder alone are");
  }
  if (root.has("thinker_config"))
    draft.assume("only the thinker is counted: neither its audio tower, nor what speaks");
  draft.family = findFamily(m.family);
  if (draft.family == nullptr) {
    draft.assume("model_type " + cited(m.family) +
                 " is not known: taken as one like Llama; parameters may be off by some percent");
  }
  readSize(draft);
  readAttention(draft);
  readDense(draft);
  readExperts(draft);
  readRecurrent(draft);
  readCache(draft);
  readVision(draft);
  readQuantization(draft);
  if (fault) return Error{ErrorCode::kCorrupt, *fault};
  const Result<Parameters> parameters = countParameters(m);
  if (!parameters) return Error{ErrorCode::kCorrupt, parameters.error().message()};
  return ConfigReading{std::move(m), std::move(draft.assumptions)};
}

}  // namespace divvy::sizing
