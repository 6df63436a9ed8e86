// The controller as its clients see it: a real socket, a real SQLite store, an agent played by the
// test.
#include "controller/shell/controller.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <future>
#include <mutex>

#include "accounting/memory/memory_accounting.h"
#include "api/slurm.h"
#include "client/connection.h"
#include "rpc/client.h"
#include "slurm/errors.h"
#include "store/memory/memory_store.h"
#include "wire/messages.h"
#include "wire/method.h"

namespace twinyard::controller {
namespace {

using wire::Method;

std::uint16_t number(Method method) {
    return static_cast<std::uint16_t>(method);
}

model::ClusterConfigPtr one_partition() {
    auto config = std::make_shared<model::ClusterConfig>();
    model::Partition partition;
    partition.name = "main";
    partition.all_nodes = true;
    partition.is_default = true;
    config->partitions.push_back(partition);
    config->qos.push_back({.name = "normal"});
    return config;
}

/// A memory store whose faults may be changed while the controller uses it.
class SharedStore final : public store::Store {
  public:
    explicit SharedStore(store::MemoryDisk& disk)
        : disk_(disk), inner_(disk, store::MemoryStore::Mode::Immediate) {}

    void fault(store::Fault fault) {
        const std::lock_guard lock(mutex_);
        disk_.faults.otherwise = fault;
    }
    Status submit(store::Batch batch, store::Completion done) override {
        const std::lock_guard lock(mutex_);
        return inner_.submit(std::move(batch), std::move(done));
    }
    Status submit(store::SideWrite write, store::Completion done) override {
        const std::lock_guard lock(mutex_);
        return inner_.submit(std::move(write), std::move(done));
    }
    Result<std::optional<std::string>> get(std::string_view key) override {
        return inner_.get(key);
    }
    Status scan(std::string_view prefix, const store::ScanCallback& callback) override {
        return inner_.scan(prefix, callback);
    }
    Result<std::uint64_t> acquire_term() override { return inner_.acquire_term(); }

  private:
    std::mutex mutex_;
    store::MemoryDisk& disk_;
    store::MemoryStore inner_;
};

class ControllerTest : public ::testing::Test {
  protected:
    void SetUp() override {
        std::string pattern = ::testing::TempDir() + "controller.XXXXXX";
        ASSERT_NE(mkdtemp(pattern.data()), nullptr);
        folder_ = pattern;
        start();
    }
    void TearDown() override {
        stop();
        std::filesystem::remove_all(folder_);
    }

    void start() {
        store_ = std::make_unique<SharedStore>(disk_);
        ConfigSource config{.load = [] { return one_partition(); },
                            .rows =
                                [] {
                                    return std::vector<std::pair<std::string, std::string>>{
                                        {"ClusterName", "test"}};
                                }};
        auto started =
            Controller::start({.socket_path = socket(), .cluster_secret_path = folder_ + "/secret"},
                              *store_,
                              history_,
                              std::move(config),
                              [](const std::string& why) { ADD_FAILURE() << why; });
        ASSERT_TRUE(started.has_value()) << started.error().message();
        controller_ = std::move(*started);
    }
    void stop() {
        controller_.reset();
        store_.reset();
    }

    [[nodiscard]] std::string socket() const { return folder_ + "/controller.sock"; }
    client::Connection connect() {
        auto connection = client::Connection::open(socket(), Millis{5'000});
        EXPECT_TRUE(connection.has_value());
        return std::move(*connection);
    }
    static api::JobRequest request(std::uint8_t id) {
        api::JobRequest request;
        request.request_id[0] = id;
        request.uid = getuid();
        request.gid = getgid();
        request.script = "#!/bin/sh\ntrue\n";
        request.mem_per_node_mb = 100;
        request.name = "job";
        request.work_dir = "/";
        return request;
    }
    template <class Answer, class Request>
    Result<Answer> call(client::Connection& connection, Method method, const Request& request) {
        TRY(const std::string bytes, connection.call(number(method), wire::encode(request)));
        return wire::decode<Answer>(bytes);
    }
    std::vector<api::JobRow> jobs(client::Connection& connection, const api::JobQuery& query) {
        std::vector<api::JobRow> rows;
        const Status listed = connection.call_streamed(
            number(Method::ListJobs), wire::encode(query), [&](std::string part) {
                EXPECT_TRUE(wire::for_each_row<api::JobRow>(part, [&](api::JobRow row) {
                                rows.push_back(row);
                            }).has_value());
                return true;
            });
        EXPECT_TRUE(listed.has_value());
        return rows;
    }

    std::string folder_;
    store::MemoryDisk disk_;
    std::unique_ptr<SharedStore> store_;
    accounting::MemoryAccounting history_;
    std::unique_ptr<Controller> controller_;
};

TEST_F(ControllerTest, AnAcknowledgedJobIsThereAfterARestart) {
    auto connection = connect();
    const auto first = call<api::JobSubmitted>(connection, Method::SubmitJob, request(1));
    ASSERT_TRUE(first.has_value()) << first.error().message();
    EXPECT_EQ(jobs(connection, {}).size(), 1u);
    stop();
    start();
    auto again = connect();
    const auto rows = jobs(again, {});
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows[0].job, first->job);
    const auto second = call<api::JobSubmitted>(again, Method::SubmitJob, request(2));
    EXPECT_EQ(second->job, first->job + 1) << "numbers go on";
}

TEST_F(ControllerTest, KnowsItsPartitionsBeforeItsFirstBatchIsDurable) {
    stop();
    disk_.faults.otherwise = store::Fault::Refuse;
    start();
    auto connection = connect();
    std::vector<std::string> names;
    const Status listed = connection.call_streamed(
        number(Method::ListPartitions), wire::encode(api::PartitionQuery{}), [&](std::string part) {
            return wire::for_each_row<api::PartitionRow>(
                       part, [&](api::PartitionRow row) { names.push_back(row.name); })
                .has_value();
        });
    EXPECT_TRUE(listed.has_value());
    EXPECT_EQ(names, std::vector<std::string>{"main"});
    store_->fault(store::Fault::None);
}

TEST_F(ControllerTest, ALostStoreIsNoticed) {
    stop();
    store::MemoryDisk empty;
    SharedStore other(empty);
    ConfigSource config{.load = [] { return one_partition(); },
                        .rows = [] { return std::vector<std::pair<std::string, std::string>>{}; }};
    const auto started =
        Controller::start({.socket_path = socket(), .cluster_secret_path = folder_ + "/secret"},
                          other,
                          history_,
                          std::move(config),
                          [](const std::string&) {});
    ASSERT_FALSE(started.has_value());
    EXPECT_NE(started.error().message().find("the store is empty"), std::string::npos)
        << started.error().message();
    start();
}

TEST_F(ControllerTest, ARepeatedRequestGetsItsFirstAnswer) {
    auto connection = connect();
    const auto first = call<api::JobSubmitted>(connection, Method::SubmitJob, request(1));
    const auto second = call<api::JobSubmitted>(connection, Method::SubmitJob, request(1));
    ASSERT_TRUE(first.has_value() && second.has_value());
    EXPECT_EQ(first->job, second->job);
    EXPECT_EQ(jobs(connection, {}).size(), 1u);
}

TEST_F(ControllerTest, LargeScriptsComeBackWhole) {
    auto connection = connect();
    api::JobRequest large = request(1);
    large.script += "# " + std::string(1'500'000, 'x') + "\n";
    const auto submitted = call<api::JobSubmitted>(connection, Method::SubmitJob, large);
    ASSERT_TRUE(submitted.has_value()) << submitted.error().message();
    const auto script = connection.call(number(Method::JobScript),
                                        wire::encode(api::JobQuery{.jobs = {submitted->job}}));
    ASSERT_TRUE(script.has_value());
    EXPECT_EQ(*script, large.script);
}

TEST_F(ControllerTest, AStoreThatRefusesTakesNoNewWorkAndRecovers) {
    auto connection = connect();
    store_->fault(store::Fault::Refuse);
    // The first one meets the refusal in its own batch, and is acknowledged only when the store
    // writes again; those after it are refused at once. Which of the two comes first is not said,
    // so neither may wait for ever here.
    auto waiting = std::async(std::launch::async, [&] {
        auto other = connect();
        return call<api::JobSubmitted>(other, Method::SubmitJob, request(1));
    });
    std::string said;
    for (std::uint8_t id = 2; said.find("cannot store new work") == std::string::npos; ++id) {
        ASSERT_LT(id, 200) << said;
        auto other = connect();
        other.set_reply_timeout(Millis{200});
        const auto refused = call<api::JobSubmitted>(other, Method::SubmitJob, request(id));
        ASSERT_FALSE(refused.has_value());
        said = refused.error().message();
    }
    store_->fault(store::Fault::None);
    const auto first = waiting.get();
    if (!first) {
        EXPECT_NE(first.error().message().find("cannot store new work"), std::string::npos);
    }
    Result<api::JobSubmitted> taken = fail(ErrorCode::NotFound, "");
    for (int tries = 0; !taken && tries < 10'000; ++tries)
        taken = call<api::JobSubmitted>(connection, Method::SubmitJob, request(250));
    EXPECT_TRUE(taken.has_value());
}

TEST_F(ControllerTest, CancelsManyInSlicesAndNamesWhatItDoesNotKnow) {
    auto connection = connect();
    api::CancelRequest cancel;
    for (std::uint8_t id = 1; id <= 50; ++id) {
        cancel.targets.jobs.push_back(
            call<api::JobSubmitted>(connection, Method::SubmitJob, request(id))->job);
    }
    cancel.targets.jobs.push_back(999);
    const auto answer = call<api::TargetsAnswer>(connection, Method::CancelJobs, cancel);
    ASSERT_TRUE(answer.has_value());
    ASSERT_EQ(answer->entries.size(), 51u);
    EXPECT_EQ(answer->entries[0].error, slurm::text_of(slurm::Refusal::InvalidJobId));
    for (std::size_t i = 1; i < answer->entries.size(); ++i)
        EXPECT_EQ(answer->entries[i].error, "");
    EXPECT_TRUE(jobs(connection, {}).empty());
    EXPECT_EQ(jobs(connection, {.all_states = true}).size(), 50u);
}

TEST_F(ControllerTest, HistoryHasAJobTheMomentItIsAcknowledged) {
    history_.refuse_writes(true);
    auto connection = connect();
    const auto submitted = call<api::JobSubmitted>(connection, Method::SubmitJob, request(1));
    std::vector<api::AccountingRecord> rows;
    const auto collect = [&](std::string part) {
        EXPECT_TRUE(wire::for_each_row<api::AccountingRecord>(part, [&](api::AccountingRecord r) {
                        rows.push_back(r);
                    }).has_value());
        return true;
    };
    ASSERT_TRUE(connection
                    .call_streamed(
                        number(Method::ListHistory), wire::encode(api::AccountingQuery{}), collect)
                    .has_value());
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows[0].job.value(), submitted->job);
    history_.refuse_writes(false);
}

TEST_F(ControllerTest, GarbageCostsItsSenderOneAnswer) {
    auto connection = connect();
    for (const Method method : {Method::SubmitJob,
                                Method::ListJobs,
                                Method::CancelJobs,
                                Method::AgentStream,
                                Method::AgentReport}) {
        const auto answer = connection.call(number(method), "\xff\xff\xff\xff");
        EXPECT_FALSE(answer.has_value());
        EXPECT_FALSE(connection.lost());
    }
    EXPECT_FALSE(connection.call(30'000, "").has_value());
    EXPECT_TRUE(call<api::JobSubmitted>(connection, Method::SubmitJob, request(1)).has_value());
}

}  // namespace
}  // namespace twinyard::controller
