#include "cli/cluster.h"

#include <optional>
#include <utility>

#include "client/connection.h"
#include "client/find_socket.h"
#include "slurm/errors.h"
#include "wire/messages.h"
#include "wire/method.h"

namespace twinyard::cli {

namespace {

using slurm::Refusal;
using wire::Method;

/// How long an answer may take. A controller under load is slow, not gone; what was lost is asked
/// again with the same request id.
constexpr Seconds kReplyTimeout{60};

class Controller final : public Cluster {
  public:
    Result<api::JobSubmitted> submit(const api::JobRequest& request) override {
        return ask<api::JobSubmitted>(Method::SubmitJob, wire::encode(request));
    }
    Status list_jobs(const api::JobQuery& query, const Visit<api::JobRow>& visit) override {
        return list(Method::ListJobs, wire::encode(query), visit);
    }
    Status list_nodes(const api::NodeQuery& query, const Visit<api::NodeRow>& visit) override {
        return list(Method::ListNodes, wire::encode(query), visit);
    }
    Status list_partitions(const api::PartitionQuery& query,
                           const Visit<api::PartitionRow>& visit) override {
        return list(Method::ListPartitions, wire::encode(query), visit);
    }
    Status list_history(const api::AccountingQuery& query,
                        const Visit<api::AccountingRecord>& visit) override {
        return list(Method::ListHistory, wire::encode(query), visit);
    }
    Result<api::TargetsAnswer> cancel(const api::CancelRequest& request) override {
        return ask<api::TargetsAnswer>(Method::CancelJobs, wire::encode(request));
    }
    Result<api::TargetsAnswer> act(const api::JobActionRequest& request) override {
        return ask<api::TargetsAnswer>(Method::ActOnJobs, wire::encode(request));
    }
    Status update(const api::UpdateRequest& request) override {
        return done(Method::Update, wire::encode(request));
    }
    Result<api::ControllerInfo> info() override {
        return ask<api::ControllerInfo>(Method::Info, {});
    }
    Status reconfigure() override { return done(Method::Reconfigure, {}); }
    Result<std::string> job_script(std::uint32_t job) override {
        return call(Method::JobScript, wire::encode(api::JobQuery{.jobs = {job}}));
    }

  private:
    Status connect() {
        if (connection_ && !connection_->lost()) return {};
        connection_.reset();
        const std::string path = client::find_controller_socket(client::search_from_environment());
        auto opened = client::Connection::open(path, kMessageTimeout);
        if (!opened) return slurm::refuse(Refusal::ConnectFailure);
        connection_ = std::move(*opened);
        connection_->set_reply_timeout(kReplyTimeout);
        return {};
    }

    /// An error of a request: the server's own words, or that the connection broke.
    Error explained(Error error) const {
        if (!connection_->lost()) return error;
        return {ErrorCode::Unavailable, std::string(slurm::text_of(Refusal::SocketTimeout))};
    }

    Result<std::string> call(Method method, const std::string& payload) {
        TRY_STATUS(connect());
        Result<std::string> answer = connection_->call(static_cast<std::uint16_t>(method), payload);
        if (!answer) return fail(explained(std::move(answer).error()));
        return answer;
    }

    Status done(Method method, const std::string& payload) {
        Result<std::string> answer = call(method, payload);
        if (!answer) return fail(std::move(answer).error());
        return {};
    }

    template <class T>
    Result<T> ask(Method method, const std::string& payload) {
        TRY(const std::string bytes, call(method, payload));
        return wire::decode<T>(bytes);
    }

    template <class T>
    Status list(Method method, const std::string& payload, const Visit<T>& visit) {
        TRY_STATUS(connect());
        Status rows_good;
        Status status = connection_->call_streamed(
            static_cast<std::uint16_t>(method), payload, [&](const std::string& part) {
                rows_good = wire::for_each_row<T>(part, visit);
                return rows_good.has_value();
            });
        if (!status) return fail(explained(std::move(status).error()));
        return rows_good;
    }

    std::optional<client::Connection> connection_;
};

}  // namespace

std::unique_ptr<Cluster> connect_to_cluster() {
    return std::make_unique<Controller>();
}

}  // namespace twinyard::cli
