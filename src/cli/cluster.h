#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/accounting.h"
#include "api/slurm.h"
#include "base/result.h"
#include "base/time.h"

namespace twinyard::cli {

/// MessageTimeout: how long a command tries to reach the controller.
inline constexpr Seconds kMessageTimeout{10};

/// The cluster as commands see it. Errors have Slurm's text, ready to be printed after the
/// command's own words. Unavailable with slurm::Refusal::ConnectFailure's text: nobody answered for
/// kMessageTimeout; Unavailable with another text: may have been done or may be tried again, with
/// the same request id. One thread.
class Cluster {
  public:
    Cluster() = default;
    Cluster(const Cluster&) = delete;
    Cluster& operator=(const Cluster&) = delete;
    virtual ~Cluster() = default;

    template <class T>
    using Visit = std::function<void(T)>;

    [[nodiscard]] virtual Result<api::JobSubmitted> submit(const api::JobRequest& request) = 0;
    /// Row by row, as they come.
    [[nodiscard]] virtual Status list_jobs(const api::JobQuery& query,
                                           const Visit<api::JobRow>& visit) = 0;
    [[nodiscard]] virtual Status list_nodes(const api::NodeQuery& query,
                                            const Visit<api::NodeRow>& visit) = 0;
    [[nodiscard]] virtual Status list_partitions(const api::PartitionQuery& query,
                                                 const Visit<api::PartitionRow>& visit) = 0;
    [[nodiscard]] virtual Status list_history(const api::AccountingQuery& query,
                                              const Visit<api::AccountingRecord>& visit) = 0;
    [[nodiscard]] virtual Result<api::TargetsAnswer> cancel(const api::CancelRequest& request) = 0;
    [[nodiscard]] virtual Result<api::TargetsAnswer> act(const api::JobActionRequest& request) = 0;
    [[nodiscard]] virtual Status update(const api::UpdateRequest& request) = 0;
    [[nodiscard]] virtual Result<api::ControllerInfo> info() = 0;
    [[nodiscard]] virtual Status reconfigure() = 0;
    [[nodiscard]] virtual Result<std::string> job_script(std::uint32_t job) = 0;
};

/// All rows of a listing.
template <class Row, class Query>
[[nodiscard]] Result<std::vector<Row>> rows_of(
    Cluster& cluster,
    Status (Cluster::*list)(const Query&, const std::function<void(Row)>&),
    const Query& query) {
    std::vector<Row> rows;
    TRY_STATUS((cluster.*list)(query, [&rows](Row row) { rows.push_back(std::move(row)); }));
    return rows;
}

/// The cluster that SLURM_CONF and the system folder lead to. Connects at the first call, and
/// again after a connection was lost.
[[nodiscard]] std::unique_ptr<Cluster> connect_to_cluster();

}  // namespace twinyard::cli
