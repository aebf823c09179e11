// The viewer that a reverse proxy names in header fields.
#pragma once

#include <cstddef>

#include "base/result.h"
#include "console/viewer.h"
#include "http/query.h"
#include "http/trusted_proxies.h"

namespace divvy::console {

inline constexpr std::size_t kMaxViewerName = 256;  // bytes, of a user or a group
inline constexpr std::size_t kMaxViewerGroups = 64;

// Reads X-Forwarded-User, and X-Forwarded-Groups with commas. The groups are sorted, each is there
// once. The viewer has no token. Pure.
//
// kUsage: no viewer is named, or no proxy of `proxies` is the peer: X-Forwarded-For does not count.
// A field is refused that is there twice, has a control character, is no UTF-8, or exceeds the
// bounds; so is a comma in the user, since a gateway may have joined two fields. A name that begins
// with "system:" is refused: those are of Kubernetes itself.
Result<Viewer> viewerNamedBy(const http::TrustedProxies& proxies, const http::Query& query);

}  // namespace divvy::console
