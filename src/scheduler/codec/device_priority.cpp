#include "scheduler/device_priority.h"

#include <charconv>
#include <functional>

#include <boost/json.hpp>

#include "annotations/priority_annotations.h"
#include "annotations/share_annotations.h"
#include "base/quantity.h"
#include "share_options/share_options.h"

namespace divvy::scheduler {
namespace {

constexpr std::string_view kPriority = "priority";

using Put = std::function<bool(std::string_view name, std::string word)>;

// "a=high,b=low".
Result<void> readEach(std::string_view text, const std::string& accepted, const Put& put) {
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view item = text.substr(0, comma);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    const std::size_t equals = item.rfind('=');
    const Error bad(ErrorCode::kUsage,
                    '"' + std::string(item) + "\" is not accepted; " + accepted + " is");
    if (equals == std::string_view::npos || equals == 0) return bad;
    const std::string_view word = item.substr(equals + 1);
    const Result<void> good = share_options::check(*share_options::ofAnnotation(kPriority), word);
    if (!good) return Error(good.error()).context('"' + std::string(item) + '"');
    if (!put(item.substr(0, equals), std::string(word))) return bad;
  }
  return {};
}

const std::string* wordFor(const kube::Pod& pod, const boost::json::value& object,
                           const PriorityRules& rules) {
  boost::system::error_code fault;
  const boost::json::value* name = object.find_pointer("/spec/priorityClassName", fault);
  if (name != nullptr && name->is_string()) {
    const auto found = rules.by_class.find(std::string(name->get_string()));
    if (found != rules.by_class.end()) return &found->second;
  }
  const auto above = rules.by_value.upper_bound(pod.priority);
  return above == rules.by_value.begin() ? nullptr : &std::prev(above)->second;
}

// None: it states no priority, or an unreadable one, which is refused elsewhere.
std::optional<std::string> wordOf(const kube::PodContainer& container,
                                  const vendors::Catalog& catalog) {
  for (const vendors::Kind* kind : catalog.kinds()) {
    const auto found = container.limits.find(kind->priority);
    if (kind->priority.empty() || found == container.limits.end()) continue;
    const Result<Quantity> read = Quantity::parse(found->second);
    if (read && !read->negative() && read->whole()) return *read->whole() == 0 ? "high" : "low";
  }
  return std::nullopt;
}

}  // namespace

Result<void> readPriorityClasses(std::string_view text, PriorityRules* rules) {
  return readEach(text, "NAME=PRIORITY", [&](std::string_view name, std::string word) {
    return rules->by_class.emplace(name, std::move(word)).second;
  });
}

Result<void> readPriorityValues(std::string_view text, PriorityRules* rules) {
  return readEach(text, "VALUE=PRIORITY, with a whole number that is there once,",
                  [&](std::string_view name, std::string word) {
                    std::int64_t value = 0;
                    const char* end = name.data() + name.size();
                    const auto [at, fault] = std::from_chars(name.data(), end, value);
                    return fault == std::errc{} && at == end &&
                           rules->by_value.emplace(value, std::move(word)).second;
                  });
}

std::map<std::string, std::string> priorityNotes(const kube::Pod& pod,
                                                 const boost::json::value& object,
                                                 const vendors::Catalog& catalog,
                                                 const PriorityRules& rules) {
  std::map<std::string, std::string> notes;
  const auto note = [&](const std::string& key, const std::string& word) {
    if (!pod.meta.annotations.contains(key)) notes.emplace(key, word);
  };
  for (const auto* list : {&pod.init, &pod.containers})
    for (const kube::PodContainer& one : *list)
      if (const auto word = wordOf(one, catalog)) note(wishKey(kPriority, one.name), *word);
  if (const std::string* word = wordFor(pod, object, rules)) note(wishKey(kPriority), *word);
  return notes;
}

}  // namespace divvy::scheduler
