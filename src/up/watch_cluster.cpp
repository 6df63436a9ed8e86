#include "up/watch_cluster.h"

#include <chrono>
#include <set>
#include <thread>

#include "api/slurm.h"
#include "base/hostlist.h"
#include "client/connection.h"
#include "up/cluster_plan.h"
#include "wire/messages.h"
#include "wire/method.h"

namespace twinyard::up {
namespace {

using Clock = std::chrono::steady_clock;

constexpr Millis kConnectTimeout{2'000};
constexpr std::chrono::milliseconds kPoll{50};
// Each waits kConnectTimeout for a controller that is being started again.
constexpr int kFailuresMax = 5;

template <class Row, class Query>
Result<std::vector<Row>> list(client::Connection& connection,
                              wire::Method method,
                              const Query& query) {
    std::vector<Row> rows;
    Status bad;
    TRY_STATUS(connection.call_streamed(
        static_cast<std::uint16_t>(method), wire::encode(query), [&](std::string part) {
            bad = wire::for_each_row<Row>(part, [&](Row row) { rows.push_back(std::move(row)); });
            return bad.has_value();
        }));
    if (!bad) return fail(bad.error());
    return rows;
}

Result<std::vector<std::string>> missing_nodes(const std::string& dir,
                                               const std::vector<std::string>& nodes) {
    TRY(client::Connection connection, client::Connection::open(socket_file(dir), kConnectTimeout));
    TRY(const auto rows, list<api::NodeRow>(connection, wire::Method::ListNodes, api::NodeQuery{}));
    std::set<std::string> there;
    for (const api::NodeRow& row : rows) {
        if (!row.no_agent && !row.no_respond) there.insert(row.name);
    }
    std::vector<std::string> missing;
    for (const std::string& node : nodes) {
        if (!there.contains(node)) missing.push_back(node);
    }
    return missing;
}

Result<std::size_t> live_jobs(client::Connection& connection) {
    api::JobQuery query;
    query.states = {"RUNNING", "SUSPENDED", "COMPLETING", "CONFIGURING"};
    TRY(const auto rows, list<api::JobRow>(connection, wire::Method::ListJobs, query));
    return rows.size();
}

}  // namespace

Status wait_until_ready(const std::string& dir,
                        const std::vector<std::string>& nodes,
                        Millis timeout) {
    const auto deadline = Clock::now() + timeout;
    std::string lacks = "the controller does not answer";
    while (Clock::now() < deadline) {
        const auto missing = missing_nodes(dir, nodes);
        if (missing && missing->empty()) return {};
        lacks = missing ? "no agent yet on " + fold_hostlist(*missing) : missing.error().message();
        std::this_thread::sleep_for(kPoll);
    }
    return fail(ErrorCode::Unavailable, lacks + "; see the logs in " + dir + "/log");
}

/// One round: all are told, and how many are left.
Result<std::size_t> tell_all(const std::string& dir, std::uint32_t& told) {
    TRY(client::Connection connection, client::Connection::open(socket_file(dir), kConnectTimeout));
    TRY(const std::string bytes,
        connection.call(static_cast<std::uint16_t>(wire::Method::EndAll), ""));
    TRY(const api::TargetsAnswer answer, wire::decode<api::TargetsAnswer>(bytes));
    for (const auto& entry : answer.entries)
        told += entry.error.empty() ? 1U : 0U;
    return live_jobs(connection);
}

Result<std::uint32_t> end_all_jobs(const std::string& dir, Millis timeout) {
    std::uint32_t told = 0;
    std::size_t last = 0;
    int failures = 0;
    auto deadline = Clock::now() + timeout;
    for (;;) {
        const auto left = tell_all(dir, told);
        if (left && *left == 0) return told;
        // A controller that was killed meanwhile is started again, and does not know that all are
        // to end.
        failures = left ? 0 : failures + 1;
        if (failures > kFailuresMax) return fail(left.error());
        if (left && *left != last) {
            deadline = Clock::now() + timeout;
            last = *left;
        }
        if (Clock::now() > deadline)
            return fail(ErrorCode::Unavailable, std::to_string(last) + " jobs do not end");
        std::this_thread::sleep_for(kPoll);
    }
}

}  // namespace twinyard::up
