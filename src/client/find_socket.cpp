#include "client/find_socket.h"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string_view>

namespace twinyard::client {
namespace {

std::string folder_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos) return ".";
    return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

SocketSearch search_from_environment() {
    SocketSearch search;
    const char* slurm_conf = std::getenv("SLURM_CONF");
    if (slurm_conf != nullptr) search.slurm_conf = slurm_conf;
    return search;
}

std::string find_controller_socket(const SocketSearch& search) {
    const std::string beside =
        search.slurm_conf.empty() ? "" : folder_of(search.slurm_conf) + "/run";
    for (const std::string& folder : {beside, search.system_dir}) {
        if (folder.empty()) continue;
        for (const std::string_view name : {"/controller.sock", "/agent.sock"}) {
            std::string path = folder + std::string(name);
            if (::access(path.c_str(), F_OK) == 0) return path;
        }
    }
    return (beside.empty() ? search.system_dir : beside) + "/controller.sock";
}

}  // namespace twinyard::client
