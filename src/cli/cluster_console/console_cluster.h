// The cluster that `divvy console` shows.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cluster_console/agent_scraper.h"
#include "cluster_console/cluster_watch.h"
#include "console/cluster_source.h"
#include "options/options.h"

namespace divvy::cli {

class ConsoleCluster : public console::ClusterSource {
 public:
  // `with_agents`: reads the use of devices from the agents' metrics.
  ConsoleCluster(ClusterChoice choice, std::unique_ptr<ClusterWatch> watch, bool with_agents);

  console::ClusterReading read() override;
  Result<boost::json::object> explain(const std::string& namespace_name,
                                      const std::string& pod) override;
  Result<boost::json::array> plan(const std::string& manifest, const std::string& namespace_name,
                                  const std::string& token) override;
  Result<console::ClusterChangeOutcome> change(const console::ClusterChange& change) override;

 private:
  ClusterChoice choice_;
  std::unique_ptr<ClusterWatch> watch_;
  std::optional<AgentScraper> scraper_;
};

}  // namespace divvy::cli
