// Options of `divvy doctor`, from words.
#include <filesystem>
#include <system_error>
#include <tuple>
#include <utility>

#include "doctor/checks.h"
#include "options/raw_options.h"

namespace divvy::cli {
namespace {

Error usage(const std::string& what) {
  return {ErrorCode::kUsage, what};
}

// Reads a directory or a file of the examined machine.
Result<void> readDir(const std::string& text, const char* option, std::string* out) {
  if (!text.empty() && text[0] != '/')
    return usage(std::string(option) + " \"" + text +
                 "\" is relative; an absolute path is accepted");
  *out = text;
  return {};
}

// On this machine a relative path is accepted. Below another root only that machine's absolute path
// is.
Result<void> readSettingsFile(const std::string& text, const std::string& root, std::string* out) {
  const bool relative = !text.empty() && text[0] != '/';
  if (!relative || root != "/") return readDir(text, "--node-settings", out);
  std::error_code fault;
  *out = std::filesystem::absolute(text, fault).lexically_normal();
  if (fault) return usage("--node-settings \"" + text + "\": " + fault.message());
  return {};
}

}  // namespace

Result<Options> makeDoctor(const RawOptions& raw) {
  const DoctorText& text = raw.doctor;
  DoctorOptions options;
  options.node = text.node;
  options.cluster = raw.cluster.cluster || (raw.plugin && !text.node);
  if (options.node && options.cluster)
    return usage(
        "--node and --cluster exclude each other; accepted: one of them, or neither for both");
  for (const std::string& id : text.only)
    if (doctor::checkNamed(id) == nullptr)
      return usage("--only \"" + id + "\" is not a check; accepted: ids of divvy doctor --list");
  options.only = text.only;
  if (text.bundle.empty() && (text.redact_names || raw.force))
    return usage("--redact-names and --force require --bundle; accepted: with --bundle FILE");
  if (text.list && !text.bundle.empty())
    return usage("--list runs no checks to bundle; accepted: --list or --bundle");
  options.bundle = text.bundle;
  options.redact_names = text.redact_names;
  options.force = raw.force;
  options.list = text.list;
  options.verbose = text.verbose;
  if (!text.root.empty()) options.root = text.root;
  for (const auto& [given, option, out] :
       {std::tuple(&text.runtime_dir, "--runtime-dir", &options.runtime_dir),
        std::tuple(&text.install_dir, "--install-dir", &options.install_dir),
        std::tuple(&text.kubelet_dir, "--kubelet-dir", &options.kubelet_dir)}) {
    const Result<void> read = readDir(*given, option, out);
    if (!read) return read.error();
  }
  const Result<void> settings =
      readSettingsFile(text.node_settings, options.root, &options.node_settings);
  if (!settings) return settings.error();
  Result<ClusterChoice> choice = clusterOf(raw);
  if (!choice) return choice.error();
  options.choice = std::move(*choice);
  const Result<Output> output = outputOf(raw);
  if (!output) return output.error();
  options.output = *output;
  return Options{options};
}

}  // namespace divvy::cli
