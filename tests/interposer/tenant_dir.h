// A tenant directory without an agent, beside a machine of simulated cards of its own.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ledger/siphash.h"

namespace divvy::interposer {

// What a test wants to be run in.
struct Tenancy {
  std::uint64_t ceiling = std::uint64_t{2} << 30;  // bytes, of every device
  std::uint64_t headroom = 0;
  std::string machine = "rtx4070";  // SIMGPU_PROFILE
  std::vector<int> devices = {0};   // cards of the machine that are the tenant's
  bool subset_told = true;          // the control page says how many cards the node has
  bool context_outside = false;     // contexts cost the share nothing, as older agents had it
  bool one_outside = false;         // one of them costs it nothing
  bool tenant = true;               // false: no tenant directory at all
  bool driver = true;               // false: nothing in LD_LIBRARY_PATH
  std::string driver_path = {};     // for the control page
  bool swap = false;                // its memory can be swapped; so with DIVVY_TEST_SWAP set
  // What each process may have of every card now, and what at all; default: everything. 0: no
  // orders.
  std::uint64_t swap_allowed = UINT64_MAX;
  std::uint64_t swap_most = UINT64_MAX;
  std::uint32_t swap_room_ms = 2000;
  std::uint32_t swap_pressure_ms = 0;
  std::uint64_t swap_chunk = std::uint64_t{32} << 20;
  ledger::SipKey ipc_key = {};
  unsigned card_permille = 0;  // for the grant; 0: as it is
  std::map<std::string, std::string> environment = {};
};

// Removed with everything in it.
class TenantDir {
 public:
  TenantDir();
  ~TenantDir();
  TenantDir(const TenantDir&) = delete;
  TenantDir& operator=(const TenantDir&) = delete;

  // Makes the two pages with the agent's half of the ledger; a test failure if that does not work.
  void makeTenant(const Tenancy& tenancy) const;

  std::string path() const { return path_; }
  std::string tenant() const { return path_ + "/tenant"; }
  std::string cards() const { return path_ + "/cards"; }

 private:
  std::string path_;
};

// "GPU-..." of a simulated card.
std::string cardUuid(const std::string& machine, int card);

}  // namespace divvy::interposer
