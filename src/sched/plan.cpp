#include "sched/plan.h"

#include "sched/pass.h"

namespace twinyard::sched {

model::Plan plan(const Index& index,
                 ClusterTime now,
                 WallTime wall,
                 const model::PriorityPolicy& policy,
                 const Budget& budget) {
    return Pass(index, {now, wall}, policy, budget).run();
}

}  // namespace twinyard::sched
