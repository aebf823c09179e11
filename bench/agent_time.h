// The processor time of Divvy's agent.
#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace divvy::bench {

// The agent with this runtime directory; 0 when there is none.
int agentPid(const std::filesystem::path& runtime);

// Of every thread of a process so far, milliseconds, added up by thread name.
std::map<std::string, double> threadTimesOf(int pid);

}  // namespace divvy::bench
