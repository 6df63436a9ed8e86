#include <algorithm>
#include <string>
#include <vector>

#include "controller/core/testing.h"

namespace twinyard::controller::testing {
namespace {

using model::EndKind;
using model::Hold;
using model::MemberState;
using model::WorkloadState;

ErrorCode code_of(const api::Applied& applied) {
    EXPECT_FALSE(applied.reply.has_value());
    return applied.reply.error().code();
}

/// Of the one target.
Status result_of(const api::Applied& applied) {
    return std::get<api::Affected>(*applied.reply).results.at(0);
}

std::string word(ErrorCode code) {
    switch (code) {
        case ErrorCode::Denied:
            return "denied";
        case ErrorCode::Conflict:
            return "conflict";
        case ErrorCode::InvalidArgument:
            return "invalid";
        default:
            return "other";
    }
}

std::string word(const Status& status) {
    return status ? "ok" : word(status.error().code());
}

std::vector<api::AccountingRecord> rows_of(const Bench& bench, model::WorkloadId id) {
    std::vector<api::AccountingRecord> rows = bench.core.outbox(0, 1000);
    std::erase_if(rows, [&](const api::AccountingRecord& row) { return row.workload != id; });
    return rows;
}

void record_all(Bench& bench) {
    api::Recorded recorded;
    for (const api::AccountingRecord& row : bench.core.outbox(0, 1000))
        recorded.outbox_seqs.push_back(row.outbox_seq);
    (void)bench.apply(recorded);
}

TEST(Submit, GivesIdsRemembersTheRequestAndTellsHistory) {
    Bench bench(1);
    api::Submit submit{.request_id = request_id(7), .spec = job(), .blobs = {}};
    const auto first = std::get<api::Submitted>(*bench.apply(submit, kOwner).reply);
    const api::Applied again = bench.apply(submit, kOwner);
    const auto second = std::get<api::Submitted>(*again.reply);
    EXPECT_FALSE(first.repeated);
    EXPECT_TRUE(second.repeated);
    EXPECT_EQ(first.workload, second.workload);
    EXPECT_EQ(first.job, second.job);
    EXPECT_TRUE(again.mutations.empty());
    const auto rows = rows_of(bench, first.workload);
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_EQ(rows[0].state, WorkloadState::Pending);
    EXPECT_EQ(rows[0].attempt, 1U);
    EXPECT_EQ(rows[0].req_tres, "cpu=1,mem=1G,node=1,billing=1,gres/gpu=1");
}

TEST(Submit, ARequestIsRememberedForTenMinutesAndOverARestart) {
    Bench bench(1);
    const api::Submit submit{.request_id = request_id(7), .spec = job(), .blobs = {}};
    (void)bench.apply(submit, kOwner);
    bench.restart();
    EXPECT_TRUE(std::get<api::Submitted>(*bench.apply(submit, kOwner).reply).repeated);
    bench.pass(10 * 60 * 1000 - 1);
    EXPECT_TRUE(std::get<api::Submitted>(*bench.apply(submit, kOwner).reply).repeated);
    bench.pass(1);
    EXPECT_FALSE(std::get<api::Submitted>(*bench.apply(submit, kOwner).reply).repeated);
}

TEST(Submit, Refusals) {
    const auto spec_with = [](auto change) {
        auto spec = job();
        change(*spec);
        return spec;
    };
    const ContentHash missing = content_hash("nowhere");
    const struct {
        const char* name;
        std::shared_ptr<const model::WorkloadSpec> spec;
        Hold hold;
        ErrorCode want;
    } cases[] = {
        {"no request", nullptr, Hold::None, ErrorCode::InvalidArgument},
        {"no groups",
         spec_with([](auto& s) { s.groups.clear(); }),
         Hold::None,
         ErrorCode::InvalidArgument},
        {"another user", spec_with([](auto& s) { s.uid = 1; }), Hold::None, ErrorCode::Denied},
        {"admin's hold", job(), Hold::Admin, ErrorCode::Denied},
        {"no partition",
         spec_with([](auto& s) { s.partitions.clear(); }),
         Hold::None,
         ErrorCode::InvalidArgument},
        {"unknown partition",
         spec_with([](auto& s) { s.partitions = {"x"}; }),
         Hold::None,
         ErrorCode::InvalidArgument},
        {"draining partition",
         spec_with([](auto& s) { s.partitions = {"old"}; }),
         Hold::None,
         ErrorCode::Conflict},
        {"script not stored",
         spec_with([&](auto& s) { s.launch.script = missing; }),
         Hold::None,
         ErrorCode::InvalidArgument},
    };
    model::ClusterConfig config = cluster(1);
    config.partitions.push_back({.name = "old", .nodes = {}});
    config.partitions.back().state = model::PartitionState::Drain;
    Bench bench(config);
    for (const auto& c : cases) {
        SCOPED_TRACE(c.name);
        const api::Submit submit{.spec = c.spec, .blobs = {}, .hold = c.hold};
        EXPECT_EQ(code_of(bench.apply(submit, kOwner)), c.want);
    }
    EXPECT_EQ(bench.core.snapshot().workloads.size(), 0U);
}

TEST(Submit, LimitsAreUnavailable) {
    model::ClusterConfig config = cluster(1);
    config.limits.jobs_max = 2;
    Bench bench(config);
    (void)bench.submit();
    (void)bench.submit();
    EXPECT_EQ(code_of(bench.apply(api::Submit{.spec = job(), .blobs = {}}, kOwner)),
              ErrorCode::Unavailable);
}

TEST(Submit, JobNumbersWrapAndSkipThoseInUse) {
    model::ClusterConfig config = cluster(1);
    config.limits.first_job_id = 10;
    config.limits.max_job_id = 13;
    Bench bench(config);
    const auto number = [&] { return bench.workload(bench.submit()).job.value(); };
    EXPECT_EQ(number(), 10U);
    EXPECT_EQ(number(), 11U);
    const model::WorkloadId short_lived = bench.submit();
    EXPECT_EQ(number(), 13U);
    EXPECT_EQ(code_of(bench.apply(api::Submit{.spec = job(), .blobs = {}}, kOwner)),
              ErrorCode::Unavailable);
    (void)bench.apply(api::Cancel{.targets = {short_lived}}, kOwner);
    record_all(bench);
    bench.pass(300'000);
    EXPECT_EQ(number(), 12U);
}

TEST(Submit, BlobsLiveAsLongAsSomethingUsesThem) {
    Bench bench(1);
    const std::string script = "#!/bin/sh\n";
    auto spec = job();
    spec->launch.script = content_hash(script);
    const api::Submit submit{.spec = spec, .blobs = {{content_hash(script), script}}};
    const auto ids = {std::get<api::Submitted>(*bench.apply(submit, kOwner).reply).workload,
                      std::get<api::Submitted>(*bench.apply(submit, kOwner).reply).workload};
    EXPECT_EQ(bench.stored.blobs.size(), 1U);
    std::size_t left = 2;
    for (const model::WorkloadId id : ids) {
        (void)bench.apply(api::Cancel{.targets = {id}}, kOwner);
        record_all(bench);
        bench.pass(300'000);
        EXPECT_EQ(bench.stored.blobs.size(), --left > 0 ? 1U : 0U);
    }
}

TEST(Submit, APinnedBlobIsNotDropped) {
    Bench bench(1);
    const ContentHash hash = content_hash("beside");
    bench.core.pin_blob(hash);
    bench.stored.blobs.insert(hash);
    bench.pass(1);
    EXPECT_TRUE(bench.stored.blobs.contains(hash));
    auto spec = job();
    spec->launch.environment = hash;
    (void)bench.submit(spec);
    bench.core.unpin_blob(hash);
    bench.pass(1);
    EXPECT_TRUE(bench.stored.blobs.contains(hash));
}

TEST(Begin, MakesEligibleWhenItsTimeComes) {
    Bench bench(1);
    bench.join_all(1);
    auto spec = job();
    spec->begin = bench.envelope(kOwner).wall + Millis{5000};
    const model::WorkloadId id = bench.submit(spec);
    EXPECT_EQ(bench.status(id).eligible, ClusterTime{});
    EXPECT_FALSE(bench.place(id, {"n1"}));
    EXPECT_EQ(bench.core.next_wakeup(), ClusterTime{Millis{bench.now + 5000}});
    bench.pass(5000);
    EXPECT_EQ(bench.status(id).eligible, ClusterTime{Millis{bench.now}});
    EXPECT_TRUE(bench.place(id, {"n1"}));
}

TEST(Life, OfAGang) {
    Bench bench(2);
    bench.join_all(2);
    const model::WorkloadId id = bench.submit(job(2));
    bench.effects.clear();
    ASSERT_TRUE(bench.place(id, {"n1", "n2"}));
    ASSERT_EQ(bench.orders("n2").size(), 1U);
    const api::DesiredRun prepare = bench.orders("n2")[0].runs.at(0);
    EXPECT_EQ(prepare.stage, api::Stage::Prepare);
    EXPECT_EQ(prepare.launch.grant_index, 1U);
    EXPECT_EQ(prepare.launch.gang.nodes, (std::vector<std::string>{"n1", "n2"}));
    EXPECT_EQ(prepare.launch.device_class_paths, (std::vector<std::string>{"gpu/h100"}));
    EXPECT_EQ(prepare.launch.secret.size(), 32U);

    (void)bench.report(1, bench.key(id, 0), api::Phase::Ready);
    EXPECT_EQ(bench.status(id).state, WorkloadState::Starting);
    bench.effects.clear();
    bench.now += 70;
    (void)bench.report(2, bench.key(id, 1), api::Phase::Ready);
    EXPECT_EQ(bench.status(id).state, WorkloadState::Running);
    EXPECT_EQ(bench.status(id).started, ClusterTime{Millis{bench.now}});
    const api::DesiredRun go = bench.orders("n1").at(0).runs.at(0);
    EXPECT_EQ(go.stage, api::Stage::Go);
    EXPECT_EQ(go.launch.gang.addresses, (std::vector<std::string>{"d", "d"}));

    bench.effects.clear();
    (void)bench.report_end(
        1, bench.key(id, 0), {.kind = EndKind::Failed, .exit_code = 3, .detail = ""});
    EXPECT_EQ(bench.status(id).state, WorkloadState::Completing);
    EXPECT_EQ(bench.orders("n1").at(0).forget.size(), 1U);
    EXPECT_EQ(bench.orders("n2").at(0).runs.at(0).reason, api::StopReason::GangEnded);
    EXPECT_EQ(bench.core.snapshot().uses.size(), 1U) << "the first node is free again";

    (void)bench.report(2, bench.key(id, 1), api::Phase::Ended);
    EXPECT_EQ(bench.status(id).state, WorkloadState::Done);
    EXPECT_EQ(bench.status(id).outcome.exit_code, 3);
    EXPECT_EQ(bench.core.snapshot().uses.size(), 0U);
    const auto rows = rows_of(bench, id);
    ASSERT_EQ(rows.size(), 4U);
    EXPECT_EQ(rows[1].state, WorkloadState::Running);
    EXPECT_EQ(rows[2].step, api::kBatchStep);
    EXPECT_EQ(rows[3].state, WorkloadState::Done);
    EXPECT_EQ(rows[3].node_list, "n[1-2]");
    EXPECT_EQ(rows[3].alloc_tres, "cpu=2,mem=2G,node=2,billing=2,gres/gpu=2");
}

TEST(Life, AnEndWhileTheControllerWasAwayKeepsItsTime) {
    Bench bench(1);
    bench.join_all(1);
    const model::WorkloadId id = bench.running();
    const WallTime ended = bench.envelope(kAdmin).wall + Millis{1000};
    bench.now += 60'000;
    api::ObservedRun run{.key = bench.key(id), .phase = api::Phase::Ended};
    run.outcome.kind = EndKind::Completed;
    run.ended_wall = ended;
    (void)bench.report(1, run);
    EXPECT_EQ(bench.status(id).ended_wall, ended);
    EXPECT_EQ(bench.status(id).ended, ClusterTime{Millis{bench.now - 59'000}});
}

TEST(Life, MembersOnTheirOwnEndOnTheirOwn) {
    Bench bench(2);
    bench.join_all(2);
    auto spec = job(2);
    spec->end_rule = model::EndRule::EachOnItsOwn;
    const model::WorkloadId id = bench.running(2, spec);
    (void)bench.report(1, bench.key(id, 0), api::Phase::Ended);
    EXPECT_EQ(bench.status(id).state, WorkloadState::Running);
    (void)bench.report_end(2, bench.key(id, 1), {.kind = EndKind::Failed, .exit_code = 1});
    EXPECT_EQ(bench.status(id).state, WorkloadState::Done);
    EXPECT_EQ(bench.status(id).outcome.kind, EndKind::Failed);
}

TEST(Life, AFinishedOneLeavesWhenHistoryHasItAndItIsOldEnough) {
    Bench bench(1);
    bench.join_all(1);
    const model::WorkloadId id = bench.running();
    (void)bench.report(1, bench.key(id), api::Phase::Ended);
    bench.pass(400'000);
    EXPECT_NE(find(bench.core.snapshot(), id), nullptr) << "history has not got it yet";
    record_all(bench);
    bench.pass(0);
    EXPECT_EQ(find(bench.core.snapshot(), id), nullptr);
    EXPECT_TRUE(bench.stored.specs.empty());
    bench.effects.clear();
    (void)bench.report(1, {id, 1, 0, 0}, api::Phase::Ended);
    EXPECT_EQ(bench.orders("n1").at(0).forget.size(), 1U) << "said again, forgotten again";
}

TEST(Life, ALimitThatTheNodeMissedIsEnforcedHere) {
    Bench bench(1);
    bench.join_all(1);
    auto spec = job();
    spec->time_limit = Millis{60'000};
    const model::WorkloadId id = bench.running(1, spec);
    bench.pass(119'999);
    EXPECT_EQ(bench.status(id).state, WorkloadState::Running);
    bench.pass(1);
    EXPECT_EQ(bench.status(id).state, WorkloadState::Completing);
    EXPECT_EQ(bench.status(id).outcome.kind, EndKind::TimeLimit);
}

TEST(Life, FailedLaunchesBackOffAndAreHeldInTheEnd) {
    Bench bench(1);
    bench.join_all(1);
    auto spec = job();
    spec->requeue_allowed = false;
    const model::WorkloadId id = bench.submit(spec);
    for (std::uint32_t failure = 1; failure <= 5; ++failure) {
        ASSERT_TRUE(bench.place(id, {"n1"}));
        EXPECT_EQ(bench.status(id).attempt, failure);
        (void)bench.report_end(
            1, bench.key(id), {.kind = EndKind::LaunchFailed, .detail = "no such user"});
        ASSERT_EQ(bench.status(id).state, WorkloadState::Pending);
        EXPECT_EQ(bench.status(id).launch_failures, failure);
        EXPECT_FALSE(bench.place(id, {"n1"})) << "it must wait";
        bench.pass(300'000);
    }
    EXPECT_EQ(bench.status(id).hold, Hold::LaunchFailed);
    EXPECT_EQ(bench.status(id).outcome.detail, "no such user");
    EXPECT_EQ(word(result_of(bench.apply(api::SetHold{.targets = {id}}, kOwner))), "ok");
    EXPECT_TRUE(bench.place(id, {"n1"}));
}

TEST(Cancel, Table) {
    const struct {
        const char* name;
        api::Principal who;
        EndKind kind;
        bool requeue;
        bool run_first;
        const char* want;
        WorkloadState state;
    } cases[] = {
        {"pending", kOwner, EndKind::Cancelled, false, false, "ok", WorkloadState::Done},
        {"pending, shutdown",
         kAdmin,
         EndKind::Cancelled,
         true,
         false,
         "ok",
         WorkloadState::Pending},
        {"running", kOwner, EndKind::Cancelled, false, true, "ok", WorkloadState::Completing},
        {"running, shutdown",
         kAdmin,
         EndKind::Cancelled,
         true,
         true,
         "ok",
         WorkloadState::Completing},
        {"a stranger's",
         kStranger,
         EndKind::Cancelled,
         false,
         true,
         "denied",
         WorkloadState::Running},
        {"as preempted", kOwner, EndKind::Preempted, false, true, "denied", WorkloadState::Running},
        {"as preempted by an admin",
         kAdmin,
         EndKind::Preempted,
         true,
         true,
         "ok",
         WorkloadState::Completing},
    };
    for (const auto& c : cases) {
        SCOPED_TRACE(c.name);
        Bench bench(1);
        bench.join_all(1);
        const model::WorkloadId id = c.run_first ? bench.running() : bench.submit();
        const api::Cancel cancel{.targets = {id}, .kind = c.kind, .requeue_if_allowed = c.requeue};
        const std::string got = word(result_of(bench.apply(cancel, c.who)));
        EXPECT_EQ(got, c.want);
        EXPECT_EQ(bench.status(id).state, c.state);
        if (c.state != WorkloadState::Completing) continue;
        EXPECT_EQ(bench.status(id).requeue_at_end, c.requeue);
        (void)bench.report_end(1, bench.key(id), {.kind = EndKind::Failed, .signal = 15});
        EXPECT_EQ(bench.status(id).state, c.requeue ? WorkloadState::Pending : WorkloadState::Done);
        if (!c.requeue) {
            EXPECT_EQ(bench.status(id).outcome.signal, 15);
        }
        if (c.requeue) {
            EXPECT_EQ(bench.status(id).restarts, 1U);
        }
    }
}

TEST(Cancel, AnEndedOneIsAConflictAnUnknownOneIsNotFound) {
    Bench bench(1);
    const model::WorkloadId id = bench.submit();
    const api::Cancel cancel{.targets = {id, model::WorkloadId{99}}};
    (void)bench.apply(cancel, kOwner);
    const auto results = std::get<api::Affected>(*bench.apply(cancel, kOwner).reply).results;
    ASSERT_EQ(results.size(), 2U);
    EXPECT_EQ(results[0].error().code(), ErrorCode::Conflict);
    EXPECT_EQ(results[1].error().code(), ErrorCode::NotFound);
    api::Cancel many;
    many.targets.assign(api::kCommandTargetsMax + 1, id);
    EXPECT_EQ(code_of(bench.apply(many, kOwner)), ErrorCode::InvalidArgument);
}

TEST(Cancel, OfARequeueUnderWayEndsIt) {
    Bench bench(1);
    bench.join_all(1);
    const model::WorkloadId id = bench.running();
    (void)bench.apply(api::Requeue{.targets = {id}}, kOwner);
    EXPECT_EQ(word(result_of(bench.apply(api::Cancel{.targets = {id}}, kOwner))), "ok");
    (void)bench.report(1, bench.key(id), api::Phase::Ended);
    EXPECT_EQ(bench.status(id).state, WorkloadState::Done);
    EXPECT_EQ(bench.status(id).outcome.kind, EndKind::Cancelled);
    EXPECT_EQ(bench.status(id).outcome.by_uid, kUser);
}

TEST(Requeue, HoldsAfterwardsAndTellsHistory) {
    Bench bench(1);
    bench.join_all(1);
    const model::WorkloadId id = bench.running();
    EXPECT_EQ(
        word(result_of(bench.apply(api::Requeue{.targets = {id}, .then = Hold::User}, kOwner))),
        "ok");
    (void)bench.report(1, bench.key(id), api::Phase::Ended);
    EXPECT_EQ(bench.status(id).state, WorkloadState::Pending);
    EXPECT_EQ(bench.status(id).hold, Hold::User);
    const auto rows = rows_of(bench, id);
    ASSERT_GE(rows.size(), 2U);
    EXPECT_TRUE(rows[rows.size() - 2].requeued);
    EXPECT_EQ(rows[rows.size() - 2].attempt, 1U);
    EXPECT_EQ(rows.back().attempt, 2U);
}

TEST(SetHold, Table) {
    const struct {
        const char* name;
        Hold before, hold;
        api::Principal who;
        bool ok;
    } cases[] = {
        {"user holds", Hold::None, Hold::User, kOwner, true},
        {"user releases", Hold::User, Hold::None, kOwner, true},
        {"user cannot set the admin's", Hold::None, Hold::Admin, kOwner, false},
        {"user cannot lift the admin's", Hold::Admin, Hold::None, kOwner, false},
        {"admin lifts it", Hold::Admin, Hold::None, kAdmin, true},
        {"a stranger", Hold::None, Hold::User, kStranger, false},
    };
    for (const auto& c : cases) {
        SCOPED_TRACE(c.name);
        Bench bench(1);
        bench.join_all(1);
        const model::WorkloadId id = bench.submit();
        (void)bench.apply(api::SetHold{.targets = {id}, .hold = c.before}, kAdmin);
        const Status result =
            result_of(bench.apply(api::SetHold{.targets = {id}, .hold = c.hold}, c.who));
        EXPECT_EQ(result.has_value(), c.ok);
        const Hold now = c.ok ? c.hold : c.before;
        EXPECT_EQ(bench.status(id).hold, now);
        EXPECT_EQ(bench.place(id, {"n1"}), now == Hold::None);
    }
}

TEST(Signal, GoesWhereItIsMeantFor) {
    Bench bench(2);
    bench.join_all(2);
    const model::WorkloadId waiting = bench.submit();
    EXPECT_EQ(result_of(bench.apply(api::Signal{.targets = {waiting}, .signal = 10}, kOwner))
                  .error()
                  .code(),
              ErrorCode::Conflict);
    const model::WorkloadId id = bench.running(2);
    bench.effects.clear();
    (void)bench.apply(api::Signal{.targets = {id}, .signal = 10}, kOwner);
    EXPECT_EQ(bench.orders("n1").at(0).signals.at(0).signal, 10);
    EXPECT_EQ(bench.orders("n2").size(), 1U);
    bench.effects.clear();
    (void)bench.apply(
        api::Signal{.targets = {id}, .signal = 10, .scope = api::SignalScope::BatchShell}, kOwner);
    EXPECT_EQ(bench.orders("n1").size(), 1U);
    EXPECT_EQ(bench.orders("n2").size(), 0U);
}

TEST(Update, Table) {
    const auto update = [](auto change) {
        api::Update made;
        change(made);
        return made;
    };
    const auto longer = update([](auto& u) { u.time_limit = std::optional(Millis{7'200'000}); });
    const auto shorter = update([](auto& u) { u.time_limit = std::optional(Millis{60'000}); });
    const auto name = update([](auto& u) { u.name = "new"; });
    const auto priority = update([](auto& u) { u.priority = 5; });
    const auto groups = update([](auto& u) { u.groups = job(3)->groups; });
    const auto partition = update([](auto& u) { u.partitions = {"nowhere"}; });
    const auto nice = update([](auto& u) { u.nice = -5; });
    const struct {
        const char* name;
        api::Update update;
        api::Principal who;
        bool run_first;
        const char* want;
    } cases[] = {
        {"waiting: longer", longer, kOwner, false, "ok"},
        {"running: longer", longer, kOwner, true, "denied"},
        {"running: longer by an admin", longer, kAdmin, true, "ok"},
        {"running: shorter", shorter, kOwner, true, "ok"},
        {"running: name", name, kOwner, true, "ok"},
        {"stranger", name, kStranger, false, "denied"},
        {"priority", priority, kOwner, false, "denied"},
        {"priority by an admin", priority, kAdmin, false, "ok"},
        {"nice below zero", nice, kOwner, false, "denied"},
        {"waiting: groups", groups, kOwner, false, "ok"},
        {"running: groups", groups, kOwner, true, "conflict"},
        {"unknown partition", partition, kOwner, false, "invalid"},
    };
    for (const auto& c : cases) {
        SCOPED_TRACE(c.name);
        Bench bench(1);
        bench.join_all(1);
        auto spec = job();
        spec->time_limit = Millis{3'600'000};
        const model::WorkloadId id = c.run_first ? bench.running(1, spec) : bench.submit(spec);
        const model::Generation before = bench.status(id).generation;
        api::Update given = c.update;
        given.target = id;
        const api::Applied applied = bench.apply(given, c.who);
        const bool ok = std::string(c.want) == "ok";
        EXPECT_EQ(applied.reply.has_value(), ok);
        EXPECT_EQ(bench.status(id).generation, before + (ok ? 1 : 0));
        if (!ok) {
            EXPECT_EQ(word(applied.reply.error().code()), c.want);
        }
    }
}

TEST(Update, ANewLimitReachesTheNode) {
    Bench bench(1);
    bench.join_all(1);
    const model::WorkloadId id = bench.running();
    bench.effects.clear();
    api::Update update{.target = id};
    update.time_limit = std::optional(Millis{90'000});
    (void)bench.apply(update, kOwner);
    EXPECT_EQ(bench.orders("n1").at(0).runs.at(0).launch.time_limit, Millis{90'000});
}

TEST(ApplyPlan, RefusedEntriesChangeNothing) {
    Bench bench(2);
    bench.join_all(2);
    const model::WorkloadId running = bench.running();  // cpu 0 and device 0 of n1
    const model::WorkloadId id = bench.submit();
    const auto with = [&](auto change) {
        model::PlannedStart start = bench.start(id, {"n2"}, {1});
        change(start);
        return start;
    };
    const struct {
        const char* name;
        model::PlannedStart start;
    } cases[] = {
        {"device in use", with([&](auto& s) { s = bench.start(id, {"n1"}, {0}); })},
        {"half a gang", with([&](auto& s) {
             s = bench.start(id, {"n2", "n1"}, {0});
         })},
        {"no such device", with([](auto& s) { s.grants[0].devices = {2}; })},
        {"too many cpus", with([](auto& s) { s.grants[0].cpu_milli = 9000; })},
        {"the same grant twice", with([](auto& s) { s.grants.push_back(s.grants[0]); })},
        {"older generation", with([](auto& s) { s.generation = 0; })},
        {"running already", with([&](auto& s) { s.workload = running; })},
        {"unknown", with([](auto& s) { s.workload = model::WorkloadId{99}; })},
        {"no such node", with([](auto& s) { s.grants[0].node = model::NodeId{9}; })},
        {"no such group", with([](auto& s) { s.grants[0].group = 1; })},
        {"a partition it did not name", with([](auto& s) { s.partition = "x"; })},
        {"nothing", with([](auto& s) { s.grants.clear(); })},
    };
    for (const auto& c : cases) {
        SCOPED_TRACE(c.name);
        const api::Applied applied = bench.apply(api::ApplyPlan{{c.start}});
        const auto reply = std::get<api::PlanApplied>(*applied.reply);
        EXPECT_EQ(reply.started, 0U);
        EXPECT_EQ(reply.refused.size(), 1U);
        EXPECT_TRUE(applied.mutations.empty());
        EXPECT_TRUE(applied.effects.empty());
    }
    EXPECT_TRUE(bench.place(id, {"n2"}, {1})) << "the unchanged one is fine";
}

TEST(ApplyPlan, ADownPartitionOrNodeTakesNothing) {
    model::ClusterConfig config = cluster(2);
    Bench bench(config);
    bench.join_all(1);
    const model::WorkloadId id = bench.submit();
    EXPECT_FALSE(bench.place(id, {"n2"})) << "no agent";
    (void)bench.apply(api::UpdateNode{
        .names = {"n1"}, .action = api::NodeAction::Drain, .reason = "fan", .features = {}});
    EXPECT_FALSE(bench.place(id, {"n1"})) << "drained";
    (void)bench.apply(
        api::UpdateNode{.names = {"n1"}, .action = api::NodeAction::Undrain, .features = {}});
    config.partitions[0].state = model::PartitionState::Down;
    bench.configure(config);
    EXPECT_FALSE(bench.place(id, {"n1"})) << "partition down";
    config.partitions[0].state = model::PartitionState::Up;
    bench.configure(config);
    EXPECT_TRUE(bench.place(id, {"n1"}));
}

}  // namespace
}  // namespace twinyard::controller::testing
