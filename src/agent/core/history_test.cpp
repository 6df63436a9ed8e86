// Random histories of one node: orders that come late and twice, step daemons that end and vanish,
// an agent that crashes between an append and what follows it. What must never happen is checked at
// every step; what must happen, at the end.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "agent/core/agent_core.h"
#include "agent/core/testing.h"

namespace twinyard::agent {
namespace {

using api::Phase;

/// A small generator of our own: the same numbers everywhere.
class Dice {
  public:
    explicit Dice(std::uint64_t seed) : state_(seed * 2 + 1) {}
    std::uint64_t below(std::uint64_t n) {
        state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
        return (state_ >> 33) % n;
    }
    bool one_in(std::uint64_t n) { return below(n) == 0; }

  private:
    std::uint64_t state_;
};

class History {
  public:
    explicit History(std::uint64_t seed) : dice_(seed), core_(settings({"n1"})) { boot(); }

    void step() {
        now_.boot += Millis{100};
        switch (dice_.below(8)) {
            case 0:
                return order_new();
            case 1:
            case 2:
                return order_again();
            case 3:
            case 4:
                return observe();
            case 5:
                return dice_.one_in(10) ? crash() : forget();
            case 6:
                return dice_.one_in(10) ? reconnect() : report(true);
            default:
                return report(dice_.one_in(2));
        }
    }

    /// After the faults: every launch that has ended is said in full, until it is forgotten.
    void check_ends_are_said() {
        reconnect();
        report(true);
        std::set<api::LaunchKey> said;
        for (const api::ObservedRun& run : last_full_) {
            if (run.phase == Phase::Ended) said.insert(run.key);
        }
        for (const api::LaunchKey& key : durable_ends_) {
            EXPECT_TRUE(said.contains(key)) << key.workload.value() << "." << key.attempt;
        }
    }

  private:
    void boot() {
        core_ = AgentCore(settings({"n1"}));
        perform(core_.handle(JournalLoaded{disk_}, now_));
        reconnect();
    }
    void reconnect() {
        perform(core_.handle(ConnectionUp{}, now_));
        perform(core_.handle(full_orders(), now_));
        in_flight_.clear();
    }
    OrdersReceived full_orders() {
        std::vector<api::DesiredRun> runs;
        for (const auto& [workload, run] : wanted_) {
            if (!dice_.one_in(8)) runs.push_back(run);
        }
        return orders(std::move(runs), true);
    }

    void order_new() {
        const std::uint64_t workload = 1 + dice_.below(5);
        const api::LaunchKey next = key(workload, ++attempts_[workload]);
        wanted_[workload] = prepare(next);
        sent_.push_back(prepare(next));
        perform(core_.handle(orders({wanted_[workload]}), now_));
    }
    /// The current one goes on, or an old message comes once more.
    void order_again() {
        if (sent_.empty()) return;
        if (dice_.one_in(3))
            return perform(core_.handle(orders({sent_[dice_.below(sent_.size())]}), now_));
        const auto stage = dice_.one_in(3) ? api::Stage::Stop : api::Stage::Go;
        api::DesiredRun run = desired(sent_[dice_.below(sent_.size())].launch.key, stage);
        sent_.push_back(run);
        perform(core_.handle(orders({run}), now_));
    }
    void observe() {
        if (alive_.empty()) return;
        auto at = alive_.begin();
        std::advance(at, static_cast<std::ptrdiff_t>(dice_.below(alive_.size())));
        const api::LaunchKey key = *at;
        const std::uint64_t what = dice_.below(4);
        if (what < 2) {
            const Phase phase = what == 0 ? Phase::Ready : Phase::Running;
            return perform(core_.handle(StepdObserved{0, observed(key, phase)}, now_));
        }
        alive_.erase(key);
        if (what == 2)
            return perform(core_.handle(StepdObserved{0, observed(key, Phase::Ended)}, now_));
        perform(core_.handle(StepdGone{0, key, false, "vanished"}, now_));
    }
    void report(bool acked) {
        for (const SendReport& sent : all_of<SendReport>(core_.flush(now_))) {
            for (const api::NodeReport& node : sent.report.nodes) {
                if (node.full) last_full_ = node.runs;
                for (const api::ObservedRun& run : node.runs) {
                    if (run.phase != Phase::Ended) continue;
                    EXPECT_TRUE(on_disk_.contains(run.key)) << "said before it is durable";
                    heard_.insert(run.key);
                }
            }
            if (sent.seq != 0) in_flight_.push_back(sent.seq);
        }
        for (const std::uint64_t seq : in_flight_) {
            if (acked)
                perform(core_.handle(ReportAcked{seq}, now_));
            else
                perform(core_.handle(ReportFailed{seq}, now_));
        }
        in_flight_.clear();
    }
    void forget() {
        if (heard_.empty()) return;
        const api::LaunchKey key = *heard_.begin();
        heard_.erase(key);
        std::erase_if(wanted_, [&](const auto& entry) { return entry.second.launch.key == key; });
        durable_ends_.erase(key);
        perform(core_.handle(orders({}, false, {key}), now_));
    }
    /// What was not asked to be durable may be lost; step daemons live on.
    void crash() { boot(); }

    void perform(const std::vector<Effect>& effects) {
        // A crash anywhere in between; appends come first.
        const std::size_t until =
            dice_.one_in(30) ? dice_.below(effects.size() + 1) : effects.size();
        for (std::size_t i = 0; i < until; ++i)
            perform(effects[i]);
        if (until < effects.size()) boot();
    }
    void perform(const Effect& effect) {
        if (const auto* append = std::get_if<AppendJournal>(&effect)) {
            if (!append->durable && dice_.one_in(4)) return;
            disk_.push_back(append->entry);
            const auto* ended = std::get_if<Ended>(&append->entry.fact);
            if (ended == nullptr) return;
            durable_ends_.insert(ended->run.key);
            on_disk_.insert(ended->run.key);
        } else if (const auto* start = std::get_if<StartStepd>(&effect)) {
            EXPECT_TRUE(started_.insert(start->order.key).second) << "started twice";
            for (const api::LaunchKey& other : started_) {
                const bool same = other.workload == start->order.key.workload;
                EXPECT_FALSE(same && other.attempt > start->order.key.attempt) << "an old attempt";
            }
            alive_.insert(start->order.key);
        } else if (const auto* adopt = std::get_if<AdoptStepd>(&effect)) {
            if (alive_.contains(adopt->order.key)) return;
            lost_.push_back(adopt->order.key);
        } else if (const auto* forgotten = std::get_if<ForgetLocal>(&effect)) {
            EXPECT_FALSE(alive_.contains(forgotten->key)) << "forgotten while it lives";
        } else if (std::holds_alternative<SendHello>(effect)) {
            for (const api::LaunchKey& key : std::exchange(lost_, {}))
                perform(core_.handle(StepdGone{0, key, false, "vanished"}, now_));
        }
    }

    Dice dice_;
    Now now_;
    AgentCore core_;
    std::vector<JournalEntry> disk_;
    std::map<std::uint64_t, model::Attempt> attempts_;
    std::map<std::uint64_t, api::DesiredRun> wanted_;
    std::vector<api::DesiredRun> sent_;
    std::set<api::LaunchKey> started_, alive_, heard_;
    std::set<api::LaunchKey> durable_ends_;  ///< Not yet forgotten.
    std::set<api::LaunchKey> on_disk_;       ///< Ever.
    std::vector<api::LaunchKey> lost_;
    std::vector<api::ObservedRun> last_full_;
    std::vector<std::uint64_t> in_flight_;
};

TEST(History, NothingRunsTwiceAndNoEndIsLost) {
    for (std::uint64_t seed = 1; seed <= 80; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        History history(seed);
        for (int i = 0; i < 300; ++i)
            history.step();
        history.check_ends_are_said();
        if (HasFailure()) return;
    }
}

}  // namespace
}  // namespace twinyard::agent
