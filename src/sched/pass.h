#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "sched/backfill.h"
#include "sched/explain.h"
#include "sched/order.h"
#include "sched/plan.h"

namespace twinyard::sched {

/// One walk down the order: starts what can start, reserves for the first that cannot, and says of
/// everything else why it waits. Used once.
class Pass {
  public:
    struct When {
        ClusterTime now{};
        WallTime wall{};
    };
    Pass(const Index& index, When when, const model::PriorityPolicy& policy, const Budget& budget);

    [[nodiscard]] model::Plan run();

  private:
    /// One shape in one partition (and of one user, while nodes are kept for single users).
    struct Key {
        const Shape* shape = nullptr;
        std::uint32_t partition = 0;
        std::uint32_t uid = kNobody;
        friend auto operator<=>(const Key&, const Key&) = default;
    };
    struct Seen {
        Request request;
        std::optional<Millis> limit;
        bool cannot_start = false;  ///< None of them can in this pass: free capacity only shrinks.
        model::Wait why = model::Wait::None;  ///< Then: what is wrong with all; None: they queue.
        bool may_be_reserved = false;
        model::VerdictPtr verdict;  ///< Of all that have no reserved start of their own.
    };
    struct Waiting {
        std::uint32_t count = 0;
        const model::Workload* first = nullptr;
    };

    [[nodiscard]] bool spent() const;
    void consider(const Alternative& alternative);
    [[nodiscard]] bool is_done(const Alternative& alternative) const;
    [[nodiscard]] bool waits_by_itself(const Alternative& alternative);
    Seen& look_up(const Alternative& alternative);
    void look_first(const Alternative& alternative, Seen& seen);
    [[nodiscard]] bool try_start(const Alternative& alternative, Seen& seen);
    void start(const Alternative& alternative, const Seen& seen, const Gang& gang);
    void give_up(const Alternative& alternative, Seen& seen);
    [[nodiscard]] model::VerdictPtr wait(const Alternative& alternative, Seen& seen);
    [[nodiscard]] model::VerdictPtr first_of_its_nodes(const Alternative& alternative, Seen& seen);
    void count_waiting(const Alternative& alternative);
    [[nodiscard]] model::Wait why_never(const Alternative& alternative, Seen& seen);
    [[nodiscard]] bool may_reserve(const Alternative& alternative) const;
    [[nodiscard]] std::optional<Millis> try_reserve(const Alternative& alternative,
                                                    const Seen& seen);
    void block(const Alternative& alternative);
    [[nodiscard]] NodeSet open_nodes(const Alternative& alternative) const;
    void note(const Alternative& alternative, const model::VerdictPtr& verdict);
    [[nodiscard]] model::VerdictPtr verdict(const Alternative& alternative,
                                            const Seen& seen,
                                            model::Wait why,
                                            std::optional<Millis> starts_in);
    [[nodiscard]] Room& idle();
    const Amounts& free_amounts(std::uint32_t partition);
    const Amounts& total_amounts(std::uint32_t partition);

    const Index& index_;
    When when_;
    const model::PriorityPolicy& policy_;
    Budget budget_;
    Timeline timeline_;
    std::optional<Room> idle_;         ///< Made when first asked for.
    std::vector<NodeSet> usable_;      ///< By partition: nodes that may start work now.
    std::vector<NodeSet> configured_;  ///< By partition: nodes that may do so some day.
    std::vector<std::uint64_t> free_devices_;
    bool users_matter_ = false;
    std::map<Key, Seen> seen_;  ///< Looked up only, never walked: pointers have no order to show.
    std::vector<std::vector<std::uint32_t>>
        neighbours_;                                  ///< By partition: those with common nodes.
    std::vector<Waiting> waiting_;                    ///< By partition: in it and its neighbours.
    std::map<model::WorkloadId, std::size_t> tried_;  ///< Partitions of those that name several.
    std::map<std::uint32_t, Amounts> free_amounts_, total_amounts_;
    std::map<model::Wait, model::VerdictPtr> own_verdicts_;
    /// Without backfill, by partition: the first two that wait, for whose sake its nodes are shut.
    std::vector<std::vector<model::WorkloadId>> blockers_;
    NodeSet blocked_;
    std::set<model::WorkloadId> started_, reserved_;
    bool anyone_waits_ = false;
    std::uint32_t looked_behind_ = 0;
    model::Plan plan_;
};

}  // namespace twinyard::sched
