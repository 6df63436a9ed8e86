#include "agent/core/agent_core.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/core/testing.h"

namespace twinyard::agent {
namespace {

using api::Phase;
using api::Stage;
using model::EndKind;

constexpr Now kNow{.boot = Millis{1'000}, .wall = WallTime{Millis{5'000}}};

/// One node, connected and welcomed, its first full report acknowledged.
class OneNode : public ::testing::Test {
  protected:
    OneNode() : core_(settings({"n1"})) { connect(); }

    void connect() {
        (void)core_.handle(JournalLoaded{journal_}, kNow);
        (void)core_.handle(ConnectionUp{}, kNow);
        apply(orders({}, true));
        say();
    }
    std::vector<Effect> apply(const Event& event) {
        std::vector<Effect> effects = core_.handle(event, kNow);
        for (const AppendJournal& append : all_of<AppendJournal>(effects))
            journal_.push_back(append.entry);
        return effects;
    }
    /// What it reports now; acknowledged at once.
    std::vector<api::ObservedRun> say() {
        std::vector<api::ObservedRun> runs;
        for (const SendReport& sent : all_of<SendReport>(core_.flush(kNow))) {
            for (const api::NodeReport& node : sent.report.nodes)
                runs.insert(runs.end(), node.runs.begin(), node.runs.end());
            (void)core_.handle(ReportAcked{sent.seq}, kNow);
        }
        return runs;
    }
    void restart() {
        core_ = AgentCore(settings({"n1"}));
        effects_ = core_.handle(JournalLoaded{journal_}, kNow);
    }
    const Launch* launch(const api::LaunchKey& key) {
        const auto& launches = core_.nodes().front().launches();
        const auto found = launches.find(key);
        return found == launches.end() ? nullptr : &found->second;
    }

    std::vector<JournalEntry> journal_;
    AgentCore core_;
    std::vector<Effect> effects_;
};

TEST_F(OneNode, JournalsALaunchBeforeItStartsIt) {
    const std::vector<Effect> effects = apply(orders({prepare(key(1)), prepare(key(2))}));
    ASSERT_EQ(effects.size(), 4U);
    for (std::size_t i = 0; i < 2; ++i) {
        const auto* append = std::get_if<AppendJournal>(&effects[i]);
        ASSERT_NE(append, nullptr);
        EXPECT_TRUE(append->durable);
        EXPECT_TRUE(std::holds_alternative<StartStepd>(effects[i + 2]));
    }
}

TEST_F(OneNode, RunsAJobFromPrepareToForget) {
    const api::LaunchKey job = key(1);
    apply(orders({prepare(job)}));
    apply(StepdObserved{0, observed(job, Phase::Ready)});
    EXPECT_EQ(say().at(0).phase, Phase::Ready);
    EXPECT_EQ(all_of<TellStepd>(apply(orders({go(job)}))).size(), 1U);
    apply(StepdObserved{0, observed(job, Phase::Running)});
    EXPECT_EQ(say().at(0).phase, Phase::Running);
    const auto ended = apply(StepdObserved{0, observed(job, Phase::Ended)});
    EXPECT_TRUE(all_of<AppendJournal>(ended).at(0).durable);
    EXPECT_EQ(say().at(0).outcome.kind, EndKind::Completed);
    const auto forgotten = apply(orders({}, false, {job}));
    EXPECT_EQ(all_of<ForgetLocal>(forgotten).size(), 1U);
    EXPECT_EQ(launch(job), nullptr);
    EXPECT_EQ(core_.nodes().front().digest(), 0U);
}

TEST_F(OneNode, TellsOnlyWhatIsNew) {
    const api::LaunchKey job = key(1);
    apply(orders({prepare(job)}));
    EXPECT_TRUE(apply(orders({prepare(job)})).empty()) << "the same again";
    apply(orders({go(job)}));
    EXPECT_TRUE(apply(orders({prepare(job)})).empty()) << "a stage is not taken back";
    api::DesiredRun longer = go(job);
    longer.launch.time_limit = Millis{60'000};
    EXPECT_EQ(all_of<TellStepd>(apply(orders({longer}))).size(), 1U) << "another limit";
    EXPECT_EQ(all_of<TellStepd>(apply(StepdConnected{0, job})).at(0).run, longer);
}

TEST_F(OneNode, NeverStartsWhatItHadBefore) {
    const api::LaunchKey job = key(1, 2);
    apply(orders({prepare(job)}));
    apply(StepdObserved{0, observed(job, Phase::Ended)});
    apply(orders({}, false, {job}));
    const struct {
        const char* name;
        api::DesiredRun order;
        bool starts;
    } cases[] = {
        {"the same attempt", prepare(job), false},
        {"an earlier one", prepare(key(1, 1)), false},
        {"a later one", prepare(key(1, 3)), true},
        {"another workload", prepare(key(2, 1)), true},
        {"a stopped one", stop(key(3, 1)), false},
        {"what was stopped before it was started", prepare(key(3, 1)), false},
        {"told to go out of nowhere", go(key(4, 1)), false},
    };
    for (const bool restarted : {false, true}) {
        if (restarted) {
            restart();
            connect();
        }
        for (const auto& c : cases) {
            AgentCore before = core_;
            const std::vector<JournalEntry> entries = journal_;
            const bool starts = !all_of<StartStepd>(apply(orders({c.order}))).empty();
            const bool last = c.order.stage == Stage::Stop;
            EXPECT_EQ(starts, c.starts) << c.name << (restarted ? " after a restart" : "");
            if (!starts) {
                EXPECT_EQ(launch(c.order.launch.key)->seen.phase, Phase::Ended) << c.name;
            }
            if (last) continue;  // The next row builds on it.
            core_ = before;
            journal_ = entries;
        }
    }
}

TEST_F(OneNode, ForgetsOnlyWhatHasEnded) {
    const api::LaunchKey job = key(1);
    apply(orders({prepare(job)}));
    EXPECT_TRUE(apply(orders({}, false, {job})).empty());
    EXPECT_NE(launch(job), nullptr);
}

TEST_F(OneNode, KeepsAndReportsWhatFullOrdersDoNotName) {
    const api::LaunchKey job = key(1);
    apply(orders({prepare(job)}));
    (void)say();
    EXPECT_TRUE(all_of<TellStepd>(apply(orders({}, true))).empty());
    ASSERT_NE(launch(job), nullptr);
    EXPECT_FALSE(launch(job)->desired);
    EXPECT_EQ(core_.nodes().front().digest(), 0U);
    EXPECT_EQ(say().size(), 1U);
}

TEST_F(OneNode, SaysHowAVanishedDaemonEnded) {
    const struct {
        const char* name;
        bool went;
        bool never_started;
        EndKind kind;
    } cases[] = {
        {"before go", false, false, EndKind::LaunchFailed},
        {"after go", true, false, EndKind::NodeFailed},
        {"after go, but certainly not started", true, true, EndKind::LaunchFailed},
    };
    std::uint64_t id = 1;
    for (const auto& c : cases) {
        const api::LaunchKey job = key(id++);
        apply(orders({prepare(job)}));
        if (c.went) apply(orders({go(job)}));
        apply(StepdGone{0, job, c.never_started, "the step daemon vanished"});
        EXPECT_EQ(launch(job)->seen.outcome.kind, c.kind) << c.name;
        EXPECT_EQ(launch(job)->seen.phase, Phase::Ended) << c.name;
    }
}

TEST_F(OneNode, LooksForWhatHadNotEndedAfterARestart) {
    apply(orders({prepare(key(1)), prepare(key(2))}));
    apply(StepdStarted{0, key(2), 77, 1234});
    apply(StepdObserved{0, observed(key(1), Phase::Ended)});
    restart();
    const auto adopted = all_of<AdoptStepd>(effects_);
    ASSERT_EQ(adopted.size(), 1U);
    EXPECT_EQ(adopted[0].order.key, key(2));
    EXPECT_EQ(adopted[0].pid, 77);
    EXPECT_TRUE(all_of<StartStepd>(effects_).empty());
    EXPECT_EQ(launch(key(1))->seen.phase, Phase::Ended);
}

TEST_F(OneNode, CompactedJournalMeansTheSame) {
    apply(orders({prepare(key(1)), prepare(key(2)), stop(key(3))}));
    apply(StepdObserved{0, observed(key(1), Phase::Ended)});
    apply(orders({}, false, {key(1)}));
    const std::vector<JournalEntry> compacted = core_.journal();
    restart();
    const std::vector<JournalEntry> replayed = core_.journal();
    journal_ = compacted;
    restart();
    EXPECT_EQ(core_.journal(), replayed);
}

TEST_F(OneNode, SaysWhetherItsJournalIsLost) {
    AgentCore fresh(settings({"n1"}));
    (void)fresh.handle(JournalLoaded{}, kNow);
    const auto lost = all_of<SendHello>(fresh.handle(ConnectionUp{}, kNow));
    EXPECT_TRUE(lost.at(0).hello.nodes.at(0).journal_lost);
    restart();
    const auto kept = all_of<SendHello>(core_.handle(ConnectionUp{}, kNow));
    EXPECT_FALSE(kept.at(0).hello.nodes.at(0).journal_lost);
    EXPECT_EQ(kept.at(0).hello.nodes.at(0).highest_term, 1U);
    EXPECT_EQ(kept.at(0).hello.cluster_id, "c");
}

TEST_F(OneNode, RefusesOlderTermsAndOtherClusters) {
    const struct {
        const char* name;
        std::string cluster;
        model::Term term;
        bool accepted;
    } cases[] = {
        {"the same", "c", 1, true},
        {"another cluster", "d", 5, false},
        {"a newer term", "c", 2, true},
        {"now an older one", "c", 1, false},
    };
    for (const auto& c : cases) {
        (void)core_.handle(ConnectionUp{}, kNow);
        OrdersReceived event = orders({});
        event.orders.cluster_id = c.cluster;
        event.orders.term = c.term;
        EXPECT_EQ(all_of<DropConnection>(apply(event)).empty(), c.accepted) << c.name;
    }
    restart();
    EXPECT_EQ(core_.term(), 2U);
}

TEST_F(OneNode, RepeatsAReportUntilItIsAcknowledged) {
    const api::LaunchKey job = key(1);
    apply(orders({prepare(job)}));
    apply(StepdObserved{0, observed(job, Phase::Ready)});
    const auto first = all_of<SendReport>(core_.flush(kNow));
    ASSERT_EQ(first.size(), 1U);
    apply(StepdObserved{0, observed(job, Phase::Running)});
    EXPECT_TRUE(core_.flush(kNow).empty()) << "one at a time";
    (void)core_.handle(ReportFailed{first[0].seq}, kNow);
    EXPECT_TRUE(core_.flush(kNow).empty()) << "not at once";
    const Now later{.boot = *core_.next_wakeup(), .wall = kNow.wall};
    EXPECT_EQ(later.boot, kNow.boot + kReportRetry);
    const auto second = all_of<SendReport>(core_.flush(later));
    ASSERT_EQ(second.size(), 1U);
    EXPECT_EQ(second[0].report.nodes.at(0).runs.at(0).phase, Phase::Running);
    (void)core_.handle(ReportAcked{second[0].seq}, later);
    EXPECT_TRUE(core_.flush(later).empty());
}

TEST_F(OneNode, SaysAnEndAgainUntilItIsForgotten) {
    const api::LaunchKey job = key(1);
    apply(orders({prepare(job)}));
    apply(StepdObserved{0, observed(job, Phase::Ended)});
    EXPECT_EQ(say().size(), 1U);
    EXPECT_TRUE(say().empty());
    const Now later{.boot = *core_.next_wakeup(), .wall = kNow.wall};
    const auto again = all_of<SendReport>(core_.flush(later));
    ASSERT_EQ(again.size(), 1U);
    EXPECT_EQ(again[0].report.nodes.at(0).runs.at(0).key, job);
    (void)core_.handle(ConnectionUp{}, later);
    (void)core_.handle(orders({}, true), later);
    const auto anew = all_of<SendReport>(core_.flush(later));
    ASSERT_EQ(anew.size(), 1U);
    EXPECT_TRUE(anew[0].report.nodes.at(0).full);
    EXPECT_EQ(anew[0].report.nodes.at(0).runs.size(), 1U);
}

TEST_F(OneNode, RepeatsStepsUntilTheyAreAcknowledged) {
    const api::LaunchKey job = key(1);
    apply(orders({prepare(job)}));
    (void)say();
    api::StepRecord step;
    step.key = job;
    step.step = 3;
    apply(StepSeen{0, step});
    const auto first = all_of<SendReport>(core_.flush(kNow));
    ASSERT_EQ(first.at(0).report.nodes.at(0).steps.size(), 1U);
    (void)core_.handle(ConnectionUp{}, kNow);
    (void)core_.handle(orders({prepare(job)}, true), kNow);
    const auto second = all_of<SendReport>(core_.flush(kNow));
    EXPECT_EQ(second.at(0).report.nodes.at(0).steps, std::vector{step});
}

TEST(AgentCore, ManyNodesShareFewReports) {
    std::vector<std::string> names;
    for (int i = 0; i < 1'000; ++i)
        names.push_back("n" + std::to_string(i));
    AgentCore core(settings(names));
    (void)core.handle(JournalLoaded{}, kNow);
    (void)core.handle(ConnectionUp{}, kNow);
    EXPECT_TRUE(core.flush(kNow).empty()) << "nothing before the first orders";
    OrdersReceived all = orders({}, true, {}, names[0]);
    for (std::size_t i = 1; i < names.size(); ++i)
        all.orders.nodes.push_back(orders({}, true, {}, names[i]).orders.nodes[0]);
    (void)core.handle(all, kNow);
    const auto reports = all_of<SendReport>(core.flush(kNow));
    ASSERT_EQ(reports.size(), 1U);
    EXPECT_EQ(reports[0].report.nodes.size(), names.size());
    (void)core.handle(ReportAcked{reports[0].seq}, kNow);
    const Now beat{.boot = *core.next_wakeup(), .wall = kNow.wall};
    const auto digests = all_of<SendReport>(core.flush(beat));
    ASSERT_EQ(digests.size(), 1U);
    EXPECT_EQ(digests[0].report.nodes.size(), (names.size() + kDigestRounds - 1) / kDigestRounds);
}

TEST(AgentCore, BeatsWhileAReportHangs) {
    AgentCore core(settings({"n1"}));
    (void)core.handle(JournalLoaded{}, kNow);
    (void)core.handle(ConnectionUp{}, kNow);
    (void)core.handle(orders({}, true), kNow);
    ASSERT_EQ(all_of<SendReport>(core.flush(kNow)).size(), 1U);
    const Now later{.boot = *core.next_wakeup(), .wall = kNow.wall};
    const auto beat = all_of<SendReport>(core.flush(later));
    ASSERT_EQ(beat.size(), 1U);
    EXPECT_EQ(beat[0].seq, 0U);
    EXPECT_TRUE(beat[0].report.nodes.empty());
}

TEST(AgentCore, CallsAgainWhenAllItsNodesAreRefused) {
    AgentCore core(settings({"n1"}));
    (void)core.handle(JournalLoaded{}, kNow);
    (void)core.handle(ConnectionUp{}, kNow);
    OrdersReceived refusal = orders({});
    refusal.orders.nodes.clear();
    refusal.orders.refused = {"n1: it is not in the configuration"};
    EXPECT_EQ(all_of<Notice>(core.handle(refusal, kNow)).size(), 1U);
    EXPECT_TRUE(core.flush(kNow).empty());
    const Now later{.boot = *core.next_wakeup(), .wall = kNow.wall};
    EXPECT_EQ(all_of<DropConnection>(core.flush(later)).size(), 1U);
}

}  // namespace
}  // namespace twinyard::agent
