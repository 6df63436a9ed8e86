#pragma once

// For the tests of this folder.

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "os/files.h"
#include "os/linux/containers.h"

namespace twinyard::os {

/// A folder under /tmp that everybody may write to, gone with the object.
class TestFolder {
  public:
    TestFolder() {
        char path[] = "/tmp/os_test_XXXXXX";
        EXPECT_NE(::mkdtemp(path), nullptr);
        path_ = path;
        EXPECT_EQ(::chmod(path, 0777), 0);
    }
    TestFolder(const TestFolder&) = delete;
    TestFolder& operator=(const TestFolder&) = delete;
    ~TestFolder() { EXPECT_TRUE(remove_tree(path_).has_value()); }

    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] std::string file(const std::string& name) const { return path_ + '/' + name; }

  private:
    std::string path_;
};

/// Waits for a condition that other processes bring about; false after a generous while.
template <class Condition>
bool eventually(const Condition& condition) {
    return retry_until(Millis(20000), condition);
}

/// An account number that no system gives to anybody.
inline constexpr uid_t kStranger = 65000;

inline bool is_root() {
    return ::geteuid() == 0;
}

}  // namespace twinyard::os
