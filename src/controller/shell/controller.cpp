// The controller's start and stop, top to bottom: term → records → sweep → core → configuration →
// threads → socket.
#include "controller/shell/controller.h"

#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <utility>

#include "base/hash.h"
#include "controller/core/pipeline.h"
#include "controller/shell/agent_sessions.h"
#include "controller/shell/load.h"
#include "controller/shell/slurm_door.h"
#include "controller/shell/state_thread.h"
#include "os/files.h"
#include "os/log.h"
#include "rpc/server.h"
#include "slurm/errors.h"
#include "wire/method.h"

namespace twinyard::controller {
namespace {

constexpr std::uint32_t kOverflowUid = 65534;

Result<std::string> random_hex() {
    ContentHash random;
    if (getrandom(random.bytes.data(), random.bytes.size(), 0) !=
        static_cast<ssize_t>(random.bytes.size())) {
        return fail(ErrorCode::Unavailable, "the system gives no random numbers");
    }
    return to_hex(random);
}

Result<std::string> cluster_secret(const std::string& path) {
    if (auto kept = os::read_file(path)) {
        if (kept->size() == 2 * sizeof(ContentHash)) return std::move(*kept);
        return fail(ErrorCode::Corrupt,
                    path + " is damaged: restore it, or remove it to have a new one made");
    }
    TRY(std::string secret, random_hex());
    TRY_STATUS(os::write_file_atomic(path, secret, 0600));
    return secret;
}

/// A folder keeps the name of the cluster that it held, so that a lost or exchanged store is
/// noticed instead of taken for a new cluster.
Status check_cluster_id(const std::string& path, const std::string& stored) {
    const auto kept = os::read_file(path);
    if (kept && *kept != stored) {
        return fail(
            ErrorCode::Corrupt,
            "the store " + std::string(stored.empty() ? "is empty" : "is of another cluster") +
                ", but this folder held one (" + path +
                "): restore the store, or remove the folders state and nodes to start anew");
    }
    if (kept || stored.empty()) return {};
    return os::write_file_atomic(path, stored, 0600);
}

ClusterTime running_now(const void* clock) {
    return static_cast<const RunningClock*>(clock)->now();
}

}  // namespace

struct Controller::Impl {
    ControllerOptions options;
    store::Store& store;
    accounting::Accounting& accounting;
    ConfigSource config;
    std::function<void(const std::string&)> fatal;
    model::Term term = 0;
    std::string cluster_id;
    std::shared_ptr<Lanes> lanes =
        std::make_shared<Lanes>();  // Owners: this, threads that push, replies of the store.
    Published published;
    std::optional<RunningClock> clock;
    std::optional<AccountingThread> history;
    std::optional<EngineThread> engine;
    std::optional<AgentSessions> agents;
    std::optional<StateThread> state;
    std::optional<Workers> workers;
    std::optional<Context> context;
    std::optional<SlurmDoor> door;
    std::optional<rpc::Server> server;

    Impl(ControllerOptions o,
         store::Store& s,
         accounting::Accounting& a,
         ConfigSource c,
         std::function<void(const std::string&)> f)
        : options(std::move(o)),
          store(s),
          accounting(a),
          config(std::move(c)),
          fatal(std::move(f)) {}
    ~Impl();

    Status load_and_start();
    [[nodiscard]] Result<Core> load_core(model::ClusterConfigPtr first_config,
                                         api::Envelope& at_start);
    [[nodiscard]] ReleaseSinks sinks();
    Status listen();
    void handle(rpc::Call call);
    void handle_on_worker(rpc::Call call);
    void fetch_blob(rpc::Call call);
};

Controller::Impl::~Impl() {
    if (server) server->stop();
    if (workers) workers->stop();
    if (engine) engine->stop();
    if (state) state->stop();
    if (history) history->stop();
    // From its first batch on the store holds the cluster, and the folder remembers that it should.
    const auto mark = store.last_batch();
    if (state && mark && mark->seq > 0)
        (void)check_cluster_id(options.cluster_secret_path + ".id", cluster_id);
}

Result<Core> Controller::Impl::load_core(model::ClusterConfigPtr first_config,
                                         api::Envelope& at_start) {
    TRY(term, store.acquire_term());
    TRY(Records records, load_records(store));
    TRY_STATUS(sweep_blobs(store, term, records));
    TRY_STATUS(check_cluster_id(options.cluster_secret_path + ".id", records.counters.cluster_id));
    if (records.counters.cluster_id.empty()) {
        TRY(records.counters.cluster_id, random_hex());
    }
    cluster_id = records.counters.cluster_id;
    TRY(std::string secret, cluster_secret(options.cluster_secret_path));
    clock.emplace(records.counters.time);
    at_start.time = clock->now();
    at_start.wall = RunningClock::wall();
    return Core::load(
        {.term = term, .cluster_secret = std::move(secret), .config = std::move(first_config)},
        std::move(records),
        at_start);
}

ReleaseSinks Controller::Impl::sinks() {
    return {
        .changes = [this](const model::SnapshotPtr& after,
                          model::ChangeSet&& changes) { engine->feed(after, std::move(changes)); },
        .effects =
            [this](std::vector<api::Effect>&& effects) {
                agents->send(std::move(effects), cluster_id);
            },
        .outbox =
            [this](std::vector<api::AccountingRecord>&& rows) { history->add(std::move(rows)); },
        .each_second =
            [this](const Core& core) {
                return agents->each_second(
                    core, clock->now(), published.snapshot()->config->limits);
            },
        .fatal = fatal,
    };
}

Status Controller::Impl::load_and_start() {
    api::Envelope envelope{.principal = {.uid = 0, .gid = 0, .is_admin = true}};
    TRY(model::ClusterConfigPtr first_config, config.load());
    TRY(Core core, load_core(first_config, envelope));
    TRY(const store::BatchMark mark, store.last_batch());
    std::vector<api::AccountingRecord> unrecorded;
    for (std::uint64_t after = 0;;) {
        auto rows = core.outbox(after, 10'000);
        if (rows.empty()) break;
        after = rows.back().outbox_seq;
        unrecorded.insert(unrecorded.end(),
                          std::make_move_iterator(rows.begin()),
                          std::make_move_iterator(rows.end()));
    }
    const store::Limits limits = store.limits();
    Pipeline pipeline(std::move(core),
                      {.ops_max = limits.ops_max, .bytes_max = limits.bytes_max},
                      mark.seq + 1,
                      encode_record);

    history.emplace(lanes, accounting);
    engine.emplace(lanes, published, running_now, &*clock);
    agents.emplace(lanes, term, options.heartbeat);
    workers.emplace(options.workers);
    state.emplace(std::move(pipeline), store, term, *clock, lanes, published, sinks());
    // First in its lane: nobody else can push yet.
    if (!lanes->try_push(Lane::Agents,
                         {.command = api::Configure{std::move(first_config)},
                          .principal = envelope.principal})) {
        return fail(ErrorCode::Unavailable, "the state thread takes nothing");
    }
    history->add(std::move(unrecorded));
    state->start();
    history->start();
    engine->start(published.snapshot());
    context.emplace(Context{lanes,
                            published,
                            *workers,
                            *history,
                            *engine,
                            store,
                            term,
                            *clock,
                            config,
                            geteuid(),
                            RunningClock::wall()});
    door.emplace(*context);
    return listen();
}

Status Controller::Impl::listen() {
    rpc::ServerOptions server_options;
    server_options.requests_max = 64;
    auto listening = rpc::Server::listen("unix:" + options.socket_path,
                                         server_options,
                                         [this](rpc::Call call) { handle(std::move(call)); });
    if (!listening)
        return fail(std::move(listening).error().in("listen on " + options.socket_path));
    server.emplace(std::move(*listening));
    os::log_info("controller of term {} listens on {}", term, options.socket_path);
    return {};
}

void Controller::Impl::handle(rpc::Call call) {
    const std::uint32_t uid = call.peer().uid;
    if (uid == kOverflowUid)
        return call.fail(Error(ErrorCode::Denied, "the overflow user may not use the cluster"));
    const auto method = static_cast<wire::Method>(call.method());
    const bool of_agents = method == wire::Method::AgentStream ||
                           method == wire::Method::AgentReport || method == wire::Method::FetchBlob;
    if (of_agents && uid != 0 && uid != geteuid()) {
        return call.fail(Error(ErrorCode::Denied, "only agents of the cluster may do this"));
    }
    if (method == wire::Method::AgentStream) return agents->on_stream(std::move(call));
    if (method == wire::Method::AgentReport) return agents->on_report(std::move(call));
    handle_on_worker(std::move(call));
}

void Controller::Impl::handle_on_worker(rpc::Call call) {
    auto shared = std::make_shared<rpc::Call>(std::move(call));
    const bool taken = workers->try_post([this, shared] {
        if (static_cast<wire::Method>(shared->method()) == wire::Method::FetchBlob)
            return fetch_blob(std::move(*shared));
        door->handle(std::move(*shared));
    });
    if (!taken)
        shared->fail(
            Error(ErrorCode::Unavailable, std::string(slurm::text_of(slurm::Refusal::TryAgain))));
}

void Controller::Impl::fetch_blob(rpc::Call call) {
    ContentHash hash;
    if (call.payload().size() != hash.bytes.size())
        return call.fail(Error(ErrorCode::InvalidArgument, "a hash has 16 bytes"));
    std::copy(call.payload().begin(), call.payload().end(), hash.bytes.begin());
    auto bytes = read_blob(store, hash);
    if (!bytes) return call.fail(std::move(bytes).error());
    call.reply(std::move(*bytes));
}

Controller::Controller(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Controller::~Controller() = default;

Result<std::unique_ptr<Controller>> Controller::start(
    ControllerOptions options,
    store::Store& store,
    accounting::Accounting& history,
    ConfigSource config,
    std::function<void(const std::string&)> fatal) {
    auto impl = std::make_unique<Impl>(
        std::move(options), store, history, std::move(config), std::move(fatal));
    TRY_STATUS(impl->load_and_start());
    return std::unique_ptr<Controller>(new Controller(std::move(impl)));
}

void Controller::reconfigure() {
    auto config = impl_->config.load();
    if (!config) {
        os::log_error("reconfigure: {}; the configuration stays as it was",
                      config.error().message());
        return;
    }
    const api::Principal principal{.uid = 0, .gid = 0, .is_admin = true};
    if (!impl_->lanes->try_push(
            Lane::Control,
            {.command = api::Configure{std::move(*config)}, .principal = principal})) {
        os::log_error("reconfigure: the controller is busy");
    }
}

}  // namespace twinyard::controller
