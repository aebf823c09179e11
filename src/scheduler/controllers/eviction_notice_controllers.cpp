#include "controllers/eviction_notice_controllers.h"

#include <utility>

namespace divvy::scheduler {

Result<void> ComplaintDesks::open(boost::asio::any_io_executor executor, kube::Client& client,
                                  Counts& counts, const Terms& terms) {
  const auto deskTerms = [&](std::chrono::seconds notice, std::chrono::seconds extension) {
    return ComplaintDesk::Terms{
        terms.name, {notice.count(), extension.count()}, terms.why_not, terms.stopped};
  };
  Result<std::unique_ptr<ComplaintDesk>> idle =
      ComplaintDesk::make(kIdleGround, executor, client, terms.platform, counts.idle,
                          deskTerms(terms.idle_notice, terms.idle_extension));
  if (!idle) return idle.error();
  desks_.push_back(std::move(*idle));
  // A platform that could ask for more time would help whoever cheats.
  desks_.push_back(std::make_unique<ComplaintDesk>(
      kBypassGround, std::move(executor), client, nullptr, counts.bypass,
      deskTerms(terms.bypass_notice, std::chrono::seconds(0))));
  return {};
}

}  // namespace divvy::scheduler
