#include "step/shell/node_steps.h"

namespace twinyard::step {

NodeSteps::Handle NodeSteps::start(api::StepLaunch launch, StepSink sink, rpc::Callback done) {
    const Handle handle = next_++;
    auto over = [this, handle, told = std::move(done)]() mutable {
        const auto ended = steps_.extract(handle);
        told();
    };
    const auto added = steps_.emplace(
        handle,
        std::make_unique<NodeStep>(job_, std::move(launch), std::move(sink), std::move(over)));
    added.first->second->start();
    return handle;
}

NodeStep* NodeSteps::find(Handle handle) {
    const auto found = steps_.find(handle);
    return found == steps_.end() ? nullptr : found->second.get();
}

void NodeSteps::signal_all(int signal) {
    for (const auto& [handle, step] : steps_)
        step->signal(signal);
}

}  // namespace twinyard::step
