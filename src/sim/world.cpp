#include "sim/world.h"

#include <utility>

namespace twinyard::sim {
namespace {

constexpr std::size_t kTailLines = 60;

}  // namespace

void Trace::note(Millis at, std::string_view what) {
    std::string line = std::to_string(at.count());
    line += ' ';
    line += what;
    hash_.add(line);
    ++lines_;
    tail_.push_back(std::move(line));
    if (tail_.size() > kTailLines) tail_.pop_front();
}

void World::fail(std::string what) {
    note("FAILED: " + what);
    if (failure.empty()) failure = std::move(what);
}

std::string text_of(const api::LaunchKey& key) {
    return std::to_string(key.workload.value()) + "." + std::to_string(key.attempt) + "." +
           std::to_string(key.group) + "." + std::to_string(key.member);
}

}  // namespace twinyard::sim
