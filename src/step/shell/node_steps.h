#pragma once

#include <map>
#include <memory>

#include "step/shell/node_step.h"

namespace twinyard::step {

/// All steps that have tasks on this node now.
class NodeSteps {
  public:
    using Handle = std::uint64_t;

    explicit NodeSteps(Job& job) : job_(job) {}

    /// `done` runs after the last event; the step is gone from here by then.
    Handle start(api::StepLaunch launch, StepSink sink, rpc::Callback done);
    /// Null once it is over.
    [[nodiscard]] NodeStep* find(Handle handle);
    void signal_all(int signal);
    [[nodiscard]] bool empty() const { return steps_.empty(); }

  private:
    Job& job_;
    std::map<Handle, std::unique_ptr<NodeStep>> steps_;
    Handle next_ = 1;
};

}  // namespace twinyard::step
