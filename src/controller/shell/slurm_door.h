#pragma once

#include "api/slurm.h"
#include "controller/shell/context.h"
#include "rpc/server.h"

namespace twinyard::controller {

/// The Slurm door's handlers: one a method, each decodes, asks snapshot or core, and answers in
/// Slurm's words. Called on workers; a call is answered there or, for what waits on the store, on
/// the state thread.
class SlurmDoor {
  public:
    explicit SlurmDoor(Context& context) : context_(context) {}

    /// Any method of commands (wire/method.h below 32). Any worker.
    void handle(rpc::Call call);

  private:
    void submit(rpc::Call call);
    void test_only(rpc::Call call, struct SubmitWork work);
    void cancel(rpc::Call call);
    void act(rpc::Call call);
    void update(rpc::Call call);
    void info(rpc::Call call);
    void reconfigure(rpc::Call call);
    void script(rpc::Call call);
    void end_all(rpc::Call call);
    [[nodiscard]] api::Principal principal_of(const rpc::Call& call) const;

    Context& context_;
};

/// The listings (slurm_listings.cpp).
void list_jobs(Context& context, rpc::Call call);
void list_nodes(Context& context, rpc::Call call);
void list_partitions(Context& context, rpc::Call call);
void list_history(Context& context, rpc::Call call);

/// `scontrol update`: the user's settings as a command (slurm_update.cpp). Errors in Slurm's words.
[[nodiscard]] Result<api::Command> job_update(const api::UpdateRequest& request,
                                              const model::Snapshot& snapshot);
/// Nodes are sliced by the caller: the names, and the command without them.
struct NodeUpdate {
    std::vector<std::string> names;
    api::UpdateNode change;
};
[[nodiscard]] Result<NodeUpdate> node_update(const api::UpdateRequest& request,
                                             const model::Snapshot& snapshot);

}  // namespace twinyard::controller
