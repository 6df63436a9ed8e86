#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/command.h"
#include "base/hash.h"
#include "base/time.h"
#include "model/ids.h"
#include "model/snapshot.h"

namespace twinyard::controller {

/// Most records that one command changes: always one transaction, whatever the store's engine.
inline constexpr std::size_t kCommandMutationsMax = 64;
/// Most entries of one ApplyPlan; the shell slices what is more.
inline constexpr std::size_t kPlanStartsMax = 16;

/// The durable records, decoded. What a start reads from the store, and what the core says the
/// store should hold.
struct Records {
    api::Counters counters;
    std::map<model::WorkloadId, std::shared_ptr<const model::WorkloadSpec>> specs;
    /// As PutStatus carries them: ids, revision, status. Their spec and placement are ignored.
    std::map<model::WorkloadId, model::WorkloadPtr> statuses;
    std::map<model::WorkloadId, std::shared_ptr<const model::Placement>> placements;
    std::map<model::NodeId, model::NodePtr> nodes;
    std::map<std::uint64_t, api::AccountingRecord> outbox;
    std::map<api::RequestId, api::PutRequest> requests;
    std::set<ContentHash> blobs;
};

/// Does to the records what the store does with the mutation.
void replay(const api::Mutation& mutation, Records& records);
/// Empty if both hold the same; else the first thing that differs, for people.
[[nodiscard]] std::string first_difference(const Records& a, const Records& b);

/// What does not come from the records and stays for the life of a core.
struct Settings {
    model::Term term = 0;
    /// Secret of the cluster: the jobs' grants are derived from it, so that a restart derives the
    /// same ones.
    std::string cluster_secret;
    /// What readers see until apply(Configure) is durable; may be null. No request may find a
    /// cluster without partitions.
    model::ClusterConfigPtr config;
};

/// The controller's state and all its decisions. Deterministic: no clock, randomness or I/O. One
/// thread (the state thread) uses it; snapshots may be read on any.
///
/// At start: Core(settings, records, now), apply(Configure), then apply(Tick) while has_backlog().
/// After each command the shell looks at has_backlog() and next_wakeup().
class Core {
  public:
    /// Rebuilds what is derived: uses, desired runs, indexes, timers. `records.counters.cluster_id`
    /// is set by the shell at the very first start. Corrupt: records that contradict each other.
    [[nodiscard]] static Result<Core> load(Settings settings,
                                           Records records,
                                           const api::Envelope& at_start);
    Core(Core&&) noexcept;
    Core& operator=(Core&&) noexcept;
    ~Core();

    /// The only way to change anything. A refused command changes nothing.
    [[nodiscard]] api::Applied apply(const api::Command& command, const api::Envelope& envelope);

    /// All that may be read, as of the last command; a copy costs a few pointers.
    [[nodiscard]] model::Snapshot snapshot() const;

    /// When a Tick is due at the latest; may have passed already. None: nothing waits for time.
    [[nodiscard]] std::optional<ClusterTime> next_wakeup() const;
    /// Work of earlier commands is left (a slice at a time): apply Tick soon, after other lanes had
    /// their turn.
    [[nodiscard]] bool has_backlog() const;

    /// A blob is being stored beside the commands, for a Submit to come: it is not dropped
    /// meanwhile. Each pin needs its unpin, after the Submit was applied or given up.
    void pin_blob(const ContentHash& hash);
    void unpin_blob(const ContentHash& hash);

    /// The nodes that this agent's session carries, in order of ids; for the judgement of silence.
    [[nodiscard]] std::vector<model::NodeId> nodes_of(std::uint64_t session) const;
    /// The session that carries the node; 0: none.
    [[nodiscard]] std::uint64_t session_of(model::NodeId node) const;
    /// The digest of what should be on the node, as sent with its orders.
    [[nodiscard]] std::uint64_t desired_digest_of(model::NodeId node) const;
    /// Counters, as the next PutCounters would carry them; the shell adds the time.
    [[nodiscard]] const api::Counters& counters() const;
    /// Accounting rows that are not yet Recorded, oldest first: what a restart hands on again.
    [[nodiscard]] std::vector<api::AccountingRecord> outbox(std::uint64_t after_seq,
                                                            std::size_t max) const;

    /// What the store holds once all batches are durable. Costs a copy of everything: for checks.
    [[nodiscard]] Records records() const;

    /// The same view as snapshot(), without a copy: holds until the next command.
    [[nodiscard]] const model::Snapshot& state_view() const;

    struct State;
    [[nodiscard]] const State& state() const { return *state_; }

  private:
    explicit Core(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace twinyard::controller
