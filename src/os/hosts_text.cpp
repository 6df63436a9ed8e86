#include <algorithm>

#include "os/namespaces.h"

namespace twinyard::os {

namespace {

constexpr std::size_t kHostNameMax = 253;

bool host_name_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_';
}

bool valid_host_name(std::string_view name) {
    return !name.empty() && name.size() <= kHostNameMax && name.front() != '-' &&
           std::all_of(name.begin(), name.end(), host_name_char);
}

}  // namespace

std::string hosts_file_text(std::string_view system,
                            const std::vector<std::string>& names,
                            std::string_view address) {
    std::string text;
    // One line a name: some resolvers take only the first few aliases of a line.
    for (const std::string& name : names) {
        if (valid_host_name(name)) text.append(address).append("\t").append(name).append("\n");
    }
    return text.append(system);
}

}  // namespace twinyard::os
