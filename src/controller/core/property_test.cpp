#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "controller/core/testing.h"

/// Random commands and faults against one core with agents that keep the contract. After every
/// command the invariants hold and a reload equals memory (Bench checks); on the nodes no device
/// has two users and no attempt runs twice; in the end every job is done.
namespace twinyard::controller::testing {
namespace {

using model::WorkloadState;

constexpr std::size_t kNodes = 4;

/// One node: what it was told, and what runs. The journal survives everything but journal loss.
struct Agent {
    std::string name;
    std::uint64_t session = 0;
    std::map<api::LaunchKey, api::DesiredRun> desired;
    struct Launch {
        api::Phase phase = api::Phase::Preparing;
        std::vector<std::uint16_t> devices;
    };
    std::map<api::LaunchKey, Launch> journal;

    void take(const api::NodeOrders& orders) {
        if (orders.full) desired.clear();
        for (const api::DesiredRun& run : orders.runs) {
            const api::LaunchKey& key = run.launch.key;
            desired[key] = run;
            if (journal.contains(key)) continue;
            const bool stops = run.stage == api::Stage::Stop;
            journal[key] = {stops ? api::Phase::Ended : api::Phase::Preparing,
                            run.launch.grant.devices};
        }
        for (const api::LaunchKey& key : orders.forget) {
            desired.erase(key);
            journal.erase(key);
        }
    }

    /// One launch takes one step towards what is wanted.
    void advance(std::mt19937& random) {
        for (auto& [key, launch] : journal) {
            const auto wanted = desired.find(key);
            if (wanted == desired.end() || random() % 2 == 0) continue;
            const api::Stage stage = wanted->second.stage;
            if (stage == api::Stage::Stop)
                launch.phase = api::Phase::Ended;
            else if (launch.phase == api::Phase::Preparing)
                launch.phase = api::Phase::Ready;
            else if (launch.phase == api::Phase::Ready && stage == api::Stage::Go)
                launch.phase = api::Phase::Running;
            else if (launch.phase == api::Phase::Running && random() % 3 == 0)
                launch.phase = api::Phase::Ended;
        }
    }

    [[nodiscard]] api::NodeReport report() const {
        api::NodeReport report{.name = name, .full = true, .runs = {}, .steps = {}};
        for (const auto& [key, launch] : journal) {
            api::ObservedRun run{.key = key, .phase = launch.phase};
            run.has_batch = key.member == 0;
            run.outcome.kind =
                key.workload.value() % 5 == 0 ? model::EndKind::Failed : model::EndKind::Completed;
            report.runs.push_back(run);
        }
        for (const auto& [key, run] : desired)
            report.digest += api::desired_digest(run);
        return report;
    }
};

class World {
  public:
    explicit World(std::uint32_t seed) : random_(seed), bench_(configuration()) {
        for (std::size_t i = 1; i <= kNodes; ++i)
            agents_.push_back({.name = "n" + std::to_string(i), .desired = {}, .journal = {}});
        for (Agent& agent : agents_)
            connect(agent, false);
    }

    void step() {
        const std::uint32_t choice = roll(100);
        if (choice < 15)
            submit();
        else if (choice < 40)
            place();
        else if (choice < 75)
            converse(any());
        else if (choice < 87)
            use_a_command();
        else
            fault(choice);
        deliver();
        check_nodes();
    }

    void settle() {
        for (Agent& agent : agents_)
            connect(agent, false);
        for (int round = 0; round < 400 && unfinished() > 0; ++round) {
            record();
            bench_.pass(400'000);
            resume_all();
            place();
            for (Agent& agent : agents_)
                converse(agent);
            deliver();
            check_nodes();
        }
        EXPECT_EQ(unfinished(), 0U);
        EXPECT_EQ(bench_.core.snapshot().uses.size(), 0U);
    }

    [[nodiscard]] std::size_t launches() const { return ran_.size(); }

  private:
    static model::ClusterConfig configuration() {
        model::ClusterConfig config = cluster(kNodes);
        config.limits.min_job_age = Seconds{5};
        return config;
    }
    /// Below `sides`.
    std::uint32_t roll(std::size_t sides) { return static_cast<std::uint32_t>(random_() % sides); }
    Agent& any() { return agents_[roll(kNodes)]; }

    void connect(Agent& agent, bool journal_lost) {
        agent.session = ++sessions_;
        agent.desired.clear();
        if (journal_lost) agent.journal.clear();
        api::NodeHello hello = Bench::hello(agent.name);
        hello.journal_lost = journal_lost;
        (void)bench_.join(agent.session, {hello});
        deliver();
    }

    void submit() {
        auto spec = job(1 + roll(3), roll(3));
        spec->requeue_allowed = roll(2) == 0;
        if (roll(4) == 0) spec->time_limit = Millis{1000};
        if (roll(8) == 0) spec->begin = bench_.envelope(kOwner).wall + Millis{3000};
        (void)bench_.submit(spec);
    }

    /// As a plan that may be out of date: any devices on any nodes.
    void place() {
        std::vector<model::PlannedStart> starts;
        bench_.core.snapshot().workloads.for_each(
            [&](std::uint64_t, const model::WorkloadPtr& workload) {
                if (workload->status.state != WorkloadState::Pending) return;
                const model::TaskGroup& group = workload->spec->groups[0];
                std::vector<std::string> names;
                for (std::size_t i = 0; i < kNodes; ++i)
                    names.push_back(agents_[i].name);
                std::shuffle(names.begin(), names.end(), random_);
                names.resize(group.nodes.min);
                std::vector<std::uint16_t> devices;
                if (!group.per_node.devices.empty()) {
                    for (std::uint16_t i = 0; i < group.per_node.devices[0].count; ++i)
                        devices.push_back(i);
                    if (devices.size() == 1) devices[0] = static_cast<std::uint16_t>(roll(2));
                }
                if (starts.size() < kPlanStartsMax)
                    starts.push_back(bench_.start(workload->id, names, devices));
            });
        (void)bench_.apply(api::ApplyPlan{starts});
    }

    void converse(Agent& agent) {
        agent.advance(random_);
        if (agent.session == 0) return;
        (void)bench_.apply(
            api::AgentReported{agent.session, {.term = 3, .nodes = {agent.report()}}});
    }

    void use_a_command() {
        std::vector<model::WorkloadId> ids;
        bench_.core.snapshot().workloads.for_each(
            [&](std::uint64_t, const model::WorkloadPtr& workload) {
                ids.push_back(workload->id);
            });
        if (ids.empty()) return;
        const std::vector<model::WorkloadId> target{ids[roll(ids.size())]};
        switch (roll(6)) {
            case 0:
                (void)bench_.apply(api::Cancel{.targets = target}, kOwner);
                break;
            case 1:
                (void)bench_.apply(api::Requeue{.targets = target}, kOwner);
                break;
            case 2:
                (void)bench_.apply(api::SetHold{target, model::Hold::User}, kOwner);
                break;
            case 3:
                (void)bench_.apply(api::SetHold{target, model::Hold::None}, kOwner);
                break;
            case 4:
                (void)bench_.apply(api::Cancel{.targets = target, .requeue_if_allowed = true},
                                   kAdmin);
                break;
            default: {
                api::Update update{.target = target[0]};
                update.time_limit = std::optional(Millis{500 + roll(5000)});
                (void)bench_.apply(update, kAdmin);
            }
        }
    }

    void fault(std::uint32_t choice) {
        Agent& agent = any();
        const model::NodeId node = bench_.node_id(agent.name);
        if (choice < 89) {
            connect(agent, false);
        } else if (choice < 91) {
            (void)bench_.apply(api::AgentLeft{agent.session});
            agent.session = 0;
        } else if (choice < 93) {
            (void)bench_.apply(api::NodeLinkChanged{node, model::NodeLink::Lost});
        } else if (choice < 94) {
            connect(agent, true);
        } else if (choice < 96) {
            restart();
        } else if (choice < 97) {
            (void)bench_.apply(api::UpdateNode{.names = {agent.name},
                                               .action = api::NodeAction::Drain,
                                               .reason = "r",
                                               .features = {}});
        } else if (choice < 98) {
            resume_all();
        } else {
            record();
            bench_.pass(roll(8000));
        }
    }

    /// The controller dies; orders under way are lost with it.
    void restart() {
        bench_.restart();
        for (Agent& agent : agents_)
            connect(agent, false);
    }

    void resume_all() {
        api::UpdateNode resume{.action = api::NodeAction::Resume, .features = {}};
        for (const Agent& agent : agents_)
            resume.names.push_back(agent.name);
        (void)bench_.apply(resume);
        std::vector<model::WorkloadId> held;
        bench_.core.snapshot().workloads.for_each(
            [&](std::uint64_t, const model::WorkloadPtr& workload) {
                if (workload->status.hold != model::Hold::None && held.size() < 16)
                    held.push_back(workload->id);
            });
        (void)bench_.apply(api::SetHold{held, model::Hold::None});
    }

    void record() {
        api::Recorded recorded;
        for (const auto& row : bench_.core.outbox(0, 1000))
            recorded.outbox_seqs.push_back(row.outbox_seq);
        (void)bench_.apply(recorded);
    }

    void deliver() {
        for (const api::Effect& effect : std::exchange(bench_.effects, {})) {
            const auto* send = std::get_if<api::SendOrders>(&effect);
            if (send == nullptr) continue;
            for (Agent& agent : agents_) {
                const bool lost = roll(10) == 0 && !send->orders.full;
                if (agent.session == send->session && !lost) agent.take(send->orders);
            }
        }
    }

    void check_nodes() {
        for (const Agent& agent : agents_) {
            std::set<std::uint16_t> used;
            for (const auto& [key, launch] : agent.journal) {
                const bool live = launch.phase != api::Phase::Ended;
                for (const std::uint16_t device : launch.devices)
                    EXPECT_TRUE(!live || used.insert(device).second)
                        << agent.name << " gives device " << device << " twice";
                if (launch.phase == api::Phase::Running) ran_.emplace(key, agent.name);
            }
        }
    }

    std::size_t unfinished() const {
        std::size_t count = 0;
        bench_.core.snapshot().workloads.for_each([&](std::uint64_t,
                                                      const model::WorkloadPtr& workload) {
            const bool over =
                workload->status.state == WorkloadState::Done && workload->status.fenced.empty();
            count += over ? 0U : 1U;
        });
        return count;
    }

    std::mt19937 random_;
    Bench bench_;
    std::vector<Agent> agents_;
    std::uint64_t sessions_ = 0;
    std::set<std::pair<api::LaunchKey, std::string>> ran_;
};

TEST(Property, RandomCommandsAndFaultsKeepWhatMustHold) {
    std::size_t launches = 0;
    for (std::uint32_t seed = 1; seed <= 12; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        World world(seed);
        for (int i = 0; i < 150; ++i)
            world.step();
        world.settle();
        launches += world.launches();
        if (::testing::Test::HasFailure()) return;
    }
    EXPECT_GT(launches, 250U) << "the walk does not reach what it should test";
}

}  // namespace
}  // namespace twinyard::controller::testing
