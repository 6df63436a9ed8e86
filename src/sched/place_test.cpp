#include "sched/place.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <string>

#include "sched/testing.h"

namespace twinyard::sched {
namespace {

using testing::Dice;
using testing::Yard;

/// "n1:2 n3:1": nodes and members; devices and cpus follow in brackets where asked for.
std::string text_of(const Index& index, const Gang& gang, bool amounts) {
    std::string text;
    for (const NodePart& part : gang) {
        if (!text.empty()) text += " ";
        text += index.nodes()[part.node].node->name + ":" + std::to_string(part.members);
        if (!amounts) continue;
        std::int64_t devices = 0;
        for (const ColumnCount& each : part.take.device_counts())
            devices += each.count;
        text +=
            "(" + std::to_string(part.take.cpu_milli / 1000) + "," + std::to_string(devices) + ")";
    }
    return text;
}

std::string place_text(const std::string& cluster, const std::string& job, bool amounts = false) {
    const Yard yard(cluster + "partition all nodes=all\njob 99 " + job + "\n");
    const model::WorkloadSpec& spec = *model::find(yard.snapshot, model::WorkloadId{99})->spec;
    const Request request = resolve(yard.index, spec, 0);
    if (!request.unsupported.empty()) return "unsupported: " + request.unsupported;
    NodeSet usable(yard.index.nodes().size());
    for (NodeIndex at = 0; at < yard.index.nodes().size(); ++at) {
        if (yard.index.nodes()[at].schedulable) usable.add(at);
    }
    Room room = Room::now(yard.index);
    return text_of(yard.index, place(yard.index, request, usable, room), amounts);
}

TEST(Place, Table) {
    const std::string four = "node n[1-4] cpus=8 gpus=h100:8 mem=64G\n";
    const std::string smt = "node n[1-2] cpus=16 threads=2 mem=64G\n";
    const std::string mixed =
        "node a[1-2] cpus=8 gpus=a100:4 features=old\nnode h[1-2] cpus=8 gpus=h100:8 "
        "features=new\n";
    const auto busy = [](const std::string& on) { return "running 1 on=" + on + "\n"; };
    const struct {
        const char* name;
        std::string cluster, job, want;
        bool amounts = false;
    } cases[] = {
        {"the tightest node wins", four + busy("n2 gpus=h100:4"), "nodes=1 gpus=h100:2", "n2:1"},
        {"a tie goes to the first", four, "nodes=1 gpus=h100:2", "n1:1"},
        {"a gang or nothing", four + busy("n2 gpus=h100:4"), "nodes=4 gpus=h100:8", ""},
        {"whole nodes are left whole",
         four + busy("n3 gpus=h100:2"),
         "nodes=1 gpus=h100:6",
         "n3:1"},
        {"any class of gpu", mixed, "nodes=1 gpus=8", "h1:1"},
        {"a class that is nowhere", mixed, "nodes=1 gpus=v100:1", ""},
        {"members fill nodes in order, by whole cores",
         smt,
         "nodes=2 n=6",
         "n1:4(4,0) n2:2(2,0)",
         true},
        {"single threads: one for each later node",
         "node n[1-2] cpus=8\n",
         "nodes=2 n=6",
         "n1:5(5,0) n2:1(1,0)",
         true},
        {"members a node make it even", smt, "nodes=2 n=6 mpn=3", "n1:3(4,0) n2:3(4,0)", true},
        {"one member takes a whole core", smt, "n=1 nodes=1", "n1:1(2,0)", true},
        {"fewest nodes", four, "n=10", "n1:8 n2:2"},
        {"the smallest node that holds all of it",
         "node n1 cpus=2\nnode n2 cpus=16\nnode n3 cpus=4\n",
         "n=4",
         "n3:4"},
        {"as many nodes as can be had up to a maximum",
         four,
         "nodes=2-3 gpus=h100:8",
         "n1:1 n2:1 n3:1"},
        {"fewer if not", four + busy("n[1-2] gpus=h100:1"), "nodes=2-3 gpus=h100:8", "n3:1 n4:1"},
        {"a total over two nodes", four, "nodes=2 gpus_all=h100:4", "n1:1(1,3) n2:1(1,1)", true},
        {"a total over as few as hold it",
         four,
         "n=1-any gpus_all=h100:16",
         "n1:1(1,8) n2:1(1,8)",
         true},
        {"a total that is not there", four, "n=1-any gpus_all=h100:33", ""},
        {"gpus for each member", four, "n=6 gpus_each=h100:2", "n1:4(4,8) n2:2(2,4)", true},
        {"all memory by default: needs an empty node's",
         four + busy("n1 mem=1G"),
         "nodes=1 take=memory",
         "n2:1"},
        {"whole nodes",
         four + busy("n1"),
         "nodes=1 share=node take=cpus,devices",
         "n2:1(8,8)",
         true},
        {"nobody joins a whole node", "node n1 cpus=8\n" + busy("n1 share=node"), "nodes=1", ""},
        {"the same user may join", four + busy("n1 share=user user=7"), "nodes=1 user=7", "n1:1"},
        {"another may not", four + busy("n1 share=user user=7"), "nodes=1 user=8", "n2:1"},
        {"it keeps off others' nodes",
         four + busy("n[1-3] user=7"),
         "nodes=1 share=user user=8",
         "n4:1"},
        {"features", mixed, "nodes=1 with=new", "h1:1"},
        {"a choice of features", mixed, "nodes=3 with=old|new", "a1:1 a2:1 h1:1"},
        {"one alternative for all", mixed, "nodes=3 with=old|new same", ""},
        {"the second alternative", mixed, "nodes=2 gpus=8 with=old|new same", "h1:1 h2:1"},
        {"both features", mixed, "nodes=1 with=old&new", ""},
        {"named nodes are among them", four, "nodes=2 include=n3", "n1:1 n3:1"},
        {"a named node that is busy", four + busy("n3 gpus=h100:8 c=8"), "nodes=2 include=n3", ""},
        {"excluded ones are not", four, "nodes=2 exclude=n[1-2]", "n3:1 n4:1"},
        {"lighter nodes first",
         "node n1 cpus=8 weight=5\nnode n2 cpus=8 weight=1\n",
         "nodes=1",
         "n2:1"},
        {"drained nodes give nothing", "node n1 state=drain\nnode n2\n", "nodes=1", "n2:1"},
        {"memory for each member", four, "n=5 mem_each=20G", "n1:3 n2:2"},
        {"cpu jobs keep off free gpus", four + busy("n2 gpus=h100:8"), "nodes=1", "n2:1"},
    };
    for (const auto& c : cases)
        EXPECT_EQ(place_text(c.cluster, c.job, c.amounts), c.want) << c.name;
}

TEST(Place, GroupsStartTogetherOrNotAtAll) {
    const std::string two = "node n[1-2] cpus=8 gpus=h100:8\n";
    EXPECT_EQ(place_text(two, "nodes=1 gpus=h100:8\n+ nodes=1 gpus=h100:8"), "n1:1 n2:1");
    EXPECT_EQ(place_text(two, "nodes=1 gpus=h100:8\n+ nodes=1 gpus=h100:4\n+ nodes=1 gpus=h100:5"),
              "");
    // The first could take any node; the second only one: it must be left to it.
    EXPECT_EQ(
        place_text("node n1 cpus=1 features=f\nnode n2 cpus=1\n", "nodes=1\n+ nodes=1 with=f"),
        "n2:1 n1:1");
}

/// Obvious and slow: could so many members run there, says the ledger itself?
class Brute {
  public:
    Brute(const Yard& yard, const model::WorkloadSpec& spec)
        : yard_(yard), spec_(spec), group_(spec.groups.front()) {}

    [[nodiscard]] bool fits_somehow() const {
        const auto nodes = static_cast<std::uint32_t>(yard_.snapshot.nodes.size());
        for (std::uint32_t chosen = 1; chosen < 1U << nodes; ++chosen) {
            if (fits_on(chosen)) return true;
        }
        return false;
    }

  private:
    [[nodiscard]] bool fits_on(std::uint32_t chosen) const {
        const auto count = static_cast<std::uint32_t>(std::popcount(chosen));
        if (count < group_.nodes.min || count > group_.nodes.max) return false;
        const std::uint32_t least = group_.members_per_node.min;
        if (count * least > group_.members.max) return false;
        std::uint32_t members = 0;
        for (std::uint32_t i = 0; i < yard_.snapshot.nodes.size(); ++i) {
            if ((chosen >> i & 1) == 0) continue;
            const std::uint32_t most = most_on(model::NodeId{i + 1});
            if (most < least) return false;
            members += most;
        }
        return members >= group_.members.min;
    }

    [[nodiscard]] std::uint32_t most_on(model::NodeId id) const {
        std::uint32_t most = 0;
        for (std::uint32_t k = 1; k <= std::min(group_.members.max, group_.members_per_node.max);
             ++k)
            most = covered(id, k) ? k : most;
        return most;
    }

    [[nodiscard]] bool covered(model::NodeId id, std::uint32_t members) const {
        const model::Node& node = *model::find(yard_.snapshot, id);
        const model::NodeUse* known = yard_.snapshot.uses.find(id.value());
        const model::NodeUse use = known == nullptr ? model::NodeUse{} : *known;
        model::PlannedGrant grant;
        grant.node = id;
        grant.cpu_milli = members * group_.per_member.cpu_milli;
        grant.memory_bytes = group_.per_node.memory_bytes;
        std::int64_t wanted = 0;
        for (const auto& device : group_.per_node.devices)
            wanted += device.count;
        for (const auto& device : group_.per_member.devices)
            wanted += members * device.count;
        for (std::uint16_t i = 0; i < node.capacity.devices.size(); ++i) {
            const bool held = !use.devices.empty() && (use.devices[0] >> i & 1) != 0;
            if (!held && wanted > 0) {
                grant.devices.push_back(i);
                --wanted;
            }
        }
        return wanted == 0 && model::is_schedulable(node) && model::covers(node, use, grant, spec_);
    }

    const Yard& yard_;
    const model::WorkloadSpec& spec_;
    const model::TaskGroup& group_;
};

std::string random_cluster(Dice& dice) {
    std::string text = "partition all nodes=all\n";
    const char* const nodes[] = {"cpus=4 threads=2 mem=8G gpus=x:2",
                                 "cpus=2 mem=4G gpus=x:4",
                                 "cpus=6 mem=16G",
                                 "cpus=8 threads=4 mem=8G gpus=x:1 state=drain"};
    std::string running;
    for (int i = 1; i <= 4; ++i) {
        const std::uint32_t kind = dice.roll(4);
        text += "node n" + std::to_string(i) + " " + nodes[kind] + "\n";
        const char* const loads[] = {"", "mem=1G", "mem=2G share=user user=7", "share=node"};
        const std::uint32_t load = dice.roll(4);
        if (load > 0)
            running += "running " + std::to_string(i) + " on=n" + std::to_string(i) + " " +
                       loads[load] + "\n";
    }
    return text + running;
}

std::string random_job(Dice& dice) {
    std::string job = "c=" + std::to_string(1 + dice.roll(2));
    const std::uint32_t low = 1 + dice.roll(3);
    if (dice.once_in(2))
        job += " nodes=" + std::to_string(low) + "-" + std::to_string(low + dice.roll(2));
    const std::uint32_t members = low + dice.roll(5);
    job += " n=" + std::to_string(members);
    if (dice.once_in(3)) job += "-" + std::to_string(members + dice.roll(3));
    if (dice.once_in(4)) job += " mpn=" + std::to_string(1 + dice.roll(2)) + "-any";
    if (dice.once_in(2)) job += " gpus_each=x:1";
    if (dice.once_in(3)) job += " gpus=x:" + std::to_string(1 + dice.roll(2));
    if (dice.once_in(3)) job += " mem=2G";
    const char* const shares[] = {"", "", " share=user user=7", " share=node"};
    return job + shares[dice.roll(4)];
}

TEST(Place, FindsAPlacementExactlyWhenThereIsOne) {
    int found = 0, not_found = 0;
    for (std::uint64_t seed = 1; seed <= 1500; ++seed) {
        Dice dice(seed);
        const std::string cluster = random_cluster(dice);
        const std::string job = random_job(dice);
        const Yard yard(cluster + "job 99 " + job + "\n");
        const model::WorkloadSpec& spec = *model::find(yard.snapshot, model::WorkloadId{99})->spec;
        const bool fits = Brute(yard, spec).fits_somehow();
        const model::Plan planned = yard.pass();
        ASSERT_EQ(!planned.starts.empty(), fits) << "seed " << seed << "\n" << cluster << job;
        (fits ? found : not_found)++;
        if (!fits) continue;
        Yard applied = yard;
        ASSERT_TRUE(applied.apply(planned.starts[0])) << "seed " << seed << "\n" << cluster << job;
        std::uint32_t members = 0;
        for (const model::PlannedGrant& grant : planned.starts[0].grants)
            members += grant.member_count;
        ASSERT_GE(members, spec.groups[0].members.min) << seed;
        ASSERT_LE(members, spec.groups[0].members.max) << seed;
    }
    EXPECT_GT(found, 200);
    EXPECT_GT(not_found, 300);
}

TEST(ChooseDevices, KeepsToOneNumaNodeThatFitsBest) {
    Yard yard("node n1 gpus=x:8\npartition all nodes=all\n");
    auto node = std::make_shared<model::Node>(*yard.index.nodes()[0].node);
    for (std::size_t i = 0; i < 8; ++i)
        node->capacity.devices[i].numa = i < 4 ? 0 : 1;
    yard.put(node);
    yard.follow();
    Take take;
    ASSERT_TRUE(take.add_devices(0, 2));
    using List = std::vector<std::uint16_t>;
    EXPECT_EQ(choose_devices(yard.index, 0, 0b11111111, take), (List{0, 1}));
    EXPECT_EQ(choose_devices(yard.index, 0, 0b01101111, take), (List{5, 6}));
    EXPECT_EQ(choose_devices(yard.index, 0, 0b00010001, take), (List{0, 4}));
}

}  // namespace
}  // namespace twinyard::sched
