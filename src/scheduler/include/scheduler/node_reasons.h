// Why nodes will not do. Of thousands of them there are few different reasons: each is kept once.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace divvy::scheduler {

// A text that copies share.
class Reason {
 public:
  Reason() : Reason(std::string()) {}
  Reason(std::string text) : text_(std::make_shared<const std::string>(std::move(text))) {}
  Reason(const char* text) : Reason(std::string(text)) {}

  const std::string& text() const { return *text_; }
  // Copies are: others may still say the same.
  bool sameText(const Reason& other) const { return text_ == other.text_; }
  friend bool operator==(const Reason& a, const Reason& b) { return a.text() == b.text(); }

 private:
  std::shared_ptr<const std::string> text_;
};

// By node, in the order in which they were told; whoever told the names keeps them.
class Reasons {
 public:
  using Item = std::pair<std::string_view, Reason>;

  // Nobody tells of a node twice.
  void emplace(std::string_view node, Reason why) { items_.emplace_back(node, std::move(why)); }
  void reserve(std::size_t count) { items_.reserve(count); }

  bool empty() const { return items_.empty(); }
  std::size_t size() const { return items_.size(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  // Looks at all of them. Null: nothing was told.
  const Reason* find(std::string_view node) const {
    for (const Item& one : items_)
      if (one.first == node) return &one.second;
    return nullptr;
  }
  friend bool operator==(const Reasons&, const Reasons&) = default;
  bool contains(std::string_view node) const { return find(node) != nullptr; }
  std::unordered_set<std::string_view> nodes() const {
    std::unordered_set<std::string_view> all;
    for (const Item& one : items_) all.insert(one.first);
    return all;
  }

 private:
  std::vector<Item> items_;
};

}  // namespace divvy::scheduler
