#include "config/render_config.h"

#include <algorithm>

namespace twinyard::config {

namespace {

using Rows = std::vector<std::pair<std::string, std::string>>;

constexpr std::size_t kKeyWidth = 23;

/// Tells a value that is not shown at all: keywords that current Slurm no longer prints.
bool is_shown(const Entry<Parameters>& row) {
    return row.show != nullptr || !row.shown.empty();
}

std::string value_of(const Entry<Parameters>& row, const SlurmConf& conf) {
    const auto given = conf.given.find(std::string(row.key));
    if (row.show != nullptr) return row.show(conf.parameters);
    return given != conf.given.end() ? given->second : std::string(row.shown);
}

void add_controllers(Rows& rows, const SlurmConf& conf, const RunningFacts& facts) {
    const std::vector<ControllerHost>& hosts = conf.parameters.controllers;
    if (hosts.empty()) {
        rows.emplace_back("SlurmctldHost[0]", facts.host_name);
        return;
    }
    for (std::size_t i = 0; i < hosts.size(); ++i) {
        const std::string address = hosts[i].address.empty() ? "" : "(" + hosts[i].address + ")";
        rows.emplace_back("SlurmctldHost[" + std::to_string(i) + "]", hosts[i].name + address);
    }
}

void add_job_defaults(Rows& rows, const SlurmConf& conf) {
    const Parameters& p = conf.parameters;
    std::vector<std::string> parts;
    if (p.cpus_per_gpu_default) {
        parts.push_back("DefCpuPerGPU=" + std::to_string(*p.cpus_per_gpu_default));
    }
    if (p.memory_default.per_gpu) {
        parts.push_back("DefMemPerGPU=" + std::to_string(*p.memory_default.per_gpu / kMiB));
    }
    for (auto& [key, value] : rows) {
        if (key == "JobDefaults" && !parts.empty()) value = join(parts, ",");
    }
}

}  // namespace

std::vector<std::pair<std::string, std::string>> config_rows(const SlurmConf& conf,
                                                             const RunningFacts& facts) {
    Rows rows;
    for (const Entry<Parameters>& row : parameter_table()) {
        if (is_shown(row)) rows.emplace_back(row.key, value_of(row, conf));
    }
    add_controllers(rows, conf, facts);
    add_job_defaults(rows, conf);
    rows.emplace_back("BOOT_TIME", facts.boot_time);
    if (facts.next_job_id > 0) {
        rows.emplace_back("NEXT_JOB_ID", std::to_string(facts.next_job_id));
    }
    rows.emplace_back("SLURM_CONF", facts.slurm_conf);
    rows.emplace_back("SLURM_VERSION", kSlurmVersion);
    std::ranges::stable_sort(rows, {}, [](const auto& row) { return to_lower(row.first); });
    return rows;
}

std::string render_config(const SlurmConf& conf, const RunningFacts& facts) {
    std::string out;
    for (const auto& [key, value] : config_rows(conf, facts)) {
        out += key;
        if (key.size() < kKeyWidth) out.append(kKeyWidth - key.size(), ' ');
        out += " = " + printable(value, 100'000) + "\n";
    }
    return out;
}

}  // namespace twinyard::config
