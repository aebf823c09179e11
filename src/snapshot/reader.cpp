#include "reader.h"

#include <algorithm>

#include "writer.h"

namespace divvy::snapshot {
namespace {

constexpr std::size_t kMaxShown = 40;
constexpr std::size_t kMaxText = 4096;

}  // namespace

void Reader::fail(const std::string& what) const {
  if (!ok()) return;
  fault_->what = what;
  for (const Reader* at = this; at->parent_ != nullptr; at = at->parent_)
    fault_->path.push_back(at->step_);
  std::reverse(fault_->path.begin(), fault_->path.end());
}

bool Reader::has(const std::string& name) const {
  const boost::json::object* object = value_->if_object();
  return object != nullptr && object->contains(name);
}

const boost::json::value* Reader::find(const std::string& name) {
  known_.push_back(name);
  const boost::json::object* object = value_->if_object();
  return object == nullptr || !ok() ? nullptr : object->if_contains(name);
}

void Reader::done() const {
  if (!ok()) return;
  for (const auto& member : value_->get_object()) {
    const std::string name(member.key().data(), member.key().size());
    if (std::find(known_.begin(), known_.end(), name) != known_.end()) continue;
    std::string accepted;
    for (const std::string& one : known_) accepted += (accepted.empty() ? "" : ", ") + one;
    return Reader(member.value(), *this, {name}).fail("is not known; accepted: " + accepted);
  }
}

std::string Reader::shown() const {
  std::string text = clean(boost::json::serialize(*value_));
  if (text.size() > kMaxShown) {
    text.resize(kMaxShown);
    text = clean(text) + "...";
  }
  return text;
}

void Reader::readText(std::string& out) const {
  const boost::json::string* string = value_->if_string();
  if (string == nullptr) return fail(shown() + "; accepted: a text");
  out.assign(string->data(), string->size());
  if (out.size() > kMaxText) {
    return fail("a text of " + std::to_string(out.size()) + " bytes; accepted: at most " +
                std::to_string(kMaxText));
  }
  if (clean(out) != out) fail(shown() + "; accepted: a text without control characters");
}

void Reader::failWord(const std::string_view* words, std::size_t count) const {
  std::string accepted;
  for (std::size_t i = 0; i < count; ++i) accepted += (i == 0 ? "" : ", ") + std::string(words[i]);
  fail(shown() + "; accepted: " + accepted);
}

void Reader::either(const char* asked, const char* node, const char* gone, const char* holds,
                    const char* released, decltype(HistoryEntry::what)& out) {
  const std::string names =
      std::string(asked) + ", " + node + ", " + gone + ", " + holds + ", " + released;
  int there = 0;
  for (const char* name : {asked, node, gone, holds, released}) there += has(name) ? 1 : 0;
  if (there != 1) return fail("names no event; accepted: one of " + names);
  if (has(asked)) must(asked, out.emplace<RequestEvent>());
  if (has(node)) must(node, out.emplace<NodeUpdated>());
  if (has(gone)) must(gone, out.emplace<NodeRemoved>().node);
  if (has(holds)) must(holds, out.emplace<AllocationUpdated>());
  if (has(released)) must(released, out.emplace<AllocationReleased>().id);
}

}  // namespace divvy::snapshot
