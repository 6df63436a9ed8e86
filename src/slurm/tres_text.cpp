#include "slurm/tres_text.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "slurm/environment.h"

namespace twinyard::slurm {

namespace {

/// "gpu/h100" as Slurm writes it: "gpu:h100".
std::string gres_name(std::string_view class_path) {
    std::string name(class_path);
    std::ranges::replace(name, '/', ':');
    return name;
}

}  // namespace

std::string devices_text(const std::vector<model::DeviceRequest>& devices) {
    std::string text;
    for (const model::DeviceRequest& device : devices) {
        if (!text.empty()) text += ',';
        text += "gres/" + gres_name(device.class_path) + ":" + std::to_string(device.count);
    }
    return text;
}

std::string granted_gres(const std::vector<model::Device>& devices,
                         const std::vector<std::uint16_t>& indexes) {
    std::map<std::string, std::vector<std::uint16_t>> by_class;
    for (const std::uint16_t index : indexes) {
        if (index < devices.size()) by_class[devices[index].class_path].push_back(index);
    }
    std::string text;
    for (auto& [class_path, own] : by_class) {
        std::ranges::sort(own);
        if (!text.empty()) text += ',';
        text += gres_name(class_path) + ":" + std::to_string(own.size()) +
                "(IDX:" + index_ranges(own) + ")";
    }
    return text;
}

std::string gres_text(const std::vector<model::Device>& devices) {
    std::map<std::string, int> counts;
    for (const model::Device& device : devices)
        ++counts[device.class_path];
    std::string text;
    for (const auto& [class_path, count] : counts) {
        if (!text.empty()) text += ',';
        text += gres_name(class_path) + ":" + std::to_string(count);
    }
    return text;
}

}  // namespace twinyard::slurm
