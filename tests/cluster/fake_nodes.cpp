// Prints nodes as a List, as JSON: with devices, in the words that a node agent registers them in.
//
//   fake_nodes COUNTxDEVICES [MODEL [GIB]]     fake_nodes 5000x8 "NVIDIA H100 80GB HBM3" 80
#include <charconv>
#include <cstdio>
#include <string>
#include <string_view>

#include <boost/json.hpp>

#include "kube/registration.h"

namespace {

namespace json = boost::json;

struct Wanted {
  unsigned nodes = 0;
  unsigned devices = 0;
  std::string model = "NVIDIA H100 80GB HBM3";
  unsigned gib = 80;
};

bool number(std::string_view text, unsigned* out) {
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), *out);
  return fault == std::errc{} && end == text.data() + text.size() && *out > 0;
}

bool parse(int argc, char** argv, Wanted* wanted) {
  if (argc < 2 || argc > 4) return false;
  const std::string_view size = argv[1];
  const std::size_t by = size.find('x');
  if (by == std::string_view::npos || !number(size.substr(0, by), &wanted->nodes) ||
      !number(size.substr(by + 1), &wanted->devices))
    return false;
  if (argc > 2) wanted->model = argv[2];
  return argc < 4 || number(argv[3], &wanted->gib);
}

json::object nodeOf(const Wanted& wanted, unsigned at) {
  char name[16];
  std::snprintf(name, sizeof name, "node-%05u", at);
  std::vector<divvy::kube::RegisteredDevice> devices;
  for (unsigned i = 0; i < wanted.devices; ++i) {
    divvy::kube::RegisteredDevice device;
    device.id = "GPU-" + std::string(name) + "-" + std::to_string(i);
    device.index = i;
    device.count = 10;
    device.mebibytes = wanted.gib * 1024ull;
    device.cores = 100;
    device.type = wanted.model;
    device.numa = i * 2 / wanted.devices;
    device.mode = "hami-core";
    device.healthy = true;
    devices.push_back(std::move(device));
  }
  const json::object room{{"cpu", "128"}, {"memory", "1024Gi"}, {"pods", "250"}};
  return {{"apiVersion", "v1"},
          {"kind", "Node"},
          {"metadata",
           {{"name", name},
            {"annotations", {{"hami.io/node-nvidia-register", divvy::kube::encode(devices)}}},
            {"labels", {{"kubernetes.io/hostname", name}}}}},
          {"status",
           {{"capacity", room},
            {"allocatable", room},
            {"conditions", json::array{{{"type", "Ready"}, {"status", "True"}}}}}}};
}

}  // namespace

int main(int argc, char** argv) {
  Wanted wanted;
  if (!parse(argc, argv, &wanted)) {
    std::fputs("usage: fake_nodes COUNTxDEVICES [MODEL [GIB]]\n", stderr);
    return 2;
  }
  json::array items;
  for (unsigned at = 0; at < wanted.nodes; ++at) items.push_back(nodeOf(wanted, at));
  const json::object list{{"apiVersion", "v1"}, {"kind", "NodeList"}, {"items", std::move(items)}};
  std::puts(json::serialize(list).c_str());
  return std::fflush(stdout) == 0 ? 0 : 1;
}
