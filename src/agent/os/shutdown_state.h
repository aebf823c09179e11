// Whether the agent is shutting down, and how many requests it still has to finish. Private.
#pragma once

namespace divvy::agent {

// Only on the loop's thread.
class ShutdownState {
 public:
  // From then on no work is started or repeated.
  void begin() { begun_ = true; }
  bool begun() const { return begun_; }
  // For loops that read a flag; valid as long as this object.
  const bool* flag() const { return &begun_; }
  // Counts requests from and to the kubelet. Call requestEnded() once for each requestStarted().
  void requestStarted() { ++open_; }
  void requestEnded() { --open_; }
  // Whether no request is open.
  bool idle() const { return open_ == 0; }

 private:
  bool begun_ = false;
  unsigned open_ = 0;
};

}  // namespace divvy::agent
