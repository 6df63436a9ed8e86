#include "os/linux/cgroup_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <map>
#include <sstream>

#include "os/files.h"

namespace twinyard::os {

namespace {

/// The controllers we use, in the order they are shown.
constexpr std::array<std::string_view, 5> kControllersV1 = {
    "cpuset", "memory", "freezer", "devices", "cpuacct"};
constexpr std::array<std::string_view, 3> kControllersV2 = {"cpuset", "memory", "cpu"};

struct Mount {
    int version = 1;
    std::string point;
    std::vector<std::string> controllers;
};

std::vector<std::string> split(std::string_view text, char separator) {
    std::vector<std::string> parts;
    while (!text.empty()) {
        const std::size_t end = text.find(separator);
        if (end != 0) parts.emplace_back(text.substr(0, end));
        if (end == std::string_view::npos) break;
        text.remove_prefix(end + 1);
    }
    return parts;
}

bool contains(const std::vector<std::string>& list, std::string_view value) {
    return std::find(list.begin(), list.end(), value) != list.end();
}

/// mountinfo writes space, tab, newline and backslash as three octal digits.
std::string unescape(std::string_view text) {
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\\' && i + 3 < text.size()) {
            int code = 0;
            std::from_chars(text.data() + i + 1, text.data() + i + 4, code, 8);
            plain += static_cast<char>(code);
            i += 3;
        } else {
            plain += text[i];
        }
    }
    return plain;
}

/// "36 35 98:0 / /point rw,noatime shared:1 - cgroup cgroup rw,memory"
void add_mount(const std::string& line, std::vector<Mount>& mounts) {
    const std::size_t dash = line.find(" - ");
    if (dash == std::string::npos) return;
    const std::vector<std::string> left = split(std::string_view(line).substr(0, dash), ' ');
    const std::vector<std::string> right = split(std::string_view(line).substr(dash + 3), ' ');
    if (left.size() < 5 || right.size() < 3 || !right[0].starts_with("cgroup")) return;
    Mount mount{right[0] == "cgroup2" ? 2 : 1, unescape(left[4]), split(right.back(), ',')};
    mounts.push_back(std::move(mount));
}

std::vector<Mount> cgroup_mounts() {
    std::vector<Mount> mounts;
    std::istringstream lines(read_file("/proc/self/mountinfo").value_or(std::string()));
    for (std::string line; std::getline(lines, line);)
        add_mount(line, mounts);
    return mounts;
}

/// Our own group by controller; v2's has the empty name. "4:memory:/a/b"
std::map<std::string, std::string, std::less<>> own_groups() {
    std::map<std::string, std::string, std::less<>> groups;
    std::istringstream lines(read_file("/proc/self/cgroup").value_or(std::string()));
    for (std::string line; std::getline(lines, line);) {
        const std::size_t first = line.find(':');
        const std::size_t second = line.find(':', first + 1);
        if (first == std::string::npos || second == std::string::npos) continue;
        const std::string path = line.substr(second + 1);
        if (second == first + 1) groups[""] = path;
        for (std::string& name :
             split(std::string_view(line).substr(first + 1, second - first - 1), ',')) {
            groups[std::move(name)] = path;
        }
    }
    return groups;
}

bool may_attach(const std::string& group) {
    return ::access((group + "/cgroup.procs").c_str(), W_OK) == 0;
}

/// Switches controllers on for the groups below `group`, one by one: one that is not to be had must
/// not stop the rest.
void enable_controllers(const std::string& group) {
    const std::string available =
        read_file(group + "/cgroup.controllers", 4096).value_or(std::string());
    const std::vector<std::string> names = split(available.substr(0, available.find('\n')), ' ');
    for (const std::string_view controller : kControllersV2) {
        if (!contains(names, controller)) continue;
        // A refusal (processes in the group, no permission) is seen in what the group below then
        // offers.
        [[maybe_unused]] const Status done =
            write_cgroup_file(group + "/cgroup.subtree_control", "+" + std::string(controller));
    }
}

std::vector<std::string> usable_v2(const std::string& base) {
    const std::string text =
        read_file(base + "/cgroup.subtree_control", 4096).value_or(std::string());
    std::vector<std::string> usable = split(text.substr(0, text.find('\n')), ' ');
    std::erase_if(usable, [](const std::string& name) {
        return std::find(kControllersV2.begin(), kControllersV2.end(), name) ==
               kControllersV2.end();
    });
    return usable;
}

/// Makes `base` at the top of the mount, or else below our own group (a delegated one). The top
/// comes first as it does not depend on where an agent happens to be started again.
bool settle(CgroupHierarchy& hierarchy,
            const Mount& mount,
            std::string_view own,
            std::string_view base,
            std::string& reason) {
    std::string inside = mount.point + std::string(own);
    while (!inside.empty() && inside.back() == '/')
        inside.pop_back();
    for (const std::string& parent : {mount.point, inside}) {
        hierarchy.base = parent + '/' + std::string(base);
        if (mount.version == 2) enable_controllers(parent);
        const Status made = make_group(hierarchy, hierarchy.base);
        if (!made) {
            reason = made.error().code() == ErrorCode::Denied ? "no permission for cgroups"
                                                              : made.error().message();
            continue;
        }
        if (may_attach(hierarchy.base)) return true;
        reason = "no permission for cgroups";
    }
    return false;
}

void add_hierarchy(CgroupTree& tree, const Mount& mount, std::string_view base) {
    static constexpr std::string_view kOwnOfV2;
    CgroupHierarchy hierarchy{mount.version, {}, {}};
    std::string_view key = kOwnOfV2;
    if (mount.version == 1) {
        for (const std::string_view controller : kControllersV1) {
            if (contains(mount.controllers, controller) && tree.with(controller) == nullptr) {
                hierarchy.controllers.emplace_back(controller);
            }
        }
        if (hierarchy.controllers.empty()) return;
        key = hierarchy.controllers.front();
    }
    const auto groups = own_groups();
    const auto own = groups.find(key);
    const std::string_view path = own == groups.end() ? std::string_view("/") : own->second;
    if (!settle(hierarchy, mount, path, base, tree.reason)) return;
    if (mount.version == 2) {
        enable_controllers(hierarchy.base);
        hierarchy.controllers = usable_v2(hierarchy.base);
    }
    tree.hierarchies.push_back(std::move(hierarchy));
}

std::string join(const std::vector<std::string>& parts) {
    std::string text;
    for (const std::string& part : parts)
        text += (text.empty() ? "" : ",") + part;
    return text;
}

/// v1 refuses processes in a cpuset group without CPUs and memory nodes: take the parent's.
Status inherit_cpuset(const std::string& path) {
    for (const char* file : {"/cpuset.cpus", "/cpuset.mems"}) {
        constexpr std::size_t kListBytesMax = 65536;
        TRY(const std::string own, read_file(path + file, kListBytesMax));
        if (own.find_first_not_of(" \n") != std::string::npos) continue;
        TRY(const std::string outer, read_file(parent_folder(path) + file, kListBytesMax));
        TRY_STATUS(write_cgroup_file(path + file, outer));
    }
    return {};
}

}  // namespace

bool CgroupHierarchy::has(std::string_view controller) const {
    return contains(controllers, controller);
}

const CgroupHierarchy* CgroupTree::with(std::string_view controller) const {
    for (const CgroupHierarchy& hierarchy : hierarchies) {
        if (hierarchy.has(controller)) return &hierarchy;
    }
    return nullptr;
}

const CgroupHierarchy& CgroupTree::tracking() const {
    for (const CgroupHierarchy& hierarchy : hierarchies) {
        if (hierarchy.version == 2) return hierarchy;
    }
    const CgroupHierarchy* freezer = with("freezer");
    return freezer != nullptr ? *freezer : hierarchies.front();
}

std::string CgroupTree::describe() const {
    std::vector<std::string> names_v1;
    std::string v2;
    for (const std::string_view controller : kControllersV1) {
        const CgroupHierarchy* hierarchy = with(controller);
        if (hierarchy != nullptr && hierarchy->version == 1) names_v1.emplace_back(controller);
    }
    for (const CgroupHierarchy& hierarchy : hierarchies) {
        if (hierarchy.version != 2) continue;
        std::vector<std::string> names = hierarchy.controllers;
        names.insert(names.end(), {"freeze", "kill"});
        v2 = "cgroup v2: " + join(names);
    }
    if (names_v1.empty()) return v2;
    return "cgroup v1: " + join(names_v1) + (v2.empty() ? "" : "; " + v2);
}

CgroupTree detect_cgroups(std::string_view base, const ContainerOptions& options) {
    CgroupTree tree;
    if (!options.cgroup_v1 && !options.cgroup_v2) {
        tree.reason = "cgroups are turned off";
        return tree;
    }
    tree.reason = "no cgroup file system";
    const std::vector<Mount> mounts = cgroup_mounts();
    for (const Mount& mount : mounts) {
        if (mount.version == 1 ? options.cgroup_v1 : options.cgroup_v2) {
            add_hierarchy(tree, mount, base);
        }
    }
    return tree;
}

Status write_cgroup_file(const std::string& path, std::string_view text) {
    const Fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!file) return fail(system_error(errno, path));
    // The kernel takes a value in one write or not at all.
    if (::write(file.get(), text.data(), text.size()) < 0) return fail(system_error(errno, path));
    return {};
}

std::uint64_t cgroup_value(const std::string& path, std::string_view key) {
    std::istringstream lines(read_file(path, std::size_t{1} << 20).value_or(std::string()));
    for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with(key) || line.size() <= key.size() || line[key.size()] != ' ')
            continue;
        std::uint64_t value = 0;
        std::from_chars(line.data() + key.size() + 1, line.data() + line.size(), value);
        return value;
    }
    return 0;
}

std::uint64_t cgroup_number(const std::string& path) {
    const std::string text = read_file(path, 4096).value_or(std::string());
    std::uint64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

std::vector<std::string> child_folders(const std::string& path) {
    std::vector<std::string> names;
    DIR* folder = ::opendir(path.c_str());
    if (folder == nullptr) return names;
    while (const dirent* entry = ::readdir(folder)) {
        const std::string_view name = entry->d_name;
        if (entry->d_type == DT_DIR && name != "." && name != "..") names.emplace_back(name);
    }
    ::closedir(folder);
    std::sort(names.begin(), names.end());
    return names;
}

Status make_group(const CgroupHierarchy& hierarchy, const std::string& path) {
    if (::mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) {
        return fail(system_error(errno, "mkdir " + path));
    }
    return hierarchy.has("cpuset") && hierarchy.version == 1 ? inherit_cpuset(path) : Status();
}

}  // namespace twinyard::os
