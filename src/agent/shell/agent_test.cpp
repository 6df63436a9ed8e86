// The daemon's parts with a controller played by the test and step daemons played by a program.
#include "agent/shell/agent.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <map>

#include "agent/shell/blob_cache.h"
#include "agent/shell/emulated_host.h"
#include "agent/shell/journal_codec.h"
#include "agent/shell/stepd_host.h"
#include "api/stepd.h"
#include "base/check.h"
#include "os/files.h"
#include "rpc/server.h"
#include "wire/messages.h"
#include "wire/method.h"

namespace twinyard::agent {
namespace {

using api::Phase;
using model::EndKind;

constexpr std::string_view kScript = "#!/bin/sh\n";

class Folder {
  public:
    Folder() {
        char path[] = "/tmp/agent_test_XXXXXX";
        CHECK(::mkdtemp(path) != nullptr);
        path_ = path;
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    ~Folder() { EXPECT_TRUE(os::remove_tree(path_).has_value()); }
    [[nodiscard]] const std::string& path() const { return path_; }

  private:
    std::string path_;
};

/// Takes agents in, says what it is told to say, and remembers what it hears.
class FakeController {
  public:
    FakeController(rpc::Loop& loop, const std::string& folder)
        : address("unix:" + folder + "/c.sock"),
          server_(rpc::Server::listen(loop, address, {}, [this](rpc::Call call) {
                      handle(std::move(call));
                  }).value()) {}

    void order(std::vector<api::DesiredRun> runs, std::vector<api::LaunchKey> forget = {}) {
        send(false, std::move(runs), std::move(forget));
    }

    const std::string address;
    std::vector<api::DesiredRun> desired;  ///< Full orders for who connects.
    std::vector<api::NodeHello> hellos;
    std::map<api::LaunchKey, api::ObservedRun> heard;
    std::vector<api::StepRecord> steps;
    int fetches = 0;

  private:
    void handle(rpc::Call call) {
        switch (static_cast<wire::Method>(call.method())) {
            case wire::Method::AgentStream: {
                const auto hello = wire::decode<api::AgentHello>(call.payload()).value();
                hellos = hello.nodes;
                stream_.emplace(std::move(call));
                return send(true, desired, {});
            }
            case wire::Method::AgentReport:
                hear(wire::decode<api::AgentReport>(call.payload()).value());
                return call.reply({});
            case wire::Method::FetchBlob:
                ++fetches;
                return call.reply(std::string(kScript));
            default:
                return call.fail(Error(ErrorCode::InvalidArgument, "not played here"));
        }
    }
    void hear(const api::AgentReport& report) {
        for (const api::NodeReport& node : report.nodes) {
            for (const api::ObservedRun& run : node.runs)
                heard[run.key] = run;
            steps.insert(steps.end(), node.steps.begin(), node.steps.end());
        }
    }
    void send(bool full, std::vector<api::DesiredRun> runs, std::vector<api::LaunchKey> forget) {
        api::AgentOrders orders;
        orders.cluster_id = "c";
        orders.term = 1;
        for (const api::NodeHello& hello : hellos) {
            api::NodeOrders part;
            part.name = hello.name;
            part.full = full;
            part.runs = runs;
            part.forget = forget;
            orders.nodes.push_back(std::move(part));
        }
        (void)stream_->send_part(wire::encode(orders));
    }

    std::optional<rpc::Call> stream_;
    rpc::Server server_;
};

/// One real node whose step daemons are played; may be crashed and started again.
class OneNode : public ::testing::Test {
  protected:
    OneNode()
        : controller_(loop_, folder_.path()),
          containers_(
              os::detect_containers("twinyard_agenttest_" + std::to_string(::getpid())).value()) {
        start();
    }
    ~OneNode() override {
        crash();
        EXPECT_TRUE(containers_->remove_base().has_value());
    }

    void start() {
        std::vector<JournalEntry> entries;
        auto journal = os::JournalFile::open(dir() + ".journal", [&](std::string_view record) {
            entries.push_back(decode_entry(record).value());
            return Status();
        });
        Settings settings;
        settings.nodes.resize(1);
        settings.nodes[0].name = "n1";
        agent_ = std::make_unique<Agent>(loop_, std::move(settings), std::move(journal.value()));
        blobs_ = std::make_unique<BlobCache>(
            BlobCache::open(dir() + "/blobs",
                            [this](const ContentHash& hash, ControllerLink::OnBlob on_blob) {
                                agent_->controller().fetch(hash, std::move(on_blob));
                            })
                .value());
        StepdSetup setup;
        setup.program = TWINYARD_FAKE_STEPD;
        setup.folder = dir();
        setup.node = "n1";
        setup.containers = "unused";
        stepds_ = std::make_unique<StepdHost>(
            loop_, std::move(setup), *containers_, *blobs_, agent_->inlet());
        EXPECT_TRUE(agent_->start(std::move(entries), *stepds_, controller_.address));
    }
    /// Nothing is told to anybody; step daemons live on. What the loop still holds is run first.
    void crash() {
        loop_.run_ready();
        agent_.reset();
        stepds_.reset();
        blobs_.reset();
        loop_.run_ready();
    }
    [[nodiscard]] bool until(const std::function<bool()>& done) {
        bool late = false;
        const rpc::Timer patience = loop_.after(Seconds{30}, [&] {
            late = true;
            loop_.stop();
        });
        rpc::Timer poll;
        std::function<void()> look = [&] {
            if (done()) return loop_.stop();
            poll = loop_.after(Millis{2}, look);
        };
        loop_.post(look);
        loop_.run();
        return !late;
    }
    [[nodiscard]] bool until_phase(const api::LaunchKey& key, Phase phase) {
        return until([&] {
            return controller_.heard.contains(key) && controller_.heard[key].phase == phase;
        });
    }
    [[nodiscard]] std::string dir() const { return folder_.path() + "/n1"; }
    [[nodiscard]] std::string job_folder(const api::LaunchKey& key) const {
        return dir() + "/jobs/" + api::launch_folder_name(key);
    }
    [[nodiscard]] static bool exists(const std::string& path) {
        return ::access(path.c_str(), F_OK) == 0;
    }

    static api::DesiredRun job(std::uint64_t id, const std::string& name) {
        api::DesiredRun run;
        run.launch.key = {model::WorkloadId{id}, 1, 0, 0};
        run.launch.name = name;
        run.launch.launch.script = content_hash(kScript);
        run.launch.launch.environment = content_hash(kScript);
        return run;
    }
    static api::DesiredRun at(api::DesiredRun run, api::Stage stage) {
        run.stage = stage;
        return run;
    }

    Folder folder_;
    rpc::Loop loop_;
    FakeController controller_;
    std::unique_ptr<os::ContainerFactory> containers_;
    std::unique_ptr<Agent> agent_;
    std::unique_ptr<BlobCache> blobs_;
    std::unique_ptr<StepdHost> stepds_;
};

TEST_F(OneNode, RunsAJobAndForgetsIt) {
    const api::DesiredRun run = job(1, "quick");
    const api::LaunchKey key = run.launch.key;
    controller_.desired = {run};
    ASSERT_TRUE(until_phase(key, Phase::Ready));
    EXPECT_TRUE(controller_.hellos.at(0).journal_lost);
    EXPECT_EQ(controller_.fetches, 1) << "script and environment are the same blob";
    EXPECT_EQ(os::read_file(job_folder(key) + "/script").value(), kScript);
    controller_.order({at(run, api::Stage::Go)});
    ASSERT_TRUE(until_phase(key, Phase::Ended));
    EXPECT_EQ(controller_.heard[key].outcome.exit_code, 3);
    EXPECT_FALSE(controller_.steps.empty());
    controller_.order({}, {key});
    ASSERT_TRUE(until([&] { return !exists(job_folder(key)); }));
    EXPECT_TRUE(stepds_->empty());
}

TEST_F(OneNode, AdoptsItsJobsAfterACrash) {
    const api::DesiredRun stays = job(1, "stay");
    const api::DesiredRun ends = job(2, "quick");
    controller_.desired = {stays, ends};
    ASSERT_TRUE(until_phase(stays.launch.key, Phase::Ready));
    ASSERT_TRUE(until_phase(ends.launch.key, Phase::Ready));
    controller_.order({at(stays, api::Stage::Go)});
    ASSERT_TRUE(until_phase(stays.launch.key, Phase::Running));
    crash();
    controller_.heard.clear();
    controller_.desired = {at(stays, api::Stage::Go), at(ends, api::Stage::Go)};
    start();
    ASSERT_TRUE(until_phase(stays.launch.key, Phase::Running));
    ASSERT_TRUE(until_phase(ends.launch.key, Phase::Ended));
    EXPECT_FALSE(controller_.hellos.at(0).journal_lost);
    EXPECT_EQ(controller_.heard[ends.launch.key].outcome.exit_code, 3);
    controller_.order({at(stays, api::Stage::Stop)});
    ASSERT_TRUE(until_phase(stays.launch.key, Phase::Ended));
    EXPECT_EQ(controller_.heard[stays.launch.key].outcome.kind, EndKind::Cancelled);
}

TEST_F(OneNode, FindsTheExitRecordOfWhatEndedWithoutIt) {
    const api::DesiredRun run = job(1, "stay");
    const api::LaunchKey key = run.launch.key;
    controller_.desired = {at(run, api::Stage::Prepare)};
    ASSERT_TRUE(until_phase(key, Phase::Ready));
    const auto stepd = os::read_pid_file(job_folder(key) + "/pid").value();
    crash();
    api::ObservedRun exit;
    exit.key = key;
    exit.phase = Phase::Ended;
    exit.outcome = {.kind = EndKind::Failed, .exit_code = 42};
    ASSERT_TRUE(os::write_file_atomic(job_folder(key) + "/exit", wire::encode(exit)).has_value());
    ASSERT_TRUE(os::send_signal(stepd, SIGKILL).has_value());
    controller_.heard.clear();
    start();
    ASSERT_TRUE(until_phase(key, Phase::Ended));
    EXPECT_EQ(controller_.heard[key].outcome.exit_code, 42);
}

TEST_F(OneNode, SaysThatADaemonVanished) {
    const api::DesiredRun run = job(1, "vanish");
    controller_.desired = {run};
    ASSERT_TRUE(until_phase(run.launch.key, Phase::Ready));
    controller_.order({at(run, api::Stage::Go)});
    ASSERT_TRUE(until_phase(run.launch.key, Phase::Ended));
    EXPECT_EQ(controller_.heard[run.launch.key].outcome.kind, EndKind::NodeFailed);
    EXPECT_TRUE(exists(job_folder(run.launch.key) + "/exit")) << "a late one must not begin";
}

TEST_F(OneNode, SweepsWhatTheJournalDoesNotKnow) {
    const api::DesiredRun run = job(1, "stay");
    const api::LaunchKey key = run.launch.key;
    controller_.desired = {run};
    ASSERT_TRUE(until_phase(key, Phase::Ready));
    const auto stepd = os::read_pid_file(job_folder(key) + "/pid").value();
    stepds_->sweep({key});
    EXPECT_TRUE(os::is_alive(stepd));
    stepds_->sweep({});
    EXPECT_FALSE(exists(job_folder(key)));
    ASSERT_TRUE(until([&] { return !os::is_alive(stepd); }));
}

TEST(Emulated, ManyNodesRunManyJobsOnOneConnection) {
    constexpr std::uint32_t kNodes = 50;
    const Folder folder;
    rpc::Loop loop;
    FakeController controller(loop, folder.path());
    Settings settings;
    settings.keeps_journal = false;
    settings.nodes.resize(kNodes);
    for (std::uint32_t i = 0; i < kNodes; ++i)
        settings.nodes[i].name = "e" + std::to_string(i);
    api::DesiredRun run;
    run.stage = api::Stage::Prepare;
    run.launch.key.workload = model::WorkloadId{1};
    run.launch.emulated_runtime = Millis{1};
    run.launch.emulated_exit = 5;
    controller.desired = {run};
    Agent agent(loop, std::move(settings), std::nullopt);
    EmulatedHost stepds(loop, agent.inlet());
    ASSERT_TRUE(agent.start({}, stepds, controller.address).has_value());
    const auto all = [&](Phase phase) {
        const auto found = controller.heard.find(run.launch.key);
        return found != controller.heard.end() && found->second.phase == phase;
    };
    bool gone = false;
    std::function<void()> look;
    rpc::Timer poll;
    look = [&] {
        if (all(Phase::Ready) && !std::exchange(gone, true)) {
            run.stage = api::Stage::Go;
            controller.order({run});
        }
        if (all(Phase::Ended)) return loop.stop();
        poll = loop.after(Millis{1}, look);
    };
    loop.post(look);
    const rpc::Timer patience = loop.after(Seconds{30}, [&] { loop.stop(); });
    loop.run();
    EXPECT_EQ(controller.heard[run.launch.key].outcome.exit_code, 5);
    EXPECT_EQ(controller.hellos.size(), kNodes);
}

}  // namespace
}  // namespace twinyard::agent
