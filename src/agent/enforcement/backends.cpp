#include "enforcement/backends.h"

#include <unistd.h>

#include "enforcement/mps_daemon.h"

namespace divvy::agent {

EnforcementRequest enforcementAsk(const RunRequest& request) {
  return {request.enforce, request.ask.coresEach(), request.ask.cores_policy, request.priority};
}

EnforcementOffer enforcementOffer(const RunRequest& request, const Node& node,
                                  const TimesliceProbe& trial) {
  EnforcementOffer offer;
  offer.timeslice_missing = trial.missing();
  offer.timeslice_preload = trial.preload();
  if (node.simulated()) {
    offer.mps_missing = "a simulated card has no MPS";
    return offer;
  }
  const MpsDaemon daemon = findMpsDaemon(request.mps_dir, geteuid());
  offer.mps_dir = daemon.dir;
  offer.mps_missing = daemon.missing;
  return offer;
}

}  // namespace divvy::agent
