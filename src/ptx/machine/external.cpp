#include "machine/external.h"

#include <cstdio>
#include <string>

namespace divvy::ptx {
namespace {

constexpr std::size_t kLongestText = 1 << 16;

// The value of an argument of a call.
std::uint64_t argument(const Thread& t, const CallSite& site, std::size_t index) {
  const Actual& actual = site.inputs[index];
  if (!actual.in_frame) return t.raw(actual.operand);
  std::uint64_t value = 0;
  std::memcpy(&value, t.regs + actual.operand, std::min<std::size_t>(actual.bytes, 8));
  return value;
}

bool readText(const Inst& inst, Thread& t, std::uint64_t address, std::string* out) {
  for (; out->size() < kLongestText; ++address) {
    const std::byte* const byte = t.at(inst, Space::kGeneric, address, 1, false);
    if (byte == nullptr) return false;
    if (*byte == std::byte{0}) return true;
    out->push_back(static_cast<char>(*byte));
  }
  return true;
}

void print(Thread& t, std::string_view text) {
  if (t.grid->launch.print != nullptr) {
    t.grid->launch.print(text);
  } else {
    std::fwrite(text.data(), 1, text.size(), stdout);
  }
}

// Walks the arguments of printf: each at the next multiple of its size.
class Format {
 public:
  Format(const Inst& inst, Thread& t, std::uint64_t arguments)
      : inst_(inst), thread_(t), next_(arguments) {}

  bool run(const std::string& format) {
    for (std::size_t i = 0; i < format.size(); ++i) {
      if (format[i] != '%') {
        text_ += format[i];
        continue;
      }
      const std::size_t end = format.find_first_of("diouxXcsfFeEgGaAp%", i + 1);
      if (end == std::string::npos) {
        text_ += format.substr(i);
        break;
      }
      if (!one(format.substr(i, end - i + 1))) return false;
      i = end;
    }
    return true;
  }
  const std::string& text() const { return text_; }
  int count() const { return count_; }

 private:
  template <typename T>
  bool take(T* out) {
    next_ = (next_ + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    const std::byte* const from = thread_.at(inst_, Space::kGeneric, next_, sizeof(T), false);
    if (from == nullptr) return false;
    std::memcpy(out, from, sizeof(T));
    next_ += sizeof(T);
    return true;
  }

  template <typename T>
  void append(const std::string& spec, T value) {
    const int length = std::snprintf(nullptr, 0, spec.c_str(), value);
    if (length <= 0) return;
    std::string made(static_cast<std::size_t>(length) + 1, '\0');
    std::snprintf(made.data(), made.size(), spec.c_str(), value);
    made.pop_back();
    text_ += made;
  }

  // spec begins with % and ends with its conversion. Widths from arguments come first.
  bool one(std::string spec) {
    for (std::size_t star = spec.find('*'); star != std::string::npos; star = spec.find('*')) {
      int width = 0;
      if (!take(&width)) return false;
      spec.replace(star, 1, std::to_string(width));
    }
    const char conversion = spec.back();
    if (conversion == '%') {
      text_ += '%';
      return true;
    }
    ++count_;
    const bool wide = spec.find_first_of("ljzt") != std::string::npos;
    if (conversion == 's') return string(spec);
    if (std::string_view("fFeEgGaA").find(conversion) != std::string_view::npos) {
      double value = 0;
      if (!take(&value)) return false;
      append(spec, value);
    } else if (conversion == 'p') {
      std::uint64_t value = 0;
      if (!take(&value)) return false;
      append(spec, reinterpret_cast<void*>(static_cast<std::uintptr_t>(value)));
    } else if (wide) {
      long long value = 0;
      if (!take(&value)) return false;
      append(spec, value);
    } else {
      int value = 0;
      if (!take(&value)) return false;
      append(spec, value);
    }
    return true;
  }

  bool string(const std::string& spec) {
    std::uint64_t address = 0;
    std::string value;
    if (!take(&address) || !readText(inst_, thread_, address, &value)) return false;
    append(spec, value.c_str());
    return true;
  }

  const Inst& inst_;
  Thread& thread_;
  std::uint64_t next_;
  std::string text_;
  int count_ = 0;
};

bool callPrintf(const Inst& inst, Thread& t, const CallSite& site) {
  std::string format;
  if (site.inputs.size() != 2) return t.fail(inst, FaultKind::kIllegalCall);
  if (!readText(inst, t, argument(t, site, 0), &format)) return false;
  Format printed(inst, t, argument(t, site, 1));
  if (!printed.run(format)) return false;
  print(t, printed.text());
  if (!site.outputs.empty()) {
    t.regs[site.outputs[0].operand] = static_cast<std::uint32_t>(printed.count());
  }
  return true;
}

// __assertfail(message, file, line, function, size of a character)
bool callAssert(const Inst& inst, Thread& t, const CallSite& site) {
  if (site.inputs.size() < 4) return t.fail(inst, FaultKind::kIllegalCall);
  std::string message;
  std::string file;
  std::string function;
  const bool readable = readText(inst, t, argument(t, site, 0), &message) &&
                        readText(inst, t, argument(t, site, 1), &file) &&
                        readText(inst, t, argument(t, site, 3), &function);
  if (!readable) return false;
  const auto triple = [](const std::array<unsigned, 3>& v) {
    return "[" + std::to_string(v[0]) + "," + std::to_string(v[1]) + "," + std::to_string(v[2]) +
           "]";
  };
  const auto line = static_cast<std::uint32_t>(argument(t, site, 2));
  print(t, file + ":" + std::to_string(line) + ": " + function + ": block: " + triple(t.block->id) +
               ", thread: " + triple(t.tid) + " Assertion `" + message + "` failed.\n");
  return t.fail(inst, FaultKind::kAssert);
}

}  // namespace

bool callExternal(const Inst& inst, Thread& t, const CallSite& site, External which) {
  return which == External::kPrintf ? callPrintf(inst, t, site) : callAssert(inst, t, site);
}

}  // namespace divvy::ptx
