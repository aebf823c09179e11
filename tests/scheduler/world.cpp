#include "world.h"

#include <stdexcept>

namespace divvy::scheduler {
namespace {

namespace json = boost::json;

struct Said {
  Texts annotations;
  Texts capacity;
  Texts labels = {};
};

std::string ascend(const std::string& chip, unsigned mebibytes, unsigned cores) {
  std::string list;
  for (unsigned i = 0; i < 4; ++i)
    list += std::string(i == 0 ? "" : ",") + R"({"id":")" + chip + "-" + std::to_string(i) + '"' +
            (i == 0 ? "" : R"(,"index":)" + std::to_string(i)) + R"(,"count":7,"devmem":)" +
            std::to_string(mebibytes) + R"(,"devcore":)" + std::to_string(cores) + R"(,"type":")" +
            chip + R"(","health":true,"custominfo":{"NetworkID":)" + std::to_string(i / 2) + "}}";
  return '[' + list + ']';
}

std::string json2(const std::string& id, const std::string& type, unsigned count,
                  unsigned mebibytes, unsigned cores, const std::string& more = "") {
  std::string list;
  for (unsigned i = 0; i < 2; ++i)
    list += std::string(i == 0 ? "" : ",") + R"({"id":")" + id + std::to_string(i) + '"' +
            (i == 0 ? "" : R"(,"index":1)") + R"(,"count":)" + std::to_string(count) +
            R"(,"devmem":)" + std::to_string(mebibytes) + R"(,"devcore":)" + std::to_string(cores) +
            R"(,"type":")" + type + '"' + more + R"(,"health":true})";
  return '[' + list + ']';
}

std::string list2(const std::string& id, const std::string& type, const std::string& count,
                  const std::string& mebibytes) {
  std::string text;
  for (const char* index : {"0", "1"})
    text += id + index + ',' + count + ',' + mebibytes + ",100," + type + ",0,true," + index +
            ",hami-core:";
  return text;
}

constexpr const char* kMig =
    R"(,"mode":"mig","migProfiles":[)"
    R"({"name":"1g.5gb","memoryMB":4864,"core":15,"sliceCount":1,"placements":[)"
    R"({"start":0,"size":1},{"start":1,"size":1},{"start":2,"size":1},{"start":3,"size":1},)"
    R"({"start":4,"size":1},{"start":5,"size":1},{"start":6,"size":1}]},)"
    R"({"name":"2g.10gb","memoryMB":9856,"core":29,"sliceCount":2,"placements":[)"
    R"({"start":0,"size":2},{"start":2,"size":2},{"start":4,"size":2}]},)"
    R"({"name":"3g.20gb","memoryMB":19968,"core":43,"sliceCount":3,"placements":[)"
    R"({"start":0,"size":4},{"start":4,"size":4}]},)"
    R"({"name":"7g.40gb","memoryMB":40192,"core":100,"sliceCount":7,"placements":[)"
    R"({"start":0,"size":8}]}])";

std::map<std::string, Said> all() {
  std::map<std::string, Said> said;
  said["nvidia"] = {
      {{"hami.io/node-nvidia-register", json2("GPU-", "NVIDIA H100 80GB HBM3", 10, 81920, 100)}},
      {}};
  said["nvidia-mig"] = {{{"hami.io/node-nvidia-register",
                          json2("GPU-", "NVIDIA A100-SXM4-40GB", 7, 40960, 100, kMig)}},
                        {}};
  said["nvidia-instances"] = {
      {{"hami.io/node-nvidia-register",
        json2("MIG-", "NVIDIA A100-SXM4-40GB MIG 3g.20gb", 10, 19968, 100)}},
      {}};
  for (const auto& [chip, mebibytes, cores] :
       {std::tuple{"910A", 32768u, 30u}, std::tuple{"910B2", 65536u, 24u},
        std::tuple{"910B3", 65536u, 20u}, std::tuple{"910B4", 32768u, 20u},
        std::tuple{"910B4-1", 65536u, 20u}, std::tuple{"910C", 65536u, 20u},
        std::tuple{"310P", 21527u, 8u}}) {
    const std::string word = std::string("Ascend") + chip;
    said[std::string("ascend-") + chip] = {
        {{"hami.io/node-register-" + word, ascend(word, mebibytes, cores)}}, {}};
  }
  said["hygon"] = {{{"hami.io/node-dcu-register", list2("DCU-", "DCU-K100_AI", "4", "65520")}}, {}};
  for (const char* chip : {"MR-V100", "MR-V50", "BI-V150", "BI-V100"})
    said[std::string("iluvatar-") + chip] = {
        {{std::string("hami.io/node-") + chip + "-register", list2("ILU-", chip, "100", "32768")}},
        {}};
  said["kunlun-vxpu"] = {{{"hami.io/node-register-xpu", json2("XPU-", "KL-R300", 4, 98304, 100)}},
                         {}};
  said["kunlun"] = {{}, {{"kunlunxin.com/xpu", "8"}}};
  said["amd"] = {{{"hami.io/node-amd-register", json2("AMD-", "MI300X", 10, 196608, 304)}}, {}};
  said["vastai"] = {{{"hami.io/node-va-register", json2("VA-", "va16", 1, 131072, 100)}}, {}};
  said["biren"] = {{{"hami.io/node-biren-register", json2("BR-", "BR104", 1, 32768, 100)}}, {}};
  said["cambricon"] = {
      {}, {{"cambricon.com/mlu.smlu.vcore", "200"}, {"cambricon.com/mlu.smlu.vmemory", "192"}}};
  said["mthreads"] = {{}, {{"mthreads.com/sgpu-core", "32"}, {"mthreads.com/sgpu-memory", "192"}}};
  said["metax"] = {{}, {{"metax-tech.com/gpu", "8"}}};
  said["metax-sgpu"] = {
      {{"metax-tech.com/node-gpu-devices",
        R"([{"uuid":"GPU-m0","bdf":"0000:01:00.0","model":"MXC500","totalDevCount":16,)"
        R"("totalCompute":100,"totalVRam":65536,"healthy":true,"linkZone":1},)"
        R"({"uuid":"GPU-m1","model":"MXC500","totalDevCount":16,"totalCompute":100,)"
        R"("totalVRam":65536,"numa":1,"healthy":true,"linkZone":1}])"}},
      {}};
  said["enflame"] = {{}, {{"enflame.com/gcu", "2"}}};
  said["enflame-drs"] = {{{"enflame.com/gcu-drs-capacity",
                           R"({"devices":[{"index":"0","minor":"4","capacity":6},)"
                           R"({"index":"1","minor":"5","capacity":"6"}],)"
                           R"("profiles":{"1g.6gb":"0","3g.20gb":"1","6g.40gb":"2"}})"}},
                         {}};
  said["neuron"] = {{}, {{"aws.amazon.com/neuron", "16"}, {"aws.amazon.com/neuroncore", "32"}}};
  return said;
}

json::array containersOf(const std::vector<Texts>& limits, const char* prefix) {
  json::array containers;
  for (std::size_t at = 0; at < limits.size(); ++at) {
    json::object amounts;
    for (const auto& [name, amount] : limits[at]) amounts[name] = amount;
    json::object resources;
    // As an API server completes it.
    if (!amounts.empty()) resources = {{"limits", amounts}, {"requests", amounts}};
    containers.push_back(
        json::object{{"name", prefix + std::to_string(at)}, {"resources", std::move(resources)}});
  }
  return containers;
}

}  // namespace

kube::Node nodeWith(const std::string& devices) {
  const auto known = all();
  const Said& said = known.at(devices);
  kube::Node node;
  node.meta.name = node.meta.uid = "n";
  node.meta.annotations = said.annotations;
  node.meta.labels = said.labels;
  node.capacity = node.allocatable = said.capacity;
  return node;
}

std::vector<std::string> allNodes() {
  std::vector<std::string> names;
  for (const auto& [name, said] : all()) names.push_back(name);
  return names;
}

json::value podObject(const std::vector<Texts>& limits, const Texts& annotations,
                      const std::vector<Texts>& init) {
  json::object meta{{"name", "p"}, {"namespace", "default"}, {"uid", "u"}};
  json::object notes;
  for (const auto& [key, value] : annotations) notes[key] = value;
  if (!notes.empty()) meta["annotations"] = std::move(notes);
  json::object spec{{"containers", containersOf(limits, "c")}};
  if (!init.empty()) spec["initContainers"] = containersOf(init, "i");
  return json::object{{"metadata", std::move(meta)}, {"spec", std::move(spec)}};
}

void apply(const json::array& patch, json::value* object) {
  for (const json::value& one : patch) {
    if (one.at("op") != "add") throw std::invalid_argument("only add");
    const std::string path(one.at("path").as_string());
    const std::size_t last = path.rfind('/');
    json::value& parent = last == 0 ? *object : object->at_pointer(path.substr(0, last));
    std::string key = path.substr(last + 1);
    for (std::size_t at; (at = key.find("~1")) != std::string::npos;) key.replace(at, 2, "/");
    if (parent.is_array()) {
      if (key != "-") throw std::invalid_argument("only at the end");
      parent.get_array().push_back(one.at("value"));
    } else {
      parent.as_object()[key] = one.at("value");
    }
  }
}

}  // namespace divvy::scheduler
