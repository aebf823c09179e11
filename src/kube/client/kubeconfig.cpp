// Kubeconfigs: one, or several merged. Source: kubernetes.io, "Organizing Cluster Access Using
// kubeconfig Files", "Merging kubeconfig files".
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "base/base64.h"
#include "client/access_parts.h"
#include "yaml/reader.h"

namespace divvy::kube {
namespace {

// One file. The first error is kept in the reader or in `fault_`.
class File {
 public:
  explicit File(const KubeconfigText& file) : reader_(file.source), folder_(file.folder) {
    std::optional<YAML::Node> root = reader_.parse(file.text);
    if (!root || root->IsNull()) return;  // an empty file defines nothing
    if (root->IsMap()) {
      root_ = *root;
    } else {
      reader_.fail(*root, "is not a kubeconfig: expected a map");
    }
  }

  bool wrong() const { return fault_ || reader_.error(); }
  Error error() const { return fault_ ? *fault_ : *reader_.error(); }

  std::string current() { return textOf(root_, "current-context"); }
  // The first entry of the list with that name; its value may be null.
  std::optional<YAML::Node> named(const char* list, const char* member, const std::string& name) {
    std::optional<YAML::Node> found;
    each(root_, list, [&](const YAML::Node& one) {
      if (found || !one.IsMap() || textOf(one, "name") != name) return;
      const YAML::Node said = one[member];
      if (said && !said.IsNull() && !said.IsMap())
        return reader_.fail(said, std::string(member) + " is not a map");
      found = said && said.IsMap() ? said : YAML::Node(YAML::NodeType::Map);
    });
    return found;
  }

  // The names of a list's entries, in their order.
  std::vector<std::string> names(const char* list) {
    std::vector<std::string> names;
    each(root_, list, [&](const YAML::Node& one) {
      if (one.IsMap()) names.push_back(textOf(one, "name"));
    });
    return names;
  }

  // Reads one key of a map; other keys are ignored.
  std::string textOf(const YAML::Node& map, const char* key) {
    if (!map.IsMap()) return "";
    const YAML::Node found = map[key];
    if (!found || found.IsNull()) return "";
    if (!found.IsScalar()) reader_.fail(found, std::string(key) + " is not a text");
    return found.IsScalar() ? found.Scalar() : "";
  }

  // Values that the command line overrides are not read, because they may be wrong on this machine.
  void takeCluster(const YAML::Node& map, const AccessWords& words, Access* access);
  void takeUser(const YAML::Node& map, const AccessWords& words, Access* access);

 private:
  // Calls `item` for each element; none if the list is absent or null.
  template <typename F>
  void each(const YAML::Node& map, const char* key, F item) {
    if (!map.IsMap()) return;
    const YAML::Node found = map[key];
    if (!found || found.IsNull()) return;
    if (!found.IsSequence()) return reader_.fail(found, std::string(key) + " is not a list");
    for (const YAML::Node& one : found) item(one);
  }

  // NAME is the path of a file, NAME-data its content.
  void takeFile(const YAML::Node& map, const std::string& name, std::string* out) {
    const std::string data = textOf(map, (name + "-data").c_str());
    if (!data.empty()) {
      const std::optional<std::string> decoded = fromBase64(data);
      if (!decoded) return reader_.fail(map[name + "-data"], name + "-data is not base64");
      *out = *decoded;
      return;
    }
    const std::string path = textOf(map, name.c_str());
    if (path.empty()) return;
    Result<std::string> content = contentOf(resolved(path));
    if (content) {
      *out = std::move(*content);
    } else if (!fault_) {
      fault_ = std::move(content).error().context(name);
    }
  }

  std::string resolved(const std::string& path) const {
    return path.front() == '/' || folder_.empty() ? path : folder_ + '/' + path;
  }

  void takeExec(const YAML::Node& map, Access* access);

  YamlReader reader_;
  std::string folder_;
  YAML::Node root_{YAML::NodeType::Map};
  std::optional<Error> fault_;
};

void File::takeCluster(const YAML::Node& map, const AccessWords& words, Access* access) {
  if (words.server.empty()) {
    const Result<void> server = takeServer(textOf(map, "server"), access);
    if (!server) reader_.fail(map, server.error().message());
    access->server_name = textOf(map, "tls-server-name");
  }
  if (!textOf(map, "proxy-url").empty())
    reader_.fail(map["proxy-url"], "proxy-url is not supported: reach the server directly");
  if (words.insecure || !words.authority_file.empty()) return;
  reader_.flag(map, "insecure-skip-tls-verify", &access->insecure);
  takeFile(map, "certificate-authority", &access->authority);
}

void File::takeUser(const YAML::Node& map, const AccessWords& words, Access* access) {
  access->as.user = textOf(map, "as");
  access->as.uid = textOf(map, "as-uid");
  each(map, "as-groups", [&](const YAML::Node& one) {
    access->as.groups.push_back(one.IsScalar() ? one.Scalar() : std::string());
  });
  if (map["as-user-extra"] && map["as-user-extra"].size() != 0)
    reader_.fail(map["as-user-extra"], "as-user-extra is not supported; as, as-uid, as-groups are");
  if (!words.token.empty()) return;
  access->token = textOf(map, "token");
  const std::string token_file = textOf(map, "tokenFile");
  if (!token_file.empty()) access->token_file = resolved(token_file);
  if (map["exec"] && map["exec"].IsMap()) takeExec(map["exec"], access);
  if (!words.certificate_file.empty()) return;
  takeFile(map, "client-certificate", &access->certificate);
  takeFile(map, "client-key", &access->key);
}

void File::takeExec(const YAML::Node& map, Access* access) {
  ExecPlugin& exec = access->exec.emplace();
  exec.api_version = textOf(map, "apiVersion");
  exec.command = textOf(map, "command");
  if (exec.command.empty()) return reader_.fail(map, "exec has no command");
  // A name without '/' is searched for in PATH.
  if (exec.command.find('/') != std::string::npos) exec.command = resolved(exec.command);
  each(map, "args", [&](const YAML::Node& one) {
    exec.arguments.push_back(one.IsScalar() ? one.Scalar() : std::string());
  });
  each(map, "env", [&](const YAML::Node& one) {
    exec.environment.emplace_back(textOf(one, "name"), textOf(one, "value"));
  });
}

// All files as one. For each name, and for current-context, only the first file that has it counts.
class Merged {
 public:
  explicit Merged(const std::vector<KubeconfigText>& files) {
    files_.reserve(files.size());
    for (const KubeconfigText& file : files) {
      files_.emplace_back(file);
      sources_ += (sources_.empty() ? "" : ", ") + file.source;
    }
  }

  Result<std::vector<std::string>> contexts() {
    std::vector<std::string> all;
    for (File& file : files_)
      for (std::string& name : file.names("contexts"))
        if (!name.empty() && std::find(all.begin(), all.end(), name) == all.end())
          all.push_back(std::move(name));
    if (const File* bad = wrong()) return bad->error();
    return all;
  }

  Result<Access> read(const AccessWords& words) {
    if (const File* bad = wrong()) return bad->error();
    Result<Access> access = chosen(words);
    // Errors of the files precede, even if they were found only while reading.
    if (const File* bad = wrong()) return bad->error();
    return access;
  }

 private:
  struct Entry {
    File* file;
    YAML::Node said;
  };

  const File* wrong() const {
    for (const File& file : files_)
      if (file.wrong()) return &file;
    return nullptr;
  }
  Error fail(const std::string& what) const { return {ErrorCode::kUsage, sources_ + ": " + what}; }

  Result<Entry> named(const char* list, const char* member, const std::string& name) {
    for (File& file : files_)
      if (std::optional<YAML::Node> said = file.named(list, member, name))
        return Entry{&file, std::move(*said)};
    return fail(std::string("has no ") + member + " \"" + name + '"');
  }

  std::string current() {
    for (File& file : files_)
      if (std::string name = file.current(); !name.empty()) return name;
    return "";
  }

  Result<Access> chosen(const AccessWords& words) {
    const std::string context = words.context.empty() ? current() : words.context;
    Access access;
    access.context = context;
    std::string cluster = words.cluster, user = words.user;
    if (!context.empty()) {
      const Result<Entry> found = named("contexts", "context", context);
      if (!found) return found.error();
      const auto said = [&](const char* key) { return found->file->textOf(found->said, key); };
      if (const std::string namespace_name = said("namespace"); !namespace_name.empty())
        access.namespace_name = namespace_name;
      if (cluster.empty()) cluster = said("cluster");
      if (user.empty()) user = said("user");
    } else if (cluster.empty() && words.server.empty()) {
      return fail("has no current-context, and none was asked for");
    }
    // Without a cluster, the command line names the server.
    if (!cluster.empty() || words.server.empty()) {
      const Result<Entry> found = named("clusters", "cluster", cluster);
      if (!found) return found.error();
      found->file->takeCluster(found->said, words, &access);
    }
    if (user.empty()) return access;
    const Result<Entry> found = named("users", "user", user);
    if (!found) return found.error();
    found->file->takeUser(found->said, words, &access);
    return access;
  }

  std::vector<File> files_;
  std::string sources_;
};

std::string folderOf(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return "";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Result<KubeconfigText> textAt(const std::string& path) {
  Result<std::string> text = contentOf(path);
  if (!text) return Error(text.error()).context("kubeconfig");
  return KubeconfigText{std::move(*text), path, folderOf(path)};
}

bool absent(const std::string& path) {
  struct stat found {};
  return ::stat(path.c_str(), &found) != 0 && (errno == ENOENT || errno == ENOTDIR);
}

}  // namespace

Result<Access> kubeconfigAccess(const std::vector<KubeconfigText>& files,
                                const AccessWords& words) {
  Result<Access> access = Merged(files).read(words);
  if (!access) return access.error();
  const Result<void> used = applyWords(words, &*access);
  if (!used) return used.error();
  return access;
}

Result<Access> kubeconfigFileAccess(const std::string& path, const AccessWords& words) {
  const Result<KubeconfigText> file = textAt(path);
  if (!file) return file.error();
  return kubeconfigAccess({*file}, words);
}

namespace {

// Those of the files that exist.
Result<std::vector<KubeconfigText>> textsAt(const std::string& paths) {
  std::vector<KubeconfigText> files;
  for (std::size_t at = 0; at <= paths.size();) {
    const std::size_t end = std::min(paths.find(':', at), paths.size());
    const std::string path = paths.substr(at, end - at);
    at = end + 1;
    if (path.empty() || absent(path)) continue;
    Result<KubeconfigText> file = textAt(path);
    if (!file) return file.error();
    files.push_back(std::move(*file));
  }
  return files;
}

Error noneThere(const std::string& paths) {
  return {ErrorCode::kIo, "no kubeconfig is there: " + paths + " cannot be read"};
}

}  // namespace

Result<Access> kubeconfigListAccess(const std::string& paths, const AccessWords& words) {
  const Result<std::vector<KubeconfigText>> files = textsAt(paths);
  if (!files) return files.error();
  if (files->empty() && words.server.empty()) return noneThere(paths);
  return kubeconfigAccess(*files, words);
}

Result<std::vector<std::string>> kubeconfigContexts(const std::string& paths) {
  const Result<std::vector<KubeconfigText>> files = textsAt(paths);
  if (!files) return files.error();
  if (files->empty()) return noneThere(paths);
  return Merged(*files).contexts();
}

}  // namespace divvy::kube
