// The Kubernetes half of the table "request → TaskGroup" (the Slurm half is in
// src/slurm/translate_test.cpp): what each object is in the model's words. The groups are built
// here by hand, as the Kubernetes door builds them; the texts document them.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/duration_text.h"
#include "model/notation.h"
#include "model/pod_request.h"
#include "model/workload.h"

namespace twinyard::model {
namespace {

Resources need(std::int64_t cpu_milli, std::int64_t gib, std::vector<DeviceRequest> devices = {}) {
    return {cpu_milli, gib * kGiB, std::move(devices)};
}

TaskGroup pods(std::string name, std::uint32_t count, const Resources& each) {
    TaskGroup group;
    group.name = std::move(name);
    group.members = {count, count};
    group.per_member = each;
    return group;
}

using Kind = ContainerRequest::Kind;

TEST(PodRequest, TakesTheWorstMomentOfEachResource) {
    const std::vector<ContainerRequest> containers = {
        {Kind::Sidecar, need(100, 1)},
        {Kind::Init, need(2000, 1)},
        {Kind::Main, need(500, 4, {{"gpu", 1, 0}})},
        {Kind::Main, need(500, 1)},
    };
    // Cpu: the init container beside the sidecar before it. Memory and GPU: all that run together.
    EXPECT_EQ(pod_request(containers, {}), need(2100, 6, {{"gpu", 1, 0}}));
}

TEST(PodRequest, ASidecarAfterAnInitContainerDoesNotRunBesideIt) {
    const std::vector<ContainerRequest> containers = {
        {Kind::Init, need(2000, 1)}, {Kind::Sidecar, need(100, 1)}, {Kind::Main, need(500, 1)}};
    EXPECT_EQ(pod_request(containers, {}), need(2000, 2));
}

TEST(PodRequest, DevicesOfInitContainersAreNotAddedToThoseOfMainOnes) {
    const std::vector<ContainerRequest> containers = {
        {Kind::Init, need(0, 0, {{"gpu/h100", 2, 0}})},
        {Kind::Main, need(0, 0, {{"gpu/h100", 1, 0}})}};
    EXPECT_EQ(pod_request(containers, need(250, 0)), need(250, 0, {{"gpu/h100", 2, 0}}));
}

TEST(KubernetesExamples, PodWithInitAndSidecarContainers) {
    const std::vector<ContainerRequest> containers = {{Kind::Sidecar, need(100, 1)},
                                                      {Kind::Init, need(2000, 1)},
                                                      {Kind::Main, need(1000, 4, {{"gpu", 1, 0}})}};
    const TaskGroup group = pods("main", 1, pod_request(containers, {}));
    EXPECT_EQ(to_text(group), "members 1; member: cpu 2100m, mem 5G, 1 gpu");
}

TEST(KubernetesExamples, AntiAffinityKeepsReplicasApartAndSpreadsThemOverRacks) {
    TaskGroup group = pods("web", 1, need(500, 1));
    const NodeTerm web{{{"app", LabelOp::In, {"web"}}}};
    group.where.affinity = {{Affinity::Kind::Apart, true, "node", web},
                            {Affinity::Kind::Spread, false, "rack", web, 1}};
    EXPECT_EQ(to_text(group),
              "members 1; member: cpu 500m, mem 1G; apart from app in (web) by node; "
              "rather spread over app in (web) by rack");
}

TEST(KubernetesExamples, NodeSelectorAndPreferredTerms) {
    TaskGroup group = pods("main", 1, need(1000, 1));
    group.where.any_of = {{{{"gpu.type", LabelOp::In, {"h100", "h200"}},
                            {"maintenance", LabelOp::DoesNotExist, {}}}}};
    group.where.preferred = {{10, {{{"zone", LabelOp::In, {"a"}}}}}};
    EXPECT_EQ(to_text(group),
              "members 1; member: cpu 1, mem 1G; where gpu.type in (h100,h200)&!maintenance; "
              "rather zone in (a) (10)");
}

/// An open PodGroup: Pods come when they come. minMember 5 of the whole, at least one master and
/// two workers; slots beyond the minima fill as Pods arrive.
TEST(KubernetesExamples, OpenPodGroupWithMinimaOfTasks) {
    WorkloadSpec spec;
    spec.door = Door::Kubernetes;
    spec.end_rule = EndRule::EachOnItsOwn;
    spec.min_members = 5;
    TaskGroup master = pods("master", 1, need(1000, 2));
    TaskGroup worker = pods("worker", 2, need(4000, 16, {{"gpu/h100", 1, 0}}));
    worker.members.max = kNoMaximum;
    spec.groups = {master, worker};
    EXPECT_EQ(to_text(spec.groups[0]), "members 1; member: cpu 1, mem 2G");
    EXPECT_EQ(to_text(spec.groups[1]), "members 2..; member: cpu 4, mem 16G, 1 gpu/h100");
    EXPECT_LT(spec.groups[0].members.min + spec.groups[1].members.min, spec.min_members);
}

/// A batch/v1 Job with completionMode Indexed, completions 100 and parallelism 8: no gang. Each
/// index is a member slot of its own; eight run at a time, so one placed Pod is enough to begin.
TEST(KubernetesExamples, IndexedJobBeginsWithOnePod) {
    WorkloadSpec spec;
    spec.door = Door::Kubernetes;
    spec.end_rule = EndRule::EachOnItsOwn;
    spec.min_members = 1;
    TaskGroup group = pods("index", 1, need(1000, 2));
    group.members.max = 8;
    spec.groups = {group};
    EXPECT_EQ(to_text(spec.groups[0]), "members 1..8; member: cpu 1, mem 2G");
    EXPECT_FALSE(spec.time_limit.has_value());
}

/// A share of a GPU is a request of one device, in thousandths.
TEST(KubernetesExamples, ShareOfAGpu) {
    EXPECT_EQ(to_text(pods("main", 1, need(500, 1, {{"gpu", 1, 250}}))),
              "members 1; member: cpu 500m, mem 1G, 1 gpu share 250m");
}

}  // namespace
}  // namespace twinyard::model
