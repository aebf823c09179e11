// gRPC channel to a kubelet's socket.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include <grpcpp/create_channel_posix.h>
#include <grpcpp/grpcpp.h>

#include "base/fd.h"
#include "base/result.h"

namespace divvy::kubelet {

// Time limit of any call to a kubelet.
inline constexpr std::chrono::seconds kCallBound{5};

// Returns a deadline on the steady clock. A deadline on the wall clock would pass when that is set.
inline gpr_timespec steadyDeadline(std::chrono::seconds bound) {
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                      gpr_time_from_seconds(bound.count(), GPR_TIMESPAN));
}

// Returns a channel on an open connection. After the connection breaks, calls fail; it is not
// reopened.
inline std::shared_ptr<grpc::Channel> openChannel(Fd connection) {
  grpc::ChannelArguments arguments;
  // gRPC servers in Go reject the socket's path, which later versions of gRPC would send here.
  arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, "localhost");
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetMaxReceiveMessageSize(-1);
  return grpc::CreateCustomInsecureChannelFromFd("localhost", connection.release(), arguments);
}

inline Error errorOf(const grpc::Status& status, const std::string& socket) {
  const bool away = status.error_code() == grpc::StatusCode::UNAVAILABLE ||
                    status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED;
  return {away ? ErrorCode::kUnavailable : ErrorCode::kIo,
          "the kubelet at " + socket + ": " + status.error_message()};
}

}  // namespace divvy::kubelet
