// Objects of Kueue, as far as an admission check needs them. Source: the API kueue.x-k8s.io/v1beta2
// (Kueue 0.15 and later).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <boost/json/value.hpp>

#include "base/result.h"
#include "kube/object.h"
#include "kube/pod.h"

namespace divvy::kube {

inline constexpr const char* kKueueVersion = "kueue.x-k8s.io/v1beta2";
inline constexpr const char* kKueueChecksPath = "/apis/kueue.x-k8s.io/v1beta2/admissionchecks";
inline constexpr const char* kKueueWorkloadsPath = "/apis/kueue.x-k8s.io/v1beta2/workloads";
inline constexpr const char* kKueueQueuesPath = "/apis/kueue.x-k8s.io/v1beta2/localqueues";
inline constexpr const char* kMultiKueueConfigsPath =
    "/apis/kueue.x-k8s.io/v1beta2/multikueueconfigs";
// Value of spec.controllerName of AdmissionChecks that MultiKueue evaluates.
inline constexpr const char* kMultiKueueController = "kueue.x-k8s.io/multikueue";

// The kind AdmissionCheck: a condition that a controller adds to the admission of workloads.
struct KueueCheck {
  Meta meta;
  std::string controller;   // name of the controller that evaluates it
  bool parameters = false;  // whether it refers to parameters
  std::string config;       // name of the MultiKueueConfig that it refers to; empty: none
  std::string active;       // status of its condition Active; empty: none
};

// Pods of a workload that have one template.
struct KueuePodSet {
  std::string name;
  std::int64_t count = 0;  // pods that have quota, else pods that are requested
  Pod pod;                 // the template: without name, UID and priority
};

// The kind MultiKueueConfig: worker clusters of a manager cluster.
struct MultiKueueConfig {
  Meta meta;
  std::vector<std::string> clusters;  // names of MultiKueueClusters
};

// The kind LocalQueue: a queue in which workloads of one namespace wait for quota.
struct KueueQueue {
  Meta meta;
  std::string problem;  // why it admits no workloads; empty: it admits some
};

// The state of an AdmissionCheck for a workload.
struct KueueCheckState {
  std::string name;   // of the AdmissionCheck
  std::string state;  // Pending, Ready, Retry or Rejected
  std::string message;
  std::int64_t retries = 0;
};

// The kind Workload: a job that waits for quota, and starts as a whole.
struct KueueWorkload {
  Meta meta;
  std::string queue;          // name of its LocalQueue; empty: none
  std::string job;            // name of the batch/v1 Job that owns it; empty: another owner
  std::int64_t priority = 0;  // of its pods; 0 if the workload's priority is not theirs
  // Its pods exist already, and its templates lack their metadata: it is of pods, or of objects
  // that Kueue handles by their pods.
  bool of_pods = false;
  bool of_manager = false;  // copied here by MultiKueue, from a manager cluster
  bool active = true;       // false: it is not admitted
  bool quota_reserved = false;
  std::int64_t quota_since = 0;  // seconds since 1970, by the server's clock; 0: not stated
  bool admitted = false;
  bool evicted = false;  // Kueue is taking its quota back
  bool finished = false;
  std::string cluster;                 // worker cluster that MultiKueue chose; empty: none
  std::vector<std::string> nominated;  // worker clusters that may be chosen
  // Kueue writes the status by server-side apply, and cannot clear fields that others own.
  bool applied = false;
  std::vector<KueuePodSet> pod_sets;
  std::vector<KueueCheckState> checks;
};

// Reads an AdmissionCheck. kCorrupt: a member differs from the API.
Result<KueueCheck> kueueCheckOf(const boost::json::value& object);
// Reads a MultiKueueConfig. kCorrupt: a member differs from the API.
Result<MultiKueueConfig> multiKueueConfigOf(const boost::json::value& object);
// Reads a LocalQueue. kCorrupt: a member differs from the API.
Result<KueueQueue> kueueQueueOf(const boost::json::value& object);
// Reads a Workload. kCorrupt: a member differs from the API.
Result<KueueWorkload> kueueWorkloadOf(const boost::json::value& object);

}  // namespace divvy::kube
