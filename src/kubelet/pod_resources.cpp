#include "kubelet/pod_resources.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "channel.h"
#include "podresources_v1.grpc.pb.h"

namespace divvy::kubelet {
namespace {

std::vector<PodDevices> rowsOf(const v1::ListPodResourcesResponse& response) {
  std::vector<PodDevices> rows;
  for (const v1::PodResources& pod : response.pod_resources()) {
    for (const v1::ContainerResources& container : pod.containers()) {
      // A resource has several entries if its devices are of several NUMA nodes.
      const std::size_t first = rows.size();
      for (const v1::ContainerDevices& devices : container.devices()) {
        auto row = std::find_if(
            rows.begin() + static_cast<std::ptrdiff_t>(first), rows.end(),
            [&](const PodDevices& known) { return known.resource == devices.resource_name(); });
        if (row == rows.end())
          row = rows.insert(
              rows.end(),
              PodDevices{
                  pod.namespace_(), pod.name(), container.name(), devices.resource_name(), {}});
        row->ids.insert(row->ids.end(), devices.device_ids().begin(), devices.device_ids().end());
      }
    }
  }
  return rows;
}

using Stub = v1::PodResourcesLister::Stub;

// A connection must not be destroyed on gRPC's callback thread, so this thread waits.
template <typename Request, typename Response>
Result<Response> askNow(KubeletDirs& sockets,
                        grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                     Response*)) {
  const std::string socket = sockets.pathOf(Api::kPodResources);
  Result<Fd> connection = sockets.dial(Api::kPodResources);
  if (!connection) return Error(connection.error()).context("the kubelet at " + socket);
  const auto stub = v1::PodResourcesLister::NewStub(openChannel(std::move(*connection)));
  grpc::ClientContext context;
  context.set_deadline(steadyDeadline(kCallBound));
  Response response;
  const grpc::Status status = ((*stub).*method)(&context, Request(), &response);
  if (!status.ok()) return errorOf(status, socket);
  return response;
}

Result<std::vector<PodDevices>> listNow(KubeletDirs& sockets) {
  const auto response = askNow(sockets, &Stub::List);
  if (!response) return response.error();
  return rowsOf(*response);
}

PodResources::ResourceNames countNow(KubeletDirs& sockets) {
  const auto response = askNow(sockets, &Stub::GetAllocatableResources);
  if (!response) return response.error();
  std::set<std::string> counted;
  for (const v1::ContainerDevices& devices : response->devices())
    if (devices.device_ids_size() > 0) counted.insert(devices.resource_name());
  return counted;
}

}  // namespace

struct PodResources::Impl {
  using PendingCall = std::function<void(KubeletDirs&)>;

  explicit Impl(std::shared_ptr<KubeletDirs> those) : sockets(std::move(those)) {}

  void work() {
    for (;;) {
      std::unique_lock<std::mutex> hold(mutex);
      call_ready.wait(hold, [this] { return ending || !handlers.empty(); });
      if (handlers.empty()) return;
      const PendingCall call = std::move(handlers.front());
      handlers.pop_front();
      hold.unlock();
      call(*sockets);
    }
  }

  void post(PendingCall call) {
    {
      const std::lock_guard<std::mutex> hold(mutex);
      handlers.push_back(std::move(call));
    }
    call_ready.notify_one();
  }

  const std::shared_ptr<KubeletDirs> sockets;
  std::mutex mutex;  // protects all members below except the thread
  std::condition_variable call_ready;
  std::deque<PendingCall> handlers;
  bool ending = false;
  std::thread thread;
};

PodResources::PodResources(std::shared_ptr<KubeletDirs> sockets)
    : impl_(std::make_unique<Impl>(std::move(sockets))) {
  impl_->thread = std::thread([inside = impl_.get()] { inside->work(); });
}

PodResources::~PodResources() {
  {
    const std::lock_guard<std::mutex> hold(impl_->mutex);
    impl_->ending = true;
  }
  impl_->call_ready.notify_one();
  impl_->thread.join();
}

void PodResources::list(ReplyCallback answer) {
  impl_->post([answer = std::move(answer)](KubeletDirs& sockets) { answer(listNow(sockets)); });
}

void PodResources::count(std::function<void(ResourceNames)> answer) {
  impl_->post([answer = std::move(answer)](KubeletDirs& sockets) { answer(countNow(sockets)); });
}

const PodDevices* holderOf(const std::vector<PodDevices>& held, const std::string& resource,
                           const std::vector<std::string>& ids) {
  const PodDevices* found = nullptr;
  for (const PodDevices& one : held) {
    if (one.resource != resource || one.ids.size() != ids.size() ||
        !std::is_permutation(one.ids.begin(), one.ids.end(), ids.begin()))
      continue;
    if (found != nullptr) return nullptr;
    found = &one;
  }
  return found;
}

}  // namespace divvy::kubelet
