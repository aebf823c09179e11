#include "sizing/config.h"

#include <algorithm>

#include "base/bytes.h"
#include "config_parts.h"

namespace divvy::sizing {
namespace {

// Python writes Infinity and NaN, which JSON has not. No field that is read here has them; what
// stands there keeps its length, so that places stay right.
std::string withoutPython(std::string_view text) {
  std::string json(text);
  bool quoted = false;
  for (std::size_t at = 0; at < json.size(); ++at) {
    if (json[at] == '"') quoted = !quoted;
    if (quoted && json[at] == '\\') ++at;
    if (quoted) continue;
    for (const auto& [word, instead] :
         {std::pair("-Infinity", "\"\"       "), std::pair("Infinity", "\"\"      "),
          std::pair("NaN", "\"\" ")}) {
      if (json.compare(at, std::string_view(word).size(), word) != 0) continue;
      json.replace(at, std::string_view(word).size(), instead);
      at += 1;
      break;
    }
  }
  return json;
}

Error syntaxError(std::string_view text, std::size_t at, const std::string& what) {
  const std::string_view before = text.substr(0, std::min(at, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t start = before.rfind('\n');
  const std::size_t column = at - (start == std::string_view::npos ? 0 : start + 1) + 1;
  return {ErrorCode::kCorrupt, "line " + std::to_string(line) + ", column " +
                                   std::to_string(column) + ": not JSON (" + what + ")"};
}

Result<bj::value> parse(std::string_view text) {
  if (text.size() > kMostConfigBytes) {
    return Error{ErrorCode::kCorrupt, "larger than " + formatBytes({kMostConfigBytes}) +
                                          ": that is no model's config.json"};
  }
  const std::string json = withoutPython(text);
  boost::system::error_code fault;
  bj::parser parser;
  const std::size_t used = parser.write_some(json.data(), json.size(), fault);
  if (fault) return syntaxError(text, used, fault.message());
  const std::size_t rest = json.find_first_not_of(" \t\r\n", used);
  if (rest != std::string::npos) return syntaxError(text, rest, "something follows the object");
  return parser.release();
}

// Where multimodal models say what their language model is.
Fields languageOf(Fields& root) {
  for (const char* name : {"text_config", "language_config", "llm_config"}) {
    const std::optional<Fields> nested = root.object(name);
    if (nested) return *nested;
  }
  return root;
}

std::string familyOf(Fields& root, Fields& fields) {
  std::string type = fields.text("model_type");
  if (type.empty()) type = root.text("model_type");
  if (type == "gemma3") type = "gemma3_text";
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
  m.tied = fields.flag(
      "tie_word_embeddings",
      draft.root.flag("tie_word_embeddings", draft.family != nullptr && draft.family->tied));
}

}  // namespace

Result<ConfigReading> readConfig(std::string_view text) {
  Result<bj::value> json = parse(text);
  if (!json) return json.error();
  if (!json->is_object()) {
    return Error{ErrorCode::kCorrupt, "not an object; a model's config.json is"};
  }
  std::optional<std::string> fault;
  Fields root(json->get_object(), "", &fault);
  Draft draft{root, languageOf(root), nullptr, {}, {}};
  ModelShape& m = draft.model;
  m.family = familyOf(draft.root, draft.fields);
  m.repository = repositoryOf(draft.root);
  if (root.flag("is_encoder_decoder", false)) {
    root.fail("is_encoder_decoder", "true is not accepted; models with a decoder alone are");
  }
  draft.family = findFamily(m.family);
  if (draft.family == nullptr) {
    draft.assume("model_type \"" + m.family.substr(0, 40) +
                 "\" is not known: taken as one like Llama; parameters may be off by some percent");
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
