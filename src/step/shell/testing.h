#pragma once

// For the tests of this folder: plays the agent to real step daemons.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/step.h"
#include "api/stepd.h"
#include "os/boot_clock.h"
#include "os/files.h"
#include "os/process_container.h"
#include "os/spawn.h"
#include "rpc/client.h"
#include "rpc/loop.h"
#include "slurm/environment.h"
#include "wire/messages.h"
#include "wire/method.h"

namespace twinyard::step {

/// A folder that is gone with the object; the daemons' folders and the jobs' output lie in it.
class TestFolder {
  public:
    TestFolder() {
        char path[] = "/tmp/step_test_XXXXXX";
        EXPECT_NE(::mkdtemp(path), nullptr);
        path_ = path;
        EXPECT_EQ(::chmod(path, 0755), 0);
    }
    ~TestFolder() { EXPECT_TRUE(os::remove_tree(path_).has_value()); }
    TestFolder(const TestFolder&) = delete;
    TestFolder& operator=(const TestFolder&) = delete;

    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] std::string file(const std::string& name) const { return path_ + '/' + name; }
    [[nodiscard]] std::string read(const std::string& name) const {
        return os::read_file(file(name)).value_or("<no " + name + ">");
    }

  private:
    std::string path_;
};

/// Runs the loop until `done`; false after a time that only a hang reaches.
inline bool run_until(rpc::Loop& loop, const std::function<bool()>& done) {
    bool late = false;
    const rpc::Timer limit = loop.after(Millis(30'000), [&] { late = true; });
    std::function<void()> look;
    rpc::Timer again;
    look = [&] {
        if (done() || late) return loop.stop();
        again = loop.after(Millis(2), [&] { look(); });
    };
    look();
    loop.run();
    return !late;
}

/// One step daemon of a job, and the agent's end of its socket.
class Stepd {
  public:
    Stepd(rpc::Loop& loop, const TestFolder& folder, api::LaunchOrder order, std::string node)
        : loop_(loop), order_(std::move(order)), node_(std::move(node)) {
        node_dir_ = folder.file("node_" + node_);
        ::mkdir(node_dir_.c_str(), 0755);
        ::mkdir((node_dir_ + "/jobs").c_str(), 0700);
        dir_ = node_dir_ + "/jobs/" + api::launch_folder_name(order_.key);
        containers_ = "twinyard_steptest" + std::to_string(::getpid()) + "_" + node_;
    }
    ~Stepd() {
        client_.reset();
        if (id_.pid > 0 && !ended()) ::kill(id_.pid, SIGKILL);
        if (id_.pid > 0) {
            ::kill(id_.pid, SIGTERM);
            EXPECT_TRUE(os::wait_for(id_.pid).has_value());
        }
        const auto factory = os::detect_containers(containers_);
        EXPECT_TRUE(factory.has_value() && (*factory)->remove_base().has_value());
    }
    Stepd(const Stepd&) = delete;
    Stepd& operator=(const Stepd&) = delete;

    void start(const std::string& script, const std::vector<std::string>& environment = {}) {
        ASSERT_TRUE(os::make_private_folder(dir_).has_value());
        if (!script.empty()) {
            order_.launch.script = content_hash(script);
            ASSERT_TRUE(os::write_file_atomic(dir_ + "/script", script).has_value());
        }
        ASSERT_TRUE(
            os::write_file_atomic(dir_ + "/environment", slurm::join_environment(environment))
                .has_value());
        ASSERT_TRUE(os::write_file_atomic(dir_ + "/launch", wire::encode(order_)).has_value());
        os::SpawnRequest request;
        request.argv = {TWINYARD_STEPD,
                        "--dir",
                        dir_,
                        "--node",
                        node_,
                        "--node-dir",
                        node_dir_,
                        "--containers",
                        containers_,
                        "--cpuset-alone"};
        if (node_hostname) request.argv.emplace_back("--node-hostname");
        request.env = {"PATH=/usr/bin:/bin"};
        const auto id = os::spawn(request);
        ASSERT_TRUE(id.has_value());
        id_ = *id;
        connect();
    }

    void order(api::Stage stage, api::StopReason reason = api::StopReason::None) {
        api::DesiredRun run;
        run.stage = stage;
        run.reason = reason;
        run.kill_wait = kill_wait;
        run.launch = order_;
        call(wire::Method::StepdOrder, wire::encode(run));
    }
    void signal(int number, api::SignalScope scope) {
        call(wire::Method::StepdSignal,
             wire::encode(api::SignalOrder{.key = order_.key, .signal = number, .scope = scope}));
    }
    [[nodiscard]] bool wait_phase(api::Phase phase) {
        return run_until(loop_, [&] { return seen_ && run_.phase >= phase; });
    }
    /// Ready, Go, and the end.
    [[nodiscard]] model::Outcome run_to_end() {
        EXPECT_TRUE(wait_phase(api::Phase::Ready));
        order(api::Stage::Go);
        EXPECT_TRUE(wait_phase(api::Phase::Ended));
        return run_.outcome;
    }
    [[nodiscard]] bool ended() const { return seen_ && run_.phase == api::Phase::Ended; }
    [[nodiscard]] const api::ObservedRun& run() const { return run_; }
    [[nodiscard]] api::LaunchOrder& order_now() { return order_; }
    [[nodiscard]] std::string address() const { return "unix:" + dir_ + "/stepd.sock"; }
    [[nodiscard]] const std::string& dir() const { return dir_; }
    [[nodiscard]] const std::vector<api::StepRecord>& steps() const { return steps_; }
    [[nodiscard]] rpc::Client& client() { return *client_; }
    [[nodiscard]] std::string log() const {
        return os::read_file(dir_ + "/log").value_or(std::string());
    }

    Millis kill_wait{30'000};
    bool node_hostname = false;

  private:
    void connect() {
        rpc::ClientOptions options;
        options.reconnect_delay_min = Millis(2);
        options.reconnect_delay_max = Millis(20);
        auto client = rpc::Client::connect(
            loop_,
            address(),
            options,
            {.on_connected = [this](std::uint16_t) { watch(); }, .on_disconnected = {}});
        ASSERT_TRUE(client.has_value());
        client_ = std::make_unique<rpc::Client>(*std::move(client));
    }
    void watch() {
        (void)client_->open_stream(
            {.method = static_cast<std::uint16_t>(wire::Method::StepdWatch)},
            [this](const std::string& part) {
                run_ = wire::decode<api::ObservedRun>(part).value_or(api::ObservedRun{});
                seen_ = true;
            },
            [](const Status&) {});
        (void)client_->open_stream(
            {.method = static_cast<std::uint16_t>(wire::Method::StepdSteps)},
            [this](const std::string& part) {
                steps_.push_back(wire::decode<api::StepRecord>(part).value_or(api::StepRecord{}));
            },
            [](const Status&) {});
    }
    void call(wire::Method method, std::string payload) {
        (void)client_->call(
            static_cast<std::uint16_t>(method),
            std::move(payload),
            Millis(10'000),
            [](const Result<std::string>& answer) { EXPECT_TRUE(answer.has_value()); });
    }

    rpc::Loop& loop_;
    api::LaunchOrder order_;
    std::string node_, node_dir_, dir_, containers_;
    os::ProcessId id_;
    std::unique_ptr<rpc::Client> client_;
    bool seen_ = false;
    api::ObservedRun run_;
    std::vector<api::StepRecord> steps_;
};

/// srun's end of a step.
class Srun {
  public:
    Srun(Stepd& stepd, const api::StepRequest& request) : client_(stepd.client()) {
        stream_ = client_.open_stream(
            {.method = static_cast<std::uint16_t>(wire::Method::RunStep),
             .payload = wire::encode(request),
             .sends_parts = true},
            [this](const std::string& part) {
                take(wire::decode<api::StepEvent>(part).value_or(api::StepEvent{}));
            },
            [this](const Status&) { over = true; });
    }
    ~Srun() { client_.cancel(stream_); }
    Srun(const Srun&) = delete;
    Srun& operator=(const Srun&) = delete;

    void send(const api::StepEvent& event) { client_.send_part(stream_, wire::encode(event)); }
    void leave() { client_.cancel(stream_); }

    std::map<std::uint32_t, std::string> out, err;  ///< By task.
    std::vector<api::StepEvent> events;
    std::string messages;
    std::optional<int> exit_code;
    std::string refused;
    bool created = false, waiting = false, over = false;
    std::size_t started = 0;

  private:
    void take(api::StepEvent event) {
        using Kind = api::StepEvent::Kind;
        if (event.kind == Kind::Stdout) out[event.task] += event.data;
        if (event.kind == Kind::Stderr) err[event.task] += event.data;
        if (event.kind == Kind::Message) messages += event.data;
        if (event.kind == Kind::Created) created = true;
        if (event.kind == Kind::Waiting) waiting = true;
        if (event.kind == Kind::TaskStarted) ++started;
        if (event.kind == Kind::Refused) refused = event.data;
        if (event.kind == Kind::Finished) exit_code = event.value;
        events.push_back(std::move(event));
    }
    rpc::Client& client_;
    rpc::CallId stream_ = 0;
};

/// A job on n1 (and more), with its output in `folder`.
inline api::LaunchOrder job_order(const TestFolder& folder, std::vector<std::string> nodes) {
    api::LaunchOrder order;
    order.key = {.workload = model::WorkloadId(17), .attempt = 1, .group = 0, .member = 0};
    order.job = model::JobId(17);
    order.name = "test";
    order.uid = ::geteuid();
    order.gid = ::getegid();
    order.secret = "hush";
    order.started_wall = os::wall_now();
    order.grant.cpus = {0, 1, 2, 3};
    order.gang.members.assign(nodes.size(), 1);
    order.gang.cpus.assign(nodes.size(), 4);
    order.gang.devices.assign(nodes.size(), 0);
    order.gang.nodes = std::move(nodes);
    order.launch.work_dir = folder.path();
    order.launch.std_out = "out";
    return order;
}

}  // namespace twinyard::step
