#include "kube/access.h"

#include <fstream>
#include <sstream>

#include "kube/base64.h"
#include "yaml/reader.h"

namespace divvy::kube {
namespace {

Result<std::string> contentOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  if (!file) return Error{ErrorCode::kIo, path + " cannot be read"};
  return text.str();
}

// "https://host:port/base".
Result<void> takeServer(const std::string& url, Access* access) {
  const auto wrong = [&] {
    return Error{ErrorCode::kUsage,
                 '"' + url + "\" is no server: expected https://HOST[:PORT][/PATH]"};
  };
  const std::size_t scheme = url.find("://");
  if (scheme == std::string::npos) return wrong();
  const std::string kind = url.substr(0, scheme);
  if (kind != "https" && kind != "http") return wrong();
  access->tls = kind == "https";
  std::string rest = url.substr(scheme + 3);
  const std::size_t path = rest.find('/');
  if (path != std::string::npos) {
    access->base = rest.substr(path);
    rest.erase(path);
    while (!access->base.empty() && access->base.back() == '/') access->base.pop_back();
  }
  const std::size_t bracket = rest.rfind(']');  // of an IPv6 address
  const std::size_t colon = rest.rfind(':');
  const bool port = colon != std::string::npos && (bracket == std::string::npos || colon > bracket);
  access->port = port ? rest.substr(colon + 1) : access->tls ? "443" : "80";
  access->host = rest.substr(0, port ? colon : std::string::npos);
  if (bracket != std::string::npos && access->host.front() == '[')
    access->host = access->host.substr(1, access->host.size() - 2);
  if (access->host.empty() || access->port.empty()) return wrong();
  return {};
}

// One kubeconfig; the first thing that is wrong is kept in the reader or in `fault_`.
class Kubeconfig {
 public:
  Kubeconfig(const std::string& source, std::string folder)
      : reader_(source), folder_(std::move(folder)) {}

  Result<Access> read(const std::string& text, const std::string& context) {
    const std::optional<YAML::Node> root = reader_.parse(text);
    if (!root) return error();
    if (!root->IsMap()) return fail("is no kubeconfig: expected a map");
    const std::string wanted = context.empty() ? textOf(*root, "current-context") : context;
    if (wanted.empty()) return fail("has no current-context, and none was asked for");
    const auto chosen = named(*root, "contexts", "context", wanted);
    if (!chosen) return error();
    const std::string space = textOf(*chosen, "namespace");
    if (!space.empty()) access_.space = space;
    const auto cluster = named(*root, "clusters", "cluster", textOf(*chosen, "cluster"));
    if (!cluster || !takeCluster(*cluster)) return error();
    const std::string user = textOf(*chosen, "user");
    if (!user.empty()) {
      const auto found = named(*root, "users", "user", user);
      if (!found || !takeUser(*found)) return error();
    }
    if (reader_.error() || fault_) return error();
    return access_;
  }

 private:
  Error error() const { return fault_ ? *fault_ : *reader_.error(); }
  Error fail(const std::string& what) {
    reader_.fail(YAML::Node(), what);
    return error();
  }

  // Of a map whose other keys are others' business.
  std::string textOf(const YAML::Node& map, const char* key) {
    if (!map.IsMap()) return "";
    const YAML::Node found = map[key];
    if (!found || found.IsNull()) return "";
    if (!found.IsScalar()) reader_.fail(found, std::string(key) + " is not a text");
    return found.IsScalar() ? found.Scalar() : "";
  }
  // Its items; none where it is absent or null.
  template <typename F>
  void each(const YAML::Node& map, const char* key, F item) {
    const YAML::Node found = map[key];
    if (!found || found.IsNull()) return;
    if (!found.IsSequence()) return reader_.fail(found, std::string(key) + " is not a list");
    for (const YAML::Node& one : found) item(one);
  }

  std::optional<YAML::Node> named(const YAML::Node& root, const char* list, const char* member,
                                  const std::string& name) {
    std::optional<YAML::Node> found;
    each(root, list, [&](const YAML::Node& one) {
      if (!found && one.IsMap() && textOf(one, "name") == name && one[member] &&
          one[member].IsMap())
        found = one[member];
    });
    if (!found) reader_.fail(root, std::string("has no ") + member + " \"" + name + '"');
    return found;
  }

  // NAME is the path of a file, NAME-data what would be in it.
  bool takeFile(const YAML::Node& map, const std::string& name, std::string* out) {
    const std::string data = textOf(map, (name + "-data").c_str());
    if (!data.empty()) {
      const std::optional<std::string> decoded = fromBase64(data);
      if (!decoded) reader_.fail(map[name + "-data"], name + "-data is not base64");
      if (decoded) *out = *decoded;
      return decoded.has_value();
    }
    const std::string path = textOf(map, name.c_str());
    if (path.empty()) return true;
    Result<std::string> content = contentOf(resolved(path));
    if (!content) {
      fault_ = std::move(content).error().context(name);
      return false;
    }
    *out = std::move(*content);
    return true;
  }

  std::string resolved(const std::string& path) const {
    return path.front() == '/' || folder_.empty() ? path : folder_ + '/' + path;
  }

  bool takeCluster(const YAML::Node& map) {
    const Result<void> server = takeServer(textOf(map, "server"), &access_);
    if (!server) reader_.fail(map, server.error().message());
    reader_.flag(map, "insecure-skip-tls-verify", &access_.insecure);
    access_.server_name = textOf(map, "tls-server-name");
    if (!textOf(map, "proxy-url").empty())
      reader_.fail(map["proxy-url"], "proxy-url is not supported: reach the server directly");
    return server && takeFile(map, "certificate-authority", &access_.authority);
  }

  bool takeUser(const YAML::Node& map) {
    access_.token = textOf(map, "token");
    const std::string token_file = textOf(map, "tokenFile");
    if (!token_file.empty()) access_.token_file = resolved(token_file);
    if (map["exec"] && map["exec"].IsMap() && !takeExec(map["exec"])) return false;
    return takeFile(map, "client-certificate", &access_.certificate) &&
           takeFile(map, "client-key", &access_.key);
  }

  bool takeExec(const YAML::Node& map) {
    ExecPlugin& exec = access_.exec.emplace();
    exec.api_version = textOf(map, "apiVersion");
    exec.command = textOf(map, "command");
    if (exec.command.empty()) {
      reader_.fail(map, "exec has no command");
      return false;
    }
    // A name without '/' is looked for where programs are.
    if (exec.command.find('/') != std::string::npos) exec.command = resolved(exec.command);
    each(map, "args", [&](const YAML::Node& one) {
      exec.arguments.push_back(one.IsScalar() ? one.Scalar() : std::string());
    });
    each(map, "env", [&](const YAML::Node& one) {
      exec.environment.emplace_back(textOf(one, "name"), textOf(one, "value"));
    });
    return true;
  }

  YamlReader reader_;
  std::string folder_;
  Access access_;
  std::optional<Error> fault_;
};

}  // namespace

Result<Access> kubeconfigAccess(const std::string& text, const std::string& source,
                                const std::string& folder, const std::string& context) {
  return Kubeconfig(source, folder).read(text, context);
}

Result<Access> kubeconfigFileAccess(const std::string& path, const std::string& context) {
  Result<std::string> text = contentOf(path);
  if (!text) return text.error();
  const std::size_t slash = path.rfind('/');
  return kubeconfigAccess(*text, path, slash == std::string::npos ? "" : path.substr(0, slash),
                          context);
}

Result<Access> clusterAccess(const std::string& host, const std::string& port,
                             const std::string& folder) {
  if (host.empty() || port.empty())
    return Error{
        ErrorCode::kNotFound,
        "not in a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set"};
  Access access;
  access.host = host;
  access.port = port;
  access.token_file = folder + "/token";
  Result<std::string> authority = contentOf(folder + "/ca.crt");
  if (!authority) return authority.error();
  access.authority = std::move(*authority);
  const Result<std::string> space = contentOf(folder + "/namespace");
  if (space && !space->empty()) access.space = *space;
  return access;
}

Result<Access> urlAccess(const std::string& url, const std::string& authority_file) {
  Access access;
  const Result<void> server = takeServer(url, &access);
  if (!server) return server.error();
  // Of servers '/' at the end says nothing; of addresses it is part of them.
  if (url.back() == '/' && !access.base.empty()) access.base += '/';
  if (authority_file.empty()) return access;
  Result<std::string> authority = contentOf(authority_file);
  if (!authority) return authority.error();
  access.authority = std::move(*authority);
  return access;
}

}  // namespace divvy::kube
