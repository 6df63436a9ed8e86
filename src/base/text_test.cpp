#include "base/text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

#include "base/duration_text.h"
#include "base/hash.h"
#include "base/hostlist.h"

namespace twinyard {
namespace {

TEST(Text, Pieces) {
    using Views = std::vector<std::string_view>;
    EXPECT_EQ(trim(" \t a b \r\n"), "a b");
    EXPECT_EQ(trim("  "), "");
    EXPECT_EQ(split("a,,b", ','), (Views{"a", "", "b"}));
    EXPECT_EQ(split("", ','), Views{""});
    EXPECT_EQ(split_list(" a, ,b,"), (Views{"a", "b"}));
    EXPECT_EQ(split_once("k=v=w", '='), std::pair(std::string_view("k"), std::string_view("v=w")));
    EXPECT_EQ(split_once("k", '='), std::nullopt);
    EXPECT_EQ(join(std::vector<std::string>{"a", "b", "c"}, ", "), "a, b, c");
    EXPECT_TRUE(equal_nocase("NodeName", "nodename"));
    EXPECT_FALSE(equal_nocase("NodeName", "nodenam"));
    EXPECT_TRUE(starts_with_nocase("NodeName", "NODE"));
    EXPECT_EQ(to_upper("aZ1"), "AZ1");
}

TEST(Text, PrintableEscapesAndCuts) {
    EXPECT_EQ(printable("a\nb\x1b[31m\xff\t"), "a\\nb\\x1b[31m\\xff\\t");
    EXPECT_EQ(printable(std::string(500, 'x'), 10), "xxxxxxxxxx...");
    EXPECT_EQ(printable("ab\n", 3), "ab...") << "an escape is never cut in the middle";
}

TEST(Text, Numbers) {
    EXPECT_EQ(parse_number<int>("42"), 42);
    EXPECT_EQ(parse_number<int>("-7"), -7);
    EXPECT_EQ(parse_number<int>("+7"), 7);
    const struct {
        const char* text;
        const char* want;
    } cases[] = {
        {"", "'' is not a whole number"},
        {"4x", "'4x' is not a whole number"},
        {" 4", "' 4' is not a whole number"},
        {"+-4", "'+-4' is not a whole number"},
        {"0x10", "'0x10' is not a whole number"},
        {"0", "0 is not between 1 and 64"},
        {"65", "65 is not between 1 and 64"},
        {"99999999999999999999", "99999999999999999999 is not between 1 and 64"},
    };
    for (const auto& c : cases) {
        const Result<int> got = parse_number<int>(c.text, 1, 64);
        ASSERT_FALSE(got) << c.text;
        EXPECT_EQ(got.error().message(), c.want);
    }
    EXPECT_FALSE(parse_number<unsigned>("-1"));
}

TEST(Text, DidYouMean) {
    constexpr auto kWords =
        std::to_array<std::string_view>({"MaxTime", "MaxNodes", "Nodes", "QOS"});
    EXPECT_EQ(closest_match("MaxTme", kWords), "MaxTime");
    EXPECT_EQ(closest_match("maxtime", kWords), "MaxTime");
    EXPECT_EQ(closest_match("Ndoes", kWords), "Nodes") << "swapped letters are one edit";
    EXPECT_EQ(closest_match("Elephant", kWords), "");
    EXPECT_EQ(closest_match("x", kWords), "") << "short words are near everything";
    EXPECT_EQ(closest_match("", kWords), "");
    EXPECT_EQ(closest_match(std::string(100'000, 'M'), kWords), "");
    EXPECT_EQ(did_you_mean("Qos", kWords), " (did you mean QOS?)");
    EXPECT_EQ(did_you_mean("zzzz", kWords), "");
}

TEST(TimeLimit, ParsesEveryForm) {
    const struct {
        const char* text;
        Seconds want;
    } cases[] = {
        {"30", Seconds{1800}},
        {"1:30", Seconds{90}},
        {"0:90", Seconds{90}},
        {"01:00:00", Seconds{3600}},
        {"7-0", Seconds{604800}},
        {"1-2", Seconds{93600}},
        {"1-2:30", Seconds{95400}},
        {"7-00:00:00", Seconds{604800}},
        {"1-00:00:05", Seconds{86405}},
        {"UNLIMITED", kUnlimited},
        {"infinite", kUnlimited},
        {"-1", kUnlimited},
        {" 5 ", Seconds{300}},
        {"0", Seconds{0}},
    };
    for (const auto& c : cases)
        EXPECT_EQ(parse_time_limit(c.text), c.want) << c.text;
}

TEST(TimeLimit, RefusesTheRest) {
    for (const char* text : {"",
                             "x",
                             "1:",
                             ":1",
                             "1:2:3:4",
                             "1-",
                             "-5",
                             "1-2-3",
                             "1.5",
                             "7 days",
                             "99999999999",
                             "+5",
                             "1-1:1:1:1",
                             "9999999999-0"}) {
        EXPECT_FALSE(parse_time_limit(text)) << text;
    }
}

TEST(TimeLimit, Formats) {
    const struct {
        Seconds limit;
        const char* plain;
        const char* padded;
    } cases[] = {
        {Seconds{604800}, "7-00:00:00", "7-00:00:00"},
        {Seconds{3600}, "1:00:00", "01:00:00"},
        {Seconds{36000}, "10:00:00", "10:00:00"},
        {Seconds{1800}, "30:00", "00:30:00"},
        {Seconds{5}, "0:05", "00:00:05"},
        {kUnlimited, "UNLIMITED", "UNLIMITED"},
        {Seconds{95405}, "1-02:30:05", "1-02:30:05"},
    };
    for (const auto& c : cases) {
        EXPECT_EQ(format_time_limit(c.limit), c.plain);
        EXPECT_EQ(format_time_limit_padded(c.limit), c.padded);
    }
    EXPECT_EQ(round_up_to_minutes(Seconds{61}), Seconds{120});
    EXPECT_EQ(round_up_to_minutes(Seconds{60}), Seconds{60});
    EXPECT_EQ(round_up_to_minutes(kUnlimited), kUnlimited);
}

TEST(Size, ParsesAndFormats) {
    EXPECT_EQ(parse_size("64G"), 64 * kGiB);
    EXPECT_EQ(parse_size("4gb"), 4 * kGiB);
    EXPECT_EQ(parse_size("1000M"), 1000 * kMiB);
    EXPECT_EQ(parse_size("1000"), 1000 * kMiB);
    EXPECT_EQ(parse_size("512", kKiB), 512 * kKiB);
    EXPECT_EQ(parse_size("1.5G"), 1536 * kMiB);
    EXPECT_EQ(parse_size("2T"), 2048 * kGiB);
    for (const char* text : {"", "G", "-1", "1X", "1GBB", "1.G", "1 2", "9999999999999P", "1e5"}) {
        EXPECT_FALSE(parse_size(text)) << text;
    }
    EXPECT_EQ(format_size(1000 * kMiB), "1000M");
    EXPECT_EQ(format_size(3000 * kMiB), "3000M");
    EXPECT_EQ(format_size(64 * kGiB), "64G");
    EXPECT_EQ(format_size(64000 * kMiB), "62.50G");
    EXPECT_EQ(format_size(2048 * kGiB), "2T");
    EXPECT_EQ(format_size(1), "1M");
    EXPECT_EQ(format_size(0), "0");
}

TEST(Hash, IsTheFirstHalfOfSha256) {
    EXPECT_EQ(to_hex(content_hash("abc")), "ba7816bf8f01cfea414140de5dae2223");
    EXPECT_EQ(to_hex(content_hash("")), "e3b0c44298fc1c149afbf4c8996fb924");
}

std::string expanded(std::string_view text) {
    const Result<std::vector<std::string>> names = expand_hostlist(text);
    return names ? join(*names, " ") : "error: " + names.error().message();
}

TEST(Hostlist, Expands) {
    const struct {
        const char* text;
        const char* want;
    } cases[] = {
        {"n1", "n1"},
        {"", ""},
        {"n[1-3]", "n1 n2 n3"},
        {"n[001-003,100]", "n001 n002 n003 n100"},
        {"n[08-11]", "n08 n09 n10 n11"},
        {"gpu[1,3]x", "gpu1x gpu3x"},
        {"a[1-2]b[1-2]", "a1b1 a1b2 a2b1 a2b2"},
        {"n3,n1,n1", "n3 n1 n1"},
        {" a , b,,", "a b"},
        {"10.0.0.[1-3]", "10.0.0.1 10.0.0.2 10.0.0.3"},
        {"n[1]", "n1"},
    };
    for (const auto& c : cases)
        EXPECT_EQ(expanded(c.text), c.want) << c.text;
}

TEST(Hostlist, RefusesWithOneLine) {
    const struct {
        const char* text;
        const char* want;
    } cases[] = {
        {"n[1-", "error: host list 'n[1-': '[' without ']'"},
        {"n1]", "error: host list 'n1]': ']' without '['"},
        {"n[]", "error: host list 'n[]': '' is not a range of numbers"},
        {"n[a-b]", "error: host list 'n[a-b]': 'a-b' is not a range of numbers"},
        {"n[3-1]", "error: host list 'n[3-1]': range '3-1' runs backwards"},
        {"n[1-1000000000]", "error: host list 'n[1-1000000000]': more than 65536 hosts"},
        {"n[1-9999],m[1-9999]x[1-9999]",
         "error: host list 'n[1-9999],m[1-9999]x[1-9999]': more than 65536 hosts"},
        {"n\x1b", "error: host list 'n\\x1b': a name has a space or control character"},
        {"n[[1]]", "error: host list 'n[[1]]': '[' without ']'"},
        {"n[11111111111111111111]",
         "error: host list 'n[11111111111111111111]': '11111111111111111111' has too many digits"},
    };
    for (const auto& c : cases)
        EXPECT_EQ(expanded(c.text), c.want) << c.text;
}

TEST(Hostlist, LimitIsExact) {
    EXPECT_EQ(expand_hostlist("n[1-65536]")->size(), kHostlistMax);
    EXPECT_FALSE(expand_hostlist("n[1-65536],m"));
    EXPECT_FALSE(expand_hostlist("n[1-3]", 2));
    std::string many;
    for (int i = 0; i < 70'000; ++i)
        many += "n[1-99999999],";
    EXPECT_FALSE(expand_hostlist(many));
}

TEST(Hostlist, Folds) {
    const struct {
        std::vector<std::string> names;
        const char* want;
    } cases[] = {
        {{}, ""},
        {{"n1"}, "n1"},
        {{"n3", "n1", "n2", "n1"}, "n[3,1-2,1]"},
        {{"n01", "n1", "n001"}, "n[01,1,001]"},
        {{"n1", "n2", "n3", "n05"}, "n[1-3,05]"},
        {{"node009", "node010", "node011", "node100"}, "node[009-011,100]"},
        {{"a1b1", "a1b2", "a2b1"}, "a1b[1-2],a2b1"},
        {{"n9", "n10", "n11"}, "n[9-11]"},
        {{"login", "n1", "n2", "login"}, "login,n[1-2],login"},
        {{"gpu1x", "gpu2x"}, "gpu1x,gpu2x"},
        {{"n1", "n1"}, "n[1,1]"},
        {{"7", "8"}, "[7-8]"},
    };
    for (const auto& c : cases)
        EXPECT_EQ(fold_hostlist(c.names), c.want);
    const std::vector<std::string> mixed = {"n10", "n2", "m1", "n2", "n1", "n02"};
    EXPECT_EQ(fold_hostlist_sorted(mixed), "m1,n[1-2,02,10]");
}

TEST(Hostlist, FoldThenExpandGivesTheSameNames) {
    std::mt19937 random(3);
    for (int round = 0; round < 300; ++round) {
        std::vector<std::string> names;
        for (std::size_t i = 0; i < 1 + random() % 30; ++i) {
            std::string digits = std::to_string(random() % 14);
            if (random() % 3 == 0) digits.insert(0, random() % 3, '0');
            names.push_back(std::string(1, "ab"[random() % 2]) + digits +
                            (random() % 9 ? "" : "x"));
        }
        const std::string folded = fold_hostlist(names);
        EXPECT_EQ(expand_hostlist(folded), names) << folded;
    }
}

TEST(Hostlist, AnyBytesAreAnAnswer) {
    std::mt19937 random(5);
    constexpr std::string_view kAlphabet = "n19[]-,0 \x01x";
    for (int round = 0; round < 20'000; ++round) {
        std::string text;
        for (std::size_t i = 0; i < random() % 16; ++i)
            text += kAlphabet[random() % kAlphabet.size()];
        const auto names = expand_hostlist(text, 1000);
        if (names) {
            EXPECT_LE(names->size(), 1000U);
        } else {
            EXPECT_EQ(names.error().message().find('\n'), std::string::npos);
        }
    }
}

}  // namespace
}  // namespace twinyard
