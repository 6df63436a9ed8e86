#include "step/shell/step_need.h"

#include "base/hostlist.h"
#include "base/text.h"
#include "slurm/translate.h"

namespace twinyard::step {

namespace {

std::unexpected<StepRefusal> refuse(std::string_view text) {
    return std::unexpected(StepRefusal{std::string(text)});
}

std::expected<std::vector<std::string>, StepRefusal> names_of(
    const std::optional<std::string>& list) {
    if (!list || list->empty()) return std::vector<std::string>();
    Result<std::vector<std::string>> names = expand_hostlist(*list);
    if (!names) return refuse("Invalid node name specified");
    return *std::move(names);
}

/// A job's devices on a node are of one kind for now, so the class named is not told apart.
std::expected<std::uint32_t, StepRefusal> count_of(const std::string& text, bool bare_gpu) {
    const auto devices = slurm::parse_gres(text, bare_gpu);
    if (!devices) return refuse("Invalid generic resource (gres) specification");
    std::int64_t count = 0;
    for (const model::DeviceRequest& device : *devices)
        count += device.count;
    return static_cast<std::uint32_t>(count);
}

std::expected<DeviceNeed, StepRefusal> device_need(const api::StepRequest& request) {
    using Kind = DeviceNeed::Kind;
    const std::optional<std::string>* text = nullptr;
    Kind kind = Kind::AllOfJob;
    if (request.gres) {
        text = &request.gres;
        kind = Kind::PerNode;
    } else if (request.gpus_per_task) {
        text = &request.gpus_per_task;
        kind = Kind::PerTask;
    } else if (request.gpus) {
        text = &request.gpus;
        kind = Kind::Total;
    }
    if (text == nullptr) return DeviceNeed{};
    const auto count = count_of(**text, kind != Kind::PerNode);
    if (!count) return std::unexpected(count.error());
    return DeviceNeed{.kind = kind, .count = *count};
}

std::optional<std::uint32_t> job_number(const api::LaunchOrder& order, std::string_view name) {
    for (const auto& [key, value] : order.launch.extra_environment) {
        if (key != name) continue;
        const Result<std::uint32_t> number = parse_number<std::uint32_t>(value, 1);
        if (number) return *number;
    }
    return std::nullopt;
}

}  // namespace

std::expected<StepNeed, StepRefusal> step_need(const api::StepRequest& request,
                                               const api::LaunchOrder& order) {
    StepNeed need;
    need.nodes_min = request.nodes_min;
    need.nodes_max = request.nodes_max;
    need.ntasks = request.ntasks;
    need.ntasks_per_node = request.ntasks_per_node;
    need.job_ntasks = job_number(order, "SLURM_NTASKS");
    need.cpus_per_task = request.cpus_per_task.value_or(1);
    need.exact = request.exact;
    need.overlap = request.overlap;
    if (request.ntasks == 0U || need.cpus_per_task == 0) return refuse("Invalid task count");
    auto only = names_of(request.nodelist);
    if (!only) return std::unexpected(only.error());
    auto without = names_of(request.exclude);
    if (!without) return std::unexpected(without.error());
    auto devices = device_need(request);
    if (!devices) return std::unexpected(devices.error());
    need.only = *std::move(only);
    need.without = *std::move(without);
    need.devices = *devices;
    return need;
}

}  // namespace twinyard::step
