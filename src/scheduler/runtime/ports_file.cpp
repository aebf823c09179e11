#include "runtime/ports_file.h"

#include <cstdio>
#include <fstream>

#include <boost/json.hpp>

namespace divvy::scheduler {

Result<void> writePorts(const std::string& path, const Ports& ports) {
  if (path.empty()) return {};
  const std::string fresh = path + ".new";
  std::ofstream file(fresh);
  file << boost::json::serialize(boost::json::object{
              {"extender", ports.extender}, {"webhook", ports.webhook}, {"metrics", ports.metrics}})
       << '\n';
  file.close();
  if (!file || std::rename(fresh.c_str(), path.c_str()) != 0)
    return Error{ErrorCode::kIo, path + " cannot be written"};
  return {};
}

}  // namespace divvy::scheduler
