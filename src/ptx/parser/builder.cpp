#include "parser/builder.h"

#include <algorithm>
#include <charconv>

namespace divvy::ptx {

bool Scope::find(std::string_view name, Symbol* out) const {
  if (const auto exact = names_.find(name); exact != names_.end()) {
    *out = exact->second;
    return true;
  }
  // The digits at its end are the index, but a prefix may have digits of its own: %rd1, %f16x2.
  for (std::size_t split = name.size(); split > 1; --split) {
    if (name[split - 1] < '0' || name[split - 1] > '9') return false;
    const auto family = families_.find(name.substr(0, split - 1));
    if (family == families_.end()) continue;
    std::uint32_t index = 0;
    std::from_chars(name.data() + split - 1, name.data() + name.size(), index);
    if (index >= family->second.count) continue;
    *out = {.kind = SymbolKind::kRegister,
            .type = family->second.type,
            .index = family->second.first + index};
    return true;
  }
  return false;
}

bool Builder::find(std::string_view name, Symbol* out) const {
  return std::any_of(scopes.rbegin(), scopes.rend(),
                     [&](const Scope& scope) { return scope.find(name, out); });
}

std::uint32_t Builder::newBytes(std::uint64_t bytes, std::uint64_t alignment) {
  // Frames begin at any slot; 16 bytes of alignment are a matter of the slot's number.
  if (alignment > 8 && function->slots % 2 != 0) ++function->slots;
  return newSlots(static_cast<std::uint32_t>((bytes + 7) / 8));
}

Operand Builder::constant(std::uint64_t value) {
  const auto [known, fresh] = known_constants.try_emplace(value, 0);
  if (fresh) {
    known->second = ~static_cast<Operand>(program->constants.size());
    program->constants.push_back(value);
  }
  return known->second;
}

Operand Builder::address(const Symbol& symbol, std::int64_t addend, bool generic) {
  const bool shared = symbol.kind == SymbolKind::kShared;
  const auto index = static_cast<std::uint32_t>(program->constants.size());
  program->constants.push_back(static_cast<std::uint64_t>(addend));
  program->fixes.push_back(
      {.index = index, .shared = shared, .generic = generic, .symbol = symbol.index});
  if (shared) function->shared.push_back(symbol.index);
  return ~static_cast<Operand>(index);
}

std::uint32_t Builder::functionNamed(std::string_view name) {
  const auto known = functions_by_name.find(name);
  if (known != functions_by_name.end()) return known->second;
  const auto index = static_cast<std::uint32_t>(program->functions.size());
  program->functions.emplace_back().name = name;
  functions_by_name.emplace(name, index);
  return index;
}

void Builder::finishFunction() {
  for (const Jump& jump : jumps) {
    const auto label = labels.find(jump.label);
    if (label == labels.end()) {
      throw ParseFailure{jump.line, "unknown label '" + std::string(jump.label) + "'"};
    }
    function->code[jump.inst].extra = label->second;
  }
  for (const JumpTable& table : tables) {
    for (const std::string_view name : table.labels) {
      const auto label = labels.find(name);
      if (label == labels.end()) {
        throw ParseFailure{table.line, "unknown label '" + std::string(name) + "'"};
      }
      program->lists[table.list].push_back(label->second);
    }
  }
  jumps.clear();
  tables.clear();
  labels.clear();
}

}  // namespace divvy::ptx
