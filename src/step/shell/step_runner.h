#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/step.h"
#include "rpc/client.h"
#include "rpc/server.h"
#include "step/core/launch.h"
#include "step/core/step_ledger.h"
#include "step/shell/node_steps.h"

namespace twinyard::step {

/// The steps of a job, on the step daemon of its first node: gives each its number and place by the
/// ledger, has every node's daemon start its tasks, and is srun's other end. Loop's thread only.
class StepRunner {
  public:
    using OnRecord = std::function<void(const api::StepRecord&)>;

    StepRunner(Job& job, NodeSteps& here, OnRecord on_record);
    ~StepRunner();

    /// From Go on, when the gang is known.
    void open();
    /// srun's call; answered by the stream of its step.
    void run(rpc::Call call, api::StepRequest request);
    /// The line about the job's end, to every srun.
    void say_ending(api::StopReason reason);
    void set_kill_wait(Millis wait) { kill_wait_ = wait; }
    /// The job is over on this node: running steps end as cancelled, no more are taken.
    void close();

    [[nodiscard]] const std::vector<api::StepRecord>& records() const { return records_; }

  private:
    /// One node's part of a step: here, or at the other end of a stream.
    struct Part {
        std::string node;
        std::uint32_t first_task = 0, tasks = 0, ended = 0;
        NodeSteps::Handle here = 0;
        std::unique_ptr<rpc::Client> client;
        rpc::CallId stream = 0;
        bool done = false;
    };
    struct Step {
        std::uint64_t ticket = 0;
        std::unique_ptr<rpc::Call> call;
        api::StepRequest request;
        std::vector<api::StepEvent> early;  ///< What srun sent before the step had its number.
        std::size_t early_bytes = 0;
        bool granted = false;
        bool ending = false;
        bool held = false;  ///< srun is slow: all parts hold their output back.
        std::uint32_t number = 0;
        std::vector<Part> parts;
        std::size_t parts_left = 0;
        int exit_code = 0;
        ProcessEnd worst;  ///< Of the task with the highest code.
        std::size_t record = 0;
        rpc::Timer kill_timer;
    };

    [[nodiscard]] Step* find(std::uint64_t ticket);
    void refuse(Step& step, std::string text);
    void begin(const StepGrant& grant);
    [[nodiscard]] bool keep_number(std::uint32_t number);
    [[nodiscard]] Status empty_shared_files(const Step& step) const;
    void tell_created(Step& step, const StepGrant& grant);
    [[nodiscard]] api::StepLaunch launch_for(const Step& step,
                                             const StepGrant& grant,
                                             std::size_t index) const;
    void start_part(Step& step, std::size_t index, api::StepLaunch launch, std::uint32_t node);
    void start_remote(Step& step,
                      std::size_t index,
                      const api::StepLaunch& launch,
                      const std::string& address);
    void from_caller(std::uint64_t ticket, std::string_view bytes);
    bool from_node(std::uint64_t ticket, std::size_t index, api::StepEvent event);
    void count_task_end(Step& step, std::size_t index, const api::StepEvent& event);
    void part_done(std::uint64_t ticket, std::size_t index, const Status& how);
    void send(Step& step, const api::StepEvent& event);
    void send_signal(Step& step, int signal);
    void hold(Step& step, bool held);
    void end(Step& step);
    void caller_gone(std::uint64_t ticket);
    void finish(std::uint64_t ticket);
    void start_waiting();
    void open_record(Step& step, const StepGrant& grant);
    void close_record(const Step& step, bool cancelled);

    Job& job_;
    NodeSteps& here_;
    OnRecord on_record_;
    std::unique_ptr<StepLedger> ledger_;
    std::map<std::uint64_t, std::unique_ptr<Step>> steps_;
    std::vector<api::StepRecord> records_;
    std::uint64_t next_ticket_ = 1;
    std::uint32_t numbers_kept_ = 0;  ///< Below this, numbers are durably taken.
    Millis kill_wait_{30'000};
    bool closed_ = false;
};

}  // namespace twinyard::step
