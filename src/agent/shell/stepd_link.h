#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "api/agent.h"
#include "base/result.h"
#include "rpc/client.h"

namespace twinyard::rpc {
class Loop;
}

namespace twinyard::agent {

/// What a step daemon's connection tells. On the loop's thread, never inside a StepdLink's methods.
/// A link must not be destroyed inside one of them.
struct StepdCallbacks {
    std::function<void()> on_connected;
    std::function<void(api::ObservedRun)> on_run;
    std::function<void(api::StepRecord)> on_step;
    std::function<void()> on_lost;  ///< It goes on trying by itself.
};

/// The agent's connection to one step daemon, mended for ever. Loop's thread.
class StepdLink {
  public:
    [[nodiscard]] static Result<std::unique_ptr<StepdLink>> open(rpc::Loop& loop,
                                                                 const std::string& socket,
                                                                 StepdCallbacks callbacks);
    /// Nobody is called back any more.
    ~StepdLink();
    StepdLink(const StepdLink&) = delete;
    StepdLink& operator=(const StepdLink&) = delete;

    /// Dropped without a connection.
    void order(const api::DesiredRun& run);
    void signal(const api::SignalOrder& order);

  private:
    explicit StepdLink(StepdCallbacks callbacks) : callbacks_(std::move(callbacks)) {}
    void watch();

    StepdCallbacks callbacks_;
    bool closed_ = false;
    std::optional<rpc::Client> client_;
};

}  // namespace twinyard::agent
