// How many streams a server and each address have. Pure. Private.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace divvy::http {

// For one thread. It must outlive its slots.
class StreamSlots {
 public:
  enum class Refusal : std::uint8_t { kNone, kAddress, kAll };

  // A place for one stream, until it is destroyed.
  class Slot {
   public:
    Slot() = default;
    ~Slot() {
      if (slots_ != nullptr) slots_->give(address_);
    }
    Slot(const Slot&) = delete;
    Slot& operator=(const Slot&) = delete;

   private:
    friend class StreamSlots;
    StreamSlots* slots_ = nullptr;
    std::string address_;
  };

  StreamSlots(std::size_t of_address, std::size_t all) : of_address_(of_address), all_(all) {}

  // Fills an empty slot, unless there are too many.
  Refusal take(const std::string& address, Slot* slot) {
    if (taken_ >= all_) return Refusal::kAll;
    const auto known = by_address_.find(address);
    if ((known == by_address_.end() ? 0 : known->second) >= of_address_) return Refusal::kAddress;
    ++by_address_[address];
    ++taken_;
    slot->slots_ = this;
    slot->address_ = address;
    return Refusal::kNone;
  }
  std::size_t taken() const { return taken_; }

 private:
  void give(const std::string& address) {
    --taken_;
    const auto known = by_address_.find(address);
    if (--known->second == 0) by_address_.erase(known);
  }

  const std::size_t of_address_;
  const std::size_t all_;
  std::size_t taken_ = 0;
  std::map<std::string, std::size_t> by_address_;
};

}  // namespace divvy::http
