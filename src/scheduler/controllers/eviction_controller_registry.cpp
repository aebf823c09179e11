#include "controllers/eviction_controller_registry.h"

#include <utility>

namespace divvy::scheduler {

Result<void> EvictionControllers::open(boost::asio::any_io_executor executor, kube::Client& client,
                                       Counters& counts, const Options& options) {
  const auto optionsFor = [&](std::chrono::seconds notice, std::chrono::seconds extension) {
    return EvictionController::Options{
        options.name, {notice.count(), extension.count()}, options.why_not, options.stopped};
  };
  Result<std::unique_ptr<EvictionController>> idle =
      EvictionController::make(kIdleGround, executor, client, options.platform, counts.idle,
                               optionsFor(options.idle_notice, options.idle_extension));
  if (!idle) return idle.error();
  controllers_.push_back(std::move(*idle));
  // A platform that may extend the time would help a pod that bypasses limits.
  controllers_.push_back(std::make_unique<EvictionController>(
      kBypassGround, std::move(executor), client, nullptr, counts.bypass,
      optionsFor(options.bypass_notice, std::chrono::seconds(0))));
  return {};
}

}  // namespace divvy::scheduler
