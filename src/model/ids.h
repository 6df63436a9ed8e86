#pragma once

#include <cstdint>

#include "base/id.h"

namespace twinyard::model {

/// A workload of either door. Never reused; keys, messages and ties use it, with the attempt.
using WorkloadId = Id<struct WorkloadTag, std::uint64_t>;
/// Slurm's job number: counts from FirstJobId, wraps at MaxJobId.
using JobId = Id<struct JobTag, std::uint32_t>;
/// A node of the pool, numbered in order of first appearance; durable.
using NodeId = Id<struct NodeTag, std::uint32_t>;
/// Place of a partition in the configuration, from 1. Derived at each configuration; records use
/// names.
using PartitionId = Id<struct PartitionTag, std::uint32_t>;
/// One counter over all object changes, given by the core; never goes back.
using Revision = std::uint64_t;
/// Counts launches of one workload, from 1; rises at every requeue.
using Attempt = std::uint32_t;
/// Counts changes of what a workload asks for; a plan made for an older one is refused.
using Generation = std::uint32_t;
/// Raised durably each time a controller takes over; agents refuse lower ones.
using Term = std::uint64_t;

}  // namespace twinyard::model
