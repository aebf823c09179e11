// The parts behind SchedulerCache, each with a reference to their common state. Private.
#pragma once

#include "cache/cache_state.h"
#include "cache/cluster_updates.h"
#include "cache/placement_search.h"
#include "cache/pod_filter.h"
#include "cache/reservations.h"
#include "cache/what_if.h"
#include "scheduler/cache_queries.h"

namespace divvy::scheduler {

struct CacheParts {
  // `catalog` outlives it.
  CacheParts(const vendors::Catalog& catalog, const engine::Config& config)
      : state(catalog, config) {}
  CacheParts(const CacheParts&) = delete;
  CacheParts& operator=(const CacheParts&) = delete;

  CacheState state;
  ClusterUpdates updates{state};
  PlacementSearch search{state};
  PodFilter filter{state, search};
  Reservations reservations{state, search, filter};
  WhatIf what_if{state};
  NodeQueries node_queries{state};
  PodQueries pod_queries{*this};
};

}  // namespace divvy::scheduler
