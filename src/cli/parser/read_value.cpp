#include <charconv>

#include "options/options.h"

namespace divvy::cli {

Result<void> readSwitch(const std::string& text, const char* option, bool* value) {
  if (text.empty()) return {};
  *value = text == "on";
  if (text == "on" || text == "off") return {};
  return Error{ErrorCode::kUsage,
               std::string(option) + " \"" + text + "\" is not known; accepted: on, off"};
}

Result<unsigned> parseCount(std::string_view text, const std::string& what, unsigned low,
                            unsigned high) {
  unsigned count = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (fault == std::errc{} && end == text.data() + text.size() && count >= low && count <= high)
    return count;
  return Error{ErrorCode::kUsage, what + " \"" + std::string(text) +
                                      "\" is not accepted; a whole number from " +
                                      std::to_string(low) + " to " + std::to_string(high) + " is"};
}

Result<unsigned> parseCores(std::string_view text, unsigned gpus) {
  std::string_view digits = text;
  if (digits.ends_with('%')) digits.remove_suffix(1);
  const unsigned least = gpus == 0 ? 1 : gpus;
  const unsigned most = 100 * (gpus == 0 ? kMaxGpus : gpus);
  const Result<unsigned> percent = parseCount(digits, "--cores", least, most);
  if (percent) return percent;
  std::string why = "--cores \"" + std::string(text) + "\" is not accepted";
  if (gpus != 0) why += " for " + std::to_string(gpus) + (gpus == 1 ? " GPU" : " GPUs");
  why += "; a whole number from " + std::to_string(least) + " to ";
  why += gpus == 0 ? "100 for each GPU" : std::to_string(most);
  if (gpus > 1) why += " (1 to 100 of each)";
  return Error{ErrorCode::kUsage, why + " is"};
}

}  // namespace divvy::cli
