#include "ptx/module.h"

#include "parser/parser.h"
#include "program/code.h"

namespace divvy::ptx {

Module::Module(std::unique_ptr<Program> program) : program_(std::move(program)) {}

Module::~Module() = default;

std::shared_ptr<const Module> Module::parse(std::string_view text, ParseError* error) {
  auto program = std::make_unique<Program>();
  bool newer = false;
  try {
    Parser parser(text, program.get());
    try {
      parser.run();
    } catch (const ParseFailure&) {
      newer = parser.newerVersion();
      throw;
    }
  } catch (const ParseFailure& failure) {
    *error = {.status = newer ? ParseStatus::kNewerVersion : ParseStatus::kInvalid,
              .line = failure.line,
              .what = failure.what};
    return nullptr;
  }
  for (std::size_t i = 0; i < program->kernels.size(); ++i) {
    const SharedLayout layout = layOutShared(*program, program->kernel_functions[i]);
    program->kernels[i].static_shared_bytes = static_cast<int>(layout.static_bytes);
  }
  *error = {};
  return std::shared_ptr<const Module>(new Module(std::move(program)));
}

const std::vector<Kernel>& Module::kernels() const {
  return program_->kernels;
}

const std::vector<Global>& Module::globals() const {
  return program_->globals;
}

int Module::version() const {
  return program_->version;
}

int Module::target() const {
  return program_->target;
}

int Module::findKernel(std::string_view name) const {
  for (std::size_t i = 0; i < program_->kernels.size(); ++i) {
    if (program_->kernels[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace divvy::ptx
