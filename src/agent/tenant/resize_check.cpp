#include "tenant/resize_check.h"

namespace divvy::agent {
namespace {

// In a form that is read back: rounded up.
std::string wholeMebibytes(Bytes bytes) {
  return std::to_string((bytes + mib(1) - Bytes{1}).count / mib(1).count) + "Mi";
}

std::string nameOf(const Card& card) {
  return "device " + std::to_string(card.index) + " (" + card.model + "): ";
}

}  // namespace

Result<void> checkContext(const Card& card, const ShareRecord& old, const ShareRecord& wanted,
                          bool inside) {
  // A tenant with so little may keep it, and be changed in other ways.
  if (!inside || wanted.limit == old.limit || wanted.limit >= card.context) return {};
  return Error{ErrorCode::kUsage, nameOf(card) + formatBytes(wanted.limit) +
                                      " is less than one context needs there (" +
                                      formatBytes(card.context) +
                                      "), no program could start in it again; accepted: " +
                                      wholeMebibytes(card.context) + " and more"};
}

Result<void> checkUse(const ShareRecord& wanted, Bytes used, Bytes pinned) {
  const bool swapped = wanted.guarantee < wanted.limit;
  const Bytes stays = swapped ? pinned : used;
  if (stays <= wanted.limit) return {};
  return Error{ErrorCode::kNoRoom, "it uses " + formatBytes(stays) + " of " + wanted.uuid +
                                       (swapped ? " that cannot be swapped" : "") +
                                       ", which is more than " + formatBytes(wanted.limit)};
}

std::string overuseNote(const Card& card, const ShareRecord& wanted, Bytes used) {
  if (used <= wanted.limit) return "";
  return nameOf(card) + formatBytes(used) + " of it are in use and stay allocated; " +
         "new allocations fail until it uses less than " + formatBytes(wanted.limit);
}

}  // namespace divvy::agent
