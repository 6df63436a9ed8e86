// One controller. turn() in order, as the state thread does it: the store's replies and what they
// release, commands, time, batches to the store, releases that wait for nothing. Between turns the
// store is pumped, agents and clients push commands, the engine plans, the history is written.
// What agents and engine do is in controller_parts.cpp.
#include "sim/controller_host.h"

#include <algorithm>

#include "base/planted_bug.h"
#include "controller/core/invariants.h"
#include "wire/record.h"

namespace twinyard::sim {
namespace {

constexpr std::size_t kCommandsPerTurn = 16;
constexpr Millis kTurnMax{2};
constexpr Millis kRetryAfter{500};
constexpr Millis kSlowMax{4'000};
constexpr std::uint64_t kTurnsPerReloadCheck = 12;
constexpr api::Principal kMachinery{.uid = 0, .gid = 0, .is_admin = true};

void encode_record(const api::Mutation& mutation, std::vector<controller::RecordOp>& out) {
    std::vector<wire::KeyValue> ops;
    wire::append_record(mutation, ops);
    for (wire::KeyValue& op : ops)
        out.push_back({std::move(op.key), std::move(op.value)});
}

}  // namespace

ControllerHost::ControllerHost(World& world,
                               Network& network,
                               ReleasedFacts& facts,
                               model::ClusterConfigPtr config,
                               controller::PipelineLimits limits)
    : world_(world),
      network_(network),
      facts_(facts),
      config_(std::move(config)),
      limits_(limits),
      owner_(world.timeline.new_owner()),
      store_(world.disk, store::MemoryStore::Mode::Pumped) {
    world_.disk.faults.ignore_batch_guard = planted(PlantedBug::MissingBatchGuard);
}

bool ControllerHost::start() {
    const auto term = store_.acquire_term();
    if (!term) return false;
    settings_ = {.term = *term, .cluster_secret = "secret"};
    auto records = world_.durable.records();
    const auto mark = store_.last_batch();
    if (!records || !mark) {
        world_.fail("the store cannot be read back: " +
                    (records ? mark.error().message() : records.error().message()));
        return false;
    }
    if (records->counters.cluster_id.empty()) records->counters.cluster_id = "c1";
    boot_ = world_.timeline.now();
    clock_start_ = std::max(records->counters.time, ClusterTime(world_.wall().time_since_epoch()));
    auto core = controller::Core::load(
        settings_,
        std::move(*records),
        {.time = clock_start_, .wall = world_.wall(), .principal = kMachinery});
    if (!core) {
        world_.fail("the records contradict each other: " + core.error().message());
        return false;
    }
    world_.note("controller of term " + std::to_string(*term) + " starts after batch " +
                std::to_string(mark->seq));
    up_ = true;
    pipeline_.emplace(std::move(*core), limits_, mark->seq + 1, encode_record);
    record(pipeline_->core().outbox(0, 1'000'000));
    latest_ = pipeline_->core().snapshot();
    index_ = sched::Index::build(latest_);
    next_second_ = boot_;
    push({.command = api::Configure{config_}, .principal = kMachinery, .on_reply = {}});
    return true;
}

void ControllerHost::crash(std::string_view why) {
    if (!up_) return;
    world_.note("controller of term " + std::to_string(settings_.term) +
                " dies: " + std::string(why));
    up_ = false;
    world_.timeline.end(owner_);
    network_.close_all_of(owner_);
}

ClusterTime ControllerHost::cluster_now() const {
    return clock_start_ + (world_.timeline.now() - boot_);
}

std::string ControllerHost::why_busy() const {
    if (!items_.empty()) return "commands are queued";
    if (refused_) return "the store refuses";
    if (pipeline_->has_open() || pipeline_->in_flight() > 0) return "a batch is open";
    if (!rows_.empty()) return "rows wait for the history";
    if (unanswered_ > 0) return "the engine waits for an answer";
    return pipeline_->core().has_backlog() ? "the core has work left" : "";
}

void ControllerHost::push(Item item) {
    items_.push_back(std::move(item));
    wake(world_.dice.between(Millis{0}, kTurnMax));
}

/// The earliest plan counts.
void ControllerHost::wake(Millis delay) {
    const Millis at = world_.timeline.now() + delay;
    if (turn_at_ && *turn_at_ <= at) return;
    turn_at_ = at;
    world_.timeline.in(delay, owner_, [this, plan = ++turn_plan_] {
        if (plan == turn_plan_) turn();
    });
}

void ControllerHost::turn() {
    turn_at_.reset();
    ++turns_;
    take_store_replies();
    if (up_) take_commands();
    if (up_) pass_time();
    if (up_) submit_batches();
    if (up_) release_ready();
    if (!up_ || world_.failed()) return;
    check_core();
    plan_next_turn();
}

void ControllerHost::take_store_replies() {
    while (up_ && !store_replies_.empty()) {
        const auto [seq, reply] = std::move(store_replies_.front());
        store_replies_.pop_front();
        on_store_reply(seq, reply);
    }
    if (up_ && refused_ && replies_owed_ == 0 && world_.timeline.now() >= retry_at_)
        retry_refused();
}

void ControllerHost::on_store_reply(std::uint64_t seq, const store::Reply& reply) {
    --replies_owed_;
    switch (reply.outcome) {
        case store::Outcome::Durable:
            refused_ = false;
            if (given_out_.front() != seq) {
                world_.fail("batch " + std::to_string(seq) + " is durable before batch " +
                            std::to_string(given_out_.front()));
                return crash("the store mixed up its batches");
            }
            given_out_.pop_front();
            return release(pipeline_->on_durable(seq));
        case store::Outcome::Refused:
        case store::Outcome::Unknown:
            if (!refused_) retry_at_ = world_.timeline.now() + kRetryAfter;
            refused_ = true;
            return;
        case store::Outcome::TermLost:
            return crash("another one owns the store");
        case store::Outcome::GuardFailed:
            world_.fail("the store refused the order of batches: " + reply.message);
            return crash("the store refused the order of batches");
    }
}

void ControllerHost::retry_refused() {
    retry_at_ = world_.timeline.now() + kRetryAfter;
    for (controller::SealedBatch& batch : pipeline_->unacknowledged())
        submit(std::move(batch));
}

void ControllerHost::take_commands() {
    for (std::size_t taken = 0; taken < kCommandsPerTurn && pipeline_->can_take(); ++taken) {
        if (items_.empty()) return;
        Item item = std::move(items_.front());
        items_.pop_front();
        if (refused_ && item.of_user) {
            item.on_reply(fail(ErrorCode::Unavailable, "the controller cannot store new work"));
            continue;
        }
        apply(item.command, item.principal, std::move(item.on_reply));
    }
}

void ControllerHost::apply(const api::Command& command,
                           const api::Principal& principal,
                           OnReply on_reply) {
    controller::Token token = 0;
    if (on_reply) {
        token = next_token_++;
        waiting_.emplace(token, std::move(on_reply));
    }
    pipeline_->apply(
        command, {.time = cluster_now(), .wall = world_.wall(), .principal = principal}, token);
}

void ControllerHost::pass_time() {
    if (!pipeline_->can_take() || refused_) return;
    if (world_.timeline.now() >= next_second_) {
        next_second_ = world_.timeline.now() + Seconds{1};
        for (const api::Command& command : each_second())
            apply(command, kMachinery, {});
    }
    const auto wakeup = pipeline_->core().next_wakeup();
    if (pipeline_->core().has_backlog() || (wakeup && *wakeup <= cluster_now()))
        apply(api::Tick{}, kMachinery, {});
}

void ControllerHost::submit_batches() {
    if (refused_) return;
    while (auto batch = pipeline_->next_batch()) {
        given_out_.push_back(batch->seq);
        submit(std::move(*batch));
    }
}

void ControllerHost::submit(controller::SealedBatch sealed) {
    store::Batch batch{.seq = sealed.seq,
                       .term = settings_.term,
                       .last_revision = sealed.last_revision,
                       .ops = {}};
    for (controller::RecordOp& op : sealed.ops) {
        const auto kind = op.value ? store::Op::Put : store::Op::Delete;
        batch.ops.push_back({kind, std::move(op.key), op.value ? std::move(*op.value) : ""});
    }
    ++replies_owed_;
    const Status accepted = store_.submit(std::move(batch), [this, seq = sealed.seq](auto reply) {
        store_replies_.emplace_back(seq, std::move(reply));
    });
    if (!accepted)
        return world_.fail("a batch that the store cannot take: " + accepted.error().message());
    Millis takes = world_.dice.between(Millis{0}, world_.faults.store_delay_max);
    if (world_.dice.per_mille(world_.faults.store_slow))
        takes += world_.dice.between(Millis{0}, kSlowMax);
    pumped_at_ = std::max(pumped_at_, world_.timeline.now() + takes);
    world_.timeline.in(pumped_at_ - world_.timeline.now(), owner_, [this] { pump(); });
}

store::Fault ControllerHost::pick_fault() {
    const Faults& faults = world_.faults;
    if (world_.dice.per_mille(faults.store_refuses)) return store::Fault::Refuse;
    if (world_.dice.per_mille(faults.store_answer_lost)) return store::Fault::AnswerLost;
    if (world_.dice.per_mille(faults.store_request_lost)) return store::Fault::RequestLost;
    if (world_.dice.per_mille(faults.store_tears)) return store::Fault::Tear;
    if (!world_.dice.per_mille(faults.store_dies)) return store::Fault::None;
    return world_.dice.one_in(2) ? store::Fault::DieAfterCommit : store::Fault::DieBeforeCommit;
}

/// One transaction. The fault counts for it alone: one that fails its guard does not take it.
void ControllerHost::pump() {
    world_.disk.faults.next = {pick_fault()};
    store_.pump(1);
    world_.disk.faults.next.clear();
    const std::string wrong = world_.durable.note_commit();
    if (!wrong.empty()) world_.fail(wrong);
    if (store_.dead()) return crash("the store died");
    wake(world_.dice.between(Millis{0}, kTurnMax));
}

void ControllerHost::release(controller::Released released) {
    check_changes(released.changes);
    const bool dies = world_.dice.per_mille(world_.faults.crash_in_release);
    if (released.snapshot.config != nullptr)
        feed(std::move(released.snapshot), std::move(released.changes));
    for (auto& [token, reply] : released.replies) {
        auto waiting = waiting_.extract(token);
        if (waiting) waiting.mapped()(std::move(reply));
    }
    if (dies) return crash("in the middle of a release");
    send(std::move(released.effects));
    if (!released.outbox.empty()) record(std::move(released.outbox));
}

void ControllerHost::release_ready() {
    if (auto ready = pipeline_->take_ready()) release(std::move(*ready));
}

void ControllerHost::plan_next_turn() {
    const Millis now = world_.timeline.now();
    if (refused_) return wake(std::max(Millis{1}, std::min(Millis{1'000}, retry_at_ - now)));
    if (!pipeline_->can_take()) return wake(Millis{1'000});
    if (pipeline_->core().has_backlog() || !items_.empty() || !store_replies_.empty())
        return wake(Millis{1});
    Millis delay = std::max(Millis{1}, next_second_ - now);
    if (const auto wakeup = pipeline_->core().next_wakeup())
        delay = std::min(delay, std::max(Millis{1}, *wakeup - cluster_now()));
    wake(delay);
}

void ControllerHost::check_core() {
    for (const std::string& text : controller::check_invariants(pipeline_->core()))
        world_.fail("invariant: " + text);
    const bool at_rest = !pipeline_->has_open() && pipeline_->in_flight() == 0;
    if (at_rest && turns_ % kTurnsPerReloadCheck == 0) check_reload();
}

/// Another one writes by now.
bool ControllerHost::is_superseded() const {
    const auto term = store::decode_term(world_.disk.contents().find(store::kTermKey)->second);
    return !term || *term != settings_.term;
}

void ControllerHost::check_reload() {
    if (is_superseded()) return;
    const auto records = world_.durable.records();
    if (!records) return world_.fail("reload: " + records.error().message());
    const std::string difference = controller::reload_difference(
        pipeline_->core(),
        settings_,
        *records,
        {.time = cluster_now(), .wall = world_.wall(), .principal = kMachinery});
    if (!difference.empty()) world_.fail("reload: " + difference);
}

void ControllerHost::check_changes(const model::ChangeSet& changes) {
    if (is_superseded()) return;
    for (const model::Change& change : changes.changes) {
        const auto* workload = std::get_if<model::WorkloadChange>(&change);
        if (workload == nullptr || workload->now == nullptr) continue;
        model::Attempt& attempt = facts_.attempts[workload->id];
        if (workload->now->status.attempt < attempt)
            world_.fail("the attempt of workload " + std::to_string(workload->id.value()) +
                        " went back");
        attempt = workload->now->status.attempt;
    }
}

}  // namespace twinyard::sim
