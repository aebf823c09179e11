#include "manifests/manifest_template.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

namespace divvy::scheduler {
namespace {

constexpr std::string_view kComment = "#!";
constexpr std::string_view kFor = "@for ";
constexpr std::string_view kEnd = "@end@";

struct Line {
  std::size_t number;
  std::string_view text;
};

struct Block {
  std::string list;
  std::size_t number;  // of its first line
  std::vector<Line> lines;
};

bool isName(std::string_view text) {
  const auto isCapital = [](char c) { return c >= 'A' && c <= 'Z'; };
  return !text.empty() && isCapital(text.front()) &&
         std::all_of(text.begin(), text.end(),
                     [&](char c) { return isCapital(c) || (c >= '0' && c <= '9') || c == '_'; });
}

std::string_view withoutIndent(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(' '), text.size()));
}

// NAME of "@for NAME@".
std::optional<std::string> listOf(std::string_view text) {
  if (!text.starts_with(kFor) || !text.ends_with('@')) return std::nullopt;
  const std::string_view name = text.substr(kFor.size(), text.size() - kFor.size() - 1);
  return isName(name) ? std::optional<std::string>(name) : std::nullopt;
}

class Renderer {
 public:
  Renderer(const ManifestTemplate& source, const TemplateValues& values)
      : source_(source), values_(values) {}

  Result<std::string> run() {
    std::string_view rest = source_.text;
    for (std::size_t number = 1; !rest.empty(); ++number) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      Result<void> read = readLine({number, rest.substr(0, end)});
      if (!read) return std::move(read).error();
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    if (block_) return error(block_->number, "@for " + block_->list + "@ without @end@");
    if (continued_) return Error{ErrorCode::kInternal, where() + ": nothing follows the last line"};
    if (Result<void> all = checkUsed(); !all) return std::move(all).error();
    return std::move(out_);
  }

 private:
  std::string where() const { return std::string("manifest template ") + source_.name; }

  Error error(std::size_t line, const std::string& what) const {
    return {ErrorCode::kInternal, where() + ", line " + std::to_string(line) + ": " + what};
  }

  Result<void> readLine(const Line& line) {
    const std::string_view text = withoutIndent(line.text);
    if (text.starts_with(kComment)) return {};
    if (const std::optional<std::string> list = listOf(text)) {
      if (block_) return error(line.number, "@for " + *list + "@ in another block");
      block_ = Block{*list, line.number, {}};
      return {};
    }
    if (text == kEnd) return appendBlock(line.number);
    if (!block_) return append(line, nullptr);
    block_->lines.push_back(line);
    return {};
  }

  Result<void> appendBlock(std::size_t number) {
    if (!block_) return error(number, "@end@ without @for NAME@");
    const Block block = *std::exchange(block_, std::nullopt);
    const auto list = values_.lists.find(block.list);
    if (list == values_.lists.end())
      return error(block.number, "@for " + block.list + "@ has no list");
    used_.insert(block.list);
    // A block without items is read once, too: a fault in it is found whatever the list holds.
    const std::size_t before = out_.size();
    const std::vector<std::string> none{""};
    for (const std::string& item : list->second.empty() ? none : list->second) {
      const std::pair<std::string, std::string> bound{block.list, item};
      for (const Line& line : block.lines)
        if (Result<void> done = append(line, &bound); !done) return done;
    }
    if (list->second.empty()) out_.resize(before);
    return {};
  }

  // `item`: name and value of the block's placeholder; null outside of blocks.
  Result<void> append(const Line& line, const std::pair<std::string, std::string>* item) {
    std::string_view rest = continued_ ? withoutIndent(line.text) : line.text;
    continued_ = rest.ends_with('\\');
    if (continued_) rest.remove_suffix(1);
    for (std::size_t at = rest.find('@'); at != rest.npos; at = rest.find('@')) {
      const std::size_t end = rest.find('@', at + 1);
      const std::string name(rest.substr(at + 1, end == rest.npos ? 0 : end - at - 1));
      if (!isName(name)) return error(line.number, "\"@\" begins no placeholder; accepted: @NAME@");
      const std::string* value = item && item->first == name ? &item->second : valueOf(name);
      if (!value) return error(line.number, "placeholder @" + name + "@ has no value");
      out_.append(rest.substr(0, at)).append(*value);
      rest.remove_prefix(end + 1);
    }
    out_.append(rest);
    if (!continued_) out_ += '\n';
    return {};
  }

  const std::string* valueOf(const std::string& name) {
    const auto found = values_.values.find(name);
    if (found == values_.values.end()) return nullptr;
    used_.insert(name);
    return &found->second;
  }

  Result<void> checkUsed() const {
    const auto unused = [&](const std::string& placeholder) {
      return Error{ErrorCode::kInternal,
                   where() + ": a value is given for " + placeholder + ", which is on no line"};
    };
    for (const auto& [name, value] : values_.values)
      if (!used_.contains(name)) return unused('@' + name + '@');
    for (const auto& [name, list] : values_.lists)
      if (!used_.contains(name)) return unused("@for " + name + '@');
    return {};
  }

  const ManifestTemplate& source_;
  const TemplateValues& values_;
  std::set<std::string> used_;
  std::optional<Block> block_;  // that is being read
  bool continued_ = false;      // the last line ended with a backslash
  std::string out_;
};

}  // namespace

Result<std::string> renderTemplate(const ManifestTemplate& source, const TemplateValues& values) {
  return Renderer(source, values).run();
}

Result<std::string> renderManifest(std::string_view name, const TemplateValues& values) {
  const std::vector<ManifestTemplate>& all = manifestTemplates();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const ManifestTemplate& one) { return one.name == name; });
  if (found == all.end())
    return Error{ErrorCode::kInternal, "there is no manifest template " + std::string(name)};
  return renderTemplate(*found, values);
}

}  // namespace divvy::scheduler
