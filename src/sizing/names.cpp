#include "sizing/names.h"

#include <algorithm>

namespace divvy::sizing {
namespace {

constexpr std::size_t kLongest = 64;
constexpr std::size_t kMaxNear = 3;

// Insertions, deletions and exchanges that make one word of the other.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

std::string lettersOf(std::string_view text) {
  std::string letters = plainName(text);
  std::erase_if(letters, [](char c) { return c == '-' || c == '.'; });
  return letters;
}

}  // namespace

std::string plainName(std::string_view text) {
  std::string plain(text);
  for (char& c : plain) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == '_' || c == ' ') c = '-';
  }
  return plain;
}

std::vector<std::string> nearNames(std::string_view text, const std::vector<std::string>& names) {
  const std::string wanted = lettersOf(text.substr(0, kLongest));
  std::vector<std::pair<std::size_t, std::string>> scored;
  for (const std::string& name : names) {
    const std::string letters = lettersOf(name);
    std::size_t far = distance(wanted, letters);
    // "llama-3" is near to all of them.
    if (wanted.size() >= 2 && letters.find(wanted) != std::string::npos)
      far = std::min<std::size_t>(far, 1);
    if (far * 3 <= std::max(wanted.size(), letters.size())) scored.emplace_back(far, name);
  }
  std::stable_sort(scored.begin(), scored.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  if (scored.size() > kMaxNear) scored.resize(kMaxNear);
  std::vector<std::string> near;
  for (auto& [far, name] : scored) near.push_back(std::move(name));
  return near;
}

std::string listed(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

}  // namespace divvy::sizing
