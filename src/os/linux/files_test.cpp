#include "os/files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "os/linux/testing.h"

namespace twinyard::os {
namespace {

TEST(Files, AreReplacedAsAWhole) {
    const TestFolder folder;
    const std::string path = folder.file("f");
    EXPECT_EQ(read_file(path).error().code(), ErrorCode::NotFound);
    ASSERT_TRUE(write_file_atomic(path, "one", 0640).has_value());
    ASSERT_TRUE(write_file_atomic(path, "two", 0640).has_value());
    EXPECT_EQ(read_file(path).value(), "two");
    EXPECT_EQ(read_file(path, 2).error().code(), ErrorCode::InvalidArgument);
    struct stat info {};
    ASSERT_EQ(::stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0640U);
    EXPECT_EQ(write_file_atomic(folder.file("none/f"), "x").error().code(), ErrorCode::NotFound);
}

TEST(Files, ParentFolder) {
    EXPECT_EQ(parent_folder("/a/b"), "/a");
    EXPECT_EQ(parent_folder("/a"), "/");
    EXPECT_EQ(parent_folder("a"), ".");
}

TEST(Files, PrivateFolderIsOursAlone) {
    const TestFolder folder;
    const std::string path = folder.file("a/b");
    ASSERT_TRUE(make_private_folder(path).has_value());
    ASSERT_TRUE(make_private_folder(path).has_value());
    struct stat info {};
    ASSERT_EQ(::stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0700U);
    ASSERT_EQ(::chmod(path.c_str(), 0777), 0);
    EXPECT_EQ(make_private_folder(path).error().code(), ErrorCode::Denied);
    ASSERT_EQ(::symlink(path.c_str(), folder.file("link").c_str()), 0);
    EXPECT_EQ(make_private_folder(folder.file("link")).error().code(), ErrorCode::Conflict);
}

TEST(Files, RemoveTreeDoesNotFollowLinks) {
    const TestFolder folder;
    ASSERT_TRUE(write_file_atomic(folder.file("keep"), "x").has_value());
    ASSERT_TRUE(make_private_folder(folder.file("tree/deep")).has_value());
    ASSERT_EQ(::symlink(folder.file("keep").c_str(), folder.file("tree/deep/l").c_str()), 0);
    ASSERT_EQ(::symlink(folder.path().c_str(), folder.file("tree/up").c_str()), 0);
    ASSERT_TRUE(remove_tree(folder.file("tree")).has_value());
    ASSERT_TRUE(remove_tree(folder.file("tree")).has_value());
    EXPECT_NE(::access(folder.file("tree").c_str(), F_OK), 0);
    EXPECT_EQ(read_file(folder.file("keep")).value(), "x");
}

TEST(Files, LockIsExclusive) {
    const TestFolder folder;
    Fd lock = lock_file(folder.file("lock")).value();
    EXPECT_EQ(lock_file(folder.file("lock")).error().code(), ErrorCode::Conflict);
    lock.reset();
    EXPECT_TRUE(lock_file(folder.file("lock")).has_value());
}

TEST(Files, OpenAsUserNeverBlocksOnAFifo) {
    const TestFolder folder;
    ASSERT_EQ(::mkfifo(folder.file("fifo").c_str(), 0666), 0);
    EXPECT_FALSE(open_as_user(own_identity(), folder.file("fifo"), O_WRONLY).has_value());
    const Fd reader = open_as_user(own_identity(), folder.file("fifo"), O_RDONLY).value();
    EXPECT_EQ(::fcntl(reader.get(), F_GETFL) & O_NONBLOCK, 0);
}

TEST(Files, OpenAsUserHasTheUsersRights) {
    const TestFolder folder;
    const Identity stranger{kStranger, kStranger, {}};
    if (!is_root()) {
        const Identity other{::geteuid() + 1, ::getegid(), {}};
        EXPECT_EQ(open_as_user(other, folder.file("f"), O_WRONLY | O_CREAT).error().code(),
                  ErrorCode::Denied);
        return;
    }
    ASSERT_TRUE(make_private_folder(folder.file("closed")).has_value());
    const Identity before = own_identity();
    EXPECT_EQ(open_as_user(stranger, folder.file("closed/f"), O_WRONLY | O_CREAT).error().code(),
              ErrorCode::Denied);
    EXPECT_EQ(make_folders_as_user(stranger, folder.file("closed/x/y")).error().code(),
              ErrorCode::Denied);
    EXPECT_TRUE(open_as_user(stranger, folder.file("f"), O_WRONLY | O_CREAT).has_value());
    EXPECT_TRUE(make_folders_as_user(stranger, folder.file("x/y")).has_value());
    EXPECT_EQ(own_identity(), before);
    for (const char* name : {"f", "x", "x/y"}) {
        struct stat info {};
        ASSERT_EQ(::stat(folder.file(name).c_str(), &info), 0) << name;
        EXPECT_EQ(info.st_uid, kStranger) << name;
    }
}

}  // namespace
}  // namespace twinyard::os
