// A connection to a kubelet's socket.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include <grpcpp/create_channel_posix.h>
#include <grpcpp/grpcpp.h>

#include "base/fd.h"
#include "base/result.h"

namespace divvy::kubelet {

// As much as any call of ours to a kubelet may take.
inline constexpr std::chrono::seconds kCallBound{5};

// A deadline by the steady clock: one of the wall clock ends a call when that is set.
inline gpr_timespec steadyDeadline(std::chrono::seconds bound) {
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                      gpr_time_from_seconds(bound.count(), GPR_TIMESPAN));
}

// A new one, on a connection that is there: calls on one that breaks fail, none is made again.
inline std::shared_ptr<grpc::Channel> openChannel(Fd connection) {
  grpc::ChannelArguments arguments;
  // Servers in Go refuse the path that later versions of gRPC would say here.
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
