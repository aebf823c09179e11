// A tree of the kernel's files about the PCI bus, made for a test.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace divvy::test {

class SysfsTree {
 public:
  SysfsTree() {
    std::string pattern = std::filesystem::temp_directory_path() / "divvy-sysfs-XXXXXX";
    root_ = mkdtemp(pattern.data());
  }
  ~SysfsTree() { std::filesystem::remove_all(root_); }
  SysfsTree(const SysfsTree&) = delete;
  SysfsTree& operator=(const SysfsTree&) = delete;

  const std::string& root() const { return root_; }

  void node(int number) const {
    std::filesystem::create_directories(root_ + "/devices/system/node/node" +
                                        std::to_string(number));
  }
  // "pci0000:15/0000:15:01.0/0000:17:00.0"; `numa` as the kernel writes it, -1 for not known.
  void device(const std::string& path, int numa) const {
    const std::filesystem::path whole = root_ + "/devices/" + path;
    std::filesystem::create_directories(whole);
    std::ofstream(whole / "numa_node") << numa << "\n";
    std::filesystem::create_directories(root_ + "/bus/pci/devices");
    std::filesystem::create_directory_symlink(
        whole, root_ + "/bus/pci/devices/" + whole.filename().string());
  }
  // An RDMA device of what is at that path.
  void nic(const std::string& name, const std::string& path) const {
    const std::filesystem::path one = root_ + "/class/infiniband/" + name;
    std::filesystem::create_directories(one);
    std::filesystem::create_directory_symlink(root_ + "/devices/" + path, one / "device");
  }

 private:
  std::string root_;
};

}  // namespace divvy::test
