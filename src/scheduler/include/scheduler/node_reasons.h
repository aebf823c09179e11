// Reasons why nodes do not fit. Thousands of nodes share a few different reasons, so each text is
// stored once.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace divvy::scheduler {

// An immutable text. Copies share the storage.
class Reason {
 public:
  Reason() : Reason(std::string()) {}
  Reason(std::string text) : text_(std::make_shared<const std::string>(std::move(text))) {}
  Reason(const char* text) : Reason(std::string(text)) {}

  const std::string& text() const { return *text_; }
  // Returns true if both share one storage, as copies do. Equal texts may have different storage.
  bool sameText(const Reason& other) const { return text_ == other.text_; }
  friend bool operator==(const Reason& a, const Reason& b) { return a.text() == b.text(); }

 private:
  std::shared_ptr<const std::string> text_;
};

// Reasons by node, in the order in which they were added. The caller owns the names of nodes, which
// outlive this.
class Reasons {
 public:
  using Item = std::pair<std::string_view, Reason>;

  // The caller adds each node at most once.
  void emplace(std::string_view node, Reason why) { items_.emplace_back(node, std::move(why)); }
  void reserve(std::size_t count) { items_.reserve(count); }

  bool empty() const { return items_.empty(); }
  std::size_t size() const { return items_.size(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  // Linear search. Null: the node has no reason.
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
