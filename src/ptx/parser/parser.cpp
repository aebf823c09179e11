#include "parser/parser.h"

#include <algorithm>
#include <charconv>

namespace divvy::ptx {

Parser::Parser(std::string_view text, Program* program)
    : cursor_(tokenize(text)), program_(program) {
  builder_.program = program;
}

void Parser::run() {
  header();
  while (!cursor_.atEnd()) moduleItem();
  finish();
}

// .version 9.0   .target sm_90a, debug   .address_size 64
void Parser::header() {
  if (!cursor_.peek().is(".version")) cursor_.fail("expected .version before anything else");
  cursor_.next();
  const int line = cursor_.peek().line;
  const std::string version(cursor_.next().text);
  const std::size_t dot = version.find('.');
  const auto major = integerOf(version.substr(0, dot));
  const auto minor = dot == std::string::npos ? std::nullopt : integerOf(version.substr(dot + 1));
  if (!major || !minor) cursor_.fail("'" + version + "' is no version");
  program_->version = static_cast<int>(*major * 10 + *minor);
  if (program_->version > kNewestVersion) {
    newer_ = true;
    throw ParseFailure{line, ".version " + version + " is newer than this driver knows"};
  }
  cursor_.expect(".target");
  const std::string_view target = cursor_.word();
  if (!target.starts_with("sm_")) cursor_.fail("unknown target '" + std::string(target) + "'");
  const std::string_view digits = target.substr(3);
  std::from_chars(digits.data(), digits.data() + digits.size(), program_->target);
  while (cursor_.accept(",")) cursor_.word();
}

void Parser::moduleItem() {
  if (cursor_.peek().is(".file") || cursor_.peek().is(".loc")) return cursor_.skipLine();
  if (cursor_.accept(".address_size")) {
    if (cursor_.integer() != 64) cursor_.fail("only .address_size 64 can be run");
    return;
  }
  if (cursor_.accept(".section")) {
    cursor_.word();
    return cursor_.skipBraces();
  }
  if (cursor_.accept(".pragma")) {
    cursor_.skipPast(";");
    return;
  }
  if (cursor_.accept(";")) return;
  Head head;
  bool linkage = true;
  while (linkage) {
    const bool external = cursor_.accept(".extern");
    head.external = head.external || external;
    linkage = external || cursor_.accept(".visible") || cursor_.accept(".weak") ||
              cursor_.accept(".common");
  }
  const Token& token = cursor_.peek();
  if (token.is(".entry") || token.is(".func")) {
    head.entry = token.is(".entry");
    cursor_.next();
    return functionItem(head);
  }
  if (token.is(".global") || token.is(".const"))
    return globalVariable(declaration(), head.external);
  if (token.is(".shared")) return sharedVariable(declaration());
  cursor_.fail("unknown directive " + Cursor::shown(token));
}

void Parser::finish() {
  for (const auto& [index, line] : function_lines_) {
    const Function& function = program_->functions[index];
    if (function.defined || function.external != External::kNone) continue;
    // Declared but not called: nobody misses it.
    const bool named = std::any_of(program_->functions.begin(), program_->functions.end(),
                                   [&, i = index](const Function& caller) {
                                     const auto& list = caller.functions;
                                     return std::find(list.begin(), list.end(), i) != list.end();
                                   });
    if (named) throw ParseFailure{line, "unresolved external function '" + function.name + "'"};
  }
  for (std::size_t i = 0; i < global_defined_.size(); ++i) {
    if (global_defined_[i]) continue;
    cursor_.fail("unresolved external variable '" + program_->globals[i].name + "'");
  }
}

}  // namespace divvy::ptx
