#include <gtest/gtest.h>

#include "os/cpu_list.h"
#include "os/inventory.h"
#include "os/namespaces.h"
#include "os/process_id.h"

namespace twinyard::os {
namespace {

TEST(CpuList, FormatsAndParses) {
    struct Row {
        std::vector<int> numbers;
        const char* text;
    };
    const Row rows[] = {
        {{}, ""}, {{5}, "5"}, {{0, 1, 2, 3}, "0-3"}, {{0, 2, 3, 8, 10, 11}, "0,2-3,8,10-11"}};
    for (const Row& row : rows) {
        EXPECT_EQ(format_cpu_list(row.numbers), row.text);
        EXPECT_EQ(parse_cpu_list(std::string(row.text) + "\n").value(), row.numbers);
    }
    EXPECT_EQ(parse_cpu_list("3,1-2,2").value(), (std::vector<int>{1, 2, 3}));
    for (const char* bad :
         {"a", "1-", "-1", "3-1", "1,,2", "1,", "99999999999", "70000", "1-2-3"}) {
        EXPECT_FALSE(parse_cpu_list(bad).has_value()) << bad;
    }
}

TEST(ProcessStat, ReadsPastAnyCommandName) {
    const std::string tail =
        " S 41 42 43 34817 41 4194560 1 2 3 4 55 66 7 8 20 0 1 0 987654 1000000 25 "
        "18446744073709551615";
    for (const char* name : {"sh", "a b", "x) R 1 1", "((", ")"}) {
        const auto stat = parse_process_stat("42 (" + std::string(name) + ")" + tail);
        ASSERT_TRUE(stat.has_value()) << name;
        EXPECT_EQ(stat->id, (ProcessId{42, 987654}));
        EXPECT_EQ(stat->state, 'S');
        EXPECT_EQ(stat->parent, 41);
        EXPECT_EQ(stat->group, 42);
        EXPECT_EQ(stat->session, 43);
        EXPECT_EQ(stat->user_ticks, 55U);
        EXPECT_EQ(stat->system_ticks, 66U);
        EXPECT_EQ(stat->rss_bytes, 25U * 4096U);
    }
    for (const char* bad : {"", "42", "42 (sh", "42 (sh) S 1", "x (sh) S 1 2 3"}) {
        EXPECT_FALSE(parse_process_stat(bad).has_value()) << bad;
    }
}

TEST(GpuType, IsTheModel) {
    struct Row {
        const char* name;
        const char* type;
    };
    const Row rows[] = {{"NVIDIA H100 80GB HBM3", "h100"},
                        {"NVIDIA H200", "h200"},
                        {"NVIDIA A100-SXM4-40GB", "a100"},
                        {"Tesla V100-SXM2-16GB", "v100"},
                        {"NVIDIA GeForce RTX 3090", "rtx_3090"},
                        {"NVIDIA RTX A6000", "rtx_a6000"},
                        {"NVIDIA L40S", "l40s"},
                        {"NVIDIA GH200 480GB", "gh200"},
                        {"NVIDIA TITAN V", "titan_v"},
                        {"Something Odd", "something"},
                        {"NVIDIA", "gpu"},
                        {"", "gpu"},
                        {"\xff\x01", "gpu"}};
    for (const Row& row : rows)
        EXPECT_EQ(gpu_type_of(row.name), row.type) << row.name;
}

TEST(HostsText, PutsNodesFirstAndLeavesOutNonsense) {
    EXPECT_EQ(hosts_file_text("127.0.0.1 localhost\n", {"n1", "bad name", "n2", "", "-x", "a\nb"}),
              "127.0.0.1\tn1\n127.0.0.1\tn2\n127.0.0.1 localhost\n");
}

}  // namespace
}  // namespace twinyard::os
