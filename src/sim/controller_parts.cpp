// What surrounds the state thread in a controller: the agents' sessions, the engine, the history.
#include <algorithm>
#include <utility>

#include "sched/plan.h"
#include "sim/controller_host.h"

namespace twinyard::sim {
namespace {

constexpr api::Principal kMachinery{.uid = 0, .gid = 0, .is_admin = true};
constexpr Millis kHeartbeat{5'000};
constexpr Millis kPassDelayMax{60};
constexpr Millis kPassAtLeastEach{5'000};
constexpr Millis kHandInMax{40};
/// One pass in so many does not wait for what became of the last one: a plan may always meet a
/// state that moved on.
constexpr std::uint64_t kImpatientPass = 4;
constexpr std::uint64_t kPassesPerIndexCheck = 3;
constexpr std::size_t kRowsPerCommand = 32;
constexpr Millis kHistoryMax{80};
constexpr Millis kHistoryRetry{1'000};

model::NodeLink judge(Millis silent, const model::Limits& limits) {
    if (silent >= limits.node_lost_after) return model::NodeLink::Lost;
    if (silent >= limits.node_silent_after) return model::NodeLink::Silent;
    return model::NodeLink::Responding;
}

}  // namespace

void ControllerHost::on_hello(LinkId link, const api::AgentHello& hello) {
    sessions_.insert(link);
    heard_.insert(link);
    push({.command = api::AgentJoined{link, hello}, .principal = kMachinery, .on_reply = {}});
}

void ControllerHost::on_report(LinkId link, std::uint64_t seq, const api::AgentReport& report) {
    if (!sessions_.contains(link)) return;
    heard_.insert(link);
    const auto answer = [this, link, seq](bool accepted) {
        network_.send_down(
            link, [link, seq, accepted](AgentEnd& end) { end.on_answer(link, seq, accepted); });
    };
    if (report.nodes.empty()) return answer(true);
    push({.command = api::AgentReported{link, report},
          .principal = kMachinery,
          .on_reply = [answer](const Result<api::Reply>& reply) { answer(reply.has_value()); }});
}

void ControllerHost::on_closed(LinkId link) {
    if (sessions_.erase(link) == 0) return;
    push({.command = api::AgentLeft{link}, .principal = kMachinery, .on_reply = {}});
}

void ControllerHost::send(std::vector<api::Effect> effects) {
    std::map<LinkId, api::AgentOrders> by_session;
    for (api::Effect& effect : effects) {
        if (auto* orders = std::get_if<api::SendOrders>(&effect))
            by_session[orders->session].nodes.push_back(std::move(orders->orders));
        else if (auto* refused = std::get_if<api::RefuseNode>(&effect))
            by_session[refused->session].refused.push_back(std::move(refused->text));
    }
    for (auto& [link, orders] : by_session) {
        if (!sessions_.contains(link)) continue;
        orders.cluster_id = pipeline_->core().counters().cluster_id;
        orders.term = settings_.term;
        orders.heartbeat = kHeartbeat;
        const auto message = [link = link, orders = std::move(orders)](AgentEnd& end) {
            end.on_orders(link, orders);
        };
        network_.send_down(link, message);
        if (world_.dice.per_mille(world_.faults.double_orders))
            network_.send_down_again(link, message);
    }
}

std::vector<api::Command> ControllerHost::each_second() {
    const Millis now = world_.timeline.now();
    for (const LinkId link : std::exchange(heard_, {})) {
        for (const model::NodeId node : pipeline_->core().nodes_of(link))
            nodes_[node].last = now;
    }
    std::vector<api::Command> commands;
    const model::Snapshot& view = pipeline_->core().state_view();
    view.nodes.for_each([&](std::uint64_t number, const model::NodePtr& node) {
        if (node->link == model::NodeLink::NoAgent) return;
        const model::NodeId id(static_cast<std::uint32_t>(number));
        const Heard& heard = nodes_.try_emplace(id, Heard{.last = now}).first->second;
        const model::NodeLink link = judge(now - heard.last, config_->limits);
        if (link == model::NodeLink::Responding || link == node->link) return;
        if (link == model::NodeLink::Silent && node->link == model::NodeLink::Lost) return;
        commands.emplace_back(api::NodeLinkChanged{id, link});
    });
    return commands;
}

void ControllerHost::feed(model::Snapshot after, model::ChangeSet changes) {
    latest_ = std::move(after);
    if (changes.changes.empty()) return;
    fed_.push_back(std::move(changes));
    plan_pass(world_.dice.between(Millis{1}, kPassDelayMax));
}

/// The earliest plan counts.
void ControllerHost::plan_pass(Millis delay) {
    const Millis at = world_.timeline.now() + delay;
    if (pass_at_ && *pass_at_ <= at) return;
    pass_at_ = at;
    world_.timeline.in(delay, owner_, [this, plan = ++pass_plan_] {
        if (plan == pass_plan_) pass();
    });
}

void ControllerHost::pass() {
    pass_at_.reset();
    if (unanswered_ > 0 && !world_.dice.one_in(kImpatientPass))
        return plan_pass(world_.dice.between(Millis{1}, kPassDelayMax));
    for (const model::ChangeSet& set : std::exchange(fed_, {}))
        index_.advance(set, latest_);
    if (++passes_ % kPassesPerIndexCheck == 0 && !(index_ == sched::Index::build(latest_)))
        world_.fail("the index that followed the changes is not the one built anew");
    model::Plan plan = sched::plan(index_, cluster_now(), world_.wall(), index_.config().priority);
    for (std::size_t at = 0; at < plan.starts.size(); at += controller::kPlanStartsMax) {
        api::ApplyPlan slice;
        const std::size_t end = std::min(plan.starts.size(), at + controller::kPlanStartsMax);
        for (std::size_t i = at; i < end; ++i)
            slice.starts.push_back(std::move(plan.starts[i]));
        ++unanswered_;
        world_.timeline.in(world_.dice.between(Millis{0}, kHandInMax), owner_, [this, slice] {
            push({.command = slice,
                  .principal = kMachinery,
                  .on_reply = [this](const Result<api::Reply>&) {
                      --unanswered_;
                      plan_pass(world_.dice.between(Millis{1}, kPassDelayMax));
                  }});
        });
    }
    if (plan.starts.empty()) plan_pass(kPassAtLeastEach);
}

void ControllerHost::record(std::vector<api::AccountingRecord> rows) {
    std::ranges::move(rows, std::back_inserter(rows_));
    if (writing_ || rows_.empty()) return;
    writing_ = true;
    world_.timeline.in(
        world_.dice.between(Millis{0}, kHistoryMax), owner_, [this] { write_history(); });
}

void ControllerHost::write_history() {
    writing_ = false;
    const std::size_t count = std::min(rows_.size(), kRowsPerCommand);
    const std::vector<api::AccountingRecord> rows(
        rows_.begin(), rows_.begin() + static_cast<std::ptrdiff_t>(count));
    world_.history.refuse_writes(world_.dice.per_mille(world_.faults.history_refuses));
    if (!world_.history.write(rows)) {
        writing_ = true;
        return world_.timeline.in(kHistoryRetry, owner_, [this] { write_history(); });
    }
    rows_.erase(rows_.begin(), rows_.begin() + static_cast<std::ptrdiff_t>(count));
    api::Recorded recorded;
    for (const api::AccountingRecord& row : rows)
        recorded.outbox_seqs.push_back(row.outbox_seq);
    push({.command = std::move(recorded), .principal = kMachinery, .on_reply = {}});
    record({});
}

}  // namespace twinyard::sim
