// Values as JSON. Private.
#pragma once

#include <boost/json.hpp>
#include <string>
#include <utility>
#include <variant>

#include "enum_text.h"
#include "fields.h"
#include "traits.h"

namespace divvy::snapshot {

// Without control characters, and UTF-8.
std::string clean(const std::string& text);

class Writer {
 public:
  template <typename T>
  static boost::json::value valueOf(const T& value);

  template <typename T>
  void must(const char* name, const T& value) {
    object_[name] = valueOf(value);
  }
  // As it is by default it is left out: see objectOf.
  template <typename T>
  void member(const char* name, const T& value) {
    if constexpr (IsOptional<T>::value || IsShared<T>::value) {
      if (value) object_[name] = valueOf(*value);
    } else {
      const boost::json::value written = valueOf(value);
      const boost::json::value* usual = usual_ == nullptr ? nullptr : usual_->if_contains(name);
      if (usual == nullptr || *usual != written) object_[name] = written;
    }
  }
  void amount(const std::string& name, const engine::DeviceMemory& memory) {
    if (const auto* percent = std::get_if<engine::Percent>(&memory)) {
      must((name + "_percent").c_str(), percent->value);
    } else {
      member((name + "_bytes").c_str(), std::get<Bytes>(memory));
    }
  }
  void amount(const std::string& name, const std::optional<engine::DeviceMemory>& memory) {
    if (!memory) return;
    if (const auto* percent = std::get_if<engine::Percent>(&*memory)) {
      must((name + "_percent").c_str(), percent->value);
    } else {
      must((name + "_bytes").c_str(), std::get<Bytes>(*memory));
    }
  }
  void either(const char* asked, const char* node, const char* gone, const char* holds,
              const char* released, const decltype(HistoryEntry::what)& what) {
    if (const auto* one = std::get_if<RequestEvent>(&what)) must(asked, *one);
    if (const auto* one = std::get_if<NodeUpdated>(&what)) must(node, *one);
    if (const auto* one = std::get_if<NodeRemoved>(&what)) must(gone, one->node);
    if (const auto* one = std::get_if<AllocationUpdated>(&what)) must(holds, *one);
    if (const auto* one = std::get_if<AllocationReleased>(&what)) must(released, one->id);
  }

  // Without the members that a T has by default.
  template <typename T>
  static boost::json::object objectOf(const T& value) {
    static const boost::json::object kUsual = [] {
      Writer all;
      const T usual{};
      Fields::of(all, usual);
      return std::move(all.object_);
    }();
    Writer writer;
    writer.usual_ = &kUsual;
    Fields::of(writer, value);
    return std::move(writer.object_);
  }

 private:
  boost::json::object object_;
  const boost::json::object* usual_ = nullptr;
};

template <typename T>
boost::json::value Writer::valueOf(const T& value) {
  if constexpr (std::is_same_v<T, std::string>) {
    return boost::json::value(clean(value));
  } else if constexpr (IsName<T>::value) {
    return boost::json::value(clean(value.text));
  } else if constexpr (std::is_same_v<T, bool> || std::is_integral_v<T>) {
    return boost::json::value(value);
  } else if constexpr (std::is_enum_v<T>) {
    const std::string_view word = EnumText<T>::kAll[static_cast<std::size_t>(value)];
    return boost::json::value(boost::json::string_view(word.data(), word.size()));
  } else if constexpr (Amount<T>::kIs) {
    return boost::json::value(Amount<T>::of(value));
  } else if constexpr (IsVector<T>::value || IsArray<T>::value) {
    boost::json::array all;
    all.reserve(value.size());
    for (const auto& one : value) all.push_back(valueOf(one));
    return all;
  } else {
    return objectOf(value);
  }
}

}  // namespace divvy::snapshot
