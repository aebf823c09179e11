// Errors as values. A message names the failure, its place, and the accepted input.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace divvy {

// Classifies a failure for its reporter. A command exits with status 2 for kUsage, 1 for all
// others.
enum class ErrorCode {
  kUsage,        // the caller's input is wrong; the message names the accepted input
  kNotFound,     // a named thing does not exist
  kNoRoom,       // the request is valid but does not fit now
  kUnavailable,  // a peer (agent, driver) cannot be reached
  kIo,           // the operating system refused; the message holds strerror
  kCorrupt,      // bytes read from outside do not have the promised form
  kUnsupported,  // understood, but not on this machine or driver
  kInternal,     // a bug of Divvy
};

// A failure: a code, and a message of one line without a full stop at its end. A value; cheap to
// move.
class [[nodiscard]] Error {
 public:
  Error(ErrorCode code, std::string message) : code_(code), message_(std::move(message)) {}

  ErrorCode code() const { return code_; }
  const std::string& message() const { return message_; }

  // Returns the error with `doing` and a colon in front of its message: "reading control page: bad
  // magic".
  Error context(const std::string& doing) && {
    message_.insert(0, doing + ": ");
    return std::move(*this);
  }

 private:
  ErrorCode code_;
  std::string message_;
};

// Holds either a T or an Error. Member names follow std::expected. value() on an error, and error()
// on a value, are bugs and throw std::bad_variant_access.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }
  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  Error& error() & { return std::get<1>(state_); }
  const Error& error() const& { return std::get<1>(state_); }
  Error&& error() && { return std::get<1>(std::move(state_)); }

 private:
  std::variant<T, Error> state_;
};

// Holds an Error or nothing. error() without an error is a bug and throws
// std::bad_optional_access.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}

  bool has_value() const { return !error_.has_value(); }
  explicit operator bool() const { return has_value(); }
  Error& error() & { return error_.value(); }
  const Error& error() const& { return error_.value(); }
  Error&& error() && { return std::move(error_).value(); }

 private:
  std::optional<Error> error_;
};

}  // namespace divvy
