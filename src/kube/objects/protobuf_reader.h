// Reads a protobuf message field by field, without a copy. Private. Source: protobuf.dev, Encoding.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include <google/protobuf/io/coded_stream.h>

#include "base/utf8.h"

namespace divvy::kube {

struct Field {
  enum class Form : std::uint8_t { kNumber, kBytes, kOther };

  std::uint32_t number = 0;
  Form form = Form::kOther;
  std::uint64_t value = 0;  // of kNumber
  std::string_view bytes;   // of kBytes: strings and messages

  // Each returns false for a field of another form; `out` is then unchanged.
  bool text(std::string* out) const {
    if (form != Form::kBytes || !isText(bytes)) return false;
    out->assign(bytes);
    return true;
  }
  bool flag(bool* out) const {
    if (form == Form::kNumber) *out = value != 0;
    return form == Form::kNumber;
  }
  bool whole(std::int64_t* out) const {
    if (form == Form::kNumber) *out = static_cast<std::int64_t>(value);
    return form == Form::kNumber;
  }

  static bool isText(std::string_view text) { return isUtf8(text); }
};

// Calls `read` for each field in order, until it returns false. Returns false if it did, or if
// `message` is malformed. The field's bytes refer to `message`.
template <typename F>
bool eachField(std::string_view message, F read) {
  if (message.size() > std::numeric_limits<int>::max()) return false;
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const std::uint8_t*>(message.data()),
                                            static_cast<int>(message.size()));
  constexpr std::uint32_t kVarint = 0, kFixed64 = 1, kLength = 2, kFixed32 = 5;
  while (const std::uint32_t tag = in.ReadTag()) {
    Field field;
    field.number = tag >> 3;
    bool whole = field.number != 0;
    switch (tag & 7) {
      case kVarint:
        field.form = Field::Form::kNumber;
        whole = whole && in.ReadVarint64(&field.value);
        break;
      case kLength: {
        field.form = Field::Form::kBytes;
        int length = 0;
        whole = whole && in.ReadVarintSizeAsInt(&length);
        const auto at = static_cast<std::size_t>(in.CurrentPosition());
        whole = whole && static_cast<std::size_t>(length) <= message.size() - at &&
                (length == 0 || in.Skip(length));
        if (whole) field.bytes = message.substr(at, static_cast<std::size_t>(length));
        break;
      }
      case kFixed64:
        whole = whole && in.Skip(8);
        break;
      case kFixed32:
        whole = whole && in.Skip(4);
        break;
      default:  // groups, which Kubernetes does not use
        return false;
    }
    if (!whole || !read(std::as_const(field))) return false;
  }
  return in.ConsumedEntireMessage();
}

}  // namespace divvy::kube
