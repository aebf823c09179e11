// A connection to a kubelet's socket.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include <grpcpp/grpcpp.h>

#include "base/result.h"

namespace divvy::kubelet {

// As much as any call of ours to a kubelet may take.
inline constexpr std::chrono::seconds kCallBound{5};

// A new one: one that gRPC keeps from earlier would go on waiting as long as its back-off says.
inline std::shared_ptr<grpc::Channel> openChannel(const std::string& socket) {
  grpc::ChannelArguments arguments;
  // Servers in Go refuse the path that later versions of gRPC would say here.
  arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, "localhost");
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetMaxReceiveMessageSize(-1);
  return grpc::CreateCustomChannel("unix:" + socket, grpc::InsecureChannelCredentials(), arguments);
}

inline Error errorOf(const grpc::Status& status, const std::string& socket) {
  const bool away = status.error_code() == grpc::StatusCode::UNAVAILABLE ||
                    status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED;
  return {away ? ErrorCode::kUnavailable : ErrorCode::kIo,
          "the kubelet at " + socket + ": " + status.error_message()};
}

}  // namespace divvy::kubelet
