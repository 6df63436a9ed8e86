#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/step.h"
#include "step/shell/job.h"
#include "step/shell/output.h"

namespace twinyard::step {

/// Where a step's events go; false: too fast, hold output back until resume().
using StepSink = std::move_only_function<bool(api::StepEvent)>;

/// The tasks of one step on this node: started as the user in a container of their own, streams
/// copied both ways, ended with all they left behind.
class NodeStep {
  public:
    /// `done` runs (posted) once after the last event: no task and no output is left.
    NodeStep(Job& job, api::StepLaunch launch, StepSink sink, rpc::Callback done);
    ~NodeStep();
    NodeStep(const NodeStep&) = delete;
    NodeStep& operator=(const NodeStep&) = delete;

    void start();
    /// Stdin and Signal of srun.
    void take(const api::StepEvent& event);
    void pause();
    void resume();
    void signal(int signal);
    /// CONT, TERM, and KILL after `kill_wait`.
    void end(Millis kill_wait);
    void kill();
    [[nodiscard]] bool done() const { return done_; }

  private:
    struct Output {
        os::Fd fd;
        rpc::Watch watch;
    };
    struct Task {
        std::uint32_t rank = 0, local_id = 0;
        pid_t pid = 0;
        Output out, err;
        os::Fd in;
        rpc::Watch in_watch;
        std::string in_waiting;
        bool in_ended = false;
    };
    /// What a task's stream is at the task's end.
    struct Streams {
        os::Fd in, out, err;
        bool err_is_out = false;
    };

    [[nodiscard]] Status make_container();
    void start_task(Task& task);
    [[nodiscard]] Result<Streams> open_streams(Task& task);
    [[nodiscard]] Result<os::Fd> open_in(Task& task);
    [[nodiscard]] Result<os::Fd> open_out(Task& task, const std::string& pattern, Output& from);
    [[nodiscard]] Result<os::Fd> open_shared_file(const Task& task, const std::string& pattern);
    [[nodiscard]] StreamOwner owner(const Task& task) const;
    void watch_output(Task& task, Output& output, api::StepEvent::Kind kind);
    /// False once the stream is at its end.
    bool read_output(Task& task, Output& output, api::StepEvent::Kind kind);
    void drain(Task& task);
    void feed(Task& task);
    void task_failed(Task& task, int code, std::string text);
    void task_ended(Task& task, int wait_status, const api::Usage& usage);
    void finish_when_empty();
    void finish();
    void tell(api::StepEvent::Kind kind, std::uint32_t task, std::int32_t value, std::string data);

    Job& job_;
    api::StepLaunch launch_;
    StepSink sink_;
    rpc::Callback on_done_;
    std::unique_ptr<os::ProcessContainer> container_;
    std::vector<std::unique_ptr<Task>> tasks_;
    std::map<std::string, os::Fd> files_;  ///< Open output files by path.
    std::size_t running_ = 0;
    bool paused_ = false;
    bool done_ = false;
    rpc::Timer kill_timer_, empty_timer_;
};

}  // namespace twinyard::step
