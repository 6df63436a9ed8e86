#pragma once

// Test support: a folder of one's own that goes away with its files.

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>
#include <system_error>

namespace twinyard::store {

class TempFolder {
  public:
    TempFolder() : path_(testing::TempDir() + "twinyard_store.XXXXXX") {
        EXPECT_NE(::mkdtemp(path_.data()), nullptr);
    }
    TempFolder(const TempFolder&) = delete;
    TempFolder& operator=(const TempFolder&) = delete;
    ~TempFolder() { remove(); }

    void remove() const {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    [[nodiscard]] const std::string& path() const { return path_; }

  private:
    std::string path_;
};

}  // namespace twinyard::store
