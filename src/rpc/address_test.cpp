#include "rpc/address.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "rpc/testing.h"

namespace twinyard::rpc {
namespace {

TEST(Address, Table) {
    const struct {
        const char* text;
        const char* want_path;  // Null: refused.
    } cases[] = {
        {"unix:/run/x.sock", "/run/x.sock"},
        {"/run/x.sock", "/run/x.sock"},
        {"unix:x.sock", nullptr},
        {"x.sock", nullptr},
        {"", nullptr},
        {"unix:", nullptr},
        {"/run/", nullptr},
        {"tls:host:6817", nullptr},
    };
    for (const auto& c : cases) {
        const Result<Address> address = parse_address(c.text);
        ASSERT_EQ(address.has_value(), c.want_path != nullptr) << c.text;
        if (!address) continue;
        EXPECT_EQ(address->unix_path, c.want_path);
        EXPECT_EQ(to_string(*address), std::string("unix:") + c.want_path);
    }
}

TEST(UnixSocket, StaleFileIsReplacedAndALiveOneIsNot) {
    const TempFolder folder;
    Result<UniqueFd> first = listen_unix(folder.socket(), 0666);
    ASSERT_TRUE(first);
    const Result<UniqueFd> second = listen_unix(folder.socket(), 0666);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code(), ErrorCode::Conflict);
    first->reset();
    EXPECT_EQ(connect_unix(folder.socket()).error().code(), ErrorCode::Unavailable);
    EXPECT_TRUE(listen_unix(folder.socket(), 0666));
}

TEST(UnixSocket, WhatIsNoSocketIsNeverRemoved) {
    const TempFolder folder;
    const UniqueFd file(::open(folder.socket().c_str(), O_CREAT | O_WRONLY, 0600));
    const Result<UniqueFd> listening = listen_unix(folder.socket(), 0666);
    ASSERT_FALSE(listening);
    EXPECT_EQ(listening.error().code(), ErrorCode::Conflict);
    EXPECT_EQ(::access(folder.socket().c_str(), F_OK), 0);
}

TEST(UnixSocket, ModeIsAsAskedWhateverTheUmask) {
    const TempFolder folder;
    const mode_t before = ::umask(0077);
    const Result<UniqueFd> listening = listen_unix(folder.socket(), 0666);
    ::umask(before);
    ASSERT_TRUE(listening);
    struct stat info {};
    ASSERT_EQ(::stat(folder.socket().c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0666U);
}

TEST(UnixSocket, PathsLongerThanTheSystemCallTakesWork) {
    const TempFolder folder;
    const std::string deep = folder.path() + "/" + std::string(150, 'd');
    ASSERT_EQ(::mkdir(deep.c_str(), 0700), 0);
    {
        const Result<UniqueFd> listening = listen_unix(deep + "/s", 0666);
        ASSERT_TRUE(listening) << listening.error().message();
        EXPECT_TRUE(connect_unix(deep + "/s"));
        EXPECT_EQ(listen_unix(deep + "/s", 0666).error().code(), ErrorCode::Conflict);
    }
    ::unlink((deep + "/s").c_str());
    ::rmdir(deep.c_str());
    EXPECT_EQ(connect_unix(folder.path() + "/" + std::string(200, 'x') + "/s").error().code(),
              ErrorCode::Unavailable);
    EXPECT_EQ(connect_unix(folder.path() + "/" + std::string(200, 'x')).error().code(),
              ErrorCode::InvalidArgument);
}

}  // namespace
}  // namespace twinyard::rpc
