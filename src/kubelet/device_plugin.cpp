#include "kubelet/device_plugin.h"

#include <sys/un.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "channel.h"
#include "connection_acceptor.h"
#include "log/log.h"
#include "service.h"
#include "socket_watcher.h"

namespace divvy::kubelet {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kVersion = "v1beta1";
// Interval of checks of the sockets where no event reports a change.
constexpr int kLookMs = 1000;
// A kubelet's socket exists a moment before it listens, and no event reports that. After a refusal
// the next try comes this soon, then after twice as long, and so on.
constexpr int kFirstLookMs = 10;
// If a kubelet that knows this plugin does not watch for this time, the plugin registers again.
constexpr std::chrono::seconds kUnwatched{3};
// Time for calls that are being answered when a server ends.
constexpr std::chrono::seconds kFarewell{2};

}  // namespace

struct DevicePlugin::Impl {
  PluginOptions options;
  PluginHandlers handlers;
  SocketWatcher folder;
  std::mutex mutex;  // protects the next two members
  std::vector<Device> devices;
  Service* service = nullptr;  // of the current server
  std::atomic<bool> stopped = false;
  std::atomic<bool> settled = false;
  std::thread thread;
  std::string last_logged;

  Impl(PluginOptions with, std::vector<Device> first, PluginHandlers call)
      : options(std::move(with)),
        handlers(std::move(call)),
        folder(options.sockets),
        devices(std::move(first)) {}

  FileId ownSocket() const { return options.sockets->fileIdOf(options.socket); }

  // The same error is logged once, however often it occurs.
  void complain(const std::string& line) {
    if (line != last_logged) options.say(line);
    last_logged = line;
  }

  // Returns false if our socket, which was `own`, was removed. A kubelet clears the folder before
  // it listens, so a socket that exists after connecting stays. Otherwise the kubelet would try for
  // 10 s to reach a missing socket.
  Result<bool> enroll(const FileId& own) {
    v1beta1::RegisterRequest request;
    request.set_version(kVersion);
    request.set_endpoint(options.socket);
    request.set_resource_name(options.resource);
    *request.mutable_options() = pluginOptions(handlers);
    const std::string kubelet = options.sockets->pathOf(Api::kRegistration);
    Result<Fd> connection = options.sockets->dial(Api::kRegistration);
    if (!connection) return Error(connection.error()).context("the kubelet at " + kubelet);
    if (!(ownSocket() == own)) return false;
    grpc::ClientContext context;
    context.set_deadline(steadyDeadline(kCallBound));
    v1beta1::Empty nothing;
    const auto stub = v1beta1::Registration::NewStub(openChannel(std::move(*connection)));
    const grpc::Status status = stub->Register(&context, request, &nothing);
    if (!status.ok()) return errorOf(status, kubelet);
    return true;
  }

  // The other plugin that serves the resource now; empty: none.
  std::string rival() const {
    for (const std::string& name : options.rivals)
      if (options.sockets->isListenedTo(name)) return name;
    return {};
  }

  // Runs while both sockets are those of the registration and the kubelet watches.
  void serveWhile(const FileId& own, Service* serving) {
    FileId kubelet;             // the kubelet that knows this plugin
    FileId refused;             // one that refused the connection
    int again = kFirstLookMs;   // time until the next try
    Clock::time_point watched;  // last time of a watch, or of the registration
    while (!stopped && ownSocket() == own) {
      int look = kLookMs;
      const FileId now = options.sockets->fileIdOf(std::string(kKubeletSocket));
      if (serving->isWatched()) watched = Clock::now();
      if (Clock::now() - watched > kUnwatched) kubelet = {};
      const std::string other = rival();
      const bool was = settled.exchange(!other.empty() || (kubelet.exists() && now == kubelet));
      if (!other.empty()) {
        kubelet = {};  // the other plugin may have registered later
        if (!was && handlers.known) handlers.known();
        complain(log::line(
            "another plugin serves the same devices: the resource is not registered until that "
            "plugin has ended; remove it, or serve other resources than its own",
            {{"resource", options.resource}, {"socket", options.sockets->pathOf(other)}}));
      } else if (now.exists() && !(now == kubelet)) {
        const Result<bool> enrolled = enroll(own);
        if (enrolled && !*enrolled) return;
        if (enrolled) {
          kubelet = now;
          watched = Clock::now();
          settled = true;
          last_logged.clear();
          options.say(
              log::line("the kubelet knows the resource", {{"resource", options.resource}}));
        } else {
          complain(
              log::line("cannot register the resource",
                        {{"resource", options.resource}, {"error", enrolled.error().message()}}));
          again = now == refused ? std::min(again * 2, kLookMs) : kFirstLookMs;
          refused = now;
          look = again;
        }
      }
      folder.wait(look);
    }
  }

  // Runs one server until it must be replaced.
  void serveOnce() {
    Service own(
        [this] {
          const std::lock_guard<std::mutex> hold(mutex);
          return devices;
        }(),
        handlers);
    Result<Fd> listening = options.sockets->listen(options.socket);
    const FileId socket = listening ? ownSocket() : FileId();
    if (!socket.exists()) {
      const log::Field resource{"resource", options.resource};
      complain(listening ? log::line("the plugin's socket was removed", {resource})
                         : log::line("cannot serve the plugin",
                                     {resource, {"error", listening.error().message()}}));
      return folder.wait(kLookMs);
    }
    grpc::ServerBuilder builder;
    builder.RegisterService(&own);
    const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
    ConnectionAcceptor doorman(std::move(*listening), *server);
    setService(&own);
    serveWhile(socket, &own);
    settled = false;
    setService(nullptr);
    doorman.stop();
    if (ownSocket() == socket) options.sockets->remove(options.socket);
    own.endStreams();
    server->Shutdown(steadyDeadline(kFarewell));
  }

  void setService(Service* now) {
    const std::lock_guard<std::mutex> hold(mutex);
    service = now;
    // Devices that were set while there was no server.
    if (service != nullptr) service->setDevices(devices);
  }
};

DevicePlugin::DevicePlugin(std::unique_ptr<Impl> inside) : impl_(std::move(inside)) {}

DevicePlugin::~DevicePlugin() {
  stop();
}

Result<std::unique_ptr<DevicePlugin>> DevicePlugin::begin(PluginOptions options,
                                                          std::vector<Device> devices,
                                                          PluginHandlers handlers) {
  constexpr std::size_t kMaxPath = sizeof(sockaddr_un::sun_path) - 1;
  const std::string path = options.sockets->pathOf(options.socket);
  if (options.socket.empty() || options.socket.find('/') != std::string::npos)
    return Error{ErrorCode::kUsage, "\"" + options.socket + "\" is not a file name"};
  if (path.size() > kMaxPath) return Error{ErrorCode::kUsage, path + " is too long for a socket"};
  auto inside = std::make_unique<Impl>(std::move(options), std::move(devices), std::move(handlers));
  inside->thread = std::thread([inside = inside.get()] {
    while (!inside->stopped) inside->serveOnce();
  });
  return std::unique_ptr<DevicePlugin>(new DevicePlugin(std::move(inside)));
}

bool DevicePlugin::settled() const {
  return impl_->settled;
}

void DevicePlugin::setDevices(std::vector<Device> devices) {
  const std::lock_guard<std::mutex> hold(impl_->mutex);
  impl_->devices = std::move(devices);
  if (impl_->service != nullptr) impl_->service->setDevices(impl_->devices);
}

void DevicePlugin::stop() {
  impl_->stopped = true;
  impl_->folder.notify();
  if (impl_->thread.joinable()) impl_->thread.join();
}

}  // namespace divvy::kubelet
