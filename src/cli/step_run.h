#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "api/step.h"
#include "base/result.h"
#include "cli/environment.h"
#include "cli/exit_code.h"
#include "cli/output.h"

namespace twinyard::cli {

/// What happens next in the life of a step as srun sees it.
struct StepHappening {
    enum class Kind : std::uint8_t {
        Event,   ///< From the step daemon.
        Input,   ///< Bytes of our stdin; empty at its end, once.
        Signal,  ///< We got one.
        Ended,   ///< The stream is over.
    };
    Kind kind = Kind::Ended;
    api::StepEvent event;
    std::string input;
    std::int32_t signal = 0;
};

/// The stream of one step, with our stdin and signals beside it. One thread.
class StepStream {
  public:
    StepStream() = default;
    StepStream(const StepStream&) = delete;
    StepStream& operator=(const StepStream&) = delete;
    virtual ~StepStream() = default;

    [[nodiscard]] virtual Status start(const api::StepRequest& request) = 0;
    [[nodiscard]] virtual Status send(const api::StepEvent& event) = 0;
    /// Waits for what happens next. `with_input`: our stdin counts.
    [[nodiscard]] virtual Result<StepHappening> next(bool with_input) = 0;
};

/// Connects to the job's step daemon; signals come through the stream from now on.
[[nodiscard]] Result<std::unique_ptr<StepStream>> open_step_stream(const std::string& socket_path);

struct StepView {
    std::string job;
    bool send_input = true;
    bool quiet = false;
    bool quit_on_interrupt = false;
    ExitCode own_failure = kFailed;  ///< SLURM_EXIT_ERROR.
};

/// Runs a step: our stdin goes to its tasks, their output and ends come back, signals are passed
/// on. Ends with the step's code.
[[nodiscard]] ExitCode run_step(StepStream& stream,
                                const api::StepRequest& request,
                                const StepView& view,
                                const Environment& environment,
                                Output& output);

}  // namespace twinyard::cli
