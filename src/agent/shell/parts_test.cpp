#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/core/testing.h"
#include "agent/shell/blob_cache.h"
#include "agent/shell/journal_codec.h"
#include "agent/shell/node_facts.h"
#include "agent/shell/options.h"
#include "base/check.h"
#include "os/files.h"

namespace twinyard::agent {
namespace {

TEST(JournalCodec, RoundTrip) {
    api::LaunchOrder order;
    order.key = key(7, 3);
    order.name = "train";
    const JournalEntry entries[] = {
        {0, Welcomed{"cluster", 9}},
        {1, Launched{order}},
        {70'000, Started{key(7, 3), 4'000'000, 1ULL << 40}},
        {0, Ended{observed(key(7, 3), api::Phase::Ended)}},
        {0, Forgotten{key(7, 3)}},
        {0, HighWater{key(8, 1)}},
    };
    for (const JournalEntry& entry : entries)
        EXPECT_EQ(decode_entry(encode_entry(entry)).value(), entry) << entry.fact.index();
    for (const std::string& bad : {std::string(),
                                   std::string("\x01\0\0\0", 4),
                                   std::string("\x09\0\0\0\0", 5),
                                   std::string("\x01\0\0\0\0x", 6)})
        EXPECT_EQ(decode_entry(bad).error().code(), ErrorCode::Corrupt);
}

TEST(AgentOptions, Table) {
    const struct {
        const char* name;
        std::vector<const char*> args;
        bool valid;
    } cases[] = {
        {"real", {"--dir", "/d", "--controller", "unix:/c", "--node", "n1", "--shares-host"}, true},
        {"declared", {"--dir=/d", "--controller=unix:/c", "--cpus=4", "--memory=5"}, true},
        {"emulated", {"--dir=/d", "--controller=unix:/c", "--emulate", "--nodes-from=/f"}, true},
        {"emulated from nothing", {"--dir=/d", "--controller=unix:/c", "--emulate"}, false},
        {"relative folder", {"--dir=d", "--controller=unix:/c"}, false},
        {"no controller", {"--dir=/d"}, false},
        {"cpus of letters", {"--dir=/d", "--controller=unix:/c", "--cpus=x"}, false},
        {"no cpus", {"--dir=/d", "--controller=unix:/c", "--cpus=0"}, false},
        {"unknown", {"--dir=/d", "--controller=unix:/c", "--wrong"}, false},
    };
    for (const auto& c : cases)
        EXPECT_EQ(parse_options(c.args).has_value(), c.valid) << c.name;
}

os::HostInventory small_host() {
    os::HostInventory host;
    host.hostname = "box";
    host.cpus = {0, 1, 2, 3};
    host.cores_per_socket = 2;
    host.threads_per_core = 2;
    host.memory_bytes = 1'000;
    return host;
}

TEST(DescribeHost, Table) {
    const struct {
        const char* name;
        AgentOptions options;
        os::NamespaceMode namespaces;
        std::uint32_t cpus;
        std::size_t devices;
        bool cpuset_alone;
        bool node_hostname;
        const char* notes;
    } cases[] = {
        {"as it is", {}, os::NamespaceMode::Privileged, 4, 0, false, false, ""},
        {"declared cpus beyond the host's",
         {.node = "box", .cpus = 96},
         os::NamespaceMode::Privileged,
         96,
         0,
         true,
         false,
         "cpuset left alone (declared cpus exceed the host's)"},
        {"a name of its own",
         {.node = "n1", .shares_host = true},
         os::NamespaceMode::UserNamespace,
         4,
         0,
         true,
         true,
         "cpuset left alone (several nodes share the host)"},
        {"a name that jobs cannot see",
         {.node = "n1"},
         os::NamespaceMode::Impossible,
         4,
         0,
         false,
         false,
         "node names do not resolve inside jobs (why)"},
        {"declared GPUs",
         {.gpus = "h100:8,a100:2"},
         os::NamespaceMode::Privileged,
         4,
         10,
         false,
         false,
         "GPUs are declared"},
    };
    for (const auto& c : cases) {
        const os::NamespaceProbe probe{.mode = c.namespaces, .reason = "why"};
        const HostNode node = describe_host(c.options, small_host(), probe, "groups").value();
        EXPECT_EQ(node.hello.capacity.cpus, c.cpus) << c.name;
        EXPECT_EQ(node.hello.capacity.devices.size(), c.devices) << c.name;
        EXPECT_EQ(node.cpuset_alone, c.cpuset_alone) << c.name;
        EXPECT_EQ(node.node_hostname, c.node_hostname) << c.name;
        EXPECT_EQ(node.hello.facts.notes, c.notes) << c.name;
        EXPECT_EQ(node.hello.facts.process_tracking, "groups") << c.name;
    }
    EXPECT_FALSE(describe_host({.gpus = "h100:x"}, small_host(), {}, "").has_value());
}

TEST(EmulatedNodes, Lines) {
    const auto nodes =
        parse_emulated_nodes("n1 96 1000 h100:8\nn2 8 500 - 2 2 2 77\n\n", "box").value();
    ASSERT_EQ(nodes.size(), 2U);
    EXPECT_TRUE(nodes[0].emulated);
    EXPECT_EQ(nodes[0].capacity.cpus, 96U);
    EXPECT_EQ(nodes[0].capacity.devices.size(), 8U);
    EXPECT_EQ(nodes[0].capacity.devices[7].class_path, "gpu/h100");
    EXPECT_EQ(nodes[1].capacity.threads_per_core, 2U);
    EXPECT_EQ(nodes[1].capacity.tmp_disk_bytes, 77);
    for (const char* bad : {"",
                            "n1 96 1000",
                            "n1 0 1000 -",
                            "n1 x 1000 -",
                            "n1 1 1 gpu:9999999",
                            "n1 1 1 - 2",
                            "n1 1 1 - 2 2 x"})
        EXPECT_FALSE(parse_emulated_nodes(bad, "box").has_value()) << bad;
}

TEST(BlobCache, FetchesOnceAndKeepsWhatIsNeeded) {
    char path[] = "/tmp/agent_blobs_XXXXXX";
    CHECK(::mkdtemp(path) != nullptr);
    const std::string folder = std::string(path) + "/blobs";
    std::vector<BlobCache::OnBytes> asked;
    BlobCache cache = BlobCache::open(folder, [&](const ContentHash&, BlobCache::OnBytes on_bytes) {
                          asked.push_back(std::move(on_bytes));
                      }).value();
    const ContentHash hash = content_hash("x");
    int ready = 0;
    cache.need(hash, [&](const Status& status) { ready += status ? 1 : 100; });
    cache.need(hash, [&](const Status& status) { ready += status ? 1 : 100; });
    ASSERT_EQ(asked.size(), 1U);
    asked[0](std::string("x"));
    EXPECT_EQ(ready, 2);
    EXPECT_TRUE(cache.link_to(hash, folder + "/copy").has_value());
    cache.release(hash);
    EXPECT_EQ(::access((folder + '/' + to_hex(hash)).c_str(), F_OK), 0);
    cache.release(hash);
    EXPECT_NE(::access((folder + '/' + to_hex(hash)).c_str(), F_OK), 0);
    EXPECT_EQ(os::read_file(folder + "/copy").value(), "x");
    cache.need(hash, [&](const Status& status) { ready += status ? 1 : 100; });
    ASSERT_EQ(asked.size(), 2U) << "asked again once nobody had needed it";
    asked[1](fail(ErrorCode::NotFound, "gone"));
    EXPECT_EQ(ready, 102);
    EXPECT_TRUE(os::remove_tree(path).has_value());
}

}  // namespace
}  // namespace twinyard::agent
