#include "sim/clients.h"

#include <utility>

namespace twinyard::sim {
namespace {

constexpr std::uint32_t kUser = 1000;
constexpr api::Principal kOwner{.uid = kUser, .gid = kUser, .is_admin = false};
constexpr api::Principal kAdmin{.uid = 0, .gid = 0, .is_admin = true};
/// Below the ten minutes for which a controller remembers a request.
constexpr Millis kGiveUpAfter{Seconds{300}};
constexpr Millis kPatience{Seconds{8}};
constexpr Millis kLateMax{Seconds{60}};

api::RequestId request_id(std::size_t number) {
    api::RequestId id{};
    id[0] = 1;
    for (std::size_t i = 0; i < 8; ++i)
        id[8 + i] = static_cast<std::uint8_t>(number >> (8 * i));
    return id;
}

api::Blob blob_of(std::string bytes) {
    return {content_hash(bytes), std::move(bytes)};
}

}  // namespace

void Clients::begin(std::size_t jobs, Millis over) {
    until_ = world_.timeline.now() + over;
    requests_.resize(jobs);
    open_ = jobs;
    Millis at{0};
    for (std::size_t number = 0; number < jobs; ++number) {
        Request& request = requests_[number];
        request.submit.request_id = request_id(number);
        request.submit.spec = random_job(number);
        request.submit.blobs = {blob_of("#!/bin/sh\necho " + std::to_string(number % 7) + "\n")};
        if (world_.dice.one_in(10)) request.submit.hold = model::Hold::User;
        // Some come one by one, others in bursts.
        if (number == 0 || world_.dice.one_in(3)) at = world_.dice.between(Millis{0}, over);
        world_.timeline.in(at, 0, [this, number] { submit(number); });
    }
    const std::size_t visits = jobs / 4;
    for (std::size_t i = 0; i < visits; ++i)
        world_.timeline.in(world_.dice.between(Millis{0}, over), 0, [this] { tend_nodes(); });
}

std::shared_ptr<const model::WorkloadSpec> Clients::random_job(std::size_t number) {
    auto spec = std::make_shared<model::WorkloadSpec>();
    spec->name = "job" + std::to_string(number);
    spec->uid = spec->gid = kUser;
    spec->partitions = {"main"};
    model::TaskGroup group;
    const auto nodes = static_cast<std::uint32_t>(
        world_.dice.one_in(3) ? 1 + world_.dice.below(nodes_ > 3 ? 3 : nodes_) : 1);
    group.members = group.nodes = {nodes, nodes};
    group.per_member.cpu_milli = static_cast<std::int64_t>(1000 * (1 + world_.dice.below(4)));
    group.per_node.memory_bytes = std::int64_t{1} << 30;
    const auto gpus = static_cast<std::int64_t>(world_.dice.below(3));
    if (gpus > 0) group.per_node.devices = {{.class_path = "gpu", .count = gpus}};
    spec->groups.push_back(group);
    spec->requeue_allowed = !world_.dice.one_in(3);
    spec->emulated_runtime = world_.dice.between(Millis{200}, Seconds{40});
    if (world_.dice.one_in(5)) spec->emulated_exit = 3;
    if (world_.dice.one_in(3)) spec->time_limit = world_.dice.between(Millis{1'000}, Seconds{60});
    if (world_.dice.one_in(12)) spec->begin = world_.wall() + Seconds{30};
    if (world_.dice.one_in(10)) spec->end_rule = model::EndRule::EachOnItsOwn;
    if (spec->end_rule == model::EndRule::EachOnItsOwn && nodes > 1)
        spec->time_limit = world_.dice.between(Millis{1'000}, Seconds{30});
    spec->launch.script = content_hash("#!/bin/sh\necho " + std::to_string(number % 7) + "\n");
    return spec;
}

void Clients::retry(std::size_t number, Millis delay) {
    world_.timeline.in(delay, 0, [this, number] { submit(number); });
}

Millis Clients::think() {
    return world_.dice.between(Millis{200}, Seconds{4});
}

void Clients::close(std::size_t number) {
    if (std::exchange(requests_[number].closed, true)) return;
    --open_;
}

void Clients::submit(std::size_t number) {
    Request& request = requests_[number];
    if (request.closed) return;
    const Millis now = world_.timeline.now();
    const bool was_sent = request.first_sent >= Millis{0};
    if (was_sent && now > request.first_sent + kGiveUpAfter) return close(number);
    ControllerHost* to = controller_();
    if (to == nullptr) return retry(number, think());
    if (!was_sent) request.first_sent = now;
    send_submit(number, *to);
    if (world_.dice.per_mille(world_.faults.late_request)) send_again_late(number, *to);
    // The answer may never come.
    world_.timeline.in(kPatience, 0, [this, number, tries = ++request.tries] {
        if (tries == requests_[number].tries) submit(number);
    });
}

void Clients::send_submit(std::size_t number, ControllerHost& to) {
    const auto latency = [this] {
        return world_.dice.between(Millis{0}, world_.faults.latency_max);
    };
    world_.timeline.in(latency(), to.owner(), [this, number, &to, latency] {
        to.push({.command = requests_[number].submit,
                 .principal = kOwner,
                 .on_reply =
                     [this, number, latency](Result<api::Reply> reply) {
                         check_durable(reply);
                         if (world_.dice.per_mille(world_.faults.lose_reply)) return;
                         world_.timeline.in(
                             latency(), 0, [this, number, reply] { on_answer(number, reply); });
                     },
                 .of_user = true});
    });
}

/// It lay in a buffer of the same controller; nobody waits for this answer any more.
void Clients::send_again_late(std::size_t number, ControllerHost& to) {
    const Millis late = world_.dice.between(Millis{0}, kLateMax);
    world_.timeline.in(late, to.owner(), [this, number, &to] {
        to.push({.command = requests_[number].submit,
                 .principal = kOwner,
                 .on_reply = [](const Result<api::Reply>&) {},
                 .of_user = true});
    });
}

void Clients::on_answer(std::size_t number, const Result<api::Reply>& reply) {
    if (reply) return acknowledge(number, std::get<api::Submitted>(*reply));
    if (requests_[number].closed) return;
    if (reply.error().code() != ErrorCode::Unavailable)
        return world_.fail("a good request was refused: " + reply.error().message());
    ++requests_[number].tries;
    retry(number, think());
}

/// When it leaves the controller, not when it is heard.
void Clients::check_durable(const Result<api::Reply>& reply) {
    if (!reply) return;
    const auto& answer = std::get<api::Submitted>(*reply);
    if (!world_.durable.was_ever(answer.workload))
        world_.fail("workload " + std::to_string(answer.workload.value()) +
                    " is acknowledged and not durable");
}

/// What is acknowledged is one job however often it was asked for.
void Clients::acknowledge(std::size_t number, const api::Submitted& answer) {
    Request& request = requests_[number];
    if (request.answer && request.answer->workload != answer.workload)
        world_.fail("request " + std::to_string(number) + " made two workloads");
    const auto [found, fresh] = acknowledged_.try_emplace(answer.workload, answer.job, number);
    if (!fresh && found->second.request != number)
        world_.fail("workload " + std::to_string(answer.workload.value()) +
                    " answers two requests");
    if (request.answer) return;
    world_.note("request " + std::to_string(number) + " is workload " +
                std::to_string(answer.workload.value()));
    request.answer = answer;
    close(number);
    follow_up(answer.workload);
}

void Clients::follow_up(model::WorkloadId id) {
    if (!world_.dice.one_in(2)) return;
    world_.timeline.in(
        world_.dice.between(Millis{10}, Seconds{40}), 0, [this, id] { disturb(id); });
}

void Clients::disturb(model::WorkloadId id) {
    if (world_.timeline.now() > until_) return;
    switch (world_.dice.below(6)) {
        case 0:
            return send(api::Cancel{.targets = {id}}, false);
        case 1:
            return send(api::Cancel{.targets = {id}, .requeue_if_allowed = true}, true);
        case 2:
            return send(api::Requeue{.targets = {id}}, false);
        case 3:
            return send(api::SetHold{{id}, model::Hold::User}, false);
        case 4:
            return send(api::Signal{.targets = {id}, .signal = 9}, false);
        default: {
            api::Update update{.target = id};
            update.time_limit = std::optional(world_.dice.between(Millis{500}, Seconds{30}));
            send(std::move(update), true);
        }
    }
}

/// An administrator who calls a node down that nobody reaches vouches that nothing runs there. This
/// one does not look, and so says it only where all nodes are reached.
bool Clients::can_trust_down() const {
    const Faults& faults = world_.faults;
    return faults.break_link == 0 && faults.partition_each == Millis{0} &&
           faults.agent_crash_each == Millis{0};
}

void Clients::tend_nodes() {
    api::UpdateNode update{.names = {"n" + std::to_string(1 + world_.dice.below(nodes_))},
                           .action = api::NodeAction::Drain,
                           .reason = "looked at",
                           .features = {}};
    if (can_trust_down() && world_.dice.one_in(3)) update.action = api::NodeAction::Down;
    send(update, true);
    update.action = api::NodeAction::Resume;
    update.reason.reset();
    world_.timeline.in(
        world_.dice.between(Millis{100}, Seconds{30}), 0, [this, update] { send(update, true); });
}

/// Nobody insists on these: lost is lost.
void Clients::send(api::Command command, bool as_admin) {
    ControllerHost* to = controller_();
    if (to == nullptr) return;
    const Millis latency = world_.dice.between(Millis{0}, world_.faults.latency_max);
    world_.timeline.in(latency, to->owner(), [to, as_admin, command = std::move(command)] {
        to->push({.command = command,
                  .principal = as_admin ? kAdmin : kOwner,
                  .on_reply = [](const Result<api::Reply>&) {},
                  .of_user = true});
    });
}

void Clients::lift_all() {
    ControllerHost* to = controller_();
    if (to == nullptr) return;
    api::UpdateNode resume{.action = api::NodeAction::Resume, .features = {}};
    for (std::size_t i = 1; i <= nodes_; ++i)
        resume.names.push_back("n" + std::to_string(i));
    send(resume, true);
    api::SetHold lift{.targets = {}, .hold = model::Hold::None};
    to->released().workloads.for_each([&](std::uint64_t, const model::WorkloadPtr& workload) {
        if (workload->status.hold != model::Hold::None && lift.targets.size() < 16)
            lift.targets.push_back(workload->id);
    });
    if (!lift.targets.empty()) send(lift, true);
}

}  // namespace twinyard::sim
