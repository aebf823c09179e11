// Values from JSON: the first thing that is wrong is kept, with the way to it. Private.
#pragma once

#include <boost/json.hpp>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "enum_text.h"
#include "fields.h"
#include "json_path.h"
#include "traits.h"

namespace divvy::snapshot {

struct Fault {
  std::string what;  // empty: nothing is wrong
  Path path;
};

// Once something is wrong nothing more is read: what is read then is to be thrown away.
class Reader {
 public:
  Reader(const boost::json::value& value, Fault& fault) : value_(&value), fault_(&fault) {}

  bool ok() const { return fault_->what.empty(); }
  void fail(const std::string& what) const;

  template <typename T>
  void read(T& out) const;

  template <typename T>
  void must(const char* name, T& out) {
    const boost::json::value* found = find(name);
    if (found == nullptr) return fail(std::string(name) + " is missing");
    Reader(*found, *this, {name}).read(out);
  }
  template <typename T>
  void member(const char* name, T& out) {
    const boost::json::value* found = find(name);
    if (found != nullptr) Reader(*found, *this, {name}).read(out);
  }
  void amount(const std::string& name, engine::DeviceMemory& out) {
    Bytes bytes;
    engine::Percent percent;
    const bool share = has(name + "_percent");
    if (share && has(name + "_bytes"))
      return fail(name + "_bytes and " + name + "_percent; accepted: one of them");
    member((name + "_bytes").c_str(), bytes);
    member((name + "_percent").c_str(), percent.value);
    out = share ? engine::DeviceMemory(percent) : engine::DeviceMemory(bytes);
  }
  void amount(const std::string& name, std::optional<engine::DeviceMemory>& out) {
    if (has(name + "_bytes") || has(name + "_percent")) amount(name, out.emplace());
  }
  void either(const char* asked, const char* node, const char* gone, const char* holds,
              const char* released, decltype(HistoryEntry::what)& out);

  // What was not asked for is wrong. After all members of an object.
  void done() const;

 private:
  Reader(const boost::json::value& value, const Reader& parent, PathStep step)
      : value_(&value), parent_(&parent), step_(std::move(step)), fault_(parent.fault_) {}

  bool has(const std::string& name) const;
  const boost::json::value* find(const std::string& name);
  template <typename T>
  void readNumber(T& out, T least, T most) const;
  void readText(std::string& out) const;
  void failWord(const std::string_view* words, std::size_t count) const;
  std::string shown() const;

  const boost::json::value* value_;
  const Reader* parent_ = nullptr;
  PathStep step_;
  Fault* fault_;
  std::vector<std::string> known_;
};

template <typename T>
void Reader::readNumber(T& out, T least, T most) const {
  boost::system::error_code fault;
  const T value = value_->is_double() ? T{} : value_->to_number<T>(fault);
  if (value_->is_double() || fault || value < least || value > most) {
    return fail(shown() + "; accepted: a whole number from " + std::to_string(least) + " to " +
                std::to_string(most));
  }
  out = value;
}

template <typename T>
void Reader::read(T& out) const {
  if (!ok()) return;
  if constexpr (std::is_same_v<T, std::string>) {
    readText(out);
  } else if constexpr (IsName<T>::value) {
    readText(out.text);
  } else if constexpr (std::is_same_v<T, bool>) {
    if (!value_->is_bool()) return fail(shown() + "; accepted: true, false");
    out = value_->get_bool();
  } else if constexpr (std::is_integral_v<T>) {
    readNumber(out, std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
  } else if constexpr (Amount<T>::kIs) {
    using Number = std::remove_reference_t<decltype(Amount<T>::of(out))>;
    readNumber<Number>(Amount<T>::of(out), Amount<T>::kMin, Amount<T>::kMax);
  } else if constexpr (std::is_enum_v<T>) {
    std::string word;
    readText(word);
    const auto& words = EnumText<T>::kAll;
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (words[i] != word) continue;
      out = static_cast<T>(i);
      return;
    }
    if constexpr (requires { EnumText<T>::kFormer; }) {
      if (word == EnumText<T>::kFormer) {
        out = static_cast<T>(words.size() - 1);
        return;
      }
    }
    if (ok()) failWord(words.data(), words.size());
  } else if constexpr (IsVector<T>::value) {
    if (!value_->is_array()) return fail(shown() + "; accepted: a list");
    const boost::json::array& list = value_->get_array();
    out.reserve(list.size());
    for (std::size_t i = 0; i < list.size() && ok(); ++i)
      Reader(list[i], *this, {"", i, true}).read(out.emplace_back());
  } else if constexpr (IsArray<T>::value) {
    if (!value_->is_array() || value_->get_array().size() != out.size())
      return fail(shown() + "; accepted: a list of " + std::to_string(out.size()));
    for (std::size_t i = 0; i < out.size() && ok(); ++i)
      Reader(value_->get_array()[i], *this, {"", i, true}).read(out[i]);
  } else if constexpr (IsOptional<T>::value) {
    read(out.emplace());
  } else if constexpr (IsShared<T>::value) {
    auto made = std::make_shared<std::remove_const_t<typename T::element_type>>();
    read(*made);
    out = std::move(made);
  } else {
    if (!value_->is_object()) return fail(shown() + "; accepted: an object");
    Reader object = *this;
    Fields::of(object, out);
    object.done();
  }
}

}  // namespace divvy::snapshot
