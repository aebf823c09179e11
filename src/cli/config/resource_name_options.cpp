#include "config/resource_name_options.h"

#include <string>

#include "kube/volcano.h"
#include "scheduler/resource_catalog.h"

namespace divvy::cli {
namespace {

constexpr const char* kKind = "NVIDIA";

bool isResourceName(const std::string& text) {
  const std::size_t slash = text.find('/');
  return slash != std::string::npos && slash > 0 && slash + 1 < text.size() &&
         text.find('/', slash + 1) == std::string::npos;
}

// "none" is accepted if a node may lack the resource.
Result<void> readName(const std::string& text, const char* option, bool may_lack,
                      std::string* name) {
  if (!text.empty()) *name = may_lack && text == "none" ? std::string() : text;
  if ((may_lack && name->empty()) || isResourceName(*name)) return {};
  return Error{ErrorCode::kUsage, std::string(option) + " \"" + *name +
                                      "\" is not an extended resource; DOMAIN/NAME" +
                                      (may_lack ? ", or none," : "") + " is accepted"};
}

// Without the option the list stays as it is.
Result<void> readList(const std::vector<std::string>& said, const char* option,
                      std::vector<std::string>* names) {
  if (said.empty()) return {};
  names->clear();
  for (const std::string& one : said) {
    std::string name;
    if (Result<void> read = readName(one, option, true, &name); !read) return read;
    if (!name.empty()) names->push_back(std::move(name));
  }
  return {};
}

}  // namespace

Result<void> readNames(const ClusterNodeText& text, AgentOptions* options,
                       agent::ClusterNode* cluster) {
  if (!text.dialect.empty()) {
    const Result<agent::Dialect> read = agent::parseDialect(text.dialect);
    if (!read) return Error(read.error()).context("--dialect");
    cluster->dialect = *read;
  }
  // Other schedulers know one name only.
  const bool volcano = cluster->dialect == agent::Dialect::kVolcano;
  options->model_names = !volcano;
  options->model_resources = text.model_resources;
  cluster->resources = text.resources;
  if (volcano) {
    if (cluster->resources.empty()) cluster->resources = {kube::kVolcanoCount};
    cluster->memory_resources = {kube::kVolcanoMemory};
    cluster->cores_resources = {kube::kVolcanoCores};
  }
  options->memory_names = !volcano && text.announce_memory.empty();
  options->cores_names = !volcano && text.announce_cores.empty();
  for (std::string& one : cluster->resources)
    if (const Result<void> read = readName(one, "--resource", false, &one); !read) return read;
  if (const Result<void> read =
          readSwitch(text.model_names, "--model-names", &options->model_names);
      !read)
    return read;
  if (!text.model_resources.empty() && !options->model_names)
    return Error{ErrorCode::kUsage,
                 "--model-resources requires model names; accepted: with --model-names on"};
  const Result<void> memory =
      readList(text.announce_memory, "--announce-memory", &cluster->memory_resources);
  if (!memory) return memory;
  return readList(text.announce_cores, "--announce-cores", &cluster->cores_resources);
}

// Every name by which a pod may request memory or compute besides the count. From Kubernetes 1.36
// on, kube-scheduler can refuse a node that has one of a pod's names and lacks another
// (docs/operations/node-agent.md).
void addAnnounced(const AgentOptions& options, const vendors::Kind& kind,
                  agent::ClusterNode* cluster) {
  using Means = vendors::ResourceAlias::Means;
  const auto add = [&kind](const std::string& first, Means means, std::vector<std::string>* names) {
    if (!first.empty()) names->push_back(first);
    for (const vendors::ResourceAlias& other : kind.also)
      if (other.means == means) names->push_back(other.resource);
  };
  if (options.memory_names) {
    add(kind.memory.resource, Means::kMemory, &cluster->memory_resources);
    add(kind.memory.percent, Means::kPercent, &cluster->percent_resources);
  }
  if (options.cores_names) add(kind.cores.resource, Means::kCores, &cluster->cores_resources);
}

Result<void> addNames(const AgentOptions& options, agent::ClusterNode* cluster) {
  Result<vendors::Catalog> catalog = scheduler::readCatalog({}, {}, options.model_resources);
  if (!catalog) return Error(catalog.error()).context("--model-resources");
  const vendors::Kind* kind = catalog->kind(kKind);
  if (kind == nullptr) return Error{ErrorCode::kInternal, "kind NVIDIA is missing"};
  if (cluster->resources.empty()) {
    cluster->resources = {kind->count.resource};
    for (const vendors::ResourceAlias& other : kind->also)
      if (other.means == vendors::ResourceAlias::Means::kCount)
        cluster->resources.push_back(other.resource);
  }
  addAnnounced(options, *kind, cluster);
  if (!options.model_names) return {};
  cluster->instances_prefix = kind->instances_prefix;
  for (const vendors::ModelResource& one : kind->of_models)
    cluster->of_models.push_back({one.resource, one.models, one.not_models});
  return {};
}

}  // namespace divvy::cli
