// Why nodes will not do. Of thousands of them there are few different reasons: each is kept once.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace divvy::scheduler {

// A text that copies share.
class Reason {
 public:
  Reason() : Reason(std::string()) {}
  Reason(std::string text) : text_(std::make_shared<const std::string>(std::move(text))) {}
  Reason(const char* text) : Reason(std::string(text)) {}

  const std::string& text() const { return *text_; }
  friend bool operator==(const Reason& a, const Reason& b) { return a.text() == b.text(); }

 private:
  std::shared_ptr<const std::string> text_;
};

// By node; whoever told the names keeps them.
using Reasons = std::unordered_map<std::string_view, Reason>;

}  // namespace divvy::scheduler
