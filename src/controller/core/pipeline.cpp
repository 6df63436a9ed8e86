#include "controller/core/pipeline.h"

#include <iterator>

#include "base/check.h"
#include "base/planted_bug.h"

namespace twinyard::controller {
namespace {

template <class T>
void move_onto(std::vector<T>& from, std::vector<T>& onto) {
    onto.insert(
        onto.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
    from.clear();
}

/// Planted bug: the Forgets of `effects` alone, taken out of them.
std::vector<api::Effect> take_forgets(std::vector<api::Effect>& effects) {
    std::vector<api::Effect> forgets;
    for (api::Effect& effect : effects) {
        auto* send = std::get_if<api::SendOrders>(&effect);
        if (send == nullptr || send->orders.forget.empty()) continue;
        api::SendOrders early{.session = send->session, .orders = {}};
        early.orders.node = send->orders.node;
        early.orders.name = send->orders.name;
        early.orders.digest = send->orders.digest;
        early.orders.forget = std::exchange(send->orders.forget, {});
        forgets.emplace_back(std::move(early));
    }
    return forgets;
}

}  // namespace

Pipeline::Pipeline(Core core, PipelineLimits limits, std::uint64_t next_seq, EncodeRecord encode)
    : core_(std::move(core)), limits_(limits), next_seq_(next_seq), encode_(std::move(encode)) {}

bool Pipeline::can_take() const {
    return full_.empty();
}

std::size_t Pipeline::size_of(const std::vector<RecordOp>& ops) {
    std::size_t bytes = 0;
    for (const RecordOp& op : ops)
        bytes += op.key.size() + (op.value ? op.value->size() : 0);
    return bytes;
}

void Pipeline::apply(const api::Command& command, const api::Envelope& envelope, Token token) {
    api::Applied applied = core_.apply(command, envelope);
    std::vector<RecordOp> ops;
    for (const api::Mutation& mutation : applied.mutations)
        encode_(mutation, ops);
    CHECK(ops.size() <= limits_.ops_max);
    // One command is one transaction: what does not fit beside the others opens the next batch.
    const bool fits = open_.batch.ops.size() + ops.size() <= limits_.ops_max &&
                      open_.bytes + size_of(ops) <= limits_.bytes_max;
    if (!fits) seal_open();
    for (const api::Mutation& mutation : applied.mutations) {
        if (const auto* put = std::get_if<api::PutOutbox>(&mutation))
            open_.released.outbox.push_back(put->record);
    }
    add_ops(std::move(ops));
    move_onto(applied.changes, open_.released.changes.changes);

    Released& waits = open_.released;
    if (planted(PlantedBug::EffectsBeforeCommit) && !applied.effects.empty()) {
        if (!early_) early_.emplace();
        move_onto(applied.effects, early_->effects);
    }
    if (planted(PlantedBug::ForgetBeforeDurable)) {
        std::vector<api::Effect> forgets = take_forgets(applied.effects);
        if (!forgets.empty() && !early_) early_.emplace();
        if (!forgets.empty()) move_onto(forgets, early_->effects);
    }
    if (planted(PlantedBug::ReplyBeforeDurable) && token != 0) {
        if (!early_) early_.emplace();
        early_->replies.emplace_back(token, std::move(applied.reply));
        token = 0;
    }
    move_onto(applied.effects, waits.effects);
    if (token != 0) waits.replies.emplace_back(token, std::move(applied.reply));
    open_.batch.last_revision = core_.counters().revision;
    waits.snapshot = core_.snapshot();
    waits.changes.revision = waits.snapshot.revision;
}

void Pipeline::add_ops(std::vector<RecordOp> ops) {
    for (RecordOp& op : ops) {
        const auto [found, is_new] = open_.at.try_emplace(op.key, open_.batch.ops.size());
        if (is_new) {
            open_.bytes += op.key.size() + (op.value ? op.value->size() : 0);
            open_.batch.ops.push_back(std::move(op));
            continue;
        }
        RecordOp& old = open_.batch.ops[found->second];
        open_.bytes -= old.value ? old.value->size() : 0;
        open_.bytes += op.value ? op.value->size() : 0;
        old = std::move(op);
    }
}

void Pipeline::seal_open() {
    if (open_.empty()) return;
    full_.push_back(std::move(open_));
    open_ = {};
}

std::optional<SealedBatch> Pipeline::next_batch() {
    if (in_flight_.size() >= limits_.in_flight_max) return std::nullopt;
    if (full_.empty() && in_flight_.empty() && !open_.batch.ops.empty()) seal_open();
    if (full_.empty()) return std::nullopt;
    Draft draft = std::move(full_.front());
    full_.pop_front();
    draft.batch.seq = next_seq_++;
    draft.at.clear();
    in_flight_.push_back(std::move(draft));
    return in_flight_.back().batch;
}

std::vector<SealedBatch> Pipeline::unacknowledged() const {
    std::vector<SealedBatch> batches;
    for (const Draft& draft : in_flight_)
        batches.push_back(draft.batch);
    return batches;
}

Released Pipeline::on_durable(std::uint64_t seq) {
    CHECK(!in_flight_.empty() && in_flight_.front().batch.seq == seq);
    Released released = std::move(in_flight_.front().released);
    in_flight_.pop_front();
    return released;
}

std::optional<Released> Pipeline::take_ready() {
    if (early_) return std::exchange(early_, std::nullopt);
    const bool nothing_under_way = in_flight_.empty() && full_.empty() && open_.batch.ops.empty();
    if (!nothing_under_way || open_.waits_for_nothing()) return std::nullopt;
    return std::exchange(open_, {}).released;
}

}  // namespace twinyard::controller
