#include "controller/shell/config_files.h"

#include <unistd.h>

#include <array>
#include <mutex>

#include "base/hostlist.h"
#include "config/cluster_config.h"
#include "config/render_config.h"
#include "config/slurm_conf.h"
#include "config/twinyard_yaml.h"
#include "os/boot_clock.h"
#include "slurm/calendar.h"

namespace twinyard::controller {
namespace {

/// What was read last, for `scontrol show config`.
struct Kept {
    std::mutex mutex;
    config::SlurmConf conf = config::builtin_conf();
};

Result<config::TwinyardYaml> read_yaml(const std::string& path) {
    auto yaml = config::load_twinyard_yaml(path);
    if (!yaml && yaml.error().code() == ErrorCode::NotFound) return config::TwinyardYaml{};
    return yaml;
}

Result<model::ClusterConfigPtr> without_file(const config::TwinyardYaml& yaml,
                                             const std::string& nodes) {
    auto made = std::make_shared<model::ClusterConfig>(config::cluster_config(yaml));
    if (nodes.empty()) return made;
    TRY(const std::vector<std::string> names, expand_hostlist(nodes));
    for (const std::string& name : names)
        made->nodes.push_back({.name = name});
    return made;
}

std::string host_name() {
    std::array<char, 256> name{};
    return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

}  // namespace

ConfigSource config_files(std::string slurm_conf, std::string yaml_path, const std::string& nodes) {
    auto kept = std::make_shared<Kept>();  // Owners: the two functions below.
    const WallTime booted = os::wall_now();
    ConfigSource source;
    source.load = [kept, slurm_conf, yaml_path, nodes]() -> Result<model::ClusterConfigPtr> {
        TRY(const config::TwinyardYaml yaml, read_yaml(yaml_path));
        if (slurm_conf.empty()) return without_file(yaml, nodes);
        TRY(config::SlurmConf conf, config::load(slurm_conf));
        auto made =
            std::make_shared<const model::ClusterConfig>(config::cluster_config(conf, yaml));
        const std::lock_guard lock(kept->mutex);
        kept->conf = std::move(conf);
        return made;
    };
    source.rows = [kept, slurm_conf, booted] {
        const std::lock_guard lock(kept->mutex);
        return config::config_rows(
            kept->conf,
            {.host_name = host_name(),
             .boot_time = slurm::date_text(
                 slurm::system_calendar(), booted.time_since_epoch().count(), "Unknown"),
             .slurm_conf = slurm_conf});
    };
    return source;
}

}  // namespace twinyard::controller
