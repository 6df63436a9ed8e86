#include "model/ledger.h"

#include <gtest/gtest.h>

#include "model/testing.h"

namespace twinyard::model {
namespace {

using List = std::vector<std::uint16_t>;

Node node_of(const std::string& line) {
    return **testing::ClusterText::read("node n1 " + line + "\n").nodes.find(1);
}

WorkloadSpec spec_of(Share share, std::uint32_t uid, Door door = Door::Slurm) {
    WorkloadSpec spec;
    spec.door = door;
    spec.uid = uid;
    spec.groups.resize(1);
    spec.groups[0].share = share;
    return spec;
}

PlannedGrant grant_of(std::int64_t cpu_milli, std::int64_t memory, List devices = {}) {
    PlannedGrant grant;
    grant.node = NodeId{1};
    grant.member_count = 1;
    grant.cpu_milli = cpu_milli;
    grant.memory_bytes = memory;
    grant.devices = std::move(devices);
    return grant;
}

/// Books what must be covered.
NodeGrant book(const Node& node,
               NodeUse& use,
               const PlannedGrant& grant,
               const WorkloadSpec& spec) {
    EXPECT_TRUE(covers(node, use, grant, spec));
    NodeGrant settled = settle(node, use, grant, spec);
    take(use, settled, spec);
    return settled;
}

TEST(Ledger, NothingIsGivenTwice) {
    const Node node = node_of("cpus=8 threads=2 gpus=x:2 mem=10G");
    const WorkloadSpec spec = spec_of(Share::Any, 1);
    NodeUse use;
    EXPECT_EQ(book(node, use, grant_of(3000, 4 * kGiB, {0}), spec).cpus, (List{0, 1, 2, 3}));
    const struct {
        const char* name;
        PlannedGrant grant;
        bool covered;
    } cases[] = {
        {"the rest", grant_of(4000, 6 * kGiB, {1}), true},
        {"a device that is held", grant_of(1000, 0, {0}), false},
        {"a device twice", grant_of(1000, 0, {1, 1}), false},
        {"a device that is not there", grant_of(1000, 0, {2}), false},
        {"one core too many", grant_of(5000, 0), false},
        {"too much memory", grant_of(1000, 6 * kGiB + 1), false},
        {"no memory asked", grant_of(1000, 0), true},
    };
    for (const auto& c : cases)
        EXPECT_EQ(covers(node, use, c.grant, spec), c.covered) << c.name;
}

TEST(Ledger, SickDevicesAreNotGiven) {
    Node node = node_of("gpus=x:2");
    node.capacity.devices[1].healthy = false;
    EXPECT_TRUE(covers(node, {}, grant_of(0, 0, {0}), spec_of(Share::Any, 1)));
    EXPECT_FALSE(covers(node, {}, grant_of(0, 0, {1}), spec_of(Share::Any, 1)));
}

TEST(Ledger, WhoMayShareANode) {
    const Node node = node_of("cpus=8");
    const struct {
        const char* name;
        Share there, comes;
        std::uint32_t uid;
        bool covered;
    } cases[] = {
        {"anybody", Share::Any, Share::Any, 2, true},
        {"whole needs it empty", Share::Any, Share::WholeNode, 1, false},
        {"nobody beside whole", Share::WholeNode, Share::Any, 1, false},
        {"the same user", Share::SameUser, Share::Any, 1, true},
        {"another user", Share::SameUser, Share::Any, 2, false},
        {"same user beside its own", Share::Any, Share::SameUser, 1, true},
        {"same user beside another's", Share::Any, Share::SameUser, 2, false},
    };
    for (const auto& c : cases) {
        NodeUse use;
        book(node, use, grant_of(1000, 0), spec_of(c.there, 1));
        EXPECT_EQ(covers(node, use, grant_of(1000, 0), spec_of(c.comes, c.uid)), c.covered)
            << c.name;
    }
}

TEST(Ledger, GivingBackUndoesTaking) {
    const Node node = node_of("cpus=64 threads=2 gpus=x:8 mem=64G");
    for (const Share share : {Share::Any, Share::WholeNode, Share::SameUser}) {
        NodeUse use;
        const WorkloadSpec spec = spec_of(share, 5);
        const NodeGrant one = book(node, use, grant_of(60'000, kGiB, {3, 7}), spec);
        give_back(use, one, spec);
        EXPECT_EQ(use, NodeUse{});
    }
}

TEST(Ledger, PodsShareTheCpusThatNobodyWasGranted) {
    const Node node = node_of("cpus=4");
    NodeUse use;
    const WorkloadSpec pod = spec_of(Share::Any, 1, Door::Kubernetes);
    EXPECT_TRUE(book(node, use, grant_of(1500, 0), pod).cpus.empty());
    EXPECT_EQ(free_cpus(node.capacity, use), 2);
    EXPECT_TRUE(covers(node, use, grant_of(2000, 0), spec_of(Share::Any, 1)));
    EXPECT_FALSE(covers(node, use, grant_of(3000, 0), spec_of(Share::Any, 1)));
    EXPECT_TRUE(covers(node, use, grant_of(2500, 0), pod));
    EXPECT_FALSE(covers(node, use, grant_of(2501, 0), pod));
}

TEST(Ledger, CpusNearTheDevicesComeFirst) {
    Node node = node_of("cpus=8 gpus=x:2");
    node.capacity.sockets = 2;
    node.capacity.cores_per_socket = 4;
    node.capacity.devices[0].numa = 0;
    node.capacity.devices[1].numa = 1;
    const WorkloadSpec spec = spec_of(Share::Any, 1);
    EXPECT_EQ(choose_cpus(node, {}, grant_of(2000, 0, {1}), spec), (List{4, 5}));
    EXPECT_EQ(choose_cpus(node, {}, grant_of(5000, 0, {1}), spec), (List{0, 4, 5, 6, 7}));
    EXPECT_EQ(choose_cpus(node, {}, grant_of(2000, 0), spec), (List{0, 1}));
}

}  // namespace
}  // namespace twinyard::model
