// The life of a step: run() asks the ledger; begin() gives it its number, tells srun and starts a
// part on each node, ours by NodeSteps, others by LaunchTasks; from_node() passes events to srun,
// from_caller() srun's input and signals to all parts; part_done() and finish() close it, give its
// place back and start who waited. Tickets name steps in callbacks, as a step may be gone by then.
#include "step/shell/step_runner.h"

#include <signal.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "os/boot_clock.h"
#include "os/files.h"
#include "os/log.h"
#include "slurm/file_pattern.h"
#include "step/core/words.h"
#include "step/shell/batch.h"
#include "step/shell/output.h"
#include "step/shell/step_need.h"
#include "wire/messages.h"
#include "wire/method.h"

namespace twinyard::step {

namespace {

using Kind = api::StepEvent::Kind;

constexpr std::uint32_t kNumbersAtOnce = 64;
constexpr std::size_t kEarlyBytesMax = std::size_t{1} << 20;
constexpr int kSignalExit = 128;

int exit_code_of(const ProcessEnd& end) {
    return end.signal != 0 ? kSignalExit + end.signal : end.exit_code;
}

/// A file that all tasks on all nodes share; must be emptied once, not by each node.
bool is_shared_file(const std::string& pattern) {
    const bool to_caller = pattern.empty() || pattern == "all" || pattern == "none" ||
                           parse_number<std::uint32_t>(pattern).has_value();
    return !to_caller && !slurm::is_per_task(pattern) && !slurm::is_per_node(pattern);
}

}  // namespace

StepRunner::StepRunner(Job& job, NodeSteps& here, OnRecord on_record)
    : job_(job), here_(here), on_record_(std::move(on_record)) {}

StepRunner::~StepRunner() = default;

void StepRunner::open() {
    const api::GangFacts& gang = job_.order.gang;
    std::vector<LedgerNode> nodes;
    for (std::size_t i = 0; i < gang.nodes.size(); ++i) {
        LedgerNode node{.name = gang.nodes[i]};
        if (i < gang.cpus.size()) node.cpus = std::max(gang.cpus[i], 1U);
        if (i < gang.devices.size()) node.devices = gang.devices[i];
        if (i < gang.members.size()) node.tasks = gang.members[i];
        nodes.push_back(std::move(node));
    }
    const std::string kept = os::read_file(job_.file("next_step")).value_or("");
    numbers_kept_ = parse_number<std::uint32_t>(trim(kept)).value_or(0);
    ledger_ = std::make_unique<StepLedger>(std::move(nodes), numbers_kept_);
}

StepRunner::Step* StepRunner::find(std::uint64_t ticket) {
    const auto found = steps_.find(ticket);
    return found == steps_.end() ? nullptr : found->second.get();
}

void StepRunner::run(rpc::Call call, api::StepRequest request) {
    auto owned = std::make_unique<Step>();
    Step& step = *owned;
    step.ticket = next_ticket_++;
    step.call = std::make_unique<rpc::Call>(std::move(call));
    step.request = std::move(request);
    const std::uint64_t ticket = step.ticket;
    if (ledger_ == nullptr || closed_) {
        return refuse(step, "Job/step already completing or completed");
    }
    const auto need = step_need(step.request, job_.order);
    if (!need) return refuse(step, need.error().text);
    const StepAnswer answer = ledger_->ask(ticket, *need);
    if (const auto* refusal = std::get_if<StepRefusal>(&answer)) return refuse(step, refusal->text);
    steps_.emplace(ticket, std::move(owned));
    step.call->on_part([this, ticket](std::string part, bool) {
        if (!part.empty()) from_caller(ticket, part);
    });
    step.call->on_cancel([this, ticket] {
        // Posted: a cancelled call must not be destroyed inside its own callback.
        job_.loop.post([this, ticket] { caller_gone(ticket); });
    });
    if (const auto* grant = std::get_if<StepGrant>(&answer)) return begin(*grant);
    send(step, {.kind = Kind::Waiting, .data = "Requested nodes are busy"});
}

void StepRunner::refuse(Step& step, std::string text) {
    step.call->reply(wire::encode(api::StepEvent{.kind = Kind::Refused, .data = std::move(text)}));
}

/// In blocks: one sync for many steps, and after a crash the rest of a block is left out.
bool StepRunner::keep_number(std::uint32_t number) {
    if (number < numbers_kept_) return true;
    const std::uint32_t kept = number + kNumbersAtOnce;
    const Status written =
        os::write_file_atomic(job_.file("next_step"), std::to_string(kept) + "\n");
    if (!written) {
        os::log_error("step numbers: {}", written.error().message());
        return false;
    }
    numbers_kept_ = kept;
    return true;
}

void StepRunner::begin(const StepGrant& grant) {
    Step* step = find(grant.ticket);
    if (step == nullptr) return ledger_->give_back(grant.step);
    step->granted = true;
    step->number = grant.step;
    Status ready = empty_shared_files(*step);
    if (!keep_number(grant.step)) {
        ready = fail(ErrorCode::Unavailable, "cannot keep the number of the step");
    }
    if (!ready) {
        refuse(*step, ready.error().message());
        ledger_->give_back(grant.step);
        steps_.erase(grant.ticket);
        return;
    }
    open_record(*step, grant);
    tell_created(*step, grant);
    step->call->on_writable([this, ticket = grant.ticket] {
        if (Step* found = find(ticket)) hold(*found, false);
    });
    step->parts.resize(grant.places.size());
    step->parts_left = grant.places.size();
    for (std::size_t i = 0; i < grant.places.size(); ++i) {
        start_part(*step, i, launch_for(*step, grant, i), grant.places[i].node);
    }
    for (const api::StepEvent& event : std::exchange(step->early, {}))
        from_caller(grant.ticket, wire::encode(event));
}

Status StepRunner::empty_shared_files(const Step& step) const {
    const std::string& own = step.request.work_dir;
    const StreamOwner owner{.step = step.number,
                            .work_dir = own.empty() ? job_.order.launch.work_dir : own};
    for (const std::string* pattern : {&step.request.std_out, &step.request.std_err}) {
        if (!is_shared_file(*pattern)) continue;
        const Result<os::Fd> file =
            open_output(job_, resolve_pattern(job_, *pattern, owner), true, step.request.umask);
        if (!file) return fail(file.error());
    }
    return {};
}

void StepRunner::tell_created(Step& step, const StepGrant& grant) {
    api::StepEvent created{.kind = Kind::Created, .step = grant.step};
    for (const StepPlace& place : grant.places) {
        created.nodes.push_back(job_.order.gang.nodes[place.node]);
        created.tasks_per_node.push_back(place.tasks);
    }
    send(step, created);
}

api::StepLaunch StepRunner::launch_for(const Step& step,
                                       const StepGrant& grant,
                                       std::size_t index) const {
    const StepPlace& place = grant.places[index];
    api::StepLaunch launch;
    launch.secret = job_.order.secret;
    launch.step = grant.step;
    launch.name = step.request.name;
    launch.node_index = static_cast<std::uint32_t>(index);
    launch.first_task = place.first_task;
    launch.tasks = place.tasks;
    launch.total_tasks = grant.total_tasks;
    for (const StepPlace& each : grant.places) {
        launch.nodes.push_back(job_.order.gang.nodes[each.node]);
        launch.tasks_per_node.push_back(each.tasks);
    }
    launch.cpus = place.cpus;
    launch.devices = place.devices;
    launch.cpus_per_task = step.request.cpus_per_task.value_or(1);
    launch.request = step.request;
    launch.request.secret.clear();
    return launch;
}

void StepRunner::start_part(Step& step,
                            std::size_t index,
                            api::StepLaunch launch,
                            std::uint32_t node) {
    Part& part = step.parts[index];
    part.node = job_.order.gang.nodes[node];
    part.first_task = launch.first_task;
    part.tasks = launch.tasks;
    const std::uint64_t ticket = step.ticket;
    if (node != job_.order.grant_index) {
        const auto& addresses = job_.order.gang.addresses;
        const std::string address = node < addresses.size() ? addresses[node] : std::string();
        return start_remote(step, index, launch, address);
    }
    part.here = here_.start(
        std::move(launch),
        [this, ticket, index](api::StepEvent event) {
            return from_node(ticket, index, std::move(event));
        },
        [this, ticket, index] { part_done(ticket, index, {}); });
}

void StepRunner::start_remote(Step& step,
                              std::size_t index,
                              const api::StepLaunch& launch,
                              const std::string& address) {
    const std::uint64_t ticket = step.ticket;
    Part& part = step.parts[index];
    const auto over = [this, ticket, index](const Status& how) {
        job_.loop.post([this, ticket, index, how] { part_done(ticket, index, how); });
    };
    rpc::ClientOptions options;
    options.reconnect = false;
    Result<rpc::Client> client = rpc::Client::connect(job_.loop, address, options, {});
    if (!client) return over(fail(client.error()));
    part.client = std::make_unique<rpc::Client>(*std::move(client));
    part.stream = part.client->open_stream(
        {.method = static_cast<std::uint16_t>(wire::Method::LaunchTasks),
         .payload = wire::encode(launch),
         .sends_parts = true},
        [this, ticket, index](const std::string& bytes) {
            Result<api::StepEvent> event = wire::decode<api::StepEvent>(bytes);
            if (event) from_node(ticket, index, *std::move(event));
        },
        over);
}

void StepRunner::send(Step& step, const api::StepEvent& event) {
    (void)step.call->send_part(wire::encode(event));
}

bool StepRunner::from_node(std::uint64_t ticket, std::size_t index, api::StepEvent event) {
    Step* step = find(ticket);
    if (step == nullptr) return true;
    if (event.kind == Kind::TaskEnded) count_task_end(*step, index, event);
    const bool open = step->call->send_part(wire::encode(event)) != rpc::Flow::Paused;
    const bool bad = event.kind == Kind::TaskEnded && event.value != 0;
    if (!open && !step->held) hold(*step, true);
    if (bad && step->request.kill_on_bad_exit && !step->ending) end(*step);
    return open;
}

void StepRunner::count_task_end(Step& step, std::size_t index, const api::StepEvent& event) {
    ++step.parts[index].ended;
    const ProcessEnd end = end_of(event.value);
    const int code = exit_code_of(end);
    if (code > step.exit_code) {
        step.exit_code = code;
        step.worst = end;
    }
    const Result<api::Usage> usage = wire::decode<api::Usage>(event.data);
    if (!usage) return;
    api::Usage& sum = records_[step.record].usage;
    sum.cpu_user += usage->cpu_user;
    sum.cpu_system += usage->cpu_system;
    sum.memory_peak_bytes = std::max(sum.memory_peak_bytes, usage->memory_peak_bytes);
}

void StepRunner::from_caller(std::uint64_t ticket, std::string_view bytes) {
    Step* step = find(ticket);
    Result<api::StepEvent> event = wire::decode<api::StepEvent>(bytes);
    if (step == nullptr || !event) return;
    if (!step->granted) {
        step->early_bytes += bytes.size();
        if (step->early_bytes <= kEarlyBytesMax) step->early.push_back(*std::move(event));
        return;
    }
    for (Part& part : step->parts) {
        if (part.client && !part.done) part.client->send_part(part.stream, std::string(bytes));
        if (NodeStep* tasks = here_.find(part.here)) tasks->take(*event);
    }
}

void StepRunner::send_signal(Step& step, int signal) {
    from_caller(step.ticket, wire::encode(api::StepEvent{.kind = Kind::Signal, .value = signal}));
}

/// The window that streams from client to server lack: what is under way is all that comes.
void StepRunner::hold(Step& step, bool held) {
    step.held = held;
    const api::StepEvent event{.kind = Kind::Message, .value = held ? 1 : 0};
    from_caller(step.ticket, wire::encode(event));
}

/// CONT, TERM, and KILL after kill_wait, on all nodes.
void StepRunner::end(Step& step) {
    step.ending = true;
    send_signal(step, SIGCONT);
    send_signal(step, SIGTERM);
    step.kill_timer = job_.loop.after(kill_wait_, [this, ticket = step.ticket] {
        if (Step* found = find(ticket)) send_signal(*found, SIGKILL);
    });
}

void StepRunner::caller_gone(std::uint64_t ticket) {
    Step* step = find(ticket);
    if (step == nullptr || step->ending) return;
    if (step->granted) return end(*step);
    ledger_->withdraw(ticket);
    steps_.erase(ticket);
}

void StepRunner::part_done(std::uint64_t ticket, std::size_t index, const Status& how) {
    Step* step = find(ticket);
    if (step == nullptr || step->parts[index].done) return;
    Part& part = step->parts[index];
    if (!how) {
        send(
            *step,
            {.kind = Kind::Message,
             .step = step->number,
             .data = "slurmstepd: error: node " + part.node + ": " + how.error().message() + "\n"});
    }
    // What a lost node did not tell: those tasks count as killed.
    for (std::uint32_t i = part.ended; i < part.tasks; ++i) {
        (void)from_node(ticket,
                        index,
                        {.kind = Kind::TaskEnded,
                         .step = step->number,
                         .task = part.first_task + i,
                         .value = SIGKILL,
                         .node = part.node});
    }
    part.done = true;
    if (--step->parts_left == 0) finish(ticket);
}

void StepRunner::finish(std::uint64_t ticket) {
    const auto entry = steps_.extract(ticket);
    Step& step = *entry.mapped();
    close_record(step, step.ending && !step.request.kill_on_bad_exit);
    send(step, {.kind = Kind::Finished, .step = step.number, .value = step.exit_code});
    step.call->finish();
    ledger_->give_back(step.number);
    if (!closed_) start_waiting();
}

void StepRunner::start_waiting() {
    for (const StepGrant& grant : ledger_->start_waiting())
        begin(grant);
}

void StepRunner::say_ending(api::StopReason reason) {
    for (const auto& [ticket, step] : steps_) {
        if (!step->granted) continue;
        const std::string what =
            "STEP " + std::to_string(job_.order.job.value()) + "." + std::to_string(step->number);
        send(*step,
             {.kind = Kind::Message,
              .step = step->number,
              .data = ending_line(what, job_.options.node, local_time_now(), reason)});
    }
}

void StepRunner::close() {
    closed_ = true;
    for (const auto& [ticket, step] : steps_) {
        if (!step->granted) {
            refuse(*step, "Job/step already completing or completed");
            continue;
        }
        close_record(*step, true);
        send(*step, {.kind = Kind::Finished, .step = step->number, .value = kSignalExit + SIGKILL});
        step->call->finish();
    }
    steps_.clear();
}

void StepRunner::open_record(Step& step, const StepGrant& grant) {
    api::StepRecord record;
    record.key = job_.order.key;
    record.step = grant.step;
    record.name = step.request.name;
    record.tasks = grant.total_tasks;
    record.started_wall = os::wall_now();
    for (const StepPlace& place : grant.places) {
        record.nodes.push_back(job_.order.gang.nodes[place.node]);
        record.cpus += static_cast<std::uint32_t>(place.cpus.size());
    }
    step.record = records_.size();
    records_.push_back(std::move(record));
    on_record_(records_.back());
}

void StepRunner::close_record(const Step& step, bool cancelled) {
    api::StepRecord& record = records_[step.record];
    record.ended_wall = os::wall_now();
    record.outcome.exit_code = step.worst.exit_code;
    record.outcome.signal = step.worst.signal;
    record.outcome.kind = step.exit_code == 0 ? model::EndKind::Completed : model::EndKind::Failed;
    if (cancelled) record.outcome.kind = model::EndKind::Cancelled;
    on_record_(record);
}

}  // namespace twinyard::step
