#include "controller/shell/state_thread.h"

#include <utility>

#include "base/check.h"
#include "os/log.h"

namespace twinyard::controller {
namespace {

using std::chrono::milliseconds;

// Most commands between two looks at the store: keeps one turn well under a millisecond or two.
constexpr std::size_t kCommandsPerTurn = 64;
constexpr milliseconds kRetryAfter{500};
constexpr milliseconds kSecond{1'000};
constexpr std::chrono::seconds kStopWithin{5};

const api::Principal kMachinery{.uid = 0, .gid = 0, .is_admin = true};

bool is_user_command(Lane lane) {
    return lane == Lane::User || lane == Lane::Bulk;
}

}  // namespace

StateThread::StateThread(Pipeline pipeline,
                         store::Store& store,
                         model::Term term,
                         RunningClock clock,
                         std::shared_ptr<Lanes> lanes,
                         Published& published,
                         ReleaseSinks sinks)
    : pipeline_(std::move(pipeline)),
      store_(store),
      term_(term),
      clock_(clock),
      lanes_(std::move(lanes)),
      published_(published),
      sinks_(std::move(sinks)) {}

StateThread::~StateThread() {
    stop();
}

void StateThread::start() {
    published_.set(std::make_shared<const model::Snapshot>(pipeline_.core().snapshot()));
    thread_ = std::thread([this] { run(); });
}

void StateThread::stop() {
    if (!thread_.joinable()) return;
    stopping_ = true;
    lanes_->close();
    thread_.join();
}

std::string StateThread::store_trouble() const {
    const std::lock_guard lock(trouble_mutex_);
    return trouble_;
}

void StateThread::set_trouble(std::string text) {
    const std::lock_guard lock(trouble_mutex_);
    trouble_ = std::move(text);
}

void StateThread::run() {
    Lanes::Clock::time_point stop_by{};
    for (;;) {
        handle_store_replies();
        take_commands();
        pass_time();
        submit_batches();
        release_ready();
        if (stopping_) {
            if (stop_by == Lanes::Clock::time_point{}) stop_by = Lanes::Clock::now() + kStopWithin;
            const bool done = !pipeline_.has_open() && pipeline_.in_flight() == 0;
            if (done || Lanes::Clock::now() >= stop_by) return;
        }
        lanes_->wait_until(next_deadline(), pipeline_.can_take());
    }
}

void StateThread::handle_store_replies() {
    while (auto reply = lanes_->take_store_reply())
        on_store_reply(reply->first, reply->second);
    if (refused_ && replies_owed_ == 0 && Lanes::Clock::now() >= retry_at_) retry_refused();
}

void StateThread::on_store_reply(std::uint64_t seq, const store::Reply& reply) {
    --replies_owed_;
    switch (reply.outcome) {
        case store::Outcome::Durable:
            if (refused_) os::log_info("store: writes again");
            refused_ = false;
            set_trouble("");
            release(pipeline_.on_durable(seq));
            return;
        case store::Outcome::Refused:
        case store::Outcome::Unknown:
            // Both have one answer: the same batches again, in order, once every reply is in.
            if (!refused_)
                os::log_error("store: {}; batch {} will be tried again", reply.message, seq);
            if (!refused_) retry_at_ = Lanes::Clock::now() + kRetryAfter;
            refused_ = true;
            set_trouble(reply.message);
            return;
        case store::Outcome::TermLost:
            sinks_.fatal("another controller owns the store: " + reply.message);
            return;
        case store::Outcome::GuardFailed:
            sinks_.fatal("the store refused the order of batches: " + reply.message);
    }
}

void StateThread::retry_refused() {
    retry_at_ = Lanes::Clock::now() + kRetryAfter;
    for (SealedBatch& batch : pipeline_.unacknowledged())
        submit(std::move(batch));
}

void StateThread::take_commands() {
    for (std::size_t taken = 0; taken < kCommandsPerTurn && pipeline_.can_take(); ++taken) {
        auto next = lanes_->take();
        if (!next) return;
        take(std::move(*next));
    }
}

void StateThread::take(Lanes::Taken taken) {
    Item& item = taken.item;
    if (item.with_core) {
        item.with_core(pipeline_.core());
        return;
    }
    // A store that refuses takes no new work; what agents say and what ends work stays in line.
    if (refused_ && is_user_command(taken.lane)) {
        if (item.on_reply) {
            // Not Unavailable: it was not taken, and asking again at once is of no use.
            item.on_reply(fail(ErrorCode::Conflict,
                               "the controller cannot store new work: " + store_trouble()));
        }
        return;
    }
    apply(item.command, item.principal, std::move(item.on_reply));
}

void StateThread::apply(const api::Command& command,
                        const api::Principal& principal,
                        OnReply on_reply) {
    Token token = 0;
    if (on_reply) {
        token = next_token_++;
        waiting_.emplace(token, std::move(on_reply));
    }
    pipeline_.apply(command,
                    {.time = clock_.now(), .wall = RunningClock::wall(), .principal = principal},
                    token);
}

void StateThread::pass_time() {
    if (!pipeline_.can_take() || refused_ || stopping_) return;
    if (Lanes::Clock::now() >= next_second_) {
        next_second_ = Lanes::Clock::now() + kSecond;
        for (const api::Command& command : sinks_.each_second(pipeline_.core()))
            apply(command, kMachinery, {});
    }
    const auto wakeup = pipeline_.core().next_wakeup();
    if (pipeline_.core().has_backlog() || (wakeup && *wakeup <= clock_.now()))
        apply(api::Tick{}, kMachinery, {});
}

void StateThread::submit_batches() {
    if (refused_) return;
    while (auto batch = pipeline_.next_batch())
        submit(std::move(*batch));
}

void StateThread::submit(SealedBatch sealed) {
    store::Batch batch{
        .seq = sealed.seq, .term = term_, .last_revision = sealed.last_revision, .ops = {}};
    batch.ops.reserve(sealed.ops.size());
    for (RecordOp& op : sealed.ops) {
        const auto kind = op.value ? store::Op::Put : store::Op::Delete;
        batch.ops.push_back(
            {kind, std::move(op.key), op.value ? std::move(*op.value) : std::string()});
    }
    ++replies_owed_;
    const Status accepted =
        store_.submit(std::move(batch), [lanes = lanes_, seq = sealed.seq](store::Reply reply) {
            lanes->push_store_reply(seq, std::move(reply));
        });
    if (accepted) return;
    --replies_owed_;
    sinks_.fatal("a batch that the store cannot take: " + accepted.error().message());
}

void StateThread::release(Released released) {
    auto snapshot = std::make_shared<const model::Snapshot>(std::move(released.snapshot));
    published_.set(snapshot);
    if (!released.changes.changes.empty()) sinks_.changes(snapshot, std::move(released.changes));
    // Before the replies: who has one finds the job in the history.
    if (!released.outbox.empty()) sinks_.outbox(std::move(released.outbox));
    for (auto& [token, reply] : released.replies) {
        auto waiting = waiting_.extract(token);
        if (waiting) waiting.mapped()(std::move(reply));
    }
    if (!released.effects.empty()) sinks_.effects(std::move(released.effects));
}

void StateThread::release_ready() {
    if (auto ready = pipeline_.take_ready()) release(std::move(*ready));
}

Lanes::Clock::time_point StateThread::next_deadline() const {
    const auto now = Lanes::Clock::now();
    auto deadline = now + kSecond;
    if (refused_) return std::min(deadline, retry_at_);
    if (!pipeline_.can_take()) return deadline;
    if (pipeline_.core().has_backlog()) return now;
    if (const auto wakeup = pipeline_.core().next_wakeup()) {
        const Millis left =
            std::max(Millis{0}, std::chrono::duration_cast<Millis>(*wakeup - clock_.now()));
        deadline = std::min(deadline, now + left);
    }
    return std::min(deadline, std::max(now, next_second_));
}

}  // namespace twinyard::controller
