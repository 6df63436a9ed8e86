#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace twinyard::model {

/// So many devices of a class ("gpu" or "gpu/h100"; a request names any level of the path), whole
/// ones or one share.
struct DeviceRequest {
    std::string class_path;
    std::int64_t count = 0;
    /// 0: whole devices. 1…1000: each of `count` is a share of one device, in thousandths.
    std::int32_t share_milli = 0;

    friend bool operator==(const DeviceRequest&, const DeviceRequest&) = default;
};

/// What a request needs of one place: a member, a node or the whole group. Requests round up.
struct Resources {
    std::int64_t cpu_milli = 0;
    std::int64_t memory_bytes = 0;
    /// Sorted by class path, one entry a (path, share).
    std::vector<DeviceRequest> devices;

    [[nodiscard]] bool empty() const {
        return cpu_milli == 0 && memory_bytes == 0 && devices.empty();
    }
    friend bool operator==(const Resources&, const Resources&) = default;
};

/// True if `path` is `class_path` or lies below it: "gpu/h100" is a "gpu", "gpux" is not.
[[nodiscard]] bool is_of_class(std::string_view path, std::string_view class_path);

}  // namespace twinyard::model
