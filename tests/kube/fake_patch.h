// Patches of the fake API server (fake_api.h). Pure.
#pragma once

#include <string>
#include <string_view>

#include <boost/json/value.hpp>

namespace divvy::test {

// HTTP statuses of the API server for patches.
enum class PatchStatus : unsigned {
  kApplied = 200,
  kMalformed = 400,    // no JSON, or not of the patch's form
  kUnsupported = 415,  // another media type
  kInvalid = 422,      // a step of a JSON patch fails: nothing is applied
};

// Applies a patch to `object`, which stays as it is unless the result is kApplied. `type`: media
// type of the body. Source: RFC 6902 (test, add, replace, remove), RFC 7386 (merge patch), and
// Kubernetes' strategic merge patch, of which three lists are known: `conditions` by their type,
// `schedulingGates` and `admissionChecks` by their name, all with {"$patch": "delete"}. Other lists
// are replaced. A server-side apply merges as a strategic patch: fields that its manager no longer
// states stay.
PatchStatus applyPatch(std::string_view type, const std::string& body, boost::json::value* object);

}  // namespace divvy::test
