#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/agent.h"
#include "step/core/run_state.h"

namespace twinyard::step {

/// How a process ended.
struct ProcessEnd {
    std::int32_t exit_code = 0;
    std::int32_t signal = 0;
    friend bool operator==(const ProcessEnd&, const ProcessEnd&) = default;
};

/// What the shell has to do, in this order.
struct Effect {
    enum class Kind : std::uint8_t {
        StartBatch,  ///< Run the batch script; answer with batch_started() or start_failed().
        Signal,      ///< `signal` to `scope`.
        SayEnding,   ///< The line about `reason` into the job's and its steps' stderr.
        KillAll,     ///< SIGKILL to everything until emptied() can be told.
        WatchEmpty,  ///< Tell emptied() once nothing is left by itself.
        Publish,     ///< What observers see has changed.
        WriteExit,   ///< Over: leave the exit record.
    };
    Kind kind = Kind::Publish;
    api::SignalScope scope = api::SignalScope::All;
    std::int32_t signal = 0;
    api::StopReason reason = api::StopReason::None;
    friend bool operator==(const Effect&, const Effect&) = default;
};
using Effects = std::vector<Effect>;

/// One launch on its node: decides by the table of run_state.h what happens when. Time is the boot
/// clock and comes in with each call; after each call next_wakeup() says when tick() is due.
class Launch {
  public:
    Launch(api::LaunchOrder order, bool has_batch);

    [[nodiscard]] Effects prepared();
    [[nodiscard]] Effects prepare_failed(std::string why);
    /// What the agent says; level-triggered, may come again and again.
    [[nodiscard]] Effects ordered(const api::DesiredRun& run, Millis now);
    [[nodiscard]] Effects signal_ordered(const api::SignalOrder& order) const;
    void batch_started(WallTime wall);
    /// Failed with this end and `why` for people; nothing of the user's ran.
    [[nodiscard]] Effects start_failed(ProcessEnd end, std::string why);
    [[nodiscard]] Effects shell_ended(ProcessEnd end, std::uint64_t oom_kills);
    /// Dropped while the shell's own end is not known yet.
    [[nodiscard]] Effects emptied(WallTime wall);
    [[nodiscard]] Effects tick(Millis now);

    [[nodiscard]] std::optional<Millis> next_wakeup() const;
    [[nodiscard]] RunState state() const { return state_; }
    [[nodiscard]] const api::LaunchOrder& order() const { return order_; }
    [[nodiscard]] Millis kill_wait() const { return kill_wait_; }
    /// Why it is being stopped; None while it is not.
    [[nodiscard]] api::StopReason reason() const { return reason_; }
    [[nodiscard]] bool shell_runs() const { return shell_runs_; }
    /// Without address and usage, which the shell knows.
    [[nodiscard]] api::ObservedRun observed() const;

  private:
    [[nodiscard]] bool move(RunEvent event);
    [[nodiscard]] Effects go(const api::DesiredRun& run, Millis now);
    [[nodiscard]] Effects stop(const api::DesiredRun& run, Millis now);
    [[nodiscard]] Effects begin_stopping(api::StopReason reason, Millis now);
    void take_limit(const api::DesiredRun& run, Millis now);
    [[nodiscard]] model::Outcome outcome() const;

    api::LaunchOrder order_;
    bool has_batch_;
    RunState state_ = RunState::Preparing;
    Millis kill_wait_{30'000};
    std::optional<Millis> started_;
    bool warned_ = false;
    std::optional<Millis> kill_due_;
    api::StopReason reason_ = api::StopReason::None;
    std::uint32_t by_uid_ = 0;
    bool ran_ = false;  ///< Got as far as Go.
    bool shell_runs_ = false;
    std::optional<ProcessEnd> shell_end_;
    std::uint64_t oom_kills_ = 0;
    std::optional<model::EndKind> failed_;
    std::string why_;
    WallTime started_wall_{}, ended_wall_{};
};

/// How a batch script that ended by itself, or was ended for `reason`, counts.
[[nodiscard]] model::EndKind end_kind(api::StopReason reason,
                                      const std::optional<ProcessEnd>& shell,
                                      std::uint64_t oom_kills);

}  // namespace twinyard::step
