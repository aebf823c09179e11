// The kubelet's side of device plugins: who registers, and what it asks them.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <grpcpp/grpcpp.h>

#include "deviceplugin_v1beta1.grpc.pb.h"

namespace divvy::kubelet::testing {

// In a folder of its own, which goes with it. Not there before begin().
class FakeKubelet {
 public:
  FakeKubelet();
  ~FakeKubelet();

  const std::string& root() const { return root_; }      // the kubelet's folder
  const std::string& folder() const { return folder_; }  // of device plugins
  // As a kubelet does when it starts: all that is in the folder goes, and kubelet.sock comes.
  void begin();
  // Ends without a word; its socket stays where it was.
  void end();
  // Refuses those who register from now on.
  void refuse(bool refusing);

  // The so-many-th registration since the first begin(), from 1; waits for it, 20 s at most. No
  // endpoint: it did not come.
  v1beta1::RegisterRequest registration(std::size_t number);
  std::size_t registrations() const;  // so far
  // Somebody tried, refused or not; waits likewise.
  bool attempted();
  // Those that were not reached at what they said. As by a kubelet they are answered late.
  std::size_t unreached() const;

  // To whoever registered last.
  std::unique_ptr<v1beta1::DevicePlugin::Stub> plugin();

 private:
  class Registry;

  std::string root_, folder_;
  std::unique_ptr<Registry> registry_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace divvy::kubelet::testing
