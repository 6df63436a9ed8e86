#include "model/pod_request.h"

#include <algorithm>

namespace twinyard::model {

namespace {

DeviceRequest& entry_of(Resources& resources, const DeviceRequest& like) {
    const auto same = [&](const DeviceRequest& device) {
        return device.class_path == like.class_path && device.share_milli == like.share_milli;
    };
    const auto found = std::ranges::find_if(resources.devices, same);
    if (found != resources.devices.end()) return *found;
    const auto place = std::ranges::find_if(resources.devices, [&](const DeviceRequest& device) {
        return std::pair(device.class_path, device.share_milli) >
               std::pair(like.class_path, like.share_milli);
    });
    return *resources.devices.insert(place, {like.class_path, 0, like.share_milli});
}

void add(Resources& sum, const Resources& more) {
    sum.cpu_milli += more.cpu_milli;
    sum.memory_bytes += more.memory_bytes;
    for (const DeviceRequest& device : more.devices)
        entry_of(sum, device).count += device.count;
}

void raise(Resources& peak, const Resources& moment) {
    peak.cpu_milli = std::max(peak.cpu_milli, moment.cpu_milli);
    peak.memory_bytes = std::max(peak.memory_bytes, moment.memory_bytes);
    for (const DeviceRequest& device : moment.devices) {
        std::int64_t& count = entry_of(peak, device).count;
        count = std::max(count, device.count);
    }
}

}  // namespace

Resources pod_request(std::span<const ContainerRequest> containers, const Resources& overhead) {
    Resources running;  // Sidecars so far, in the order in which they start; then all.
    Resources peak;
    for (const ContainerRequest& container : containers) {
        if (container.kind == ContainerRequest::Kind::Sidecar) {
            add(running, container.request);
            raise(peak, running);
        } else if (container.kind == ContainerRequest::Kind::Init) {
            Resources moment = running;
            add(moment, container.request);
            raise(peak, moment);
        }
    }
    for (const ContainerRequest& container : containers) {
        if (container.kind == ContainerRequest::Kind::Main) add(running, container.request);
    }
    raise(peak, running);
    add(peak, overhead);
    return peak;
}

}  // namespace twinyard::model
