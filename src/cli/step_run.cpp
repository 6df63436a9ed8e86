#include "cli/step_run.h"

#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <utility>

#include "slurm/signal_names.h"

namespace twinyard::cli {

namespace {

using api::StepEvent;
using Kind = api::StepEvent::Kind;

/// A second Ctrl-C within this time is meant.
constexpr std::int64_t kInterruptMs = 1000;

/// A line of a task that is longer is not held back for its end.
constexpr std::size_t kHeldMax = 64 * 1024;

class StepRun {
  public:
    StepRun(StepStream& stream,
            const api::StepRequest& request,
            const StepView& view,
            const Environment& environment,
            Output& output)
        : stream_(stream),
          request_(request),
          view_(view),
          environment_(environment),
          output_(output),
          exit_(view.own_failure) {}

    ExitCode run() {
        if (const Status started = stream_.start(request_); !started) return lost(started.error());
        if (!view_.send_input) {
            if (const Status sent = stream_.send({.kind = Kind::Stdin}); !sent)
                return lost(sent.error());
            input_open_ = false;
        }
        while (!over_) {
            auto happening = stream_.next(input_open_ && created_);
            if (!happening) return lost(happening.error());
            if (const Status done = take(*happening); !done) return lost(done.error());
        }
        write_partial_lines();
        output_.flush();
        return exit_;
    }

  private:
    ExitCode lost(const Error& error) {
        write_partial_lines();
        output_.error("Connection to the step daemon of job " + view_.job +
                      " failed: " + error.message());
        return view_.own_failure;
    }

    Status take(const StepHappening& happening) {
        switch (happening.kind) {
            case StepHappening::Kind::Event:
                take_event(happening.event);
                return {};
            case StepHappening::Kind::Input:
                input_open_ = !happening.input.empty();
                return stream_.send({.kind = Kind::Stdin, .data = happening.input});
            case StepHappening::Kind::Signal:
                return take_signal(happening.signal);
            case StepHappening::Kind::Ended:
                if (!finished_) return fail(ErrorCode::Unavailable, "it ended without a result");
                over_ = true;
                return {};
        }
        return {};
    }

    void take_event(const StepEvent& event) {
        switch (event.kind) {
            case Kind::Created:
                return take_created(event);
            case Kind::Waiting:
                waited_ = true;
                if (!view_.quiet) {
                    output_.note("Job " + view_.job +
                                 " step creation temporarily disabled, retrying (" + event.data +
                                 ")");
                }
                return;
            case Kind::Stdout:
                return show(event, false);
            case Kind::Stderr:
                return show(event, true);
            case Kind::TaskEnded:
                return take_task_end(event);
            case Kind::Refused:
                output_.error("Unable to create step for job " + view_.job + ": " + event.data);
                finished_ = over_ = true;
                return;
            case Kind::Finished:
                exit_ = event.value;
                finished_ = over_ = true;
                return;
            case Kind::Message:
                output_.err(event.data.ends_with('\n') ? event.data : event.data + "\n");
                return;
            case Kind::TaskStarted:
            case Kind::Stdin:
            case Kind::Signal:
                return;
        }
    }

    void take_created(const StepEvent& event) {
        created_ = true;
        step_id_ = view_.job + "." + std::to_string(event.step);
        std::uint32_t tasks = 0;
        for (const std::uint32_t count : event.tasks_per_node)
            tasks += count;
        label_width_ = std::to_string(std::max(tasks, 1U) - 1).size();
        // Several tasks write whole lines each, so that none stands in the middle of another's.
        by_lines_ = request_.label || (tasks > 1 && !request_.unbuffered);
        if (waited_ && !view_.quiet) output_.note("Step created for StepId=" + step_id_);
    }

    void take_task_end(const StepEvent& event) {
        const int status = event.value;
        if (status == 0) return;
        const std::string who = event.node + ": task " + std::to_string(event.task) + ": ";
        if (WIFSIGNALED(status)) {
            output_.error(who + slurm::signal_description(WTERMSIG(status)) +
                          (WCOREDUMP(status) ? " (core dumped)" : ""));
        } else {
            output_.error(who + "Exited with exit code " + std::to_string(WEXITSTATUS(status)));
        }
    }

    /// With -l whole lines, each with its task; else bytes as they come.
    void show(const StepEvent& event, bool to_stderr) {
        if (!by_lines_) return write(event.data, to_stderr);
        std::string& held = partial_[{event.task, to_stderr}];
        held += event.data;
        if (!request_.label && held.size() > kHeldMax)
            return write(std::exchange(held, {}), to_stderr);
        std::string lines;
        std::size_t begin = 0;
        for (std::size_t end = held.find('\n'); end != held.npos; end = held.find('\n', begin)) {
            lines += label(event.task) + held.substr(begin, end + 1 - begin);
            begin = end + 1;
        }
        held.erase(0, begin);
        write(lines, to_stderr);
    }

    std::string label(std::uint32_t task) const {
        std::string number = std::to_string(task);
        if (!request_.label) return {};
        if (number.size() < label_width_) number.insert(0, label_width_ - number.size(), ' ');
        return number + ": ";
    }

    void write_partial_lines() {
        for (const auto& [from, text] : partial_) {
            if (text.empty()) continue;
            write(request_.label ? label(from.first) + text + "\n" : text, from.second);
        }
        partial_.clear();
    }

    void write(std::string_view text, bool to_stderr) {
        if (to_stderr) return output_.err(text);
        output_.out(text);
        output_.flush();
    }

    Status take_signal(std::int32_t signal) {
        if (signal != SIGINT || view_.quit_on_interrupt) return forward(signal);
        const std::int64_t now = environment_.now_ms();
        if (last_interrupt_ms_ && now - *last_interrupt_ms_ <= kInterruptMs) {
            output_.note("sending Ctrl-C to StepId=" + step_id_);
            return forward(SIGINT);
        }
        last_interrupt_ms_ = now;
        output_.note("interrupt (one more within 1 sec to abort)");
        return {};
    }

    Status forward(std::int32_t signal) {
        if (signal == SIGTERM) output_.note("forcing job termination");
        // A step that does not exist yet has nobody to be told: srun itself ends.
        if (!created_) {
            finished_ = over_ = true;
            exit_ = 128 + signal;
            return {};
        }
        return stream_.send({.kind = Kind::Signal, .value = signal});
    }

    StepStream& stream_;
    const api::StepRequest& request_;
    const StepView& view_;
    const Environment& environment_;
    Output& output_;
    ExitCode exit_;
    bool input_open_ = true, created_ = false, waited_ = false, finished_ = false, over_ = false;
    std::string step_id_;
    std::size_t label_width_ = 1;
    bool by_lines_ = false;
    std::map<std::pair<std::uint32_t, bool>, std::string> partial_;  ///< By task and stream.
    std::optional<std::int64_t> last_interrupt_ms_;
};

}  // namespace

ExitCode run_step(StepStream& stream,
                  const api::StepRequest& request,
                  const StepView& view,
                  const Environment& environment,
                  Output& output) {
    return StepRun(stream, request, view, environment, output).run();
}

}  // namespace twinyard::cli
