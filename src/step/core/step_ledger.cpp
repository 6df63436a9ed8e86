#include "step/core/step_ledger.h"

#include <algorithm>

namespace twinyard::step {

namespace {

/// 0 … count−1 without those in `taken`.
std::vector<std::uint16_t> places_left(std::uint32_t count, const std::vector<bool>& taken) {
    std::vector<std::uint16_t> left;
    for (std::uint32_t i = 0; i < count; ++i) {
        if (i >= taken.size() || !taken[i]) left.push_back(static_cast<std::uint16_t>(i));
    }
    return left;
}

void mark(std::vector<bool>& taken, const std::vector<std::uint16_t>& places) {
    for (const std::uint16_t place : places) {
        if (place < taken.size()) taken[place] = true;
    }
}

}  // namespace

StepLedger::StepLedger(std::vector<LedgerNode> nodes, std::uint32_t next_step)
    : nodes_(std::move(nodes)), next_step_(next_step) {
    for (const LedgerNode& node : nodes_)
        job_tasks_.push_back(node.tasks);
}

std::vector<NodeRoom> StepLedger::rooms(bool only_free) const {
    std::vector<NodeRoom> rooms;
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
        std::vector<bool> cpus(nodes_[i].cpus);
        std::vector<bool> devices(nodes_[i].devices);
        for (const auto& [step, use] : used_) {
            if (!only_free || use.overlap) continue;
            for (const StepPlace& place : use.places) {
                if (place.node != i) continue;
                mark(cpus, place.cpus);
                mark(devices, place.devices);
            }
        }
        rooms.push_back({.name = nodes_[i].name,
                         .cpus_granted = nodes_[i].cpus,
                         .cpus = places_left(nodes_[i].cpus, cpus),
                         .devices = places_left(nodes_[i].devices, devices)});
    }
    return rooms;
}

std::optional<StepGrant> StepLedger::try_start(std::uint64_t ticket, const StepNeed& need) {
    const std::vector<NodeRoom> free = rooms(!need.overlap);
    auto places = lay_out(need, free, job_tasks_);
    if (!places) return std::nullopt;
    // All of the job's devices on its nodes means all, not those that nobody uses just now.
    if (need.devices.kind == DeviceNeed::Kind::AllOfJob) {
        const bool all = std::ranges::all_of(*places, [&](const StepPlace& place) {
            return place.devices.size() == nodes_[place.node].devices;
        });
        if (!all) return std::nullopt;
    }
    StepGrant grant{.ticket = ticket, .step = next_step_++, .places = *std::move(places)};
    for (const StepPlace& place : grant.places)
        grant.total_tasks += place.tasks;
    used_[grant.step] = {.overlap = need.overlap, .places = grant.places};
    return grant;
}

StepAnswer StepLedger::ask(std::uint64_t ticket, const StepNeed& need) {
    if (next_step_ >= kStepsMax) return StepRefusal{"Step limit reached for this job"};
    const auto possible = lay_out(need, rooms(false), job_tasks_);
    if (!possible) return possible.error();
    if (std::optional<StepGrant> grant = try_start(ticket, need)) return *std::move(grant);
    if (waiting_.size() >= kWaitingMax) return StepRefusal{"Too many steps of this job wait"};
    waiting_.emplace_back(ticket, need);
    return StepWaits{};
}

void StepLedger::withdraw(std::uint64_t ticket) {
    std::erase_if(waiting_, [&](const auto& entry) { return entry.first == ticket; });
}

void StepLedger::give_back(std::uint32_t step) {
    used_.erase(step);
}

std::vector<StepGrant> StepLedger::start_waiting() {
    std::vector<StepGrant> started;
    for (auto entry = waiting_.begin(); entry != waiting_.end();) {
        std::optional<StepGrant> grant;
        if (next_step_ < kStepsMax) grant = try_start(entry->first, entry->second);
        if (!grant) {
            ++entry;
            continue;
        }
        started.push_back(*std::move(grant));
        entry = waiting_.erase(entry);
    }
    return started;
}

}  // namespace twinyard::step
