#include "os/linux/containers.h"

#include <algorithm>

namespace twinyard::os {

namespace {

bool name_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '-';
}

bool good_segment(std::string_view segment) {
    constexpr std::size_t kSegmentMax = 200;
    return !segment.empty() && segment.size() <= kSegmentMax && segment != "." && segment != ".." &&
           segment != kLeafGroup && std::all_of(segment.begin(), segment.end(), name_char);
}

}  // namespace

Status check_container_name(std::string_view name) {
    constexpr std::size_t kNameMax = 1000;
    std::string_view rest = name;
    bool good = name.size() <= kNameMax;
    while (good) {
        const std::size_t slash = rest.find('/');
        good = good_segment(rest.substr(0, slash));
        if (slash == std::string_view::npos) break;
        rest.remove_prefix(slash + 1);
    }
    if (good) return {};
    return fail(ErrorCode::InvalidArgument, "bad container name '" + std::string(name) + "'");
}

std::string list_pids(const std::vector<ProcessId>& pids) {
    constexpr std::size_t kShown = 8;
    std::string text;
    for (std::size_t i = 0; i < pids.size() && i < kShown; ++i) {
        text += (i == 0 ? "" : ", ") + std::to_string(pids[i].pid);
    }
    if (pids.size() > kShown) text += " and " + std::to_string(pids.size() - kShown) + " more";
    return text;
}

Result<std::unique_ptr<ContainerFactory>> detect_containers(std::string_view base,
                                                            const ContainerOptions& options) {
    TRY_STATUS(check_container_name(base));
    if (base.find('/') != std::string_view::npos) {
        return fail(ErrorCode::InvalidArgument, "the base of containers is one name without '/'");
    }
    CgroupTree tree = detect_cgroups(base, options);
    if (tree.hierarchies.empty()) return make_tracker_factory(std::string(base), tree.reason);
    return make_cgroup_factory(std::move(tree));
}

}  // namespace twinyard::os
