#include "model/tres.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace twinyard::model {
namespace {

constexpr std::int64_t kMiB = 1024 * 1024;

TEST(AmountsText, Table) {
    const struct {
        const char* name;
        Amounts amounts;
        std::string want;
    } cases[] = {
        {"nothing", {}, ""},
        {"all",
         {.cpus = 4, .memory_bytes = 65536 * kMiB, .nodes = 1, .devices = {{"gpu", 8}}},
         "cpu=4,mem=64G,node=1,billing=4,gres/gpu=8"},
        {"not whole G", {.memory_bytes = 2000 * kMiB, .devices = {}}, "mem=2000M"},
        {"rounds up to M", {.memory_bytes = 1, .devices = {}}, "mem=1M"},
        {"zero devices", {.cpus = 1, .devices = {{"gpu", 0}}}, "cpu=1,billing=1"},
    };
    for (const auto& c : cases)
        EXPECT_EQ(amounts_text(c.amounts), c.want) << c.name;
}

TEST(RequestedAmounts, AddsTheFourWaysToAsk) {
    WorkloadSpec spec;
    TaskGroup group;
    group.members = {6, 6};
    group.nodes = {2, 2};
    group.per_member.cpu_milli = 1500;
    group.per_node.memory_bytes = 100;
    group.per_node.devices = {{.class_path = "gpu/h100", .count = 4}};
    group.total.devices = {{.class_path = "gpu", .count = 1}};
    spec.groups = {group};
    const Amounts got = requested_amounts(spec);
    EXPECT_EQ(got.cpus, 9);
    EXPECT_EQ(got.memory_bytes, 200);
    EXPECT_EQ(got.nodes, 2);
    EXPECT_EQ(got.devices, (std::map<std::string, std::int64_t>{{"gpu", 9}}));
    spec.groups[0].nodes.min = 1;
    spec.groups[0].members_per_node.max = 2;
    EXPECT_EQ(requested_amounts(spec).nodes, 3) << "as few as its members fit on";
}

TEST(GrantedAmounts, CountsNodesOnceAndDevicesByTheRootOfTheirClass) {
    auto node = std::make_shared<Node>();
    node->capacity.devices = {{.class_path = "gpu/h100", .uuid = "", .path = "", .links = {}}};
    IdMap<NodePtr> nodes;
    nodes.put(1, node);
    Placement placement;
    NodeGrant grant;
    grant.node = NodeId{1};
    grant.cpu_milli = 1000;
    grant.cpus = {0, 1};
    grant.devices = {0};
    placement.grants = {grant, grant};
    const Amounts got = granted_amounts(placement, nodes);
    EXPECT_EQ(got.cpus, 4);
    EXPECT_EQ(got.nodes, 1);
    EXPECT_EQ(got.devices.at("gpu"), 2);
}

}  // namespace
}  // namespace twinyard::model
