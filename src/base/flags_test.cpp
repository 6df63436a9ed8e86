#include "base/flags.h"

#include <gtest/gtest.h>

#include <array>

namespace twinyard {
namespace {

struct Parsed {
    std::string dir;
    bool detach = false;
    Status status;
};

template <std::size_t N>
Parsed parse(const std::array<const char*, N>& args) {
    Parsed p;
    p.status = parse_flags(
        args, {{.name = "--dir", .value = &p.dir}, {.name = "--detach", .given = &p.detach}});
    return p;
}

TEST(Flags, ValuesAndSwitches) {
    const Parsed p = parse(std::array{"--detach", "--dir", "a"});
    ASSERT_TRUE(p.status.has_value());
    EXPECT_TRUE(p.detach);
    EXPECT_EQ(p.dir, "a");
    EXPECT_EQ(parse(std::array{"--dir=b=c"}).dir, "b=c");
}

TEST(Flags, SaysWhatIsWrong) {
    EXPECT_NE(parse(std::array{"--dirr", "a"}).status.error().message().find("--dir"),
              std::string::npos);
    EXPECT_EQ(parse(std::array{"--dir"}).status.error().message(), "--dir needs a value");
    EXPECT_EQ(parse(std::array{"--detach=1"}).status.error().message(), "--detach takes no value");
    EXPECT_FALSE(parse(std::array{"word"}).status.has_value());
}

}  // namespace
}  // namespace twinyard
