#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "controller/core/testing.h"

namespace twinyard::controller::testing {
namespace {

using model::EndKind;
using model::MemberEvent;
using model::MemberState;
using model::NodeLink;
using model::WorkloadEvent;
using model::WorkloadState;

void lose(Bench& bench, const std::string& name) {
    (void)bench.apply(api::NodeLinkChanged{bench.node_id(name), NodeLink::Lost});
}

void down(Bench& bench, const std::string& name) {
    const api::Applied applied = bench.apply(api::UpdateNode{
        .names = {name}, .action = api::NodeAction::Down, .reason = "fire", .features = {}});
    EXPECT_TRUE(std::get<api::Affected>(*applied.reply).results.at(0).has_value());
}

bool has_ack(const api::Applied& applied) {
    for (const api::Effect& effect : applied.effects) {
        if (std::holds_alternative<api::AckReport>(effect)) return true;
    }
    return false;
}

std::vector<std::string> refusals(const api::Applied& applied) {
    std::vector<std::string> texts;
    for (const api::Effect& effect : applied.effects) {
        if (const auto* refused = std::get_if<api::RefuseNode>(&effect))
            texts.push_back(refused->text);
    }
    return texts;
}

TEST(Configure, NumbersNodesInItsOrderAndKeepsTheNumbers) {
    Bench bench(300);
    EXPECT_EQ(bench.node_id("n1").value(), 1U);
    EXPECT_EQ(bench.node_id("n300").value(), 300U);
    bench.restart();
    EXPECT_EQ(bench.node_id("n300").value(), 300U);
}

TEST(Configure, ANodeThatIsGoneStaysUntilItsWorkIsOver) {
    Bench bench(2);
    bench.join_all(2);
    const model::WorkloadId id = bench.submit();
    ASSERT_TRUE(bench.place(id, {"n2"}));
    model::ClusterConfig config = cluster(1);
    config.limits.min_job_age = Seconds{0};
    bench.configure(config);
    EXPECT_FALSE(bench.node("n2").configured);
    (void)bench.report(2, bench.key(id), api::Phase::Ready);
    (void)bench.report(2, bench.key(id), api::Phase::Ended);
    (void)bench.apply(api::AgentLeft{2});
    api::Recorded recorded;
    for (const auto& row : bench.core.outbox(0, 100))
        recorded.outbox_seqs.push_back(row.outbox_seq);
    (void)bench.apply(recorded);
    bench.pass(1);
    EXPECT_FALSE(bench.node_id("n2"));
    EXPECT_TRUE(bench.node_id("n1"));
}

TEST(Configure, DeclaredWinsAndFoundFillsIn) {
    const auto declare = [](std::optional<std::uint32_t> cpus, std::size_t gpus) {
        model::ClusterConfig config = cluster(1);
        config.nodes[0].cpus = cpus;
        config.nodes[0].devices = capacity(1, gpus).devices;
        return config;
    };
    const auto with_files = [](std::size_t real) {
        api::NodeHello hello = Bench::hello("n1");
        hello.capacity.devices.resize(real, hello.capacity.devices[0]);
        for (model::Device& device : hello.capacity.devices)
            device.path = "/dev/x";
        return hello;
    };
    const struct {
        const char* name;
        model::ClusterConfig config;
        api::NodeHello hello;
        std::uint32_t cpus;
        std::size_t gpus;
        const char* reason;
    } cases[] = {
        {"nothing declared", declare({}, 0), Bench::hello("n1"), 8, 2, ""},
        {"more declared, none real: believed", declare(64, 8), Bench::hello("n1"), 64, 8, ""},
        {"all of them are there", declare(4, 2), with_files(2), 4, 2, ""},
        {"one is missing",
         declare(4, 8),
         with_files(7),
         4,
         8,
         "gres/gpu count reported lower than configured (7 < 8)"},
    };
    for (const auto& c : cases) {
        SCOPED_TRACE(c.name);
        Bench bench(c.config);
        (void)bench.join(1, {c.hello});
        const model::Node node = bench.node("n1");
        EXPECT_EQ(node.capacity.cpus, c.cpus);
        EXPECT_EQ(node.capacity.devices.size(), c.gpus);
        EXPECT_EQ(node.reason, c.reason);
        EXPECT_EQ(node.drain, !node.reason.empty());
        EXPECT_EQ(is_schedulable(node), node.reason.empty());
    }
}

TEST(Join, Refusals) {
    Bench bench(1);
    const struct {
        const char* name;
        const char* cluster;
        const char* node;
        model::Term term;
        const char* want;
    } cases[] = {
        {"another cluster", "c2", "n1", 0, "n1: it belongs to another cluster"},
        {"a newer controller", "c1", "n1", 4, "n1: it follows a newer controller"},
        {"not configured", "c1", "x", 0, "x: it is not in the configuration"},
        {"a first join", "", "n1", 0, ""},
    };
    for (const auto& c : cases) {
        SCOPED_TRACE(c.name);
        api::AgentHello hello{.cluster_id = c.cluster, .address = "a", .nodes = {}};
        hello.nodes = {Bench::hello(c.node)};
        hello.nodes[0].highest_term = c.term;
        const api::Applied applied = bench.apply(api::AgentJoined{1, hello});
        const auto texts = refusals(applied);
        EXPECT_EQ(texts.empty() ? "" : texts[0], c.want);
    }
}

TEST(Join, AgentsMayBringTheirNodes) {
    model::ClusterConfig config = cluster(0);
    config.nodes_may_join = true;
    Bench bench(config);
    std::vector<api::NodeHello> many;
    for (int i = 1; i <= 200; ++i)
        many.push_back(Bench::hello("e" + std::to_string(i)));
    (void)bench.join(9, many);
    EXPECT_EQ(bench.core.nodes_of(9).size(), 200U);
    EXPECT_TRUE(is_schedulable(bench.node("e200")));
    (void)bench.apply(api::AgentLeft{9});
    EXPECT_EQ(bench.node("e200").link, NodeLink::Silent);
}

TEST(Join, ANewerSessionWinsAndTheOlderIsNotHeard) {
    Bench bench(1);
    bench.join_all(1);
    const model::WorkloadId id = bench.submit();
    ASSERT_TRUE(bench.place(id, {"n1"}));
    bench.effects.clear();
    (void)bench.join(7, {Bench::hello("n1")});
    ASSERT_EQ(bench.orders("n1").size(), 1U);
    EXPECT_TRUE(bench.orders("n1")[0].full);
    EXPECT_EQ(bench.orders("n1")[0].runs.size(), 1U);
    EXPECT_EQ(bench.orders("n1")[0].digest, bench.core.desired_digest_of(bench.node_id("n1")));
    const api::Applied late = bench.report(1, bench.key(id), api::Phase::Ready);
    EXPECT_FALSE(has_ack(late));
    EXPECT_EQ(bench.status(id).state, WorkloadState::Starting);
    (void)bench.apply(api::AgentLeft{1});
    EXPECT_EQ(bench.node("n1").link, NodeLink::Responding);
}

TEST(Join, ALostJournalEndsWhatRanAndRaisesTheAttempt) {
    Bench bench(1);
    bench.join_all(1);
    const model::WorkloadId id = bench.running();
    api::NodeHello hello = Bench::hello("n1");
    hello.journal_lost = true;
    bench.effects.clear();
    (void)bench.join(2, {hello});
    EXPECT_EQ(bench.status(id).state, WorkloadState::Pending);
    EXPECT_TRUE(bench.orders("n1").at(0).runs.empty());
    ASSERT_TRUE(bench.place(id, {"n1"}));
    EXPECT_EQ(bench.status(id).attempt, 2U);
}

TEST(Report, WhatHadBegunAndIsNotNamedDidNotSurvive) {
    Bench bench(1);
    bench.join_all(1);
    const model::WorkloadId id = bench.running();
    (void)bench.join(1, {Bench::hello("n1")});
    (void)bench.report_empty(1, false);
    EXPECT_EQ(bench.status(id).state, WorkloadState::Running);
    (void)bench.report_empty(1, true);
    EXPECT_EQ(bench.status(id).state, WorkloadState::Pending);
    EXPECT_EQ(bench.status(id).restarts, 1U);
}

TEST(Report, AnOrderThatHasNotArrivedIsNoLoss) {
    Bench bench(1);
    bench.join_all(1);
    const model::WorkloadId id = bench.submit();
    ASSERT_TRUE(bench.place(id, {"n1"}));
    (void)bench.join(1, {Bench::hello("n1")});
    (void)bench.report_empty(1, true);
    EXPECT_EQ(bench.status(id).state, WorkloadState::Starting);
}

TEST(Report, OrphansAreKeptAndShown) {
    Bench bench(1);
    bench.join_all(1);
    bench.effects.clear();
    const api::LaunchKey unknown{model::WorkloadId{77}, 1, 0, 0};
    EXPECT_TRUE(has_ack(bench.report(1, unknown, api::Phase::Running)));
    EXPECT_TRUE(bench.orders("n1").empty()) << "neither stopped nor forgotten";
    EXPECT_EQ(bench.node("n1").facts.notes, "launch 77.1 is unknown here and kept");
    (void)bench.report_empty(1, true);
    EXPECT_EQ(bench.node("n1").facts.notes, "");
}

TEST(Report, AnAttemptThatIsOverIsStoppedThenForgotten) {
    Bench bench(2);
    bench.join_all(2);
    const model::WorkloadId id = bench.running();
    const api::LaunchKey old = bench.key(id);
    (void)bench.apply(api::NodeLinkChanged{bench.node_id("n1"), NodeLink::Silent});
    down(bench, "n1");
    EXPECT_EQ(bench.status(id).state, WorkloadState::Pending);
    bench.effects.clear();
    (void)bench.report(1, old, api::Phase::Running);
    std::vector<api::DesiredRun> runs;
    for (const api::NodeOrders& orders : bench.orders("n1"))
        runs.insert(runs.end(), orders.runs.begin(), orders.runs.end());
    ASSERT_FALSE(runs.empty());
    EXPECT_EQ(runs[0].stage, api::Stage::Stop);
    bench.effects.clear();
    (void)bench.report(1, old, api::Phase::Ended);
    EXPECT_EQ(bench.orders("n1").at(0).forget, (std::vector<api::LaunchKey>{old}));
}

TEST(Report, AMissedOrderIsSentAgainInFull) {
    Bench bench(1);
    bench.join_all(1);
    const model::WorkloadId id = bench.submit();
    ASSERT_TRUE(bench.place(id, {"n1"}));
    bench.effects.clear();
    (void)bench.report_empty(1, false);
    EXPECT_TRUE(bench.orders("n1").empty()) << "it may be under way";
    (void)bench.report_empty(1, false);
    ASSERT_EQ(bench.orders("n1").size(), 1U);
    EXPECT_TRUE(bench.orders("n1")[0].full);
    EXPECT_EQ(bench.orders("n1")[0].runs.size(), 1U);
}

TEST(Report, StepsGoToHistory) {
    Bench bench(1);
    bench.join_all(1);
    const model::WorkloadId id = bench.running();
    api::NodeReport report{.name = "n1", .runs = {}, .steps = {}};
    report.steps.push_back({.key = bench.key(id), .step = 4, .name = "hostname", .nodes = {"n1"}});
    (void)bench.apply(api::AgentReported{1, {.term = 3, .nodes = {report}}});
    const auto rows = bench.core.outbox(0, 100);
    EXPECT_EQ(rows.back().step, 4);
    EXPECT_EQ(rows.back().attempt, 1U);
}

TEST(Report, ABigOneIsDoneInSlicesAndAcknowledgedAtItsEnd) {
    model::ClusterConfig config = cluster(1);
    Bench bench(config);
    bench.join_all(1);
    std::vector<model::WorkloadId> ids;
    for (int i = 0; i < 8; ++i) {
        ids.push_back(bench.submit(job(1, 0)));
        ASSERT_TRUE(bench.place(ids.back(), {"n1"}, {}));
    }
    for (const api::Phase phase : {api::Phase::Ready, api::Phase::Running, api::Phase::Ended}) {
        api::NodeReport report{.name = "n1", .runs = {}, .steps = {}};
        for (const model::WorkloadId id : ids) {
            api::ObservedRun run{.key = bench.key(id), .phase = phase};
            run.has_batch = true;
            run.outcome.kind = EndKind::Completed;
            report.runs.push_back(run);
            for (std::uint32_t step = 0; step < 20; ++step)
                report.steps.push_back({.key = bench.key(id), .step = step, .nodes = {}});
        }
        const api::Applied first =
            bench.apply_one(api::AgentReported{1, {.term = 3, .nodes = {report}}}, kAdmin);
        EXPECT_FALSE(has_ack(first));
        EXPECT_TRUE(bench.core.has_backlog());
        EXPECT_LE(*bench.core.next_wakeup(), ClusterTime{Millis{bench.now}});
        bench.effects.clear();
        (void)bench.apply(api::Tick{});
        EXPECT_EQ(std::ranges::count_if(bench.effects,
                                        [](const api::Effect& effect) {
                                            return std::holds_alternative<api::AckReport>(effect);
                                        }),
                  1);
    }
    for (const model::WorkloadId id : ids)
        EXPECT_EQ(bench.status(id).state, WorkloadState::Done);
}

TEST(Lost, TheJobGoesOnTheGrantStaysUntilTheNodeConfirms) {
    Bench bench(2);
    bench.join_all(2);
    const model::WorkloadId id = bench.running();
    const api::LaunchKey old = bench.key(id);
    lose(bench, "n1");
    EXPECT_EQ(bench.status(id).state, WorkloadState::Pending);
    ASSERT_EQ(bench.status(id).fenced.size(), 1U);
    ASSERT_TRUE(bench.place(id, {"n2"}));
    EXPECT_EQ(bench.status(id).attempt, 2U);
    bench.restart();
    EXPECT_EQ(bench.core.snapshot().uses.size(), 2U);
    bench.effects.clear();
    (void)bench.join(1, {Bench::hello("n1")});
    const api::NodeOrders orders = bench.orders("n1").at(0);
    ASSERT_EQ(orders.runs.size(), 1U);
    EXPECT_EQ(orders.runs[0].stage, api::Stage::Stop);
    EXPECT_EQ(orders.runs[0].launch.key, old);
    const model::WorkloadId other = bench.submit();
    EXPECT_FALSE(bench.place(other, {"n1"})) << "its device is not free";
    (void)bench.report(1, old, api::Phase::Running);
    EXPECT_FALSE(bench.place(other, {"n1"}));
    bench.effects.clear();
    (void)bench.report(1, old, api::Phase::Ended);
    EXPECT_EQ(bench.orders("n1").at(0).forget.size(), 1U);
    EXPECT_TRUE(bench.place(other, {"n1"}));
}

TEST(Lost, TheOtherNodesAreStoppedFirst) {
    Bench bench(2);
    bench.join_all(2);
    auto spec = job(2);
    spec->requeue_allowed = false;
    const model::WorkloadId id = bench.running(2, spec);
    lose(bench, "n2");
    EXPECT_EQ(bench.status(id).state, WorkloadState::Completing);
    EXPECT_EQ(bench.status(id).runs[1].state, MemberState::Unknown);
    (void)bench.report(1, bench.key(id, 0), api::Phase::Ended);
    EXPECT_EQ(bench.status(id).state, WorkloadState::Done);
    EXPECT_EQ(bench.status(id).outcome.kind, EndKind::NodeFailed);
    EXPECT_EQ(bench.status(id).fenced.size(), 1U);
    down(bench, "n2");
    EXPECT_TRUE(bench.status(id).fenced.empty()) << "an administrator's word";
    EXPECT_EQ(bench.core.snapshot().uses.size(), 0U);
}

TEST(Lost, OneThatComesBackIsUsedOnlyIfTheSiteSaysSo) {
    for (const std::uint32_t return_to_service : {0U, 1U}) {
        model::ClusterConfig config = cluster(1);
        config.limits.return_to_service = return_to_service;
        Bench bench(config);
        bench.join_all(1);
        lose(bench, "n1");
        (void)bench.join(2, {Bench::hello("n1")});
        EXPECT_EQ(bench.node("n1").down, return_to_service == 0);
        (void)bench.apply(
            api::UpdateNode{.names = {"n1"}, .action = api::NodeAction::Resume, .features = {}});
        EXPECT_TRUE(is_schedulable(bench.node("n1")));
        EXPECT_EQ(bench.node("n1").reason, "");
    }
}

TEST(Link, Table) {
    const struct {
        NodeLink from, to, want;
    } cases[] = {
        {NodeLink::NoAgent, NodeLink::Silent, NodeLink::NoAgent},
        {NodeLink::NoAgent, NodeLink::Lost, NodeLink::NoAgent},
        {NodeLink::NoAgent, NodeLink::Responding, NodeLink::NoAgent},
        {NodeLink::Responding, NodeLink::Silent, NodeLink::Silent},
        {NodeLink::Responding, NodeLink::Lost, NodeLink::Lost},
        {NodeLink::Responding, NodeLink::NoAgent, NodeLink::NoAgent},
        {NodeLink::Silent, NodeLink::Lost, NodeLink::Lost},
        {NodeLink::Silent, NodeLink::Responding, NodeLink::Responding},
        {NodeLink::Lost, NodeLink::Silent, NodeLink::Lost},
        {NodeLink::Lost, NodeLink::Responding, NodeLink::Responding},
    };
    for (const auto& c : cases) {
        Bench bench(1);
        const model::NodeId id = bench.node_id("n1");
        if (c.from != NodeLink::NoAgent) bench.join_all(1);
        (void)bench.apply(api::NodeLinkChanged{id, c.from});
        (void)bench.apply(api::NodeLinkChanged{id, c.to});
        EXPECT_EQ(bench.node("n1").link, c.want)
            << static_cast<int>(c.from) << " " << static_cast<int>(c.to);
    }
    Bench bench(1);
    EXPECT_EQ(
        bench.apply(api::NodeLinkChanged{model::NodeId{9}, NodeLink::Lost}).reply.error().code(),
        ErrorCode::NotFound);
}

TEST(Lost, ManyJobsOfANodeEndInSlices) {
    Bench bench(1);
    api::NodeHello big = Bench::hello("n1");
    big.capacity = capacity(200, 0);
    (void)bench.join(1, {big});
    std::vector<model::WorkloadId> ids;
    for (int i = 0; i < 60; ++i) {
        ids.push_back(bench.submit(job(1, 0)));
        ASSERT_TRUE(bench.place(ids.back(), {"n1"}, {}));
    }
    (void)bench.apply_one(api::NodeLinkChanged{bench.node_id("n1"), NodeLink::Lost}, kAdmin);
    EXPECT_TRUE(bench.core.has_backlog());
    bench.restart();  // The records say that it is lost: the rest follows.
    for (const model::WorkloadId id : ids)
        EXPECT_EQ(bench.status(id).state, WorkloadState::Pending);
}

TEST(Down, WorkOnARespondingNodeIsStopped) {
    Bench bench(1);
    bench.join_all(1);
    const model::WorkloadId id = bench.running();
    bench.effects.clear();
    down(bench, "n1");
    EXPECT_EQ(bench.status(id).state, WorkloadState::Completing);
    EXPECT_EQ(bench.orders("n1").at(0).runs.at(0).reason, api::StopReason::NodeDown);
    EXPECT_EQ(bench.core.snapshot().uses.size(), 1U);
    (void)bench.report(1, bench.key(id), api::Phase::Ended);
    EXPECT_EQ(bench.status(id).state, WorkloadState::Pending);
}

TEST(UpdateNode, Refusals) {
    Bench bench(1);
    const api::UpdateNode drain{
        .names = {"n1", "x"}, .action = api::NodeAction::Drain, .reason = "r", .features = {}};
    EXPECT_EQ(bench.apply(drain, kOwner).reply.error().code(), ErrorCode::Denied);
    api::UpdateNode silent = drain;
    silent.reason.reset();
    EXPECT_EQ(bench.apply(silent).reply.error().code(), ErrorCode::InvalidArgument);
    const auto results = std::get<api::Affected>(*bench.apply(drain).reply).results;
    EXPECT_TRUE(results.at(0).has_value());
    EXPECT_EQ(results.at(1).error().code(), ErrorCode::NotFound);
    EXPECT_TRUE(bench.node("n1").drain);
}

/// Every cell of the table of workload states, by what users and agents can do to one.
TEST(Transitions, EveryCellOfWorkloads) {
    using S = WorkloadState;
    using E = WorkloadEvent;
    const auto want = [](S from, E event) -> std::optional<S> {
        switch (event) {
            case E::Placed:
                return from == S::Pending ? std::optional(S::Starting) : std::nullopt;
            case E::Started:
                return from == S::Starting ? std::optional(S::Running) : std::nullopt;
            case E::EndOrdered:
                if (from == S::Pending) return S::Done;
                return from == S::Starting || from == S::Running || from == S::Suspended
                           ? std::optional(S::Completing)
                           : std::nullopt;
            case E::Cleaned:
                return from == S::Completing ? std::optional(S::Done) : std::nullopt;
            case E::Requeued:
                return from == S::Completing ? std::optional(S::Pending) : std::nullopt;
            case E::Suspended:
                return from == S::Running ? std::optional(S::Suspended) : std::nullopt;
            case E::Resumed:
                return from == S::Suspended ? std::optional(S::Running) : std::nullopt;
        }
        return std::nullopt;
    };
    for (int from = 0; from <= static_cast<int>(S::Done); ++from) {
        for (int event = 0; event <= static_cast<int>(E::Resumed); ++event) {
            EXPECT_EQ(model::next(static_cast<S>(from), static_cast<E>(event)),
                      want(static_cast<S>(from), static_cast<E>(event)))
                << from << " " << event;
        }
    }
}

/// Every cell of the table of member states, through the facade: a state is reached, the event
/// comes, and what the run is then is what the table says (or nothing has changed).
TEST(Transitions, EveryCellOfMembers) {
    const auto reach = [](Bench& bench, model::WorkloadId id, MemberState state) {
        const api::LaunchKey key = bench.key(id, 1);
        if (state == MemberState::Ready || state == MemberState::Running)
            (void)bench.report(2, key, api::Phase::Ready);
        if (state == MemberState::Running) (void)bench.report(2, key, api::Phase::Running);
        if (state == MemberState::Ended) (void)bench.report(2, key, api::Phase::Ended);
        if (state == MemberState::Unknown) lose(bench, "n2");
    };
    const auto send = [](Bench& bench, model::WorkloadId id, MemberEvent event) {
        const api::LaunchKey key = bench.key(id, 1);
        if (event == MemberEvent::NodeLost) return lose(bench, "n2");
        const api::Phase phase = event == MemberEvent::AgentReady     ? api::Phase::Ready
                                 : event == MemberEvent::AgentRunning ? api::Phase::Running
                                                                      : api::Phase::Ended;
        (void)bench.report(2, key, phase);
    };
    for (int from = 0; from <= static_cast<int>(MemberState::Unknown); ++from) {
        for (int event = 0; event < static_cast<int>(MemberEvent::NodeBack); ++event) {
            SCOPED_TRACE(std::to_string(from) + " " + std::to_string(event));
            const auto state = static_cast<MemberState>(from);
            Bench bench(2);
            bench.join_all(2);
            const model::WorkloadId id = bench.submit(job(2));
            ASSERT_TRUE(bench.place(id, {"n1", "n2"}));
            reach(bench, id, state);
            ASSERT_EQ(bench.status(id).runs.at(1).state, state);
            send(bench, id, static_cast<MemberEvent>(event));
            const auto to = model::next(state, static_cast<MemberEvent>(event));
            EXPECT_EQ(bench.status(id).runs.at(1).state, to.value_or(state));
        }
    }
}

}  // namespace
}  // namespace twinyard::controller::testing
