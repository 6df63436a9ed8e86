#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/result.h"

namespace twinyard::agent {

/// Scripts and environments as files named by their hash (mode 0600), each fetched once and kept
/// until no launch needs it. Loop's thread.
class BlobCache {
  public:
    using OnBytes = std::move_only_function<void(Result<std::string>)>;
    using Fetch = std::function<void(const ContentHash&, OnBytes)>;
    /// Empty: it is there. Runs once, perhaps inside need().
    using Ready = std::move_only_function<void(Status)>;

    /// Empties the folder: launches of earlier runs have what they need in folders of their own.
    [[nodiscard]] static Result<BlobCache> open(std::string folder, Fetch fetch);

    /// Every need() is paired with a release().
    void need(const ContentHash& hash, Ready ready);
    void release(const ContentHash& hash);
    /// Gives a file that need() said is there another name.
    [[nodiscard]] Status link_to(const ContentHash& hash, const std::string& path) const;

  private:
    struct Blob {
        std::uint32_t needed = 0;
        bool there = false;
        bool fetching = false;
        std::vector<Ready> waiting;
    };

    BlobCache(std::string folder, Fetch fetch)
        : folder_(std::move(folder)), fetch_(std::move(fetch)) {}

    [[nodiscard]] std::string path_of(const ContentHash& hash) const;
    void on_bytes(const ContentHash& hash, Result<std::string> bytes);

    std::string folder_;
    Fetch fetch_;
    std::map<ContentHash, Blob> blobs_;
};

}  // namespace twinyard::agent
