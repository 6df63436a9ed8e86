#include "agent/shell/blob_cache.h"

#include <fcntl.h>
#include <unistd.h>

#include <utility>

#include "agent/shell/plain_file.h"
#include "os/files.h"

namespace twinyard::agent {

Result<BlobCache> BlobCache::open(std::string folder, Fetch fetch) {
    TRY_STATUS(os::remove_tree(folder));
    TRY_STATUS(os::make_private_folder(folder));
    return BlobCache(std::move(folder), std::move(fetch));
}

std::string BlobCache::path_of(const ContentHash& hash) const {
    return folder_ + '/' + to_hex(hash);
}

void BlobCache::need(const ContentHash& hash, Ready ready) {
    Blob& blob = blobs_[hash];
    ++blob.needed;
    if (blob.there) return ready({});
    blob.waiting.push_back(std::move(ready));
    if (std::exchange(blob.fetching, true)) return;
    fetch_(hash, [this, hash](Result<std::string> bytes) { on_bytes(hash, std::move(bytes)); });
}

void BlobCache::on_bytes(const ContentHash& hash, Result<std::string> bytes) {
    const auto found = blobs_.find(hash);
    if (found == blobs_.end()) return;  // Nobody needs it any more.
    Blob& blob = found->second;
    blob.fetching = false;
    Status status;
    if (!bytes) {
        status = fail(std::move(bytes).error());
    } else {
        status = write_plain_file(path_of(hash), *bytes);
    }
    blob.there = status.has_value();
    for (Ready& ready : std::exchange(blob.waiting, {}))
        ready(status);
}

void BlobCache::release(const ContentHash& hash) {
    const auto found = blobs_.find(hash);
    if (found == blobs_.end() || --found->second.needed > 0) return;
    ::unlink(path_of(hash).c_str());
    blobs_.erase(found);
}

Status BlobCache::link_to(const ContentHash& hash, const std::string& path) const {
    if (::link(path_of(hash).c_str(), path.c_str()) == 0) return {};
    return fail(os::system_error(errno, path));
}

}  // namespace twinyard::agent
